"""The crash matrix: a writer killed with SIGKILL at every failpoint on its way, and what is true afterwards.

The numbers in comments are the assertions of section 5 of the crash matrix.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import AlreadyExists, FormatTooNew, NotAGraph, NotFound
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest import format as stored_format
from omnigraph.storage.objects import open_store
from support.graphs import (
    COMPANY,
    PERSON,
    SCHEMA,
    WORKS_AT,
    Contents,
    assert_sound,
    contents,
    notes,
    plan_paths,
    rows,
)
from support.row_changes import Append, RowChanges
from support.s3 import S3
from support.workers import Worker, Workers
from support.writes import TABLES, after, work

BASE_VERSION = 15
"""The next commit leaves a hint, so that this window can be hit too."""

OLD, NEW = "old", "new"


@dataclass(frozen=True)
class Cell:
    """A writer, the point at which it dies, and what must be visible then and after recovery."""

    kind: str
    durable: bool
    point: str
    at_once: str
    recovered: str
    notes: int = 0
    small_fragments: int = 16

    @property
    def name(self) -> str:
        """The cell as a test id."""
        return f"{'durable' if self.durable else 'plain'}-{self.kind}-{self.point}"


def _cells() -> list[Cell]:
    cells = []
    for kind in ("append", "upsert", "delete", "many"):
        cells += [Cell(kind, False, point, OLD, OLD) for point in _before_publish(kind)]
        cells.append(Cell(kind, False, "publish.before_record", OLD, OLD))
        cells += [
            Cell(kind, False, f"publish.{point}", NEW, NEW) for point in ("after_record", "before_hint")
        ]
    for kind in ("append", "upsert", "delete", "overwrite", "many", "compact"):
        cells += [Cell(kind, True, point, OLD, OLD) for point in _before_publish(kind)]
        cells.append(Cell(kind, True, "plan.before_put", OLD, OLD))
        cells += [
            Cell(kind, True, point, OLD, NEW, 1) for point in ("plan.after_put", "publish.before_record")
        ]
        landed = ("publish.after_record", "publish.before_hint", "plan.before_delete")
        cells += [Cell(kind, True, point, NEW, NEW, 1) for point in landed]
    # A write that joins small fragments on its way.
    cells.append(Cell("append", False, "maintenance.after_compact", OLD, OLD, small_fragments=2))
    cells.append(Cell("append", True, "maintenance.after_compact", OLD, OLD, small_fragments=2))
    return cells


def _before_publish(kind: str) -> list[str]:
    if kind == "compact":
        return [
            "write.after_stage",
            "table.before_pin",
            "maintenance.after_compact@2",
            "write.after_all_tables",
        ]
    points = ["write.after_stage", "table.before_pin", "table.after_pin", "write.after_table_commit"]
    if len(TABLES[kind]) > 1:
        points += ["table.before_pin@2", "write.after_table_commit@2"]
    return [*points, "write.after_all_tables"]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of three tables with a few fragments each, at `BASE_VERSION`, and a branch `side`."""
    root = tmp_path_factory.mktemp("template") / "graph"
    graph = og.init(root, SCHEMA)
    _fill(graph)
    graph.branches.create("side")
    graph.commit_work(work("append", "side"), branch="side")
    assert graph.snapshot().version == BASE_VERSION
    return root


def _fill(graph: Graph) -> None:
    """Write the tables by turns: every cell copies all files, and a few fragments of each will do."""
    turns = itertools.cycle([(PERSON, "p"), (COMPANY, "c"), (WORKS_AT, "w")])
    for number, (key, letter) in zip(range(BASE_VERSION - 1), turns, strict=False):
        first = number // 3 * 3 + 1
        ids = [f"{letter}{first + more}" for more in range(3)]
        graph.commit_work(RowChanges([Append(key, rows(key, ids, "base"))]))


