"""The crash matrix, sections 4.1 to 4.4: mutations, loads and schema changes as users call them.

Every test is a cell: its id says the section, the crash point (C0 to C7), the writer and the failpoint. A
writer is killed with SIGKILL at each failpoint that it passes, the first and the last time. The numbers in
comments are the assertions of section 5. Writers that meet other writers instead of a crash are in
`test_races.py`; recovery under faults is in `test_recovery_faults.py`.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
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


RECLAIMING = (
    "cleanup.after_survey",
    "cleanup.after_proposals",
    "cleanup.after_floors",
    "cleanup.after_list",
    "cleanup.after_fences",
    "cleanup.before_delete",
    "cleanup.after_table",
    "cleanup.before_records",
    "cleanup.after_records",
)


@dataclass(frozen=True)
class Writer:
    """A public writer: what it is told, and what it is told when it goes on after a crash."""

    section: str
    task: str
    given: tuple[Any, ...]
    following: tuple[Any, ...]
    again: str = "same"
    """What the same call gives once it has landed: `same` state, `none` (no commit), `more`, or a code."""
    pins: int = 0
    """How many table versions it stages."""
    tables: int = 5
    """How many tables it goes through."""
    reclaims: bool = False
    """Whether it removes old versions once it has landed: a crash on the way there leaves a soft drop."""

    @property
    def is_durable(self) -> bool:
        """Whether it makes its plan durable."""
        return self.task != "mutate"

    def run(self, root: Path, given: tuple[Any, ...]) -> Any:
        """Run it in this process."""
        return getattr(graph_tasks, self.task)(str(root), *given)

    def points(self) -> Iterator[tuple[str, str, int]]:
        """Yield the crash points that it passes: the matrix's name, the failpoint, and which time."""
        yield "C0", "recovery.after_list", 1  # when it opens the graph
        yield "C0", "recovery.after_list", 2
        yield "C1", "write.after_stage", 1
        for point, count in (
            ("table.before_pin", self.pins),
            ("table.after_pin", self.pins),
            ("write.after_table_commit", self.tables),
        ):
            for nth in sorted({1, count}) if count else ():
                yield "C4" if nth == count and point != "table.before_pin" else "C3", point, nth
        yield "C4", "write.after_all_tables", 1
        if self.is_durable:
            yield "C4", "plan.before_put", 1
            yield "C5", "plan.after_put", 1
        yield "C5" if self.is_durable else "C4", "publish.before_record", 1
        yield "C6", "publish.after_record", 1
        yield "C7", "publish.before_hint", 1
        if self.is_durable:
            yield "C7", "plan.before_delete", 1
        if self.reclaims:
            yield from (("hard", point, 1) for point in RECLAIMING)
            # The fences on main and on `side` are commits too; on a local disk each leaves a hint.
            publishing = ("publish.before_record", "publish.after_record", "publish.before_hint")
            yield from (("hard", point, nth) for point in publishing for nth in (2, 3))


def _query(text: str) -> tuple[str]:
    return (f"query q() {{ {text} }}",)


def _people(mode: str, *names: str) -> tuple[list[Any], str]:
    people = [{"type": "Person", "data": {"name": name, "room": 7}} for name in names]
    return [*people, {"edge": "Knows", "from": names[0], "to": names[1]}], mode


