"""A served graph answers as it does in process: every method, every answer, every error, awaited or not.

Reads are asked of one graph on all ways and must be equal. Writes are made to copies of a graph, some of
them served; what they return and raise must be equal but for ids and times.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.graph.changes.diff import Diff
from omnigraph.graph.handle_branches import Branches
from omnigraph.graph.handle_commits import Commits
from omnigraph.graph.handle_tags import Tags
from omnigraph.sdk.aio.handles import HIDDEN
from omnigraph.sdk.changes import Changes
from omnigraph.sdk.entities.blob import BlobHandle
from omnigraph.sdk.entities.entities import Entities
from omnigraph.sdk.entities.entity import Entity
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.proposals.handle import Proposals
from omnigraph.sdk.queries.handle import QueriesHandle
from omnigraph.sdk.remote.blob import RemoteBlob
from omnigraph.sdk.remote.branches import RemoteBranches, RemoteTags
from omnigraph.sdk.remote.entities import RemoteEntities
from omnigraph.sdk.remote.entity import RemoteEntity
from omnigraph.sdk.remote.graph import RemoteGraph
from omnigraph.sdk.remote.history.changes import RemoteChanges
from omnigraph.sdk.remote.history.commits import RemoteCommits
from omnigraph.sdk.remote.history.diff import RemoteDiff
from omnigraph.sdk.remote.proposals import RemoteProposals
from omnigraph.sdk.remote.queries import RemoteQueries
from omnigraph.sdk.remote.schema import RemoteSchema
from omnigraph.sdk.remote.snapshot import RemoteSnapshot
from omnigraph.sdk.schema import SchemaHandle
from omnigraph.sdk.snapshot import Snapshot
from omnigraph.wire.values import encode
from support.awaiting import Awaiting
from support.described_answers import DescribedAnswers, check_what_clients_read
from support.served import TOKENS, Served, running_server

SCHEMA = """
node Person {
  name: String @key  age: I64?  tags: [String]?  born: Date?  seen: DateTime?  times: [DateTime]?
  weight: F64?  face: Vector(2)?  photo: Blob?
}
node Doc { name: String @key  text: String?  vec: Vector(8)? @embed("text") }
edge Knows: Person -> Person { since: Date? }
"""
NEEDS_STORAGE = {
    "graph.backup": "copies files of the graph's storage",
    "graph.stream_writer": "the tasks of Spark write to the graph's storage",
    "changes.stream_writer": "the tasks of Spark write to the graph's storage",
}
"""What a served graph refuses, and why: these are all."""
_OF_SNAPSHOTS = {f"snapshot.{name}" for name in ("namespace", "sight", "access", "sees_all", "view_id")}
INTERNAL = {*HIDDEN, *_OF_SNAPSHOTS, "snapshot_of", "table", "comparison", "graph.uri"}
"""What only the parts of OmniGraph ask of a handle."""
ONLY_WAITED = {
    "a reader of a stream": "a reader of Arrow cannot be awaited",
}
"""Reads that asynchronous programs do not have, and why."""
PAIRS: dict[str, tuple[type, type]] = {
    "graph": (Graph, RemoteGraph),
    "snapshot": (Snapshot, RemoteSnapshot),
    "branches": (Branches, RemoteBranches),
    "commits": (Commits, RemoteCommits),
    "tags": (Tags, RemoteTags),
    "proposals": (Proposals, RemoteProposals),
    "changes": (Changes, RemoteChanges),
    "schema": (SchemaHandle, RemoteSchema),
    "blob": (BlobHandle, RemoteBlob),
    "entity": (Entity, RemoteEntity),
    "entities": (Entities, RemoteEntities),
    "diff": (Diff, RemoteDiff),
    "queries": (QueriesHandle, RemoteQueries),
}
QUERIES = """
// Who is so old.
query of_age($age: I64?) { match { $p: Person { age: $age } } return { $p.name } }

