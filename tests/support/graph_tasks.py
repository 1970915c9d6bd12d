"""What the worker processes of the engine's tests do, by name; every result can be sent to the test."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import IO, Any

import pyarrow as pa

import omnigraph as og
from omnigraph.base.errors import (
    AlreadyExists,
    Conflict,
    HistoricalVersionReclaimed,
    OmniError,
    ValidationError,
)
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import migrations
from omnigraph.storage.objects import ObjectStore
from support.compaction import Compaction
from support.damage import read_everything, scrub
from support.graphs import SCHEMA, rows
from support.row_changes import Append, RowChanges
from support.writes import work

__all__ = ["read_everything", "scrub"]
"""Tasks that live elsewhere."""


def write(
    uri: str,
    kind: str,
    tag: str,
    durable: bool,
    branch: str = "main",
    actor: str | None = None,
    options: Mapping[str, str] | None = None,
) -> str | None:
    """Open a graph, make one write and return the commit id."""
    graph = og.open(uri, branch=branch, actor=actor, storage_options=options)
    record = graph.commit_work(work(kind, tag), durable=durable)
    return record.commit if record else None


def open_for_writing(uri: str, options: Mapping[str, str] | None = None) -> int:
    """Open a graph read-write, which settles what crashes left, and return the head's version."""
    return og.open(uri, storage_options=options).snapshot().version


