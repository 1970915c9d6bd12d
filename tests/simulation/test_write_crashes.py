"""Mutations, loads and schema changes killed with SIGKILL at every failpoint that they pass (4.1 to 4.4).

The failpoints are found by running the writer once. The numbers in comments are the assertions of section 5.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from support import graph_tasks
from support.graphs import notes, plan_paths
from support.integrity_oracle import assert_integrity
from support.workers import Workers

SCHEMA = """
node Person { name: String @key  mail: String? @unique  room: I32?  mood: enum(sad, glad)? }
node Company { name: String @key }
node Lone { name: String @key }
edge Knows: Person -> Person @card(0..9)
edge WorksAt: Person -> Company { since: Date? }
"""
BASE_VERSION = 15
"""The next commit leaves a hint, so that this window can be hit too."""

State = tuple[str, dict[str, Any], dict[str, Any]]
"""The schema's text, the nodes, and the edges without their ids."""


@dataclass(frozen=True)
class Writer:
    """A public writer: what it is told, and what it is told when it goes on after a crash."""

    task: str
    given: tuple[Any, ...]
    following: tuple[Any, ...]
    again: str = "same"
    """What the same call gives once it has landed: `same` state, `none` (no commit), `more`, or a code."""

    @property
    def is_durable(self) -> bool:
        """Whether it makes its plan durable."""
        return self.task != "mutate"

    def run(self, root: Path, given: tuple[Any, ...]) -> Any:
        """Run it in this process."""
        return getattr(graph_tasks, self.task)(str(root), *given)


def _query(text: str) -> tuple[str]:
    return (f"query q() {{ {text} }}",)


def _people(mode: str, *names: str) -> tuple[list[Any], str]:
    people = [{"type": "Person", "data": {"name": name, "room": 7}} for name in names]
    return [*people, {"edge": "Knows", "from": names[0], "to": names[1]}], mode


