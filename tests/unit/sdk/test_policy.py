"""The gate stands in every public method of a graph: what no rule allows happens nowhere."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.policy.invocation import invoke_as

SCHEMA = "node Person { name: String @key  photo: Blob? }\nedge Knows: Person -> Person"
READ = "query q() { match { $p: Person } return { $p.name } }"
ADD = 'query q() { insert Person { name: "new" } }'

RULES = """
version: 1
groups:
  readers: [reader]
  public: [visitor]
  writers: [writer]
  owners: [owner]
protected_branches: [main, secret]
rules:
  - {id: readers, allow: {actors: {group: readers}, actions: [read]}}
  - id: visitors
    allow: {actors: {group: public}, actions: [read, export, change], branch_scope: unprotected}
  - id: visitors-branches
    allow: {actors: {group: public}, actions: [branch_create, branch_merge, branch_delete]}
  - {id: writers, allow: {actors: {group: writers}, actions: [change]}}
  - id: owners
    allow:
      actors: {group: owners}
      actions:
        [read, export, change, schema_apply, branch_create, branch_delete, branch_merge, admin,
         propose, approve]
"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    g = og.init(tmp_path / "g", SCHEMA, actor="owner")
    g.mutate('query q() { insert Person { name: "ada" } insert Person { name: "bob" } }')
    g.mutate('query q() { insert Knows { from: "ada", to: "bob" } }')
    g.tags.create("v1")
    g.branches.create("secret")
    g.mutate('query q() { insert Person { name: "hidden" } }', branch="secret", message="hush")
    g.tags.create("s1", branch="secret")
    g.branches.create("open")
    g.proposals.create("secret")
    return g.uri


def opened(uri: str, actor: str | None, **given: Any) -> og.Graph:
    return og.open(uri, actor=actor, policy=RULES, **given)


# Every public method, and how it is called. A new one has to be written here.
GRAPH: dict[str, Callable[[og.Graph], Any]] = {
    "backup": lambda g: g.backup(Path(g.uri).parent / "backup"),
    "blob": lambda g: g.blob("node", "Person", "ada", "photo"),
    "cleanup": lambda g: g.cleanup(dry_run=True),
    "commit_work": lambda g: g.mutate(ADD),
    "diff": lambda g: g.diff("main", "HEAD~1"),
    "embed": lambda g: g.embed(),
    "ensure_indices": lambda g: g.ensure_indices(),
    "entity": lambda g: g.entity("Person", "ada"),
    "explain": lambda g: g.explain(READ),
    "export": lambda g: list(g.export()),  # type: ignore[arg-type]
    "find": lambda g: g.find("HEAD"),
    "load": lambda g: g.load([{"type": "Person", "data": {"name": "x"}}], mode="merge"),
    "mutate": lambda g: g.mutate(ADD),
    "namespace": lambda g: g.namespace(),
    "optimize": lambda g: g.optimize(),
    "prepare": lambda g: g.prepare(READ),
    "query": lambda g: g.query(READ),
    "run": lambda g: g.run("stored"),
    "repair": lambda g: g.repair(),
    "snapshot": lambda g: g.snapshot(),
    "stream": lambda g: g.stream(READ),
    "stream_writer": lambda g: g.stream_writer("Person", app_id="a"),
}
BRANCHES: dict[str, Callable[[og.Graph], Any]] = {
    "create": lambda g: g.branches.create("mine"),
    "delete": lambda g: g.branches.delete("open"),
    "info": lambda g: g.branches.info(),
    "protect": lambda g: g.branches.protect(),
    "unprotect": lambda g: g.branches.unprotect(),
    "list": lambda g: g.branches.list(),
    "merge": lambda g: g.branches.merge("secret"),
    "rebase": lambda g: g.branches.rebase("secret"),
    "rename": lambda g: g.branches.rename("open", "other"),
    "reset": lambda g: g.branches.reset("main", "HEAD~1"),
    "restore": lambda g: g.branches.restore("open"),
}
COMMITS: dict[str, Callable[[og.Graph], Any]] = {
    "changes": lambda g: g.commits.changes("HEAD"),
    "cherry_pick": lambda g: g.commits.cherry_pick("HEAD"),
    "list": lambda g: g.commits.list(),
    "revert": lambda g: g.commits.revert("HEAD"),
    "show": lambda g: g.commits.show("HEAD"),
}
TAGS: dict[str, Callable[[og.Graph], Any]] = {
    "create": lambda g: g.tags.create("v2"),
    "delete": lambda g: g.tags.delete("v1"),
    "list": lambda g: g.tags.list(),
}
CHANGES: dict[str, Callable[[og.Graph], Any]] = {
    "apply": lambda g: g.changes.apply(
        {"schema": None, "changes": [1], "cause": {"graph_commit_id": "x"}, "offset": 0, "complete": True}
    ),
    "baseline": lambda g: g.changes.baseline(),
    "poll": lambda g: g.changes.poll(),
    "stream_writer": lambda g: g.changes.stream_writer(app_id="a"),
}
SCHEMAS: dict[str, Callable[[og.Graph], Any]] = {
    "apply": lambda g: g.schema.apply(SCHEMA + "\nnode Other { name: String @key }"),
    "catalog": lambda g: g.schema.catalog,
    "plan": lambda g: g.schema.plan(SCHEMA),
    "source": lambda g: g.schema.source,
}
QUERIES: dict[str, Callable[[og.Graph], Any]] = {
    "apply": lambda g: g.queries.apply({"a": READ}),
    "list": lambda g: g.queries.list(),
    "remove": lambda g: g.queries.remove("stored"),
    "show": lambda g: g.queries.show("stored"),
    "validate": lambda g: g.queries.validate({"a": READ}),
}