def apply_cluster(folder: str, options: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Apply what a folder declares, and return the report."""
    from omnigraph.cluster.operations.cluster import Cluster

    return Cluster(folder, actor="act-ada", storage_options=options).apply().to_json()


def create_branch(uri: str, name: str) -> None:
    """Create a branch of main."""
    og.open(uri).branches.create(name)


def delete_branch(uri: str, name: str) -> None:
    """Delete a branch."""
    og.open(uri).branches.delete(name)


def init(uri: str) -> str:
    """Make a graph and return its id."""
    return og.init(uri, SCHEMA).id


def migrate(uri: str) -> int:
    """Be a later release, with the next format: open a graph for writing and return its format."""
    migrations.STEPS = {stored_format.CURRENT: _step}
    stored_format.CURRENT += 1
    return og.open(uri).internals.core.truth.stamp.format


def _step(store: ObjectStore) -> None:
    try:
        store.create("__manifest/migrated.json", b"once")
    except AlreadyExists:
        return


def write_many(
    uri: str, options: Mapping[str, str] | None, me: int, count: int, durable: bool, branch: str = "main"
) -> list[str]:
    """Make commits of one row, now in the shared table, now in one's own; return the acknowledged ids."""
    graph = og.open(uri, branch=branch, storage_options=options, actor=f"writer-{me}")
    acknowledged = []
    for number in range(count):
        key = "node:Shared" if number % 2 else f"node:Own{me % 4}"
        id_ = f"{me}-{number}"
        _until_it_lands(graph, [Append(key, rows(key, [id_], "x"))], durable)
        acknowledged.append(f"{key} {id_}")
    return acknowledged


def write_pairs(uri: str, name: str, count: int, log: str, durable: bool) -> int:
    """Write the same id into two tables, commit after commit; note each before and after in a log file."""
    graph = og.open(uri, actor=name)
    own = f"node:Own{int(name.split('-', maxsplit=1)[0]) % 4}"
    with open(log, "a", encoding="utf-8") as file:
        for number in range(count):
            id_ = f"{name}-{number}"
            _note(file, f"begin {id_}")
            pair = [Append(key, rows(key, [id_], "x")) for key in ("node:Shared", own)]
            _until_it_lands(graph, pair, durable)
            _note(file, f"end {id_}")
    return count


def write_until_gone(uri: str, branch: str, me: int, count: int, log: str) -> str:
    """Write rows to a branch until it is gone; note each acknowledged one; return the last error's code."""
    graph = og.open(uri, branch=branch)
    with open(log, "a", encoding="utf-8") as file:
        for number in range(count):
            id_ = f"{me}-{number}"
            try:
                _until_it_lands(graph, [Append("node:Shared", rows("node:Shared", [id_], "x"))], me % 2 == 0)
            except OmniError as error:
                return error.code
            _note(file, f"end {id_}")
    return "none"


def _until_it_lands(graph: Graph, changes: list[Append], durable: bool) -> None:
    """Commit; a lost race is tried again, as an application does."""
    while True:
        try:
            assert graph.commit_work(RowChanges(changes), durable=durable) is not None
            return
        except Conflict as error:
            if not error.retryable:
                raise


def _note(file: IO[str], line: str) -> None:
    file.write(f"{line}\n")
    file.flush()
    os.fsync(file.fileno())


def mutate(
    uri: str,
    gq: str,
    params: Mapping[str, Any] | None = None,
    if_commit: str | None = None,
    retry: int = 0,
) -> Any:
    """Run a mutation and return what it did."""
    return og.open(uri, actor="writer").mutate(gq, params, if_commit=if_commit, retry=retry)


def count_up(uri: str, name: str, times: int) -> int:
    """Read a counter and write the next number, so often; return how often nothing had come between."""
    graph, done = og.open(uri, actor=name), 0
    shared = name == "shared"
    for _ in range(times):
        head = graph.snapshot().commit_id
        read = "query q($n: String) { match { $c: Counter { name: $n } } return { $c.n as n } }"
        value = graph.query(read, {"n": name}).rows[0]["n"]
        write = "query q($n: String, $v: I64) { update Counter set { n: $v } where name = $n }"
        try:
            graph.mutate(write, {"n": name, "v": value + 1}, if_commit=head if shared else None)
        except og.PreconditionFailed:
            continue
        done += 1
    return done


def add_up(uri: str, times: int) -> int:
    """Add one to the one counter, so often, whoever else does; return how often it was added."""
    graph = og.open(uri)
    add = 'query q() { upsert Counter { name: "shared", n: n + 1 } }'
    return sum(graph.mutate(add, retry=1000).affected_nodes for _ in range(times))


def load(uri: str, records: Any, mode: str, branch: str | None = None, from_branch: str | None = None) -> Any:
    """Load records, or a file, and return what was loaded."""
    return og.open(uri, actor="writer").load(records, mode=mode, branch=branch, from_branch=from_branch)


def held(uri: str, branch: str, method: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Call a method of a handle that this process keeps open."""
    if (uri, branch) not in _handles:
        _handles[(uri, branch)] = og.open(uri, branch=branch)
    return attrgetter(method)(_handles[(uri, branch)])(*given, **named)


_handles: dict[tuple[str, str], og.Graph] = {}


def load_columns(uri: str, columns: Mapping[str, list[str]], mode: str, type_: str) -> Any:
    """Load columns of texts as rows of a type."""
    rows = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    return og.open(uri, actor="writer").load(rows, mode=mode, type=type_)


def apply_schema(uri: str, text: str, allow_data_loss: bool = False) -> Any:
    """Change the schema, dropping what the text leaves out, and return what was done."""
    schema = og.open(uri, actor="writer").schema
    return schema.apply(text, allow_drop=True, allow_data_loss=allow_data_loss)


def merge(uri: str, source: str, into: str = "main", actor: str = "merger") -> Any:
    """Merge a branch and return what that did."""
    return og.open(uri, actor=actor).branches.merge(source, into)


def merge_until_it_lands(uri: str, me: int, count: int) -> int:
    """Write rows on a branch of one's own and merge it, again and again; return how often a race was lost."""
    graph, branch, lost = og.open(uri, actor=f"merger-{me}"), f"agent-{me}", 0
    for number in range(count):
        name = f"{me}-{number}"
        records = [
            {"type": "Person", "data": {"name": name, "note": branch}},
            {"edge": "Knows", "from": name, "to": "p1", "data": {"id": name}},
        ]
        graph.load(records, mode="merge", branch=branch, from_branch="main")
        while True:
            try:
                graph.branches.merge(branch, delete_branch=number % 2 == 1)
                break
            except Conflict as error:
                if not error.retryable:
                    raise
                lost += 1
    return lost


def compact(uri: str) -> str | None:
    """Join the fragments of all tables."""
    record = og.open(uri).commit_work(Compaction())
    return record.commit if record else None


def optimize(uri: str, branch: str = "main", only_indices: bool = False) -> Any:
    """Optimize a branch, or only its indexes, and return what was done."""
    graph = og.open(uri, actor="carer")
    return graph.ensure_indices(branch) if only_indices else graph.optimize(branch)


def optimize_often(uri: str, count: int) -> int:
    """Optimize main again and again; return how many commits came of it."""
    graph = og.open(uri, actor="carer")
    return sum(graph.optimize().commit_id is not None for _ in range(count))


def insert_docs(uri: str, me: int, count: int) -> int:
    """Insert documents one by one, and change each once; no insert may fail. Returns how many there are."""
    graph = og.open(uri, actor=f"writer-{me}")
    insert = 'query q($s: String) { insert Doc { slug: $s, title: "Walks in", rank: 1 } }'
    for number in range(count):
        graph.mutate(insert, {"s": f"w{me}-{number}"})
        graph.mutate(insert, {"s": f"w{me}-{number}"})
    return count


def contend(uri: str, me: int, count: int, seed: int) -> dict[str, int]:
    """Insert, update, delete and load what others contend for; return how often each end was met."""
    dice = random.Random(seed * 100 + me)
    graph = og.open(uri, actor=f"writer-{me}")
    ends: dict[str, int] = {}
    for number in range(count):
        try:
            _contended(graph, dice, me, number)
            end = "ok"
        except (Conflict, ValidationError) as error:
            end = error.code
        ends[end] = ends.get(end, 0) + 1
    return ends


def _contended(graph: og.Graph, dice: random.Random, me: int, number: int) -> None:
    person, other = f"p{dice.randrange(6)}", f"p{dice.randrange(6)}"
    day = f"2024-01-0{dice.randrange(1, 6)}"
    match dice.randrange(7):
        case 0 | 1:
            gq = "query q($n: String, $d: Date) { insert Person { name: $n born: $d room: 1 } }"
            graph.mutate(gq, {"n": person, "d": day})
        case 2 | 3:
            gq = "query q($a: String, $b: String) { insert Knows { from: $a to: $b } }"
            graph.mutate(gq, {"a": person, "b": other})
        case 4:
            graph.mutate("query q($n: String) { delete Person where name = $n }", {"n": person})
        case 5:
            gq = "query q($n: String, $d: Date) { update Person set { born: $d } where name = $n }"
            graph.mutate(gq, {"n": person, "d": day})
        case _:
            records = [
                {"type": "Person", "data": {"name": f"n{me}-{number}", "room": number}},
                {"edge": "Knows", "from": f"n{me}-{number}", "to": person},
            ]
            graph.load(records, mode=dice.choice(["append", "merge"]))


def task(name: str, *given: Any) -> Any:
    """Run a task of this file."""
    return globals()[name](*given)


def insert_beside_cleanup(uri: str, me: int, count: int) -> list[str]:
    """Insert people, trying again where a cleanup or another writer came between; return who was inserted."""
    graph = og.open(uri, actor=f"writer-{me}")
    done: list[str] = []
    while len(done) < count:
        name = f"w{me}-{len(done)}"
        try:
            graph.mutate("query q($n: String) { insert Person { name: $n note: $n } }", {"n": name})
        except Conflict as error:
            if not error.retryable:
                raise
            continue
        done.append(name)
    return done


def read_beside_cleanup(uri: str, count: int) -> dict[str, int]:
    """Read heads and old versions; each is whole or typed as reclaimed. Return how often each was met."""
    graph = og.open(uri, read_only=True)
    met = {"read": 0, "reclaimed": 0}
    for number in range(count):
        head = graph.snapshot()
        version = head.version if number % 2 else max(1, head.version - number % 7)
        try:
            seen = graph.snapshot(version=version)
            rows = seen.table("node:Person").scan(columns=["id", "note"])
            recorded = {table.key: table.rows for table in seen.tables}["node:Person"]
            assert rows.num_rows == recorded, f"version {version}: {rows.num_rows} rows, recorded {recorded}"
            assert rows["id"].to_pylist() == rows["note"].to_pylist()
            met["read"] += 1
        except HistoricalVersionReclaimed:
            met["reclaimed"] += 1
    return met


def clean_often(uri: str, keep: int, count: int) -> int:
    """Clean up again and again and return how many files went."""
    graph = og.open(uri, actor="cleaner")
    gone = 0
    for _ in range(count):
        try:
            done = graph.cleanup(keep=keep)
        except Conflict as error:
            if not error.retryable:
                raise
            continue
        assert not done.errors
        gone += done.files
    return gone


def backup(uri: str, target: str) -> Any:
    """Back a whole graph up."""
    return og.open(uri, actor="keeper").backup(target)


def restore(target: str, uri: str) -> str:
    """Make a graph from the newest backup and return its id."""
    return og.restore(target, uri).id


def back_up_often(uri: str, target: str, count: int) -> list[tuple[str, list[str]]]:
    """Back a graph up again and again; return each backup with the branches that it holds."""
    graph = og.open(uri, actor="keeper")
    made = []
    while len(made) < count:
        try:
            done = graph.backup(target)
        except Conflict as error:
            if not error.retryable:
                raise
            continue
        made.append((done.id, sorted(done.heads)))
    return made


def come_and_go(uri: str, me: int, count: int) -> list[str]:
    """Make branches, write to them, merge every second one and delete all; return what was merged."""
    graph, merged = og.open(uri, actor=f"brancher-{me}"), []
    for number in range(count):
        branch, name = f"b{me}-{number}", f"c{me}-{number}"
        steps = [
            lambda branch=branch: graph.branches.create(branch),
            lambda branch=branch, name=name: graph.load(
                [{"type": "Person", "data": {"name": name, "note": name}}], mode="append", branch=branch
            ),
            lambda branch=branch, number=number: graph.branches.merge(branch) if number % 2 else None,
            lambda branch=branch: graph.branches.delete(branch),
        ]
        for step in steps:
            _until_no_race(step)
        if number % 2:
            merged.append(name)
    return merged


def _until_no_race(step: Any) -> None:
    while True:
        try:
            step()
            return
        except Conflict as error:
            if not error.retryable:
                raise
        except HistoricalVersionReclaimed:
            continue


def merge_proposal(uri: str, proposal: str, actor: str | None = None) -> str | None:
    """Merge a proposal and return its commit."""
    return og.open(uri, actor=actor).proposals.merge(proposal).commit_id


def mutate_branch(uri: str, branch: str, gq: str, params: Mapping[str, Any]) -> str | None:
    """Run a mutation on a branch and return its commit."""
    return og.open(uri).mutate(gq, params, branch=branch).commit_id


def answer_conflicts(uri: str, proposal: str, take: str, actor: str) -> list[str]:
    """Take a proposal up where others left it, answer what is left, and return what was answered."""
    proposals = og.open(uri, actor=actor).proposals
    left = proposals.mergeable(proposal).conflicts
    proposals.resolve(proposal, [{**item.to_json(), "take": take} for item in left])
    return [f"{item.type_name}/{item.entity_id}" for item in left]