query named($n: String, $a: I64?) @instruction("adds one") { insert Person { name: $n, age: $a } }
"""
ALL = """
query q() {
  match { $p: Person }
  return { $p.name, $p.age, $p.tags, $p.born, $p.seen, $p.times, $p.weight, $p.face }
  order { $p.name }
}
"""
ADA = {
    "name": "ada",
    "age": 2**53 + 1,
    "tags": ["x", "ü"],
    "born": "1815-12-10",
    "seen": "2026-01-31T12:00:00.123Z",
    "times": ["2026-01-31T12:00:00.001Z", "1969-12-31T23:59:59Z"],
    "weight": 0.1,
    "face": [0.5, 1.5],
    "photo": "base64:AAECAwQFBgcICQ==",
}
RECORDS: list[dict[str, Any]] = [
    {"type": "Person", "data": ADA},
    {"type": "Person", "data": {"name": "bob"}},
    {"type": "Doc", "data": {"name": "d", "text": "a text"}},
    {"edge": "Knows", "from": "ada", "to": "bob", "data": {"id": "k1", "since": "2020-02-29"}},
]
NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
SET_AGE = 'query q($a: I64) { update Person set { age: $a } where name = "bob" }'
ADD = "query q($n: String, $a: I64?) { insert Person { name: $n, age: $a } }"

Ask = Callable[[Any], Any]
"""What is asked of a graph; a write is given a folder for files of its own beside it."""


@dataclass(frozen=True)
class Case:
    """One use of some methods."""

    covers: tuple[str, ...]
    ask: Ask


READS: dict[str, Case] = {}
WRITES: dict[str, Case] = {}
REFUSALS: dict[str, Case] = {}


def case(cases: dict[str, Case], name: str, covers: str, ask: Ask) -> None:
    assert name not in cases, name
    cases[name] = Case(tuple(covers.split()), ask)


def read(name: str, covers: str, ask: Ask) -> None:
    case(READS, name, covers, ask)


def write(name: str, covers: str) -> Callable[[Ask], Ask]:
    def keep(ask: Ask) -> Ask:
        case(WRITES, name, covers, ask)
        return ask

    return keep


def refuse(name: str, covers: str, ask: Ask) -> None:
    case(REFUSALS, name, covers, ask)


def diff_of(graph: Any, **given: Any) -> Any:
    return graph.diff("main~1", "main", **given)


def photo(source: Any) -> Any:
    return source.blob("node", "Person", "ada", "photo")


def pages(ask: Callable[[str | None], Any]) -> list[Any]:
    found, token = [], None
    while True:
        page = ask(token)
        found.append(page.changes)
        token = page.next_page_token
        if token is None:
            return found


read("rows", "graph.query", lambda g: g.query(ALL).rows)
read("a table", "graph.query", lambda g: g.query(ALL).to_arrow())
read("a data frame", "graph.query", lambda g: g.query(ALL).to_pandas().to_dict("list")["p.name"])
read(
    "schema, commit and engine of a result",
    "graph.query",
    lambda g: [(r.schema, r.commit_id, r.engine) for r in [g.query(ALL, engine="local")]],
)
read(
    "no rows",
    "graph.query",
    lambda g: g.query(
        'query q() { match { $p: Person { name: "none" } } return { $p.name, $p.age } }'
    ).to_arrow(),
)
read(
    "whole nodes and edges",
    "graph.query",
    lambda g: (
        g.query(
            "query q() { match { $p: Person  $p $k: knows $o } return { entity($p) as p, entity($k) as k } }"
        ).rows
    ),
)
read(
    "parameters",
    "graph.query",
    lambda g: (
        g.query(
            "query q($a: [I64], $d: Date) "
            "{ match { $p: Person  $p.age in $a  $p.born < $d } return { $p.name } }",
            {"a": [2**53 + 1, 3], "d": "1900-01-01"},
        ).rows
    ),
)
read(
    "one of two queries",
    "graph.query",
    lambda g: (
        g.query(
            "query a() { match { $p: Person } return { count($p) as n } }\n"
            "query b() { match { $p: Person } return { $p.name } order { $p.name } }",
            name="b",
        ).rows
    ),
)
read("a query as it is written", "graph.query", lambda g: g.query(ALL, optimise=False, timeout=30).rows)
read("what stands for a commit", "graph.query", lambda g: g.query(ALL, snapshot="main~1").rows)
read(
    "a snapshot in a query", "graph.query graph.snapshot", lambda g: g.query(ALL, snapshot=g.snapshot()).rows
)
read("a prepared query", "graph.prepare", lambda g: g.prepare(ALL)(snapshot="main~1").rows)
read(
    "a stream",
    "graph.stream",
    lambda g: [(s.schema, s.commit_id, [b.to_pylist() for b in s]) for s in [g.stream(ALL, batch_rows=1)]],
)
read("a reader of a stream", "graph.stream", lambda g: g.stream(ALL).to_reader().read_all())
read("a plan", "graph.explain", lambda g: [f(g.explain(ALL)) for f in (str, repr, lambda e: e.to_json())])
read("a plan of a snapshot", "graph.explain", lambda g: g.explain(ALL, snapshot="main~1"))
read(
    "what a graph is",
    "graph.id graph.branch graph.read_only graph.branches graph.commits graph.tags "
    "graph.changes graph.schema",
    lambda g: (g.id, g.branch, g.read_only, g.actor),
)
read(
    "tables for other tools",
    "graph.namespace",
    lambda g: sorted(g.namespace().list_tables(None).tables),
)
read(
    "a snapshot",
    "graph.snapshot snapshot.branch snapshot.commit_id snapshot.version snapshot.commit "
    "snapshot.tables snapshot.distinct snapshot.catalog snapshot.schema_source",
    lambda g: [
        (
            s.branch,
            s.commit_id,
            s.version,
            s.commit,
            s.tables,
            s.distinct,
            s.catalog,
            s.schema_source,
            repr(s),
        )
        for s in (g.snapshot(), g.snapshot(version=1), g.snapshot(commit="main~1"), g.snapshot(tag="first"))
    ],
)
read("rows of a snapshot", "snapshot.query", lambda g: g.snapshot(tag="first").query(ALL).rows)
read(
    "a stream of a snapshot",
    "snapshot.stream",
    lambda g: [b.to_pylist() for b in g.snapshot(version=1).stream(ALL, batch_rows=1)],
)
read("a plan on a snapshot", "snapshot.explain", lambda g: g.snapshot(version=1).explain(ALL))
read(
    "a blob",
    "graph.blob blob.size blob.is_null blob.read blob.pieces blob.commit_id",
    lambda g: [
        (
            b.size,
            b.is_null,
            b.read(),
            b.read(3),
            b.read(3, 4),
            b.read(10),
            b.commit_id,
            repr(b),
            list(b.pieces(2)),
            list(b.pieces(2, 3)),
        )
        for b in [photo(g)]
    ],
)
read("a blob of a snapshot", "snapshot.blob", lambda g: photo(g.snapshot()).read())
read("no blob", "graph.blob", lambda g: g.blob("node", "Person", "bob", "photo").size)
read(
    "a node",
    "graph.entity entity.kind entity.type entity.id entity.commit_id entity.exists entity.properties "
    "entity.ends entity.edges",
    lambda g: [
        (
            (e.kind, e.type, e.id, e.commit_id, e.exists, e.properties, e.ends, repr(e)),
            (e.edges(), e.edges(["Knows"], "in"), e.edges(direction="out", limit=1)),
        )
        for e in [g.entity("Person", "ada")]
    ],
)
read("an edge", "graph.entity", lambda g: [(e.kind, e.ends, e.properties) for e in [g.entity("Knows", "k1")]])
read(
    "the past of a node",
    "snapshot.entity entity.history entity.blame",
    lambda g: (
        list(g.entity("Person", "ada").history()),
        list(g.snapshot().entity("Person", "ada").history(1, earlier=True)),
        g.entity("Person", "ada").blame(),
    ),
)
read(
    "no node", "graph.entity", lambda g: [(e.exists, e.kind, e.commit_id) for e in [g.entity("Person", "x")]]
)
read("the schema", "schema.source schema.catalog", lambda g: (g.schema.source, g.schema.catalog))
read(
    "a plan of a schema",
    "schema.plan",
    lambda g: (
        g.schema.plan(SCHEMA + "node Place { name: String }"),
        g.schema.plan("node Person { name: String @key }"),
        g.schema.plan("node Place { name: String }", mode="extend"),
    ),
)
read(
    "stored queries",
    "graph.queries queries.list queries.show snapshot.queries",
    lambda g: (
        [
            (q, q.file, q.line)
            for q in (*g.queries.list(), g.queries.show("named"), *g.snapshot().queries.values())
        ]
        + g.queries.list(branch="side")
        + g.queries.list(snapshot="first")
    ),
)
read(
    "stored queries run",
    "graph.run snapshot.run",
    lambda g: [
        found.rows
        for found in (
            g.run("of_age", {"age": 3}),
            g.run("of_age", {"age": 2**60}, snapshot="main", timeout=60),
            g.snapshot().run("of_age", {"age": 3}),
        )
    ],
)
read(
    "stored queries tried",
    "queries.validate",
    lambda g: g.queries.validate({"a": "query a() { match { $p: Person } return { $p.name } }"}),
)
read("branches", "branches.list", lambda g: g.branches.list())
read("a branch", "branches.info", lambda g: (g.branches.info(), g.branches.info("side", "main")))
read(
    "commits",
    "commits.list",
    lambda g: (
        g.commits.list(),
        g.commits.list(limit=2),
        g.commits.list(limit=0),
        g.commits.list("side"),
        g.commits.list(actor="nobody"),
        g.commits.list(start="main~1"),
        g.commits.list(where={"why": "test"}),
    ),
)
read("a commit", "commits.show", lambda g: (g.commits.show("HEAD"), g.commits.show("first")))
read(
    "changes of a commit",
    "commits.changes",
    lambda g: (
        g.commits.changes("main"),
        g.commits.changes("main", kinds=["edge"]),
        g.commits.changes("side"),
        pages(lambda token: g.commits.changes("main", limit=1, page_token=token)),
    ),
)
read("tags", "tags.list", lambda g: g.tags.list())
read(
    "proposals",
    "graph.proposals proposals.list",
    lambda g: (g.proposals.list(), g.proposals.list("open", into="main")),
)
read("a proposal", "proposals.show", lambda g: g.proposals.show(g.proposals.list()[0].id[:20]))
read("what happens to proposals", "proposals.poll", lambda g: g.proposals.poll(limit=1))
read("a proposal judged", "proposals.mergeable", lambda g: g.proposals.mergeable(g.proposals.list()[0].id))
read(
    "a difference",
    "graph.diff diff.from_commit diff.to_commit diff.schema diff.queries diff.counts diff.total diff.changes",
    lambda g: [
        (
            d.from_commit,
            d.to_commit,
            d.schema,
            d.queries,
            d.counts,
            d.total,
            d.changes,
            list(d),
            bool(d),
            repr(d),
            d._repr_html_(),
        )
        for d in (g.diff("side", "main"), diff_of(g), diff_of(g, ops=["delete"]), diff_of(g, images=False))
    ],
)
read("a difference of schemas", "graph.diff", lambda g: g.diff("main", g.snapshot("side")).schema)
read("pages of a difference", "diff.page", lambda g: pages(lambda t: diff_of(g).page(limit=1, page_token=t)))
read(
    "the feed",
    "changes.poll",
    lambda g: (
        g.changes.poll(),
        g.changes.poll(start="beginning"),
        g.changes.poll(start="beginning", commits=1),
        g.changes.poll(branch="side", start="beginning", types=["Person"], ops=["insert"]),
    ),
)
read(
    "the feed in pages",
    "changes.poll",
    lambda g: [
        (page, g.changes.poll(page_token=page.page_token))
        for page in [g.changes.poll(start="beginning", limit=1)]
    ],
)
read(
    "a baseline",
    "changes.baseline",
    lambda g: (list(g.changes.baseline()), list(g.changes.baseline(kinds=["edge"]))),
)
read(
    "records",
    "graph.export",
    lambda g: (list(g.export()), list(g.export(types=["Knows"])), list(g.export(snapshot="first"))),
)
read("a cleanup that is tried", "graph.cleanup", lambda g: g.cleanup(keep=1, older_than="1s", dry_run=True))
read("a repair", "graph.repair", lambda g: (g.repair(), g.repair(scrub=True)))


@write("mutations", "graph.mutate")
def _(g: Any, folder: Path) -> Any:
    done = g.mutate(ADD, {"n": "new", "a": 7}, message="one", metadata={"why": "x"}, idempotency_key="k")
    again = g.mutate(ADD, {"n": "new", "a": 7}, idempotency_key="k")
    assert done.commit_id == again.commit_id
    return done, again, g.mutate(SET_AGE, {"a": 9}, retry=2), g.query(ALL).rows, g.commits.list(limit=2)


@write("stored queries and a mutation by name", "graph.run queries.apply queries.remove")
def _(g: Any, folder: Path) -> Any:
    (folder / "more.gq").write_text("query more() { match { $p: Person } return { $p.name } }")
    done = g.run(
        "named", {"n": "stored", "a": 5}, message="by name", metadata={"a": "b"}, idempotency_key="s"
    )
    again = g.run("named", {"n": "stored", "a": 5}, idempotency_key="s", expect_mutation=True)
    assert done.commit_id == again.commit_id
    return [
        done,
        g.queries.apply(folder, mode="extend", message="more"),
        g.queries.apply(folder / "more.gq", mode="extend"),
        g.commits.changes("main").queries,
        g.queries.remove(["more"], metadata={"why": "x"}),
        g.commits.list(limit=2),
        [block.queries for block in g.changes.poll(start="after:" + g.commits.show("HEAD~1").id).blocks],
    ]


@write("loads of records", "graph.load")
def _(g: Any, folder: Path) -> Any:
    record = {"type": "Person", "data": {"name": "cy", "born": "2001-02-03", "photo": b"\x00\xff", "age": 5}}
    made = g.load(iter([record]), mode="append", branch="loaded", from_branch="main", metadata={"a": "b"})
    patched = g.load(
        [{"type": "Person", "data": {"name": "cy", "age": 2**60}}], mode="patch", branch="loaded"
    )
    return made, patched, g.query(ALL, branch="loaded").rows


@write("loads of files", "graph.load")
def _(g: Any, folder: Path) -> Any:
    (folder / "p.csv").write_text("who,years\ncsv,7\n")
    pq.write_table(pa.table({"name": ["parquet"]}), folder / "p.parquet")
    for number in range(2):
        (folder / f"{number}.jsonl").write_text(f'{{"type": "Person", "data": {{"name": "line{number}"}}}}')
    (folder / "rules.json").write_text('{"nodes": [{"type": "Person", "columns": {"who": "name"}}]}')
    return [
        g.load(folder / "p.csv", type="Person", mode="merge", mapping={"who": "name", "years": "age"}),
        g.load(folder / "p.parquet", type="Person", mode="merge"),
        g.load([folder / "0.jsonl", folder / "1.jsonl"], mode="append"),
        g.load(pa.table({"name": ["arrow"]}), type="Person", mode="merge"),
        g.query(ALL).rows,
    ]


@write("a load that leaves records out", "graph.load")
def _(g: Any, folder: Path) -> Any:
    path = folder / "some.jsonl"
    path.write_text('{"type": "Person", "data": {"name": "ok"}}\n{"type": "Person", "data": {"name": 1}}\n')
    done = g.load(path, mode="append", on_error="quarantine")
    return done, Path(done.rejected_path).read_text()


@write(
    "branches", "branches.create branches.delete branches.restore branches.rename branches.info branches.list"
)
def _(g: Any, folder: Path) -> Any:
    g.branches.create("a/b")
    g.mutate(ADD, {"n": "on a branch"}, branch="a/b")
    g.branches.create("c", commit="a/b")
    g.branches.rename("c", "d")
    g.branches.delete("d")
    g.branches.restore("d")
    g.branches.create("e")
    g.branches.delete("e", if_commit=g.snapshot("e").commit_id)
    return g.branches.list(), g.branches.info("a/b"), g.branches.info("d", "a/b")


@write("merges", "branches.merge branches.reset branches.rebase")
def _(g: Any, folder: Path) -> Any:
    for name in ("m", "r"):
        g.branches.create(name)
        g.mutate(ADD, {"n": f"of {name}"}, branch=name)
    dry = g.branches.merge("m", dry_run=True)
    done = g.branches.merge(
        "m", message="in", delete_branch=True, idempotency_key="merge", metadata={"x": "y"}
    )
    rebased = g.branches.rebase("r")
    reset = g.branches.reset("r", "main", message="back")
    return dry, done, rebased, reset, g.commits.list(limit=1)[0].metadata


@write("commits taken back and brought", "commits.revert commits.cherry_pick")
def _(g: Any, folder: Path) -> Any:
    g.branches.create("pick")
    commit = g.mutate(ADD, {"n": "picked"}, branch="pick").commit_id
    return (
        g.commits.cherry_pick(commit, dry_run=True),
        g.commits.cherry_pick(commit, message="here", metadata={"m": "n"}),
        g.commits.revert("main", "main"),
        g.commits.revert(actor="act-ada", since="HEAD~1", where={"no": "such"}, message="all"),
        g.commits.revert(actor="act-ada", since="HEAD~1", dry_run=True),
    )


@write("a conflict, and its answer", "branches.merge")
def _(g: Any, folder: Path) -> Any:
    g.branches.create("clash")
    g.mutate(SET_AGE, {"a": 2**60}, branch="clash")
    g.mutate(SET_AGE, {"a": 6})
    with pytest.raises(og.MergeConflicts) as caught:
        g.branches.merge("clash")
    tried = g.branches.merge("clash", dry_run=True)
    answer = {**caught.value.conflicts[0].to_json(), "take": "theirs"}
    done = g.branches.merge("clash", resolutions=[answer])
    return caught.value.conflicts, caught.value.message, tried, done, g.query(ALL).rows


@write(
    "proposals",
    "proposals.create proposals.comment proposals.approve proposals.request_changes proposals.resolve "
    "proposals.merge proposals.close proposals.reopen branches.protect branches.unprotect",
)
def _(g: Any, folder: Path) -> Any:
    g.branches.create("right")
    g.mutate(SET_AGE, {"a": 2**59}, branch="right")
    g.mutate(SET_AGE, {"a": 7})
    g.branches.protect(approvals=0, checks=["nobody"])
    given = {"reviewers": ["act-bob"], "metadata": {"on_behalf_of": "carol"}, "idempotency_key": "right"}
    mine = g.proposals.create("right", "main", "an age", "why", **given)
    told: list[Any] = [mine, g.proposals.create("right", idempotency_key="right").id == mine.id]
    told += [g.proposals.comment(mine.id, "so?", entity=("Person", "bob", "age"))]
    for attempt in (g.proposals.approve, g.proposals.merge):
        with pytest.raises(og.OmniError) as caught:
            attempt(mine.id)
        told.append((type(caught.value), caught.value.message, encode(caught.value.details)))
    judged = g.proposals.mergeable(mine.id)
    answer = {**judged.conflicts[0].to_json(), "take": "theirs"}
    told += [judged, g.proposals.resolve(mine.id, [answer]), g.proposals.mergeable(mine.id)]
    g.branches.protect(approvals=1)
    told += [g.proposals.close(mine.id, "not now"), g.proposals.reopen(mine.id[:20])]
    places = next(item for item in g.proposals.list() if item.title == "places").id
    told += [g.proposals.request_changes(places, "which?"), g.proposals.approve(places, text="fine")]
    with pytest.raises(og.PreconditionFailed):
        g.proposals.merge(places, commit="main")
    seen = g.proposals.show(places).source_commit
    told += [g.proposals.merge(places, metadata={"x": "y"}, commit=seen), g.proposals.merge(places)]
    g.branches.unprotect()
    return told, g.proposals.merge(mine.id, delete_branch=True), g.proposals.list("merged", limit=1)


@write("tags", "tags.create tags.delete")
def _(g: Any, folder: Path) -> Any:
    made = g.tags.create("t1"), g.tags.create("t2", "main~1"), g.tags.create("t3", branch="side")
    g.tags.delete("t2")
    return made, g.tags.list()


@write("a schema", "schema.apply schema.source")
def _(g: Any, folder: Path) -> Any:
    g.branches.create("typed", tag="first")
    path = folder / "more.pg"
    path.write_text("node Place { name: String @key }")
    with og.open(
        g.uri, branch="typed", **({"token": g._transport.token} if hasattr(g, "_transport") else {})
    ) as t:
        done = t.schema.apply(path, mode="extend", message="places", metadata={"p": "q"})
        same = t.schema.apply(t.schema.source)
        dropped = t.schema.apply(SCHEMA, allow_drop=True)
        return done, same, dropped, t.schema.source == SCHEMA, t.schema.plan(path, mode="extend").to_json()


@write("entities", "entity.reset")
def _(g: Any, folder: Path) -> Any:
    g.mutate('query q() { update Person set { age: 7 } where name = "ada" }')
    back = g.entity("Person", "ada").reset("HEAD~1", message="back", metadata={"why": "test"})
    return back, g.entity("Person", "ada").properties, [c.op for c in g.entity("Person", "ada").history()]


@write("one thing under two ids", "graph.entities entities.combine entities.find_same branches.merge")
def _(g: Any, folder: Path) -> Any:
    g.load([{"type": "Person", "data": {"name": name, "age": 5}} for name in ("x", "y")], mode="merge")
    g.mutate('query q() { insert Knows { from: "y", to: "ada" } }')
    groups = g.entities.find_same("Person", ["age"]), g.entities.find_same("Person", "age", limit=1)
    done = g.entities.combine(
        "Person", "x", ["y"], values="newest", properties={"weight": 2.5}, message="one"
    )
    past = [(c.op, c.went_into) for c in g.entity("Person", "y").history()]
    g.branches.create("two")
    g.load([{"type": "Person", "data": {"name": "z", "age": 5}}], mode="merge", branch="two")
    rule = {"type": "Person", "on": "age"}
    tried = g.branches.merge("two", same_as=rule, dry_run=True)
    offered = g.proposals.create("two", title="more", same_as=rule)
    answer = {**tried.conflicts[0].to_json(), "take": "same"}
    saved = g.proposals.resolve(offered.id, [answer])
    merged = g.branches.merge("two", resolutions=[answer])
    told = [(c.kind, c.message, c.entities, c.ours, c.theirs) for c in tried.conflicts]
    return groups, done, past, told, offered.same_as, saved.resolutions, merged.edges


@write("blobs", "blob.put blob.clear")
def _(g: Any, folder: Path) -> Any:
    blob = photo(g)
    done = blob.put(b"new", message="photo"), blob.read(), blob.put("base64:AQI="), blob.read()
    return done, blob.clear(), blob.is_null, blob.size


@write("a replay", "changes.apply changes.poll")
def _(g: Any, folder: Path) -> Any:
    g.branches.create("replica")
    g.mutate(ADD, {"n": "replayed", "a": 2**60})
    block = g.changes.poll(start="beginning").blocks[-1]
    applied = g.changes.apply(block, branch="replica", message="again")
    return (
        applied is None,
        g.changes.apply(block.to_json(), branch="replica"),
        g.query(ALL, branch="replica").rows,
    )


@write("care", "graph.optimize graph.ensure_indices graph.cleanup graph.repair graph.embed")
def _(g: Any, folder: Path) -> Any:
    return g.optimize(), g.ensure_indices("main"), g.cleanup(keep=1000), g.repair(confirm=True).ok, g.embed()


@write("files of records", "graph.export changes.baseline")
def _(g: Any, folder: Path) -> Any:
    done = g.export(folder / "all.jsonl"), g.export(folder / "some.jsonl.gz", types=["Knows"])
    based = g.changes.baseline(folder / "base.jsonl")
    lines = (folder / "all.jsonl").read_text(), (folder / "base.jsonl").read_text()
    return done, based.path, lines


@write("a graph that is closed", "graph.close")
def _(g: Any, folder: Path) -> Any:
    g.close()
    with g as same:
        return same.branches.list()


refuse(
    "a type that is not there",
    "graph.query",
    lambda g: g.query("query q() { match { $p: Persn } return { $p } }"),
)
refuse("a text that is none", "graph.query", lambda g: g.query("nonsense"))
refuse("a mutation as a query", "graph.query", lambda g: g.query(ADD, {"n": "x"}))
refuse("a query as a mutation", "graph.mutate", lambda g: g.mutate(ALL))
refuse("a branch that is not there", "graph.query", lambda g: g.query(ALL, branch="none"))
refuse("a stream of a branch that is not there", "graph.stream", lambda g: g.stream(ALL, branch="none"))
refuse("a plan of nonsense", "graph.explain", lambda g: g.explain("nonsense"))
refuse(
    "nonsense prepared", "graph.prepare", lambda g: g.prepare("query q() { match { $p: X } return { $p } }")
)
refuse("a commit that is not there", "commits.show", lambda g: g.commits.show(NOBODY))
refuse("both a branch and a snapshot", "graph.query", lambda g: g.query(ALL, branch="main", snapshot="main"))
refuse(
    "a parameter that does not fit",
    "graph.query",
    lambda g: g.query("query q($a: I64) { match { $p: Person { age: $a } } return { $p.name } }", {"a": "x"}),
)
refuse(
    "a parameter of bytes",
    "graph.query",
    lambda g: g.query(
        "query q($a: String) { match { $p: Person { name: $a } } return { $p.name } }", {"a": b"x"}
    ),
)
refuse("parameters that are none", "graph.query", lambda g: g.query(ALL, [1]))
refuse("a parameter that is missing", "graph.mutate", lambda g: g.mutate(ADD))
refuse("a time that is over", "graph.query", lambda g: g.query(ALL, timeout=1e-9))
refuse(
    "an end that is not there",
    "graph.load",
    lambda g: g.load([{"edge": "Knows", "from": "ada", "to": "zoe"}], mode="append"),
)
refuse(
    "a record that is wrong",
    "graph.load",
    lambda g: g.load([{"type": "Person", "data": {"age": 1}}], mode="append"),
)
refuse("a file that is not there", "graph.load", lambda g: g.load("nowhere.jsonl", mode="append"))
refuse("a mode that is none", "graph.load", lambda g: g.load([], mode="replace"))
refuse("a mapping without a type", "graph.load", lambda g: g.load([], mode="append", mapping={"a": "b"}))
refuse("a head that is another", "graph.mutate", lambda g: g.mutate(ADD, {"n": "x"}, if_commit=NOBODY))
refuse(
    "a drop that nobody allows", "schema.apply", lambda g: g.schema.apply("node Person { name: String @key }")
)
refuse("a schema that is none", "schema.plan", lambda g: g.schema.plan("nonsense"))
refuse("a mode of a schema", "schema.apply", lambda g: g.schema.apply(SCHEMA, mode="x"))
refuse(
    "a schema that breaks a query",
    "schema.apply",
    lambda g: g.schema.apply(SCHEMA.replace("age: I64?", ""), allow_drop=True),
)
refuse("a query by no name", "graph.run", lambda g: g.run("nobody"))
refuse("a query by a name nearby", "graph.run", lambda g: g.run("of_ages"))
refuse("an argument of no query", "graph.run", lambda g: g.run("of_age", {"ages": 1}))
refuse("a mutation of a snapshot", "graph.run", lambda g: g.run("named", {"n": "x"}, snapshot="main"))
refuse("a mutation of a pinned one", "snapshot.run", lambda g: g.snapshot().run("named", {"n": "x"}))
refuse("a message of a read", "graph.run", lambda g: g.run("of_age", {"age": 1}, message="x"))
refuse("a read as a mutation", "graph.run", lambda g: g.run("of_age", {"age": 1}, expect_mutation=True))
refuse("queries that do not fit", "queries.apply", lambda g: g.queries.apply({"a": "query a() { delete X }"}))
refuse(
    "queries of no type",
    "queries.validate",
    lambda g: g.queries.validate({"a": "query a() { match { $p: X } return { $p.name } }"}),
)
refuse("queries of no file", "queries.apply", lambda g: g.queries.apply("nowhere.gq"))
refuse("a mode of queries", "queries.apply", lambda g: g.queries.apply({"a": QUERIES}, mode="x"))
refuse("a query that is not there", "queries.remove", lambda g: g.queries.remove("nobody"))
refuse("a branch twice", "branches.create", lambda g: g.branches.create("side"))
refuse("the main branch", "branches.delete", lambda g: g.branches.delete("main"))
refuse("a branch that has moved", "branches.delete", lambda g: g.branches.delete("side", if_commit=NOBODY))
refuse("a name that is not allowed", "branches.create", lambda g: g.branches.create("a b"))
refuse("a tag that is not there", "branches.create", lambda g: g.branches.create("new", tag="none"))
refuse("a branch that was never deleted", "branches.restore", lambda g: g.branches.restore("never"))
refuse("a merge of nothing", "branches.merge", lambda g: g.branches.merge("none"))
refuse("a strategy that is none", "branches.merge", lambda g: g.branches.merge("side", strategy="mine"))
refuse("answers that are none", "branches.merge", lambda g: g.branches.merge("side", resolutions="x.json"))
refuse("a revert of nothing", "commits.revert", lambda g: g.commits.revert(since="main"))
refuse("a revert of the first commit", "commits.revert", lambda g: g.commits.revert("main@1"))
refuse("changes of the first commit", "commits.changes", lambda g: g.commits.changes(g.commits.list()[-1].id))
refuse("a kind that is none", "commits.changes", lambda g: g.commits.changes("main", kinds=["x"]))
refuse("a limit that is none", "commits.list", lambda g: g.commits.list(limit=-1))
refuse("a branch and a start", "commits.list", lambda g: g.commits.list("main", start="main"))
refuse("a page of another", "diff.page", lambda g: diff_of(g).page(page_token="x"))
refuse("a type of a difference", "graph.diff", lambda g: diff_of(g, types=["Nobody"]))
refuse("a difference of nothing", "graph.diff", lambda g: g.diff("main", 3))
refuse("a cursor of another", "changes.poll", lambda g: g.changes.poll(cursor="x"))
refuse("a start that is none", "changes.poll", lambda g: g.changes.poll(start="tomorrow"))
refuse("a block in parts", "changes.apply", lambda g: g.changes.apply({"nothing": 1}))
refuse("a tag of two things", "tags.create", lambda g: g.tags.create("t", "main", "main"))
refuse("a proposal of itself", "proposals.create", lambda g: g.proposals.create("main"))
refuse("a proposal that is gone", "proposals.show", lambda g: g.proposals.show(NOBODY))
refuse("a state that is none", "proposals.list", lambda g: g.proposals.list("done"))
refuse("a comment on nothing", "proposals.comment", lambda g: g.proposals.comment(NOBODY, "x", entity=("a",)))
refuse("a cursor of nothing", "proposals.poll", lambda g: g.proposals.poll("x"))
refuse("a protection of less", "branches.protect", lambda g: g.branches.protect(approvals=-1))
refuse("a tag that is gone", "tags.delete", lambda g: g.tags.delete("gone"))
refuse("a snapshot of two things", "graph.snapshot", lambda g: g.snapshot("main", commit="main"))
refuse("a moment before all", "graph.snapshot", lambda g: g.snapshot(timestamp="1990-01-01"))
refuse("a version that is not there", "graph.snapshot", lambda g: g.snapshot(version=99))
refuse("a blob that is null", "blob.read", lambda g: g.blob("node", "Person", "bob", "photo").read())
refuse("a node of no type", "graph.entity", lambda g: g.entity("Persn", "ada"))
refuse("a node that is not there", "entity.properties", lambda g: g.entity("Person", "nobody").properties)
refuse("nobody to combine", "entities.combine", lambda g: g.entities.combine("Person", "ada", "nobody"))
refuse("no rule", "entities.find_same", lambda g: g.entities.find_same("Person", ["aeg"]))
refuse("edges of an edge", "entity.edges", lambda g: g.entity("Knows", "k1").edges())
refuse("a reset of a snapshot", "entity.reset", lambda g: g.snapshot().entity("Person", "ada").reset("HEAD"))
refuse("a blob of nobody", "graph.blob", lambda g: g.blob("node", "Person", "nobody", "photo"))
refuse("a blob that is a number", "graph.blob", lambda g: g.blob("node", "Person", "ada", "age"))
refuse("a part of a blob", "blob.read", lambda g: photo(g).read(11))
refuse("a blob of a snapshot", "blob.put", lambda g: photo(g.snapshot()).put(b"x"))
refuse("nothing as a blob", "blob.put", lambda g: photo(g).put(None))
refuse("an age that is none", "graph.cleanup", lambda g: g.cleanup(older_than="soon"))
refuse(
    "a rename of what moved", "branches.rename", lambda g: g.branches.rename("side", "x", if_commit=NOBODY)
)
refuse("a rebase of what moved", "branches.rebase", lambda g: g.branches.rebase("side", if_commit=NOBODY))
refuse("a tag of another commit", "tags.delete", lambda g: g.tags.delete("first", if_commit=NOBODY))
refuse("an export of nothing", "graph.export", lambda g: list(g.export(types=["Nobody"])))
refuse("an export in columns", "graph.export", lambda g: g.export(format="parquet"))
refuse("an export as something", "graph.export", lambda g: g.export(format="x"))
refuse("an engine that is none", "graph.query", lambda g: g.query(ALL, engine="local", timeout=-1))


@pytest.fixture(scope="module", autouse=True)
def described() -> Iterator[DescribedAnswers]:
    """What the description says; every answer of the server that a client reads whole is held against it."""
    found = DescribedAnswers()
    with pytest.MonkeyPatch.context() as patch:
        check_what_clients_read(patch, found)
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIGRAPH_EMBEDDING_PROVIDER", "mock")
        yield from _serve(folder)


def _serve(folder: Path) -> Iterator[Served]:
    graph = og.init(folder / "people", SCHEMA, actor="maker")
    graph.load(RECORDS, mode="append", metadata={"why": "test"})
    graph.tags.create("first")
    graph.branches.create("side")
    with og.open(folder / "people", branch="side") as side:
        side.schema.apply("node Place { name: String }", mode="extend")
    graph.queries.apply({"people": QUERIES})
    graph.mutate(ADD, {"n": "cyd", "a": 3})
    graph.proposals.create("side", title="places", idempotency_key="places")
    graph.optimize()
    graph.mutate(SET_AGE, {"a": 2**60})
    for name in ("mine", "mine-awaited", "yours", "yours-awaited"):
        shutil.copytree(folder / "people", folder / name)
    served = (str(folder / name) for name in ("people", "yours", "yours-awaited"))
    with running_server(folder, *served) as server:
        yield server


@pytest.fixture
def here(folder: Path, server: Served) -> og.Graph:
    return og.open(folder / "people", actor="act-ada")


@pytest.fixture
def there(server: Served) -> og.Graph:
    return og.open(server.url("people"), token=TOKENS["act-ada"])


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def awaited(runner: asyncio.Runner, uri: Any, **given: Any) -> Any:
    """Return an asynchronous handle that is used as a plain one."""
    return Awaiting(runner.run(og.aopen(uri, **given)), runner)


@pytest.fixture
def ways(here: og.Graph, there: og.Graph, runner: asyncio.Runner) -> dict[str, Any]:
    """The same graph, asked in every way but the one that all are compared with."""
    return {
        "served": there,
        "awaited": awaited(runner, here.uri, actor="act-ada"),
        "served and awaited": awaited(runner, there.uri, token=TOKENS["act-ada"]),
    }


@pytest.mark.parametrize("name", READS)
def test_an_answer_is_the_same(here: og.Graph, ways: dict[str, Any], name: str) -> None:
    expected = READS[name].ask(here)
    for way, graph in ways.items():
        if way == "served" or name not in ONLY_WAITED:
            assert READS[name].ask(graph) == expected, way


@pytest.mark.parametrize("name", REFUSALS)
def test_an_error_is_the_same(here: og.Graph, ways: dict[str, Any], name: str) -> None:
    expected = told_error(here, name)
    for way, graph in ways.items():
        assert told_error(graph, name) == expected, way


def told_error(graph: Any, name: str) -> tuple[type, str, Any]:
    with pytest.raises(og.OmniError) as caught:
        REFUSALS[name].ask(graph)
    details = encode(caught.value.details)
    if details.get("resource") == "query_seconds":
        del details["actual"]  # how long it was
    return type(caught.value), caught.value.message, details


@pytest.mark.parametrize("name", WRITES)
def test_a_change_is_the_same(
    folder: Path, server: Served, runner: asyncio.Runner, tmp_path: Path, name: str
) -> None:
    known = {"token": TOKENS["act-ada"]}
    graphs = {
        "in process": og.open(folder / "mine", actor="act-ada"),
        "served": og.open(server.url("yours"), **known),
        "awaited": awaited(runner, folder / "mine-awaited", actor="act-ada"),
        "served and awaited": awaited(runner, server.url("yours-awaited"), **known),
    }
    found = {}
    for way, graph in graphs.items():
        own = tmp_path / "files"
        own.mkdir()
        found[way] = _shown(WRITES[name].ask(graph, own))  # type: ignore[call-arg]
        shutil.rmtree(own)
        assert found[way] == found["in process"], way


_VOLATILE = {"seconds", "phases", "engine_reason", "bytes_written", "bytes_read", "bytes"}


def _shown(value: Any) -> Any:
    """Return a value without what differs between two copies: ids, times, sizes."""
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items() if name not in _VOLATILE}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if not isinstance(value, str):
        return _shown(encode(value)) if encode(value) != value else value
    bare = re.sub(r"[0-9A-HJKMNP-TV-Z]{26}", "<id>", value)
    bare = re.sub(r'("resume_cursor":")[^"]+', r"\1<cursor>", bare)
    return re.sub(r"2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z", "<time>", bare)


def _public(kind: type) -> set[str]:
    annotated = {name for base in kind.__mro__ for name in getattr(base, "__annotations__", {})}
    names = {name for name in {*dir(kind), *annotated} if not name.startswith("_")}
    return names - INTERNAL


@pytest.mark.parametrize("name", PAIRS)
def test_no_public_method_is_forgotten(name: str, here: og.Graph, there: og.Graph) -> None:
    """Each is there with the same parameters, and is compared above or declared as a gap."""
    stored, served = PAIRS[name]
    covered = {text for cases in (READS, WRITES, REFUSALS) for case in cases.values() for text in case.covers}
    for member in _public(stored):
        method = inspect.getattr_static(stored, member, None)
        if inspect.isfunction(method):
            mine = inspect.signature(inspect.getattr_static(served, member)).parameters
            assert [(p.name, p.kind, p.default) for p in mine.values()] == [
                (p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()
            ], member
        full = f"{name}.{member}"
        if full in INTERNAL:
            continue
        assert (full in covered) != (full in NEEDS_STORAGE), full


@pytest.mark.parametrize("name", NEEDS_STORAGE)
def test_what_needs_the_storage_is_refused_clearly(there: og.Graph, name: str) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "graph.backup": lambda: there.backup("somewhere"),
        "graph.stream_writer": lambda: there.stream_writer(app_id="a"),
        "changes.stream_writer": lambda: there.changes.stream_writer(app_id="a"),
    }
    with pytest.raises(og.BadInput, match="open it where it is stored"):
        calls[name]()


def test_a_handle_on_a_branch_is_not_a_handle_on_another_of_its_name(here: og.Graph, server: Served) -> None:
    for name in ("gone-a", "gone-b"):
        here.branches.create(name)
    there = [
        og.open(server.url("people"), branch="gone-a", token=TOKENS["act-ada"]),
        og.open(here.uri, branch="gone-b", actor="act-ada"),
    ]
    told = []
    for graph, name in zip(there, ("gone-a", "gone-b"), strict=True):
        with pytest.raises(og.BranchInUse):
            graph.branches.delete(name)
        assert [graph.branches.info().name, graph.snapshot().branch] == [name, name]
        here.branches.delete(name)
        here.branches.create(name)
        with pytest.raises(og.BranchGone) as caught:
            graph.query(ALL)
        told.append(caught.value.message.replace(name, "x"))
        here.branches.delete(name)
    assert told[0] == told[1]


def test_a_load_is_sent_with_a_key_and_counts_once(server: Served) -> None:
    graph = og.open(server.url("yours"), token=TOKENS["act-ada"])
    records = [{"type": "Person", "data": {"name": "once"}}]
    first = graph.load(records, mode="append", idempotency_key="a-load")
    assert graph.load(records, mode="append", idempotency_key="a-load").commit_id == first.commit_id


def test_a_token_that_nobody_has_is_refused(server: Served) -> None:
    with pytest.raises(og.Unauthorized):
        og.open(server.url("people"), token="wrong")


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(og.Unavailable, match="does not answer"):
        og.open("http://127.0.0.1:9/graphs/people")


def test_an_address_that_is_none_is_told() -> None:
    for uri in (
        "http://",
        "http://host:port/graphs/x",
        "http://host",
        "http://host/",
        "http://host/graphs/x?a=b",
        "https://user:secret@host/g",
    ):
        with pytest.raises(og.BadInput, match="is not the address of a graph"):
            og.open(uri)


def test_what_only_a_stored_graph_takes_is_refused(server: Served, folder: Path) -> None:
    with pytest.raises(og.BadInput, match="leave out actor"):
        og.open(server.url("people"), token=TOKENS["act-ada"], actor="eve")
    with pytest.raises(og.BadInput, match="token is for a graph that a server has"):
        og.open(folder / "people", token="x")