WRITERS = {
    "insert": Writer(
        "4.1", "mutate",
        _query('insert Person { name: "x" } insert Person { name: "p1" } insert Knows { from: "x" to: "x" }'),
        _query('insert Person { name: "y" }'),
        "more", pins=2, tables=2,
    ),
    "update": Writer(
        "4.1", "mutate",
        _query('update Person set { room: 9 } where room < 4'),
        _query('update Person set { room: 5 } where name = "p7"'),
        pins=1, tables=1,
    ),
    "delete": Writer(
        "4.2", "mutate",
        _query('delete Person where name = "p2" delete Company where name = "c3"'),
        _query('delete Person where name = "p9"'),
        "none", pins=4, tables=4,
    ),
    "append": Writer(
        "4.1", "load", _people("append", "x", "y"), _people("append", "v", "w"), "key_conflict",
        pins=2, tables=2,
    ),
    "merge": Writer(
        "4.1", "load", _people("merge", "p1", "y", "p2"), _people("merge", "p1", "w"), "more",
        pins=2, tables=2,
    ),
    "overwrite": Writer(
        "4.3", "load",
        ([{"type": "Company", "data": {"name": f"c{at}"}} for at in range(1, 15)]
         + [{"type": "Lone", "data": {"name": "new"}}], "overwrite"),
        ([{"type": "Lone", "data": {"name": "next"}}], "overwrite"),
        pins=2, tables=2,
    ),
    "overwrite-empty": Writer(
        "4.3", "load_columns", ({"name": []}, "overwrite", "Lone"), ({"name": ["next"]}, "overwrite", "Lone"),
        pins=1, tables=1,
    ),
    "schema-metadata": Writer(
        "4.4", "apply_schema", (SCHEMA.replace("enum(sad, glad)", "enum(sad, glad, calm)"),),
        (SCHEMA.replace("enum(sad, glad)", "enum(sad, glad, calm, odd)"),), "none",
    ),
    "schema-add-type": Writer(
        "4.4", "apply_schema", (SCHEMA + "node City { name: String @key }\nedge LivesIn: Person -> City\n",),
        (SCHEMA + "node City { name: String @key }\nedge LivesIn: Person -> City\nnode Land { n: I32 }\n",),
        "none", pins=2,
    ),
    "schema-add-both": Writer(
        "4.4", "apply_schema",
        (SCHEMA.replace("room: I32?", "room: I32?  note: String?") + "node City { name: String @key }\n",),
        (SCHEMA.replace("room: I32?", "room: I32?  note: String?  more: F64?")
         + "node City { name: String @key }\n",),
        "none", pins=2,
    ),
    "schema-rewrite": Writer(
        "4.4", "apply_schema",
        (SCHEMA.replace("mail: String? @unique", 'tag: String @default("t")')
         .replace("room: I32?", 'place: I64? @rename_from("room")').replace("since: Date?", ""),),
        (SCHEMA.replace("mail: String? @unique", 'tag: String @default("t")  more: F64?')
         .replace("room: I32?", "place: I64?").replace("since: Date?", ""),),
        "none", pins=5,
    ),
    "schema-drop-type": Writer(
        "4.4", "apply_schema", (SCHEMA.replace("node Lone { name: String @key }\n", ""),),
        (SCHEMA.replace("node Lone { name: String @key }\n", "").replace("{ since: Date? }", ""),), "none",
    ),
    "schema-hard-drop": Writer(
        "4.4", "apply_schema",
        (SCHEMA.replace("node Lone { name: String @key }\n", "").replace("room: I32?", ""), True),
        (SCHEMA.replace("node Lone { name: String @key }\n", ""), True), "none", pins=1, reclaims=True,
    ),
}  # fmt: skip


CELLS = [
    pytest.param(name, point, nth, id=f"{writer.section}-{cell}-{name}-{point}@{nth}")
    for name, writer in WRITERS.items()
    for cell, point, nth in writer.points()
]


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


@pytest.fixture(scope="module")
def start(template: Path) -> tuple[State, State]:
    """What both branches say before a writer comes."""
    graph = og.open(template, read_only=True)
    return state_of(graph), state_of(graph, "side")