def proposal(g: og.Graph) -> str:
    """The id of the proposal that there is."""
    return og.open(g.uri).proposals.list()[0].id


PROPOSALS: dict[str, Callable[[og.Graph], Any]] = {
    "approve": lambda g: g.proposals.approve(proposal(g)),
    "close": lambda g: g.proposals.close(proposal(g)),
    "comment": lambda g: g.proposals.comment(proposal(g), "no"),
    "create": lambda g: g.proposals.create("secret"),
    "list": lambda g: g.proposals.list(),
    "merge": lambda g: g.proposals.merge(proposal(g)),
    "mergeable": lambda g: g.proposals.mergeable(proposal(g)),
    "poll": lambda g: g.proposals.poll().events,
    "reopen": lambda g: g.proposals.reopen(proposal(g)),
    "request_changes": lambda g: g.proposals.request_changes(proposal(g)),
    "resolve": lambda g: g.proposals.resolve(proposal(g), []),
    "show": lambda g: g.proposals.show(proposal(g)),
}
ENTITIES: dict[str, Callable[[og.Graph], Any]] = {
    "combine": lambda g: g.entities.combine("Person", "ada", ["bob"]),
    "find_same": lambda g: g.entities.find_same("Person", ["name"]),
}
HARMLESS = {
    "proposals",
    "entities",
    "queries",
    "actor",
    "branch",
    "branches",
    "catalog_at",
    "changes",
    "close",
    "commits",
    "embedder",
    "id",
} | {
    *(
        "policy",
        "read_only",
        "schema",
        "schemas",
        "settings",
        "snapshot_of",
        "reader",
        "stamp",
        "storage_options",
        "tags",
        "uri",
        "queries",
    )
}
"""What says nothing of the data, or gives a part whose own methods are walked."""
WALKED = {
    "graph": GRAPH,
    "branches": BRANCHES,
    "commits": COMMITS,
    "tags": TAGS,
    "changes": CHANGES,
    "schema": SCHEMAS,
    "queries": QUERIES,
    "proposals": PROPOSALS,
    "entities": ENTITIES,
}
CALLS = [(part, name, call) for part, calls in WALKED.items() for name, call in calls.items()]


