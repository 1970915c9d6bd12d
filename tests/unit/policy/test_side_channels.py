"""Two graphs that differ in what is hidden are one graph to whom it is hidden from, whatever is tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.pipeline.sql.system_tables import system_rows, system_schema
from support.two_graphs import MARK, SCHEMA, answer, asked, change_of, changed, make, opened, without_times

READS: dict[str, Callable[[og.Graph], Any]] = {
    "in": asked('$p: Person  $p.name in ["ann", "hush0", "bob"]'),
    "in a list of another": asked(
        "$p: Person  $q: Person  any($t in $q.tags where $t in $p.tags)", "$p.name, $q.name"
    ),
    "contains": asked('$p: Person  $p.tags contains "a"'),
    "any": asked('$p: Person  any($t in $p.tags where $t starts_with "a")'),
    "all": asked("$p: Person  all($t in $p.tags where length($t) = 1)"),
    "none": asked('$p: Person  none($t in $p.tags where $t = "a")'),
    "lists of values": asked("$p: Person", "collect($p.name) as names, collect($p.level) as levels"),
    "all properties": asked("$p: Person", "$p.*"),
    "whole": asked("$p: Person", "entity($p) as whole"),
    "exists": asked("$p: Person", "$p.name, exists { $p knows $q } as there, exists { $q boss $p } as led"),
    "count": asked("$p: Person", "$p.name, count { $p knows $q } as out, count { $q knows $p } as into"),
    "count of far": asked("$p: Person", "$p.name, count { $p knows{1,4} $q } as n"),
    "hidden weights": asked(
        "$a: Person  $b: Person  $a knows{1,5} $b shortest 3 by weight as path $w",
        "$a.name, $b.name, nodes($w) as n, cost($w) as c",
    ),
    "any edge": asked("$a: Person  $a $e:_ $b", "$a.name, type($e) as kind, $b"),
    "order and limit": asked("$p: Person", "$p.name, $p.level", "order { $p.level desc } limit 2"),
    "order and skip": asked("$p: Person", "$p.name", "order { $p.level } skip 1 limit 2"),
    "least and most": asked(
        "$p: Person", "min($p.level) as a, max($p.level) as b, count($p) as n, avg($p.level) as m"
    ),
    "groups": asked("$p: Person", "$p.region, count($p) as n"),
    "least by index": asked("$p: Person  $p.level > 500"),
    "search": asked('$p: Person  search($p.bio, "fox")', '$p.name, bm25($p.bio, "fox") as s'),
    "optional": asked("$p: Person  optional { $p livesIn $c }", "$p.name, $c.name"),
    "hidden property": asked("$p: Person  $p.salary > 1"),
    "hidden property in all": asked("$p: Person", "$p.salary"),
    "errors of values": asked("$p: Person", "$p.name, 1 / ($p.level - 900) as x"),
    "stored": lambda g: g.run("all_people").rows,
    "explain": lambda g: without_times(
        g.explain(
            "query q() { match { $p: Person  $p.level > 2 } return { $p.name } }", analyze=True
        ).to_json()
    ),
    "explain of paths": lambda g: without_times(
        g.explain("query q() { match { $p: Person  $p knows{1,3} $q } return { $q.name } }").to_json()
    ),
    "tables": lambda g: [(item.key, item.rows) for item in g.snapshot().tables],
    "distinct": lambda g: g.snapshot().distinct,
    "export": lambda g: list(g.export()),
    "export then": lambda g: list(g.export(snapshot=g.snapshot(tag="v1"))),
    "diff": lambda g: [change_of(item) for item in g.diff("v1", "main")],
    "diff of branches": lambda g: [change_of(item) for item in g.diff("main", "side")],
    "counts of a diff": lambda g: g.diff("v1", "main").counts,
    "commits": lambda g: [repr(item) for item in g.commits.list()],
    "changes": lambda g: [
        [change_of(change) for change in g.commits.changes(item.id).changes] for item in g.commits.list()
    ],
    "feed": lambda g: [
        [change_of(change) for change in block.changes] for block in g.changes.poll(start="beginning").blocks
    ],
    "baseline": lambda g: [item for item in g.changes.baseline() if "baseline" not in item],
    "histories": lambda g: [
        [repr(item) for item in g.entity("Person", name).history()] for name in ("ann", "bob")
    ],
    "blame": lambda g: [sorted(g.entity("Person", name).blame()) for name in ("ann", "bob")],
    "edges": lambda g: [[repr(item) for item in g.entity("Person", name).edges()] for name in ("ann", "bob")],
    "nobody": lambda g: g.entity("Person", "hush0").exists,
    "nobody's history": lambda g: list(g.entity("Person", "hush0").history()),
    "nobody's blob": lambda g: g.blob("node", "Person", "hush0", "photo").read(),
    "a blob": lambda g: g.blob("node", "Person", "cyd", "photo").read(),
    "the same": lambda g: g.entities.find_same("Person", ["region"]),
    "the same tags": lambda g: g.entities.find_same("Person", ["level"]),
    "mergeable": lambda g: g.proposals.mergeable(g.proposals.list()[0].id),
    "proposals": lambda g: [repr(item) for item in g.proposals.list()],
    "tables of SQL": lambda g: _system_rows(g, "tables"),
    "files of SQL": lambda g: _system_rows(g, "files"),
    "commits of SQL": lambda g: [(row["message"], row["metadata"]) for row in _system_rows(g, "commits")],
    "branches": lambda g: [repr(g.branches.info(name)) for name in g.branches.list()],
}
WRITES: dict[str, Callable[[og.Graph], Any]] = {
    "update of many": changed("update Person set { level: 4 } where level > 500"),
    "update of all": changed("update Person set { level: level + 1 } where level != 0"),
    "update that breaks a rule": changed("update Person set { level: level * 300 } where level != 0"),
    "delete of nobody": changed('delete Person where name = "hush0"'),
    "delete of edges": changed("delete Knows where weight < 1.0"),
    "update by a pattern": changed(
        "match { $p: Person  $p knows $q  $q.level < 0 } update $p set { level: 0 }"
    ),
    "insert by a pattern": changed(
        "match { $p: Person  $q: Person  $p.level > $q.level } insert Boss { from: $p, to: $q }"
    ),
    "hidden property": changed('update Person set { salary: 3 } where name = "ann"'),
    "cardinality": changed('insert Boss { from: "ann", to: "bob" }  insert Boss { from: "ann", to: "cyd" }'),
    "merge of a branch": lambda g: g.branches.merge("near"),
    "trial of a merge": lambda g: [
        item.to_json() for item in g.branches.merge("near", dry_run=True).conflicts
    ],
    "answered merge": lambda g: (
        [
            g.branches.merge("near", resolutions=[{**item.to_json(), "take": "theirs"}]).counts
            for item in g.branches.merge("near", dry_run=True).conflicts
        ],
        asked("$p: Person", "$p.*")(g),
    ),
    "cherry-pick": lambda g: [
        item.to_json() for item in g.commits.cherry_pick("near", dry_run=True).conflicts
    ],
    "merge by equal values": lambda g: g.branches.merge("near", same_as={"type": "Person", "on": ["region"]}),
    "merge by hidden values": lambda g: g.branches.merge(
        "near", same_as={"type": "Person", "on": ["salary"]}
    ),
    "combine with nobody": lambda g: g.entities.combine("Person", "ann", "hush0"),
    "combine nobody": lambda g: g.entities.combine("Person", "hush1", "ann"),
    "reset of nobody": lambda g: g.entity("Person", "hush0").reset("v1"),
    "blob of nobody": lambda g: g.blob("node", "Person", "hush0", "photo").put(b"x"),
    "patch of nobody": lambda g: g.load(
        [{"type": "Person", "data": {"name": "hushed", "level": 1}}], mode="patch"
    ),
    "load with wrong records": lambda g: g.load(
        [
            {"type": "Person", "data": {"name": "new", "region": "eu", "level": 2000}},
            {"type": "No", "data": {}},
        ],
        mode="append",
    ),
    "a key of somebody else": lambda g: g.load(
        [{"type": "Person", "data": {"name": "bob", "level": 4}}], mode="patch", idempotency_key="k"
    ),
    "edge to nobody": lambda g: g.load([{"edge": "Knows", "from": "ann", "to": "nobody"}], mode="append"),
    "load that replaces": lambda g: g.load([], mode="overwrite"),
    "answers of a proposal": lambda g: g.proposals.resolve(g.proposals.list()[0].id, [{"take": "ours"}]),
    "comment on nobody": lambda g: g.proposals.comment(
        g.proposals.list()[0].id, "x", entity={"type": "Person", "id": "hush0"}
    ),
    "merge of a proposal": lambda g: g.proposals.merge(g.proposals.list()[0].id),
    "schema": lambda g: g.schema.plan(SCHEMA.replace("bio: String? @index", "bio: String @index")),
    "optimize": lambda g: repr(g.optimize()),
    "indexes": lambda g: repr(g.ensure_indices()),
    "trial of a cleanup": lambda g: repr(g.cleanup(keep=1, dry_run=True)),
    "cleanup": lambda g: repr(g.cleanup(keep=1)),
    "embed": lambda g: g.embed(),
    "backup": lambda g: g.backup("backup"),
    "repair": lambda g: g.repair(),
}
PROBES: dict[str, Callable[[og.Graph], Any]] = {
    "merge of a hidden node": lambda g: (_insert_hidden(g.uri, "far"), g.branches.merge("far")),
    "cherry-pick of a hidden node": lambda g: (_insert_hidden(g.uri, "far"), g.commits.cherry_pick("far")),
    "merge of what is hidden": lambda g: g.branches.merge("side"),
    "trial of it": lambda g: g.branches.merge("side", dry_run=True),
    "cherry-pick of it": lambda g: g.commits.cherry_pick("side"),
    "revert of what is hidden": lambda g: g.commits.revert("HEAD"),
    "reset to it": lambda g: g.branches.reset("main", "HEAD~1"),
    "reset of one that was": lambda g: g.entity("Person", "hush0").reset("v1"),
    "key": changed('insert Person { name: "hush0", region: "eu" }'),
    "key by a load": lambda g: g.load(
        [{"type": "Person", "data": {"name": "hush0", "region": "eu"}}], mode="append"
    ),
    "key by a merge": lambda g: g.load(
        [{"type": "Person", "data": {"name": "hush0", "region": "eu"}}], mode="merge"
    ),
    "unique": changed('insert Person { name: "zoe", region: "eu", mail: "hush0@x" }'),
    "unique by a load": lambda g: g.load(
        [{"type": "Person", "data": {"name": "zoe", "region": "eu", "mail": "hush1@x"}}], mode="append"
    ),
    "unique, put aside": lambda g: g.load(
        [{"type": "Person", "data": {"name": "zoe", "region": "eu", "mail": "hush1@x"}}],
        mode="append",
        on_error="quarantine",
        rejected_to="rejected.jsonl",
    ),
    "unique edge": changed('insert Knows { from: "ann", to: "hush0" }'),
    "end": changed('insert Knows { from: "bob", to: "hush1" }'),
    "end by a load": lambda g: g.load([{"edge": "LivesIn", "from": "ann", "to": "hushville"}], mode="append"),
    "node with hidden edges": changed('delete Person where name = "ann"'),
    "clear what is hidden": lambda g: g.load(
        [{"type": "Person", "data": {"name": "ann", "region": "eu"}}], mode="merge"
    ),
    "out of sight": changed('update Person set { region: "us" } where name = "dan"'),
    "insert out of sight": changed('insert Person { name: "zoe", region: "us" }'),
}
"""What may tell that a key, a unique value or an id is taken, and nothing else of what is hidden."""


def _insert_hidden(uri: str, branch: str) -> None:
    root = og.open(uri, actor="root")
    root.branches.create(branch)
    root.load(
        [{"type": "Person", "data": {"name": f"{MARK}8", "region": "us"}}], mode="append", branch=branch
    )


def _system_rows(graph: og.Graph, name: str) -> Any:
    schema = system_schema(name)
    assert schema is not None
    return system_rows(name, graph, graph.snapshot(), schema).to_pylist()


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """Both graphs: with what is hidden, and without."""
    folder = tmp_path_factory.mktemp("both")
    for has_hidden in (True, False):
        make(str(folder / str(has_hidden)), has_hidden)
    return {has_hidden: folder / str(has_hidden) for has_hidden in (True, False)}


@pytest.mark.parametrize("name", READS)
def test_what_is_read_does_not_depend_on_what_is_hidden(roots: dict[bool, Path], name: str) -> None:
    told = [answer(READS[name], opened(roots[has_hidden])) for has_hidden in (True, False)]
    assert told[0] == told[1]
    assert MARK not in told[0].replace("hush0", "") or "PolicyDenied" in told[0]


@pytest.mark.parametrize("name", WRITES)
def test_what_is_tried_does_not_depend_on_what_is_hidden(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = []
    for has_hidden in (True, False):
        make(str(tmp_path / str(has_hidden)), has_hidden)
        told.append(answer(WRITES[name], opened(tmp_path / str(has_hidden))))
    assert told[0] == told[1]


@pytest.mark.parametrize("name", PROBES)
def test_a_refusal_tells_nothing_but_what_was_tried(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(str(tmp_path / "g"), True)
    told = answer(PROBES[name], opened(tmp_path / "g"))
    tried = {f"{MARK}{at}" for at in (0, 1)} | {f"{MARK}{at}@x" for at in (0, 1)} | {f"{MARK}ville"}
    found = set(re.findall(rf"{MARK}[a-z0-9@]*", told))
    assert found <= tried, told
    assert not re.search(r"777|900|salary", told), told