@pytest.fixture
def root(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the template; nobody waits long for a parked writer's turn to end."""
    monkeypatch.setenv("OMNIGRAPH_TURN_SECONDS", "0.05")
    return Path(shutil.copytree(template, tmp_path / "graph"))


@dataclass
class Crash:
    """A graph in which a writer was killed, and the handles that were open at that moment."""

    root: Path
    reader: Graph
    writer: Graph
    before: Contents
    side: Contents

    @property
    def uri(self) -> str:
        """The graph's address."""
        return str(self.root)

    def copy(self, name: str) -> Crash:
        """Return the same crash in a folder of its own, with handles opened there for reading only."""
        root = Path(shutil.copytree(self.root, self.root.with_name(name)))
        return Crash(root, og.open(root, read_only=True), self.writer, self.before, self.side)

    def pending(self) -> dict[str, object] | None:
        """Return the plan that is left, if one is."""
        found = plan_paths(self.uri)
        assert len(found) <= 1
        return json.loads(open_store(self.uri).get(found[0]))["plan"] if found else None


def crash(root: Path, die: Callable[[], None]) -> Crash:
    """Open handles, then let a writer die."""
    reader, writer = og.open(root, read_only=True), og.open(root, actor="survivor")
    before, side = contents(reader.snapshot()), contents(reader.snapshot("side"))
    die()
    return Crash(root, reader, writer, before, side)


def assert_visible(crashed: Crash, expected: Contents) -> None:
    """(1) Whoever only reads sees one whole state; reading changes nothing."""
    plans = plan_paths(crashed.uri)
    assert contents(crashed.reader.snapshot()) == expected
    assert contents(og.open(crashed.root, read_only=True).snapshot()) == expected
    assert plan_paths(crashed.uri) == plans


def assert_settled(crashed: Crash, expected: Contents, kinds: list[str]) -> None:
    """(2, 3, 4) No plan is left, the notes are right, the graph is sound, the other branch untouched."""
    assert plan_paths(crashed.uri) == []
    said = assert_sound(crashed.uri)
    assert said["main"] == expected
    assert said["side"] == crashed.side
    graph = og.open(crashed.root, read_only=True)
    assert notes(graph) == kinds
    assert graph.snapshot("side").version == BASE_VERSION + 1


def assert_reopening_changes_nothing(crashed: Crash) -> None:
    """(6) A second open writes no commit and no note."""
    head = og.open(crashed.root, read_only=True).snapshot().commit_id
    assert og.open(crashed.root).snapshot().commit_id == head
    assert og.open(crashed.root).snapshot().commit_id == head


@pytest.mark.parametrize("cell", _cells(), ids=lambda cell: cell.name)
def test_a_killed_writer_leaves_the_whole_old_or_the_whole_new_graph(
    cell: Cell, root: Path, worker: Worker
) -> None:
    def die() -> None:
        worker.tell(
            "write", str(root), cell.kind, "crashed", cell.durable, "main", "loader",
            failpoints=f"{cell.point.partition('@')[0]}=kill@{cell.point.partition('@')[2] or 1}",
            env={"OMNIGRAPH_SMALL_FRAGMENTS": str(cell.small_fragments)},
        )  # fmt: skip
        worker.die()

    crashed = crash(root, die)
    states = {OLD: crashed.before, NEW: after(cell.kind, "crashed", crashed.before)}
    assert_visible(crashed, states[cell.at_once])
    plan = crashed.pending()
    assert (plan is not None) == (cell.notes == 1)
    for name, settle in (("opened", _by_opening), ("healed", _by_writing)):
        copy = crashed.copy(name) if settle is _by_opening else crashed
        expected = settle(copy, states[cell.recovered])
        assert_settled(copy, expected, ["RolledForward"] * cell.notes)
        assert_reopening_changes_nothing(copy)
        if plan is not None:
            _assert_kept_its_name(copy, plan)
        _assert_next_write_of_the_same_kind_succeeds(copy, cell, expected)
        assert_settled(copy, after(cell.kind, "next", expected), ["RolledForward"] * cell.notes)
    _assert_retry_converges(crashed, cell)


def _by_opening(crashed: Crash, expected: Contents) -> Contents:
    og.open(crashed.root)
    return expected


def _by_writing(crashed: Crash, expected: Contents) -> Contents:
    crashed.writer.commit_work(work("many", "other"))
    return after("many", "other", expected)


def _assert_kept_its_name(crashed: Crash, plan: dict[str, object]) -> None:
    """A plan that is rolled forward keeps its commit id and its actor, and is one commit."""
    commit = og.open(crashed.root, read_only=True).commits.show(str(plan["commit"]))
    assert commit.actor == "loader"
    assert commit.version == BASE_VERSION + 1


def _assert_next_write_of_the_same_kind_succeeds(crashed: Crash, cell: Cell, expected: Contents) -> None:
    """(5) On a fresh handle."""
    graph = og.open(crashed.root)
    graph.commit_work(work(cell.kind, "next"), durable=cell.durable)
    assert contents(graph.snapshot()) == after(cell.kind, "next", expected)


def _assert_retry_converges(crashed: Crash, cell: Cell) -> None:
    """(8) The same call again, after recovery, ends in the state that the call asked for."""
    graph = og.open(crashed.root)
    before = contents(graph.snapshot())
    if cell.kind in ("append", "many") and cell.recovered == NEW:
        return  # plain rows know no keys: a second append is a second set of rows
    graph.commit_work(work(cell.kind, "crashed"), durable=cell.durable)
    once = contents(graph.snapshot())
    assert once == after(cell.kind, "crashed", before)
    if cell.kind in ("delete", "compact"):
        assert graph.commit_work(work(cell.kind, "crashed"), durable=cell.durable) is None


DURABLE = ("append", "upsert", "delete", "overwrite", "many", "compact")


def park_and_kill(
    root: Path, worker: Worker, kind: str, meanwhile: Callable[[], None], branch: str = "main"
) -> None:
    """Let a durable write wait with its plan on disk, do something, then kill it."""
    worker.tell("write", str(root), kind, "crashed", True, branch, "loader", failpoints="plan.after_put=park")
    worker.wait_parked("plan.after_put")
    meanwhile()
    worker.kill()


@pytest.mark.parametrize("kind", DURABLE)
@pytest.mark.parametrize("settle", [_by_opening, _by_writing], ids=["opened", "healed"])
def test_a_plan_whose_tables_changed_meanwhile_is_discarded_with_one_note_and_the_winner_stays(
    kind: str, settle: Callable[[Crash, Contents], Contents], root: Path, worker: Worker
) -> None:
    winner = "append" if PERSON in TABLES[kind] else "overwrite"
    crashed = crash(
        root,
        lambda: park_and_kill(root, worker, kind, lambda: _write(root, winner, "winner")),
    )
    expected = after(winner, "winner", crashed.before)
    assert_visible(crashed, expected)
    assert crashed.pending() is not None
    expected = settle(crashed, expected)
    assert_settled(crashed, expected, ["RolledBack"])
    assert_reopening_changes_nothing(crashed)
    og.open(root).commit_work(work(kind, "next"), durable=True)
    assert_settled(crashed, after(kind, "next", expected), ["RolledBack"])


@pytest.mark.parametrize("settle", [_by_opening, _by_writing], ids=["opened", "healed"])
def test_a_plan_is_rolled_forward_over_commits_that_touched_other_tables(
    settle: Callable[[Crash, Contents], Contents], root: Path, worker: Worker
) -> None:
    crashed = crash(
        root, lambda: park_and_kill(root, worker, "append", lambda: _write(root, "overwrite", "winner"))
    )
    both = after("append", "crashed", after("overwrite", "winner", crashed.before))
    assert_visible(crashed, after("overwrite", "winner", crashed.before))
    assert_settled(crashed, settle(crashed, both), ["RolledForward"])
    assert_reopening_changes_nothing(crashed)


@pytest.mark.parametrize("kind", ["append", "upsert", "delete", "overwrite", "many"])
def test_a_plan_is_rolled_forward_over_maintenance_of_its_own_tables(
    kind: str, root: Path, worker: Worker
) -> None:
    crashed = crash(root, lambda: park_and_kill(root, worker, kind, lambda: _write(root, "compact", "")))
    assert_visible(crashed, crashed.before)
    og.open(root)
    expected = after(kind, "crashed", crashed.before)
    assert_settled(crashed, expected, ["RolledForward"])
    assert_reopening_changes_nothing(crashed)
    og.open(root).commit_work(work(kind, "next"), durable=True)
    assert_settled(crashed, after(kind, "next", expected), ["RolledForward"])


def _write(root: Path, kind: str, tag: str) -> None:
    assert og.open(root).commit_work(work(kind, tag)) is not None


def _delete_topic(root: Path) -> None:
    og.open(root).branches.delete("topic")


def _recreate_topic(root: Path) -> None:
    _delete_topic(root)
    og.open(root).branches.create("topic")
    _write_on(root, "topic", "overwrite", "reborn")


def _write_on(root: Path, branch: str, kind: str, tag: str) -> None:
    assert og.open(root, branch=branch).commit_work(work(kind, tag)) is not None


@pytest.mark.parametrize("meanwhile", [_delete_topic, _recreate_topic], ids=["deleted", "recreated"])
@pytest.mark.parametrize("settle", [_by_opening, _by_writing], ids=["opened", "healed"])
def test_a_plan_of_a_deleted_branch_is_discarded_with_one_note_on_main(
    meanwhile: Callable[[Path], None],
    settle: Callable[[Crash, Contents], Contents],
    root: Path,
    worker: Worker,
) -> None:
    og.open(root).branches.create("topic")
    _write_on(root, "topic", "upsert", "topic")
    crashed = crash(
        root, lambda: park_and_kill(root, worker, "append", lambda: meanwhile(root), branch="topic")
    )
    expected = settle(crashed, crashed.before)
    assert_settled(crashed, expected, ["OrphanedBranchDiscarded"])
    assert_reopening_changes_nothing(crashed)
    graph = og.open(root)
    note = next(commit for commit in graph.commits.list() if commit.recovery)
    assert (note.branch, note.actor) == ("main", "omnigraph:recovery")
    if meanwhile is _recreate_topic:
        assert contents(graph.snapshot("topic")) == after("overwrite", "reborn", crashed.before)
    else:
        assert graph.branches.list() == ["main", "side"]


RECOVERY_POINTS = (
    "recovery.after_list",
    "recovery.before_publish",
    "publish.before_record",
    "publish.after_record",
    "recovery.after_publish",
    "recovery.before_delete",
    "plan.before_delete",
)


@pytest.mark.parametrize("point", RECOVERY_POINTS)
@pytest.mark.parametrize("settle", [_by_opening, _by_writing], ids=["opened", "healed"])
def test_recovery_killed_while_rolling_forward_is_finished_by_the_next_one(
    point: str, settle: Callable[[Crash, Contents], Contents], root: Path, workers: Workers
) -> None:
    def die() -> None:
        _leave_plan(root, workers.take(), "plan.after_put")
        _die_in_recovery(root, workers.take(), point)

    crashed = crash(root, die)
    new = after("many", "crashed", crashed.before)
    published = RECOVERY_POINTS.index(point) >= RECOVERY_POINTS.index("publish.after_record")
    assert_visible(crashed, new if published else crashed.before)
    plan = crashed.pending()
    assert plan is not None
    assert_settled(crashed, settle(crashed, new), ["RolledForward"])
    _assert_kept_its_name(crashed, plan)
    assert_reopening_changes_nothing(crashed)


NOTE_POINTS = tuple(point for point in RECOVERY_POINTS if point != "recovery.before_publish")


@pytest.mark.parametrize("point", [p for p in NOTE_POINTS if p != "recovery.after_publish"])
def test_recovery_killed_while_noting_a_plan_that_had_landed_leaves_one_note(
    point: str, root: Path, workers: Workers
) -> None:
    def die() -> None:
        _leave_plan(root, workers.take(), "publish.after_record")
        _die_in_recovery(root, workers.take(), point)

    crashed = crash(root, die)
    new = after("many", "crashed", crashed.before)
    assert_visible(crashed, new)
    assert_settled(crashed, _by_opening(crashed, new), ["RolledForward"])
    assert_reopening_changes_nothing(crashed)


@pytest.mark.parametrize("point", NOTE_POINTS)
def test_recovery_killed_while_discarding_a_superseded_plan_leaves_one_note(
    point: str, root: Path, workers: Workers
) -> None:
    def die() -> None:
        park_and_kill(root, workers.take(), "many", lambda: _write(root, "append", "winner"))
        _die_in_recovery(root, workers.take(), point)

    crashed = crash(root, die)
    expected = after("append", "winner", crashed.before)
    assert_visible(crashed, expected)
    assert_settled(crashed, _by_writing(crashed, expected), ["RolledBack"])
    assert_reopening_changes_nothing(crashed)


@pytest.mark.parametrize("point", [p for p in NOTE_POINTS if p != "recovery.after_publish"])
def test_recovery_killed_while_discarding_an_orphaned_plan_leaves_one_note(
    point: str, root: Path, workers: Workers
) -> None:
    og.open(root).branches.create("topic")

    def die() -> None:
        park_and_kill(root, workers.take(), "many", lambda: _delete_topic(root), branch="topic")
        _die_in_recovery(root, workers.take(), point)

    crashed = crash(root, die)
    assert_visible(crashed, crashed.before)
    assert_settled(crashed, _by_opening(crashed, crashed.before), ["OrphanedBranchDiscarded"])
    assert_reopening_changes_nothing(crashed)


def _leave_plan(root: Path, worker: Worker, point: str) -> None:
    worker.tell("write", str(root), "many", "crashed", True, "main", "loader", failpoints=f"{point}=kill@1")
    worker.die()


def _die_in_recovery(root: Path, worker: Worker, point: str) -> None:
    worker.tell("open_for_writing", str(root), failpoints=f"{point}=kill@1")
    worker.die()


@pytest.mark.parametrize("over", ["a new name", "a freed name"])
@pytest.mark.parametrize("point", ["branch.create.before_ref", "branch.create.after_ref"])
def test_a_killed_branch_create_made_the_whole_branch_or_none(
    point: str, over: str, root: Path, worker: Worker
) -> None:
    if over == "a freed name":
        og.open(root).branches.create("topic")
        _write_on(root, "topic", "append", "old")
        _delete_topic(root)

    def die() -> None:
        worker.tell("create_branch", str(root), "topic", failpoints=f"{point}=kill@1")
        worker.die()

    crashed = crash(root, die)
    assert_visible(crashed, crashed.before)
    graph = og.open(root)
    if point.endswith("before_ref"):
        assert graph.branches.list() == ["main", "side"]
        with pytest.raises(NotFound):
            graph.snapshot("topic")
        graph.branches.create("topic")
    else:
        with pytest.raises(AlreadyExists):
            graph.branches.create("topic")
    assert graph.branches.list() == ["main", "side", "topic"]
    assert contents(graph.snapshot("topic")) == crashed.before
    assert graph.snapshot("topic").version == BASE_VERSION
    _write_on(root, "topic", "append", "next")
    assert_settled(crashed, crashed.before, [])
    assert graph.snapshot().version == BASE_VERSION


@pytest.mark.parametrize(
    "point",
    [
        "branch.delete.before_close",
        "publish.before_record",
        "publish.after_record",
        "branch.delete.after_close",
        "branch.delete.after_ref",
    ],
)
def test_a_killed_branch_delete_leaves_a_live_branch_or_none(point: str, root: Path, worker: Worker) -> None:
    og.open(root).branches.create("topic")
    _write_on(root, "topic", "append", "topic")
    on_topic = og.open(root, branch="topic", read_only=True)

    def die() -> None:
        worker.tell("delete_branch", str(root), "topic", failpoints=f"{point}=kill@1")
        worker.die()

    crashed = crash(root, die)
    assert_visible(crashed, crashed.before)
    graph = og.open(root)
    if point in ("branch.delete.before_close", "publish.before_record"):
        assert graph.branches.list() == ["main", "side", "topic"]
        assert contents(on_topic.snapshot()) == after("append", "topic", crashed.before)
        _write_on(root, "topic", "append", "more")
        assert contents(on_topic.snapshot()) == after(
            "append", "more", after("append", "topic", crashed.before)
        )
        graph.branches.delete("topic")
    with pytest.raises(NotFound):
        on_topic.snapshot()
    with pytest.raises(NotFound):
        og.open(root, branch="topic")
    with pytest.raises(NotFound):
        graph.branches.delete("topic")
    assert graph.branches.list() == ["main", "side"]
    graph.branches.create("topic")
    assert contents(graph.snapshot("topic")) == crashed.before
    _write_on(root, "topic", "append", "next")
    assert_settled(crashed, crashed.before, [])


@pytest.mark.parametrize(
    "point",
    [
        "init.after_schema",
        "table.before_pin@2",
        "table.after_pin@2",
        "init.after_tables",
        "publish.before_record",
        "publish.after_record",
        "init.after_genesis",
        "init.after_stamp",
    ],
)
def test_a_killed_init_made_a_whole_graph_or_none_and_can_be_run_again(
    point: str, tmp_path: Path, worker: Worker
) -> None:
    uri = str(tmp_path / "graph")
    name, _, nth = point.partition("@")
    worker.tell("init", uri, failpoints=f"{name}=kill@{nth or 1}")
    worker.die()
    if point == "init.after_stamp":
        with pytest.raises(AlreadyExists):
            og.init(uri, SCHEMA)
    else:
        for read_only in (True, False):
            with pytest.raises(NotAGraph):
                og.open(uri, read_only=read_only)
        og.init(uri, SCHEMA)
    graph = og.open(uri)
    assert [commit.operation for commit in graph.commits.list()] == ["init"]
    graph.commit_work(work("many", "first"))
    assert assert_sound(uri)["main"] == after("many", "first", {PERSON: {}, COMPANY: {}, WORKS_AT: {}})


def test_a_killed_migration_left_its_work_and_no_stamp_and_the_graph_reads_as_before(
    root: Path, worker: Worker
) -> None:
    stamp = root / "__manifest" / "graph.json"
    unstamped = stamp.read_bytes()

    def die() -> None:
        worker.tell("migrate", str(root), failpoints="migrate.before_stamp=kill@1")
        worker.die()

    crashed = crash(root, die)
    assert stamp.read_bytes() == unstamped
    assert (root / "__manifest" / "migrated.json").read_bytes() == b"once"
    assert_visible(crashed, crashed.before)


def test_after_a_killed_migration_any_number_of_runners_converge_on_one_stamp(
    root: Path, workers: Workers
) -> None:
    killed = workers.take()
    killed.tell("migrate", str(root), failpoints="migrate.before_stamp=kill@1")
    killed.die()
    runners = [workers.take() for _ in range(3)]
    for runner in runners:
        runner.tell("migrate", str(root))
    assert [runner.answer() for runner in runners] == [stored_format.CURRENT + 1] * 3
    assert (
        json.loads((root / "__manifest" / "graph.json").read_bytes())["format"] == stored_format.CURRENT + 1
    )
    assert (root / "__manifest" / "migrated.json").read_bytes() == b"once"
    with pytest.raises(FormatTooNew, match="upgrade"):
        og.open(root, read_only=True)
    assert runners[0].ask("write", str(root), "append", "next", True)


@pytest.mark.s3
@pytest.mark.parametrize(
    ("point", "durable", "expected", "kinds"),
    [
        ("table.before_pin", True, OLD, []),
        ("table.after_pin", True, OLD, []),
        ("publish.before_record", False, OLD, []),
        ("publish.after_record", False, NEW, []),
        ("plan.after_put", True, NEW, ["RolledForward"]),
        ("publish.after_record", True, NEW, ["RolledForward"]),
    ],
)
def test_a_writer_killed_over_s3_leaves_the_whole_old_or_the_whole_new_graph(
    point: str, durable: bool, expected: str, kinds: list[str], s3: S3, worker: Worker
) -> None:
    uri = f"{s3.uri}/graph"
    graph = og.init(uri, SCHEMA, storage_options=s3.options)
    graph.commit_work(work("many", "base"))
    before = contents(graph.snapshot())
    worker.tell(
        "write", uri, "many", "crashed", durable, "main", "loader", s3.options, failpoints=f"{point}=kill@1"
    )
    worker.die()
    seen = contents(graph.snapshot())
    assert seen == (after("many", "crashed", before) if point == "publish.after_record" else before)
    graph.commit_work(work("many", "next"))
    settled = after("many", "crashed", before) if expected == NEW else before
    assert assert_sound(uri, s3.options)["main"] == after("many", "next", settled)
    assert notes(graph) == kinds
    assert plan_paths(uri, s3.options) == []