@pytest.mark.parametrize("actor", ["stranger", None])
@pytest.mark.parametrize(("part", "name", "call"), CALLS, ids=[f"{part}.{name}" for part, name, _ in CALLS])
def test_whom_no_rule_names_can_do_nothing(
    uri: str, part: str, name: str, call: Callable[[og.Graph], Any], actor: str | None
) -> None:
    g = opened(uri, actor)
    with pytest.raises((og.PolicyDenied, og.NotFound, IndexError)) as denied:
        if not call(g):
            raise IndexError  # an empty list says nothing
    if not isinstance(denied.value, og.PolicyDenied):
        # Whether there is such a query or proposal is not told.
        assert (part in ("queries", "proposals")) or name == "run"
        return
    assert denied.value.details["actor"] == actor
    assert denied.value.details["action"]


def test_every_public_method_is_walked(uri: str) -> None:
    g = og.open(uri)
    parts = {"graph": g, "branches": g.branches, "commits": g.commits, "tags": g.tags}
    parts |= {"changes": g.changes, "schema": g.schema, "queries": g.queries, "proposals": g.proposals}
    parts["entities"] = g.entities
    for part, found in parts.items():
        public = {name for name, _ in inspect.getmembers(type(found)) if not name.startswith("_")}
        assert public - HARMLESS == set(WALKED[part]) - HARMLESS, part


def test_the_owner_can_do_all_of_it_but_what_the_graph_itself_refuses(uri: str) -> None:
    g = opened(uri, "owner")
    for part, name, call in CALLS:
        try:
            call(g)
        except og.PolicyDenied as error:
            assert "nobody approves" in error.message, f"{part}.{name}: {error.message}"
        except (og.OmniError, KeyError):
            pass


def test_a_reader_reads_and_changes_nothing(uri: str) -> None:
    g = opened(uri, "reader")
    assert len(g.query(READ, snapshot="s1").rows) == 3
    assert g.branches.list() == ["main", "open", "secret"]
    for write in (GRAPH["mutate"], GRAPH["load"], BRANCHES["create"], TAGS["create"], SCHEMAS["apply"]):
        with pytest.raises(og.PolicyDenied):
            write(g)
    with pytest.raises(og.PolicyDenied, match="export"):
        g.export(snapshot=g.snapshot())
    for name in PROPOSALS.keys() - {"list", "mergeable", "poll", "show"}:
        with pytest.raises(og.PolicyDenied):
            PROPOSALS[name](g)


def test_a_writer_writes_and_reads_nothing(uri: str) -> None:
    g = opened(uri, "writer")
    assert g.mutate(ADD).affected_nodes == 1
    assert g.load([{"type": "Person", "data": {"name": "x"}}], mode="merge").nodes == {"Person": 1}
    with pytest.raises(og.PolicyDenied, match="read"):
        g.query(READ)
    with pytest.raises(og.PolicyDenied, match="read"):
        g.load([], mode="merge", branch="mine", from_branch="main")


@pytest.mark.parametrize(
    "name",
    ["secret", " secret ", "\u2003secret", "branch:secret", "secret~0", "branch:secret~0", "s1", "tag:s1"],
)
def test_no_name_of_a_restricted_commit_lets_its_rows_be_read(uri: str, name: str) -> None:
    g = opened(uri, "visitor", branch="open")
    for use in (
        lambda: g.query(READ, snapshot=name),
        lambda: g.diff("open", name),
        lambda: g.branches.create("mine", commit=name),
        lambda: g.branches.reset("open", name),
        lambda: g.commits.show(name),
        lambda: g.commits.list(start=name),
        lambda: g.commits.cherry_pick(name),
        lambda: g.tags.create("t", name),
    ):
        with pytest.raises((og.PolicyDenied, og.NotFound, og.InvalidName)):
            use()
    assert g.branches.list() == ["open"]