@pytest.fixture(scope="module")
def ends(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], State]:
    """What a graph says once a writer has finished."""

    @cache
    def end(name: str) -> State:
        root = Path(shutil.copytree(template, tmp_path_factory.mktemp("finished") / name))
        WRITERS[name].run(root, WRITERS[name].given)
        return state_of(og.open(root, read_only=True))

    return end


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for the turn of a writer that is dead."""
    monkeypatch.setenv("OMNIGRAPH_TURN_SECONDS", "0.05")


@pytest.mark.parametrize("name", WRITERS)
def test_the_cells_are_all_the_failpoints_that_a_writer_passes(
    name: str, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, hits = WRITERS[name], Counter[str]()
    root = Path(shutil.copytree(template, tmp_path / "graph"))
    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "_armed", {"all": None})
        patched.setattr(failpoints, "_act", lambda point: hits.update([point.value]))
        writer.run(root, writer.given)
    expected = {
        point: max(nth for _, at, nth in writer.points() if at == point) for _, point, _ in writer.points()
    }
    if writer.reclaims:  # how many files and plans a cleanup looks at is its own matter
        hits.update({"cleanup.before_delete": 1 - hits["cleanup.before_delete"]})
        hits.update({"cleanup.after_table": 1 - hits["cleanup.after_table"]})
        hits.update({"recovery.after_list": 2 - hits["recovery.after_list"]})
    assert dict(hits) == expected


def expected_of(writer: Writer, point: str, nth: int) -> tuple[bool, bool, int]:
    """Return whether the change is visible at once, whether after recovery, and how many notes it gets."""
    if point in RECLAIMING or (point.startswith("publish.") and nth > 1):
        return True, True, 0
    landed = point in ("publish.after_record", "publish.before_hint", "plan.before_delete")
    planned = writer.is_durable and (landed or point in ("plan.after_put", "publish.before_record"))
    return landed, landed or planned, 1 if planned else 0


@pytest.mark.long
@pytest.mark.parametrize(("name", "point", "nth"), CELLS)
def test_a_writer_killed_anywhere_leaves_all_of_it_or_nothing(
    name: str,
    point: str,
    nth: int,
    template: Path,
    start: tuple[State, State],
    ends: Callable[[str], State],
    tmp_path: Path,
    workers: Workers,
) -> None:
    writer, new = WRITERS[name], ends(name)
    old, side = start
    assert new != old
    root = Path(shutil.copytree(template, tmp_path / "killed"))
    reader, survivor = og.open(root, read_only=True), og.open(root, actor="survivor")
    reader.snapshot()
    worker = workers.take()
    worker.tell(writer.task, str(root), *writer.given, failpoints=f"{point}=kill@{nth}")
    worker.die()
    at_once, recovered, count = expected_of(writer, point, nth)
    # (1) Whoever only reads sees one whole state, and reading settles nothing.
    plans = plan_paths(str(root))
    assert len(plans) == count
    for handle in (reader, og.open(root, read_only=True)):
        assert state_of(handle) == (new if at_once else old)
    assert plan_paths(str(root)) == plans
    copy = Path(shutil.copytree(root, tmp_path / "opened"))
    og.open(copy)
    _assert_settled(copy, new if recovered else old, side, count, BASE_VERSION + recovered)
    _assert_goes_on(writer, copy, recovered, new)
    # A handle that was open all the while settles with its next write, of whatever kind.
    survivor.mutate('query q() { insert Company { name: "other" } }')
    graph = og.open(root, read_only=True)
    assert plan_paths(str(root)) == []
    assert notes(graph) == ["RolledForward"] * count
    healed = state_of(graph)
    assert healed[1]["Company"].pop("other") == {"name": "other"}
    assert healed == (new if recovered else old)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mutate", "append", "merge", "overwrite", "schema", "fork"])
def test_a_plan_is_settled_by_the_next_write_of_any_kind(
    kind: str, template: Path, ends: Callable[[str], State], tmp_path: Path, workers: Workers
) -> None:
    """4.1-C4, 4.1-C5: without opening the graph again; the write itself then stands on what was settled."""
    root = Path(shutil.copytree(template, tmp_path / "graph"))
    graph = og.open(root, actor="survivor")
    worker = workers.take()
    worker.tell("load", str(root), *WRITERS["append"].given, failpoints="plan.after_put=kill")
    worker.die()
    lone = [{"type": "Lone", "data": {"name": "other"}}]
    match kind:
        case "mutate":
            graph.mutate('query q() { insert Lone { name: "other" } }')
        case "schema":
            graph.schema.apply(SCHEMA.replace("enum(sad, glad)", "enum(sad, glad, calm)"))
        case "fork":
            graph.load(lone, mode="append", branch="new", from_branch="main")
        case _:
            graph.load(lone, mode=kind)
    assert plan_paths(str(root)) == []
    found = state_of(graph, "new" if kind == "fork" else "main")
    assert found[1]["Person"] == ends("append")[1]["Person"]
    assert found[2] == ends("append")[2]
    chain = graph.commits.list()
    assert [commit.actor for commit in chain if not commit.maintenance].count("writer") == 1
    assert notes(graph) == ["RolledForward"]


REFUSED = {
    "4.1-C0-mixed": ("mutate", _query('insert Lone { name: "x" } delete Lone where name = "l1"')),
    "4.1-C0-endpoint": ("mutate", _query('insert Lone { name: "x" } insert Knows { from: "p1" to: "no" }')),
    "4.1-C0-cardinality": (
        "mutate", _query("".join(f'insert Knows {{ from: "p1" to: "p{at}" }} ' for at in range(1, 11))),
    ),
    "4.1-C0-unique": ("mutate", _query('insert Lone { name: "x" } insert Person { name: "x" mail: "m1" }')),
    "4.1-C0-type": ("mutate", _query('insert Person { name: "y" room: 5000000000 }')),
    "4.1-C0-enum": ("mutate", _query('insert Lone { name: "x" } insert Person { name: "y" mood: "none" }')),
    "4.1-C0-load-endpoint": ("load", ([{"edge": "Knows", "from": "p1", "to": "nobody"}], "append")),
    "4.1-C0-load-key": ("load", (_people("append", "x", "p1")[0], "append")),
    "4.1-C0-load-value": ("load", ([{"type": "Person", "data": {"name": "x", "room": "no"}}], "merge")),
    "4.3-C0-orphans": ("load", ([{"type": "Company", "data": {"name": "c1"}}], "overwrite")),
    "4.3-C0-twice": ("load", ([{"type": "Lone", "data": {"name": "x"}}] * 2, "overwrite")),
    "4.4-C0-unsupported": ("apply_schema", (SCHEMA.replace("room: I32?", "room: String?"),)),
    "4.4-C0-data": ("apply_schema", (SCHEMA.replace("room: I32?", "room: I32? @unique").replace(
        "@card(0..9)", "@card(0..0)"),)),
}  # fmt: skip


@pytest.mark.parametrize("cell", REFUSED)
def test_a_refused_write_leaves_no_version_and_no_plan_and_the_next_one_lands(
    cell: str, template: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(template, tmp_path / "graph"))
    task, given = REFUSED[cell]
    before = og.open(root).snapshot()
    pins = {info.key: info for info in before.tables}
    with pytest.raises(og.OmniError):
        getattr(graph_tasks, task)(str(root), *given)
    graph = og.open(root)
    assert graph.snapshot().commit_id == before.commit_id
    assert {info.key: info for info in graph.snapshot().tables} == pins
    assert plan_paths(str(root)) == []
    assert graph.mutate('query q() { insert Lone { name: "next" } }').commit_id == graph.snapshot().commit_id
    assert graph.snapshot().version == before.version + 1


def test_deletes_that_overlap_count_each_row_once_and_rows_with_null_are_not_hidden(
    template: Path, tmp_path: Path
) -> None:
    """4.2-C0: "prior IS NOT TRUE", never "NOT prior" (A15)."""
    root = Path(shutil.copytree(template, tmp_path / "graph"))
    graph = og.open(root)
    graph.mutate('query q() { insert Person { name: "none" } insert Knows { from: "p14" to: "none" } }')
    done = graph.mutate("""query q() {
        delete Person where room < 3
        delete Person where room < 4
        delete Person where name = "none"
        delete Person where name = "p1"
    }""")
    # p1, p2 and p3 with their jobs; p1 knows itself, p2 p1, p3 p2, p4 p3, and p14 knows none.
    assert (done.affected_nodes, done.affected_edges) == (4, 3 + 5)
    state_of(graph)


def test_tables_in_which_nothing_matches_get_no_version(template: Path, tmp_path: Path) -> None:
    """4.2-any: neither the edges of a node without any, nor a delete that matches nothing (A14)."""
    root = Path(shutil.copytree(template, tmp_path / "graph"))
    graph = og.open(root)
    graph.mutate('query q() { insert Person { name: "alone" } }')
    before = {info.key: info for info in graph.snapshot().tables}
    assert graph.mutate('query q() { delete Person where name = "nobody" }').commit_id is None
    graph.mutate('query q() { delete Person where name = "alone" }')
    after = {info.key: info for info in graph.snapshot().tables}
    assert {key for key in after if after[key] != before[key]} == {"node:Person"}


FORK_POINTS = {
    "recovery.after_list": False,
    "write.after_stage": False,
    "table.after_pin": False,
    "write.after_all_tables": False,
    "publish.before_record": False,
    "publish.after_record": False,
    "publish.before_hint": False,
    "branch.create.before_ref": False,
    "branch.create.after_ref": True,
}


@pytest.mark.long
@pytest.mark.parametrize("point", FORK_POINTS)
def test_a_killed_load_that_forks_a_branch_made_both_or_neither(
    point: str, template: Path, ends: Callable[[str], State], tmp_path: Path, workers: Workers
) -> None:
    """4.1 and A12: a write that is cut off changes no list of branches."""
    root = Path(shutil.copytree(template, tmp_path / "graph"))
    records, mode = WRITERS["append"].given
    worker = workers.take()
    worker.tell("load", str(root), records, mode, "new", "main", failpoints=f"{point}=kill")
    worker.die()
    for read_only in (True, False):
        graph = og.open(root, read_only=read_only)
        assert graph.branches.list() == ["main", *(["new"] if FORK_POINTS[point] else []), "side"]
        assert plan_paths(str(root)) == []
        assert notes(graph) == []
    if not FORK_POINTS[point]:
        graph.load(records, mode=mode, branch="new", from_branch="main")
    assert state_of(graph, "new") == ends("append")
    assert state_of(graph) == state_of(og.open(template, read_only=True))


def _assert_settled(root: Path, expected: State, side: State, count: int, commits: int) -> None:
    """(2, 3, 4, 6) One chain, the right notes, no plan, the other branch as it was; a second open is idle."""
    graph = og.open(root, read_only=True)
    assert plan_paths(str(root)) == []
    assert notes(graph) == ["RolledForward"] * count
    chain = graph.commits.list()
    assert [commit.version for commit in chain] == list(range(len(chain), 0, -1))
    logical = [commit for commit in chain if not commit.maintenance]
    assert len(logical) == commits
    assert [commit.actor for commit in logical].count("writer") == commits - BASE_VERSION
    assert state_of(graph) == expected
    assert state_of(graph, "side") == side
    head = graph.snapshot().commit_id
    assert og.open(root).snapshot().commit_id == head
    assert og.open(root).snapshot().commit_id == head


def _assert_goes_on(writer: Writer, root: Path, recovered: bool, new: State) -> None:
    """(5, 8) The same call again ends where it should; then another one of the same kind succeeds."""
    if not recovered:
        writer.run(root, writer.given)
        assert state_of(og.open(root)) == new
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