WRITERS = {
    "insert": Writer(
        "mutate",
        _query('insert Person { name: "x" } insert Person { name: "p1" } insert Knows { from: "x" to: "x" }'),
        _query('insert Person { name: "y" }'),
        "more",
    ),
    "update": Writer(
        "mutate",
        _query('update Person set { room: 9 } where room < 4'),
        _query('update Person set { room: 5 } where name = "p7"'),
    ),
    "delete": Writer(
        "mutate",
        _query('delete Person where name = "p2" delete Company where name = "c3"'),
        _query('delete Person where name = "p9"'),
        "none",
    ),
    "append": Writer("load", _people("append", "x", "y"), _people("append", "v", "w"), "key_conflict"),
    "merge": Writer("load", _people("merge", "p1", "y", "p2"), _people("merge", "p1", "w"), "more"),
    "overwrite": Writer(
        "load",
        ([{"type": "Company", "data": {"name": f"c{at}"}} for at in range(1, 15)]
         + [{"type": "Lone", "data": {"name": "new"}}], "overwrite"),
        ([{"type": "Lone", "data": {"name": "next"}}], "overwrite"),
    ),
    "schema-metadata": Writer(
        "apply_schema", (SCHEMA.replace("enum(sad, glad)", "enum(sad, glad, calm)"),),
        (SCHEMA.replace("enum(sad, glad)", "enum(sad, glad, calm, odd)"),), "none",
    ),
    "schema-add-type": Writer(
        "apply_schema", (SCHEMA + "node City { name: String @key }\nedge LivesIn: Person -> City\n",),
        (SCHEMA + "node City { name: String @key }\nedge LivesIn: Person -> City\nnode Land { n: I32 }\n",),
        "none",
    ),
    "schema-rewrite": Writer(
        "apply_schema",
        (SCHEMA.replace("mail: String? @unique", 'tag: String @default("t")')
         .replace("room: I32?", 'place: I64? @rename_from("room")').replace("since: Date?", ""),),
        (SCHEMA.replace("mail: String? @unique", 'tag: String @default("t")  more: F64?')
         .replace("room: I32?", "place: I64?").replace("since: Date?", ""),),
        "none",
    ),
    "schema-drop-type": Writer(
        "apply_schema", (SCHEMA.replace("node Lone { name: String @key }\n", ""),),
        (SCHEMA.replace("node Lone { name: String @key }\n", "").replace("{ since: Date? }", ""),), "none",
    ),
    "schema-hard-drop": Writer(
        "apply_schema",
        (SCHEMA.replace("node Lone { name: String @key }\n", "").replace("room: I32?", ""), True),
        (SCHEMA.replace("node Lone { name: String @key }\n", ""), True), "none",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of several fragments a table, at `BASE_VERSION`, and a branch `side` with its own commit."""
    root = tmp_path_factory.mktemp("crashes") / "graph"
    graph = og.init(root, SCHEMA)
    for half in (range(1, 8), range(8, BASE_VERSION)):
        people = [{"type": "Person", "data": {"name": f"p{at}", "room": at, "mail": f"m{at}"}} for at in half]
        companies = [{"type": "Company", "data": {"name": f"c{at}"}} for at in half]
        works = [{"edge": "WorksAt", "from": f"p{at}", "to": f"c{at}"} for at in half]
        knows = [{"edge": "Knows", "from": f"p{at}", "to": f"p{max(1, at - 1)}"} for at in half]
        graph.load(people + companies + works + knows, mode="append")
    for at in range(BASE_VERSION - 3):
        graph.mutate("query q($n: String) { insert Lone { name: $n } }", {"n": f"l{at}"})
    graph.branches.create("side")
    graph.mutate('query q() { insert Lone { name: "side" } }', branch="side")
    assert graph.snapshot().version == BASE_VERSION
    return root


def state_of(graph: og.Graph, branch: str = "main") -> State:
    """Return all that a branch says, after checking every rule over it."""
    snapshot = graph.snapshot(branch)
    found = assert_integrity(snapshot)
    edges = {
        name: Counter(f"{row.source} {row.target} {sorted(row.values.items())}" for row in rows.values())
        for name, rows in found.edges.items()
    }
    return snapshot.schema_source, found.nodes, edges


def passed_points(writer: Writer, root: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Run a writer and return the failpoints that it passes, each with its first and its last hit."""
    hits: Counter[str] = Counter()
    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "_armed", {"all": None})
        patched.setattr(failpoints, "_act", lambda point: hits.update([point.value]))
        writer.run(root, writer.given)
    assert {
        "write.after_stage",
        "write.after_all_tables",
        "publish.before_record",
        "publish.before_hint",
    } <= set(hits)
    repeated = (
        "table.before_pin",
        "table.after_pin",
        "write.after_table_commit",
        "maintenance.after_compact",
    )
    return sorted(
        {(point, nth) for point, count in hits.items() for nth in ((1, count) if point in repeated else (1,))}
    )


def expected_of(writer: Writer, point: str) -> tuple[bool, bool, int]:
    """Return whether the change is visible at once, whether after recovery, and how many notes it gets."""
    landed = point in ("publish.after_record", "publish.before_hint", "plan.before_delete")
    planned = writer.is_durable and (landed or point in ("plan.after_put", "publish.before_record"))
    return landed, landed or planned, 1 if planned else 0


@pytest.mark.long
@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_killed_anywhere_leaves_all_of_it_or_nothing(
    name: str, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: Workers
) -> None:
    monkeypatch.setenv("OMNIGRAPH_TURN_SECONDS", "0.05")
    writer = WRITERS[name]
    old = state_of(og.open(template, read_only=True))
    side = state_of(og.open(template, read_only=True), "side")
    finished = Path(shutil.copytree(template, tmp_path / "finished"))
    points = passed_points(writer, finished, monkeypatch)
    new = state_of(og.open(finished, read_only=True))
    assert new != old
    assert ("plan.after_put" in dict(points)) == writer.is_durable
    print(name, points)
    for point, nth in points:
        root = Path(shutil.copytree(template, tmp_path / f"{point}-{nth}"))
        reader, survivor = og.open(root, read_only=True), og.open(root, actor="survivor")
        reader.snapshot()
        worker = workers.take()
        worker.tell(writer.task, str(root), *writer.given, failpoints=f"{point}=kill@{nth}")
        worker.die()
        at_once, recovered, count = expected_of(writer, point)
        # (1) Whoever only reads sees one whole state, and reading settles nothing.
        plans = plan_paths(str(root))
        assert len(plans) == count, point
        for handle in (reader, og.open(root, read_only=True)):
            assert state_of(handle) == (new if at_once else old), point
        assert plan_paths(str(root)) == plans
        copy = Path(shutil.copytree(root, root.with_name(f"{root.name}-opened")))
        og.open(copy)
        _assert_settled(copy, new if recovered else old, side, count, BASE_VERSION + recovered, point)
        _assert_goes_on(writer, copy, recovered, new, point)
        # A handle that was open all the while settles with its next write, of whatever kind.
        survivor.mutate('query q() { insert Company { name: "other" } }')
        graph = og.open(root, read_only=True)
        assert plan_paths(str(root)) == []
        assert notes(graph) == ["RolledForward"] * count
        healed = state_of(graph)
        assert healed[1]["Company"].pop("other") == {"name": "other"}
        assert healed == (new if recovered else old), point
        shutil.rmtree(root)
        shutil.rmtree(copy)


def _assert_settled(root: Path, expected: State, side: State, count: int, commits: int, point: str) -> None:
    """(2, 3, 4, 6) One chain, the right notes, no plan, the other branch as it was; a second open is idle."""
    graph = og.open(root, read_only=True)
    assert plan_paths(str(root)) == []
    assert notes(graph) == ["RolledForward"] * count, point
    chain = graph.commits.list()
    assert [commit.version for commit in chain] == list(range(len(chain), 0, -1))
    assert len([commit for commit in chain if not commit.maintenance]) == commits, point
    assert state_of(graph) == expected, point
    assert state_of(graph, "side") == side
    head = graph.snapshot().commit_id
    assert og.open(root).snapshot().commit_id == head
    assert og.open(root).snapshot().commit_id == head


def _assert_goes_on(writer: Writer, root: Path, recovered: bool, new: State, point: str) -> None:
    """(5, 8) The same call again ends where it should; then another one of the same kind succeeds."""
    if not recovered:
        writer.run(root, writer.given)
        assert state_of(og.open(root)) == new, point
    ends: dict[str, Callable[[], None]] = {
        "same": lambda: _assert_same(writer, root, new),
        "none": lambda: _assert_none(writer, root),
        "more": lambda: _assert_more(writer, root, new),
    }
    if writer.again in ends:
        ends[writer.again]()
    else:
        with pytest.raises(og.OmniError) as raised:
            writer.run(root, writer.given)
        assert raised.value.code == writer.again
    before = og.open(root).snapshot().commit_id
    assert writer.run(root, writer.following).commit_id == og.open(root).snapshot().commit_id != before
    state_of(og.open(root))
    assert plan_paths(str(root)) == []


def _assert_same(writer: Writer, root: Path, new: State) -> None:
    writer.run(root, writer.given)
    assert state_of(og.open(root)) == new


def _assert_none(writer: Writer, root: Path) -> None:
    assert writer.run(root, writer.given).commit_id is None


def _assert_more(writer: Writer, root: Path, new: State) -> None:
    """The nodes are the same; edges without ids of their own are new ones."""
    writer.run(root, writer.given)
    found = state_of(og.open(root))
    assert found[:2] == new[:2]
    assert sum(found[2]["Knows"].values()) == sum(new[2]["Knows"].values()) + 1