def test_an_id_of_a_restricted_commit_is_as_unknown_as_any_other(uri: str) -> None:
    secret = og.open(uri, branch="secret").snapshot().commit_id
    g = opened(uri, "visitor", branch="open")
    other = secret[:-1] + ("0" if secret[-1] != "0" else "1")
    said = []
    for id in (secret, other):
        with pytest.raises(og.NotFound) as found:
            g.snapshot(commit=id)
        said.append(str(found.value).replace(id, "ID"))
    assert said[0] == said[1]
    with pytest.raises((og.NotFound, og.PolicyDenied)):
        g.snapshot(commit=secret[:20])
    assert [tag.name for tag in g.tags.list()] == ["v1"]  # main's commit, from which `open` began


def test_what_a_branch_began_from_belongs_to_it(uri: str) -> None:
    shared = og.open(uri).snapshot().commit_id
    g = opened(uri, "visitor", branch="open")
    assert len(g.query(READ, snapshot=shared).rows) == 2
    seen = g.snapshot(commit=shared)
    assert (seen.branch, seen.judged_as) == ("main", "open")
    og.open(uri).mutate(ADD)
    with pytest.raises(og.NotFound):
        g.snapshot(commit=og.open(uri).snapshot().commit_id)


def test_a_merge_shows_what_it_brought_and_not_the_history_behind_it(uri: str) -> None:
    owner = opened(uri, "owner")
    owner.branches.merge("secret", into="open")
    g = opened(uri, "visitor", branch="open")
    assert len(g.query(READ).rows) == 3
    assert "hush" not in [commit.message for commit in g.commits.list()]
    assert "hush" in [commit.message for commit in og.open(uri, branch="open").commits.list()]
    assert [step.commit.operation for step in g.entity("Person", "hidden").history()] == ["merge"]


def test_a_deleted_branch_is_judged_by_its_name(uri: str) -> None:
    secret = og.open(uri, branch="secret").snapshot().commit_id
    opened(uri, "owner").branches.delete("secret")
    with pytest.raises(og.NotFound):
        opened(uri, "visitor", branch="open").snapshot(commit=secret)
    assert len(opened(uri, "reader").query(READ, snapshot=secret).rows) == 3


def test_a_restricted_branch_is_not_renamed_into_sight(uri: str) -> None:
    with pytest.raises(og.PolicyDenied):
        opened(uri, "visitor", branch="open").branches.rename("secret", "mine")
    with pytest.raises(og.PolicyDenied):
        opened(uri, "visitor", branch="open").branches.merge("secret", into="open", dry_run=True)


def test_the_policy_goes_along_in_a_pickle(uri: str) -> None:
    g = pickle.loads(pickle.dumps(opened(uri, "reader")))
    assert len(g.query(READ).rows) == 2
    with pytest.raises(og.PolicyDenied):
        g.mutate(ADD)
    seen = pickle.loads(pickle.dumps(g.snapshot()))
    assert (seen.actor, seen.policy.bundle) == ("reader", g.policy.bundle)


def test_a_snapshot_of_somebody_else_is_judged_anew(uri: str) -> None:
    owner = opened(uri, "owner")
    from omnigraph.sdk.sharing import share_graph

    visitor = share_graph(owner, "visitor", "open")
    with pytest.raises(og.PolicyDenied):
        visitor.query(READ, snapshot=owner.snapshot("secret"))


def test_a_query_that_is_granted_by_name_reads_for_its_caller(uri: str) -> None:
    rules = (
        RULES
        + """
  - {id: top, allow: {actors: {group: guests}, actions: [invoke_query], queries: [top]}}
"""
    )
    rules = rules.replace("groups:", "groups:\n  guests: [guest]")
    g = og.open(uri, actor="guest", policy=rules)
    with pytest.raises(og.PolicyDenied):
        g.query(READ)
    with invoke_as("top"):
        assert len(g.query(READ).rows) == 2
    with invoke_as("other"), pytest.raises(og.PolicyDenied):
        g.query(READ)
    assert g.policy is not None
    assert g.policy.allows("guest", "invoke_query", query="top")
    assert not g.policy.allows("guest", "invoke_query", query="other")


def test_a_policy_is_not_for_a_graph_that_a_server_has() -> None:
    with pytest.raises(og.BadInput, match="policy"):
        og.open("http://127.0.0.1:1/graphs/x", policy=RULES)
