"""Recovery under faults: plans that cannot be put, listed, read or deleted; live, dead and racing writers."""

from __future__ import annotations

import itertools
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import clock, failpoints
from omnigraph.base.errors import (
    BranchGone,
    Contention,
    ExpectedVersionMismatch,
    OmniError,
    Unavailable,
)
from omnigraph.base.failpoints import Failpoint, InjectedFault
from omnigraph.base.plain import from_plain, to_plain
from omnigraph.base.settings import Settings
from omnigraph.compiler.frontend import compile_schema
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.schemas import StoredSchema
from omnigraph.graph.opening import create_graph, open_graph
from omnigraph.graph.publish.plan import PublishPlan
from omnigraph.graph.publish.publisher import publish
from omnigraph.graph.recovery import owner
from omnigraph.graph.recovery.plans import quarantine_of
from omnigraph.storage.objects import ObjectStore, open_store
from support.compaction import Compaction
from support.faults import Fault, FaultyStore
from support.graphs import (
    COMPANY,
    PERSON,
    SCHEMA,
    WORKS_AT,
    Contents,
    assert_sound,
    contents,
    fingerprint,
    notes,
    plan_paths,
    rows,
)
from support.row_changes import Append, Overwrite, RowChanges
from support.stored_objects import rewrite
from support.workers import Workers
from support.writes import after, work

PLANS = "__recovery/*"
RECORDS = "__manifest/chains/*/*"
EMPTY: Contents = {PERSON: {}, COMPANY: {}, WORKS_AT: {}}
WRITES = ("append", "upsert", "delete", "overwrite", "many", "compact")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A graph with a few rows and fragments."""
    monkeypatch.setenv("OMNIGRAPH_TURN_SECONDS", "0.05")
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.commit_work(work("many", "base"))
    graph.commit_work(_people_and_edges())
    return tmp_path / "graph"


@pytest.fixture
def base(root: Path) -> Contents:
    """What the graph says at first."""
    return contents(og.open(root, read_only=True).snapshot())


def faulty(
    root: Path, *faults: Fault, read_only: bool = False, branch: str = "main"
) -> tuple[Graph, FaultyStore]:
    """Open a graph on a store that works until it is given faults."""
    store = FaultyStore(open_store(str(root)))
    graph = Graph(open_graph(store, Settings.from_environment(), read_only), branch, read_only, "tester")
    store.faults.extend(faults)
    return graph, store


def leave_plan(root: Path, tag: str = "crashed", kind: str = "append", branch: str = "main") -> str:
    """Leave the plan of a durable write behind, as a crash does, and return its path."""
    before = set(plan_paths(str(root)))
    graph = og.open(root, branch=branch, actor="loader")
    with failpoints.arm_temporarily("publish.before_record", "raise"), pytest.raises(InjectedFault):
        graph.commit_work(work(kind, tag), durable=True)
    (path,) = set(plan_paths(str(root))) - before
    return path


def edit_plan(root: Path, path: str, **changes: object) -> None:
    """Change fields of a plan file."""
    rewrite(root / path, lambda stored: stored.update(changes))


def plan_owner(root: Path, path: str) -> owner.Owner:
    """Return whom a plan file names as its writer."""
    return from_plain(owner.Owner, json.loads((root / path).read_text())["owner"])


# A24: a long-lived handle heals on its next write, of any kind.


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
@pytest.mark.parametrize("kind", WRITES)
def test_a_long_lived_handle_heals_on_its_next_write_of_any_kind(
    kind: str, durable: bool, root: Path, base: Contents
) -> None:
    long_lived = og.open(root)
    leave_plan(root, kind="many")
    long_lived.commit_work(work(kind, "next"), durable=durable)
    expected = after(kind, "next", after("many", "crashed", base))
    assert assert_sound(str(root))["main"] == expected
    assert plan_paths(str(root)) == []
    assert notes(long_lived) == ["RolledForward"]


def test_a_failed_durable_write_is_healed_by_the_next_write_of_the_same_handle(
    root: Path, base: Contents
) -> None:
    graph = og.open(root)
    with failpoints.arm_temporarily("publish.before_record", "raise"), pytest.raises(InjectedFault):
        graph.commit_work(work("append", "crashed"), durable=True)
    assert contents(graph.snapshot()) == base
    graph.commit_work(work("append", "next"))
    assert contents(graph.snapshot()) == after("append", "next", after("append", "crashed", base))
    assert notes(graph) == ["RolledForward"]


# A31–A34: orphans, lost races, several plans.


def test_several_abandoned_plans_are_settled_one_after_the_other_each_on_the_state_it_finds(
    root: Path, base: Contents, workers: Workers
) -> None:
    parked = [workers.take() for _ in range(4)]
    for number, (kind, process) in enumerate(
        zip(("append", "append", "overwrite", "many"), parked, strict=True)
    ):
        process.tell("write", str(root), kind, f"w{number}", True, failpoints="plan.after_put=park",
                     env={"OMNIGRAPH_TURN_SECONDS": "0.05"})  # fmt: skip
        process.wait_parked("plan.after_put")
    for process in parked:
        process.kill()
    assert len(plan_paths(str(root))) == 4
    graph = og.open(root)
    assert notes(graph) == ["RolledBack", "RolledBack", "RolledForward", "RolledForward"]
    expected = after("overwrite", "w2", after("append", "w0", base))
    assert assert_sound(str(root))["main"] == expected
    assert plan_paths(str(root)) == []


@pytest.mark.parametrize("runners", [2, 4])
def test_processes_that_race_to_settle_one_plan_make_one_commit_and_one_note(
    runners: int, root: Path, base: Contents, workers: Workers
) -> None:
    leave_plan(root)
    abandon(root)
    racing = [workers.take() for _ in range(runners)]
    for process in racing:
        process.tell("open_for_writing", str(root), failpoints="recovery.before_publish=park")
    for process in racing:
        process.wait_parked("recovery.before_publish")
    for process in racing:
        process.release("recovery.before_publish")
    for process in racing:
        process.answer()
    assert assert_sound(str(root))["main"] == after("append", "crashed", base)
    graph = og.open(root, read_only=True)
    assert notes(graph) == ["RolledForward"]
    assert graph.snapshot().version == 4
    assert plan_paths(str(root)) == []


def abandon(root: Path) -> None:
    """Make all plans look like those of a process that is dead."""
    for path in plan_paths(str(root)):
        dead = replace(plan_owner(root, path), pid=2**22 + 1, process="dead")
        edit_plan(root, path, owner=to_plain(dead))


def test_a_noted_rollback_is_never_rolled_forward_later(root: Path, base: Contents) -> None:
    path = leave_plan(root)
    saved = (root / path).read_text()
    (root / path).unlink()
    og.open(root).commit_work(work("append", "winner"))
    (root / path).write_text(saved)
    with failpoints.arm_temporarily("recovery.before_delete", "raise"), pytest.raises(InjectedFault):
        og.open(root)
    # The conditions that stood against the plan fall away: it names the current tables as what it expects.
    head = og.open(root, read_only=True).internals.read_state().head

    def expect_the_current_tables(stored: dict[str, Any]) -> None:
        stored["plan"]["reads"] = {
            identity: [entry.key, entry.pin.version, entry.pin.path, entry.changed_by]
            for identity, entry in head.tables.items()
            if identity in stored["plan"]["reads"]
        }

    rewrite(root / path, expect_the_current_tables)
    graph = og.open(root)
    assert notes(graph) == ["RolledBack"]
    assert contents(graph.snapshot()) == after("append", "winner", base)
    assert plan_paths(str(root)) == []


def test_an_orphaned_plan_gets_one_note_even_when_its_delete_fails(root: Path, base: Contents) -> None:
    graph = og.open(root)
    graph.branches.create("topic")
    leave_plan(root, branch="topic")
    graph.branches.delete("topic")
    broken, _ = faulty_without_opening(root, Fault("delete", PLANS))
    with pytest.raises(Unavailable):
        open_graph(broken, Settings.from_environment(), read_only=False)
    assert notes(graph) == ["OrphanedBranchDiscarded"]
    assert len(plan_paths(str(root))) == 1
    graph.commit_work(work("append", "next"))
    assert notes(graph) == ["OrphanedBranchDiscarded"]
    assert plan_paths(str(root)) == []
    assert assert_sound(str(root))["main"] == after("append", "next", base)


def test_an_orphaned_plan_gets_one_note_even_when_the_note_fails_at_first(root: Path) -> None:
    graph = og.open(root)
    graph.branches.create("topic")
    leave_plan(root, branch="topic")
    graph.branches.delete("topic")
    broken, _ = faulty_without_opening(root, Fault("create", RECORDS, times=99))
    with pytest.raises(Unavailable):
        open_graph(broken, Settings.from_environment(), read_only=False)
    assert notes(graph) == []
    assert notes(og.open(root)) == ["OrphanedBranchDiscarded"]
    assert plan_paths(str(root)) == []


def faulty_without_opening(root: Path, *faults: Fault) -> tuple[ObjectStore, FaultyStore]:
    """Return a store that has faults from the first call on."""
    store = FaultyStore(open_store(str(root)), *faults)
    return store, store


# A35: a plan that cannot be put.


@pytest.mark.parametrize("lost_acknowledgement", [False, True], ids=["no-effect", "lost-acknowledgement"])
@pytest.mark.parametrize("kind", WRITES)
def test_a_plan_that_cannot_be_put_aborts_the_write_and_the_same_handle_writes_normally(
    kind: str, lost_acknowledgement: bool, root: Path, base: Contents
) -> None:
    graph, _ = faulty(root, Fault("put", PLANS, after=lost_acknowledgement))
    with pytest.raises(Unavailable):
        graph.commit_work(work(kind, "crashed"), durable=True)
    assert plan_paths(str(root)) == []
    assert assert_sound(str(root))["main"] == base
    graph.commit_work(work(kind, "next"), durable=True)
    assert assert_sound(str(root))["main"] == after(kind, "next", base)
    assert notes(graph) == []
    assert graph.snapshot().version == 4


# A36: a plan that cannot be deleted.


@pytest.mark.parametrize("kind", WRITES)
def test_a_plan_that_cannot_be_deleted_is_a_warning_and_the_next_write_notes_it_once(
    kind: str, root: Path, base: Contents, caplog: pytest.LogCaptureFixture
) -> None:
    graph, _ = faulty(root, Fault("delete", PLANS))
    with caplog.at_level(logging.WARNING, "omnigraph"):
        record = graph.commit_work(work(kind, "crashed"), durable=True)
    assert record is not None
    assert record.commit in caplog.text
    assert len(plan_paths(str(root))) == 1
    graph.commit_work(work("append", "next"))
    assert plan_paths(str(root)) == []
    assert notes(graph) == ["RolledForward"]
    assert assert_sound(str(root))["main"] == after("append", "next", after(kind, "crashed", base))
    assert notes(og.open(root)) == ["RolledForward"]


# A37: plans that cannot be listed.


def test_plans_that_cannot_be_listed_fail_writes_and_opens_loudly_until_they_can(
    root: Path, base: Contents
) -> None:
    leave_plan(root)
    graph, _ = faulty(root, read_only=True)
    broken, store = faulty_without_opening(root, Fault("list", "__recovery*", times=99))
    with pytest.raises(Unavailable):
        open_graph(broken, Settings.from_environment(), read_only=False)
    reading = Graph(open_graph(broken, Settings.from_environment(), read_only=True), read_only=True)
    assert contents(reading.snapshot()) == base
    writing = Graph(open_graph(broken, Settings.from_environment(), read_only=True), actor="writer")
    with pytest.raises(Unavailable):
        writing.commit_work(work("append", "next"))
    assert contents(graph.snapshot()) == base
    assert len(plan_paths(str(root))) == 1
    store.faults.clear()
    writing.commit_work(work("append", "next"))
    assert contents(graph.snapshot()) == after("append", "next", after("append", "crashed", base))
    assert notes(graph) == ["RolledForward"]


# A38: plans that cannot be read.


Damage = Callable[[Path], object]


def _garbage(file: Path) -> None:
    file.write_text("{ this is not JSON")


def _empty(file: Path) -> None:
    file.write_text("")


def _flipped(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content.replace(b'"actor":"loader"', b'"actor":"loafer"', 1))
    assert file.read_bytes() != content


def _older(file: Path) -> None:
    rewrite(file, lambda stored: stored.update(format=0))


def _list(file: Path) -> None:
    file.write_text("[1, 2]")


def _without_format(file: Path) -> None:
    content = {key: value for key, value in json.loads(file.read_text()).items() if key != "format"}
    file.write_text(json.dumps(content))


def _short_base(file: Path) -> None:
    rewrite(file, lambda stored: stored["plan"].update(base=["only one field"]))


def _short_owner(file: Path) -> None:
    rewrite(file, lambda stored: stored.update(owner=[]))


def _other_operation(file: Path) -> None:
    """One plan in the place of another: its sum tells, as it is taken with the place."""
    other = file.with_name("01ARZ3NDEKTSV4RRFFQ69G5FAV.json")
    file.rename(other)
    rewrite(other, lambda stored: stored["plan"].update(operation_id=other.stem))
    other.rename(file)


@pytest.mark.parametrize(
    "damage",
    [
        _garbage,
        _empty,
        _flipped,
        _older,
        _list,
        _without_format,
        _short_base,
        _short_owner,
        _other_operation,
    ],
)
def test_an_unreadable_plan_is_kept_aside_and_named_by_writes_and_opens_and_stops_nobody(
    damage: Damage, root: Path, base: Contents, caplog: pytest.LogCaptureFixture
) -> None:
    long_lived = og.open(root)
    path = leave_plan(root)
    plan, aside = root / path, root / quarantine_of(path)
    good = plan.read_bytes()
    damage(plan)
    damaged, before = plan.read_bytes(), fingerprint(root)
    assert contents(og.open(root, read_only=True).snapshot()) == base
    assert contents(long_lived.snapshot()) == base
    assert fingerprint(root) == before
    assert contents(og.open(root).snapshot()) == base
    _assert_named(caplog, path, quarantine_of(path))
    assert (plan.exists(), aside.read_bytes()) == (False, damaged)
    aside.rename(plan)
    long_lived.commit_work(work("overwrite", "next"))  # other tables than those of the plan
    _assert_named(caplog, path, quarantine_of(path))
    assert (plan.exists(), aside.read_bytes()) == (False, damaged)
    expected = after("overwrite", "next", base)
    assert assert_sound(str(root))["main"] == expected
    assert notes(long_lived) == []
    plan.write_bytes(good)
    long_lived.commit_work(work("append", "last"))
    assert contents(long_lived.snapshot()) == after("append", "last", after("append", "crashed", expected))
    assert notes(long_lived) == ["RolledForward"]


def test_a_plan_of_a_later_release_is_named_and_left_where_it_is_and_stops_nobody(
    root: Path, base: Contents, caplog: pytest.LogCaptureFixture
) -> None:
    long_lived = og.open(root)
    path = leave_plan(root)
    good = (root / path).read_bytes()
    rewrite(root / path, lambda stored: stored.update(format=99))
    before = fingerprint(root)
    assert contents(og.open(root).snapshot()) == base
    _assert_named(caplog, path, "later release")
    assert fingerprint(root) == before
    long_lived.commit_work(work("overwrite", "next"))  # other tables than those of the plan
    _assert_named(caplog, path, "later release")
    assert plan_paths(str(root)) == [path]
    (root / path).write_bytes(good)
    long_lived.commit_work(work("append", "last"))
    expected = after("append", "crashed", after("overwrite", "next", base))
    assert contents(long_lived.snapshot()) == after("append", "last", expected)


def _assert_named(caplog: pytest.LogCaptureFixture, *names: str) -> None:
    """Check that one warning names all these, and forget it."""
    (warning,) = [found.getMessage() for found in caplog.records if found.name == "omnigraph"]
    assert all(name in warning for name in names)
    caplog.clear()


def test_a_plan_that_is_gone_when_it_is_read_was_settled_by_someone_else(root: Path, base: Contents) -> None:
    path = leave_plan(root)

    class Vanishing(FaultyStore):
        def get(self, wanted: str) -> bytes:
            if wanted == path:
                (root / path).unlink()
            return super().get(wanted)

    graph = Graph(open_graph(Vanishing(open_store(str(root))), Settings.from_environment(), False))
    assert contents(graph.snapshot()) == base
    graph.commit_work(work("append", "next"))
    assert notes(graph) == []


# A39: the note is part of the published record: there is no fault between them, only one of the publish.


def test_a_forward_publish_that_fails_keeps_the_plan_and_the_next_attempt_notes_it_once(
    root: Path, base: Contents
) -> None:
    leave_plan(root)
    broken, _ = faulty_without_opening(root, Fault("create", RECORDS, times=99))
    with pytest.raises(Unavailable):
        open_graph(broken, Settings.from_environment(), read_only=False)
    assert len(plan_paths(str(root))) == 1
    graph = og.open(root)
    assert contents(graph.snapshot()) == after("append", "crashed", base)
    assert notes(graph) == ["RolledForward"]


# The record itself: lost acknowledgements and time-outs (C6).


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
@pytest.mark.parametrize("kind", WRITES)
def test_a_record_whose_acknowledgement_was_lost_is_one_commit_and_success(
    kind: str, durable: bool, root: Path, base: Contents
) -> None:
    graph, _ = faulty(root, Fault("create", RECORDS, after=True))
    published = graph.commit_work(work(kind, "crashed"), durable=durable)
    assert published is not None and published.record is not None
    assert published.record.seq == 4
    assert assert_sound(str(root))["main"] == after(kind, "crashed", base)
    assert og.open(root).snapshot().version == 4
    assert notes(graph) == []


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
@pytest.mark.parametrize("kind", WRITES)
def test_a_lost_acknowledgement_that_cannot_be_checked_at_once_is_still_one_commit(
    kind: str, durable: bool, root: Path, base: Contents
) -> None:
    graph, store = faulty(root, Fault("create", RECORDS, after=True))
    # The look at what is stored fails as well, once; then the network is back.
    lost = store.faults[0]

    class Outage(Fault):
        def is_due(self, kind: str, path: str) -> bool:
            return lost.fired and super().is_due(kind, path)

    store.faults.append(Outage("get", RECORDS))
    published = graph.commit_work(work(kind, "crashed"), durable=durable)
    assert published is not None and published.record is not None
    assert published.record.seq == 4
    assert assert_sound(str(root))["main"] == after(kind, "crashed", base)
    assert og.open(root).snapshot().version == 4
    assert plan_paths(str(root)) == []


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
def test_a_record_that_timed_out_without_effect_is_put_again(
    durable: bool, root: Path, base: Contents
) -> None:
    graph, _ = faulty(root, Fault("create", RECORDS, times=3))
    assert graph.commit_work(work("many", "crashed"), durable=durable) is not None
    assert assert_sound(str(root))["main"] == after("many", "crashed", base)
    assert graph.snapshot().version == 4


def test_a_plain_write_whose_record_never_arrives_is_an_error_and_never_happened(
    root: Path, base: Contents
) -> None:
    graph, store = faulty(root, Fault("create", RECORDS, times=99))
    with pytest.raises(Unavailable):
        graph.commit_work(work("many", "crashed"))
    assert assert_sound(str(root))["main"] == base
    store.faults.clear()
    graph.commit_work(work("many", "next"))
    assert assert_sound(str(root))["main"] == after("many", "next", base)
    assert graph.snapshot().version == 4


def test_a_durable_write_whose_record_never_arrives_is_an_error_and_finished_by_the_next_write(
    root: Path, base: Contents
) -> None:
    graph, store = faulty(root, Fault("create", RECORDS, times=99))
    with pytest.raises(Unavailable):
        graph.commit_work(work("many", "crashed"), durable=True)
    assert assert_sound(str(root))["main"] == base
    store.faults.clear()
    graph.commit_work(work("many", "next"))
    expected = after("many", "next", after("many", "crashed", base))
    assert assert_sound(str(root))["main"] == expected
    assert notes(graph) == ["RolledForward"]


Act = Callable[[], object]


class Meanwhile(FaultyStore):
    """A store that does something right before a call of a kind on a path; several things, in order."""

    def __init__(self, inner: ObjectStore, *steps: tuple[str, str, Act]) -> None:
        super().__init__(inner)
        self.steps = list(steps)

    def _run(self, kind: str, path: str, call: Act) -> object:  # type: ignore[override]
        if self.steps and kind == self.steps[0][0] and path.endswith(self.steps[0][1]):
            self.steps.pop(0)[2]()
        return super()._run(kind, path, call)


def racing(root: Path, *steps: tuple[str, str, Act], branch: str = "main") -> Graph:
    """Open a graph whose store does something right before some calls."""
    store = Meanwhile(open_store(str(root)))
    graph = Graph(open_graph(store, Settings.from_environment(), read_only=False), branch, actor="tester")
    store.steps.extend(steps)
    return graph


def record_file(seq: int) -> str:
    """Return the end of a record's path."""
    return f"/{seq:020d}.json"


def write_once(root: Path, kind: str, tag: str, branch: str = "main") -> Callable[[], object]:
    """Return a call that makes a write through another handle."""
    return lambda: og.open(root, branch=branch).commit_work(work(kind, tag))


# Losing a race.


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
def test_a_repeatable_write_that_loses_its_number_is_applied_to_the_newer_state(
    durable: bool, root: Path, base: Contents
) -> None:
    graph = racing(root, ("create", record_file(4), write_once(root, "many", "winner")))
    published = graph.commit_work(work("many", "late"), durable=durable)
    assert published is not None and published.record is not None
    assert published.record.seq == 5
    assert assert_sound(str(root))["main"] == after("many", "late", after("many", "winner", base))
    assert plan_paths(str(root)) == []
    assert notes(og.open(root)) == []


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
@pytest.mark.parametrize("kind", ["delete", "overwrite"])
def test_a_strict_write_that_loses_its_number_to_the_same_tables_reports_the_conflict(
    kind: str, durable: bool, root: Path, base: Contents
) -> None:
    graph = racing(root, ("create", record_file(4), write_once(root, "many", "winner")))
    with pytest.raises(ExpectedVersionMismatch) as raised:
        graph.commit_work(work(kind, "crashed"), durable=durable)
    assert raised.value.table_key in (PERSON, COMPANY, WORKS_AT)
    assert raised.value.actual > raised.value.expected
    assert assert_sound(str(root))["main"] == after("many", "winner", base)
    assert plan_paths(str(root)) == []
    assert notes(og.open(root)) == []


def _people_and_edges() -> RowChanges:
    numbers = range(1, 7)
    return RowChanges(
        [
            Append(PERSON, rows(PERSON, [f"p{n}" for n in numbers], "base")),
            Append(WORKS_AT, rows(WORKS_AT, [f"w{n}" for n in numbers], "base")),
        ]
    )


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
@pytest.mark.parametrize("kind", ["append", "upsert", "overwrite", "many"])
def test_any_write_that_loses_its_number_to_maintenance_succeeds(
    kind: str, durable: bool, root: Path, base: Contents
) -> None:
    graph = racing(root, ("create", record_file(4), write_once(root, "compact", "")))
    assert graph.commit_work(work(kind, "late"), durable=durable) is not None
    assert assert_sound(str(root))["main"] == after(kind, "late", base)
    assert plan_paths(str(root)) == []


def test_a_strict_write_that_meets_maintenance_and_then_a_change_reports_the_change(
    root: Path, base: Contents
) -> None:
    """The change comes after the publisher's look and before the writer stages again."""
    graph = racing(
        root,
        ("create", record_file(4), write_once(root, "compact", "")),
        ("get", record_file(5), lambda: "the publisher looks"),
        ("get", record_file(5), write_once(root, "append", "winner")),
    )
    with pytest.raises(ExpectedVersionMismatch):
        graph.commit_work(_overwrite_people())
    assert assert_sound(str(root))["main"] == after("append", "winner", base)


def _overwrite_people() -> RowChanges:
    return RowChanges([Overwrite(PERSON, rows(PERSON, ["only"], "only"))])


def test_a_compaction_that_finds_its_work_done_by_another_leaves_nothing_behind(
    root: Path, base: Contents
) -> None:
    graph = racing(root, ("create", record_file(4), write_once(root, "compact", "")))
    assert graph.commit_work(work("compact", ""), durable=True) is None
    assert plan_paths(str(root)) == []
    assert og.open(root).snapshot().version == 4
    assert assert_sound(str(root))["main"] == base


def test_a_durable_write_that_gives_up_on_contention_is_not_published_by_recovery_later(
    root: Path, base: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_PUBLISH_RETRIES", "0")
    graph = racing(root, ("create", record_file(4), write_once(root, "overwrite", "winner")))
    with pytest.raises(Contention):
        graph.commit_work(work("append", "late"), durable=True)
    assert plan_paths(str(root)) == []
    graph.commit_work(work("append", "next"))
    expected = after("append", "next", after("overwrite", "winner", base))
    assert assert_sound(str(root))["main"] == expected
    assert notes(graph) == []


def test_a_writer_whose_branch_is_deleted_under_it_learns_that_it_is_gone(root: Path, base: Contents) -> None:
    og.open(root).branches.create("topic")

    def recreate() -> None:
        other = og.open(root)
        other.branches.delete("topic")
        other.branches.create("topic")

    for durable in (False, True):
        graph = racing(root, ("create", record_file(4), recreate), branch="topic")
        with pytest.raises(BranchGone):
            graph.commit_work(work("append", "late"), durable=durable)
        assert plan_paths(str(root)) == []
        assert assert_sound(str(root))["topic"] == base


# C4: another process opens for writing beside a live writer.


@pytest.mark.parametrize("point", ["plan.after_put", "publish.before_record"])
def test_opening_beside_a_parked_writer_leaves_its_plan_alone_and_it_finishes_with_one_commit(
    point: str, root: Path, base: Contents, workers: Workers
) -> None:
    alive = workers.take()
    alive.tell("write", str(root), "many", "alive", True, "main", "loader", failpoints=f"{point}=park")
    alive.wait_parked(point)
    (plan,) = plan_paths(str(root))
    other = workers.take()
    assert other.ask("open_for_writing", str(root)) == 3
    assert og.open(root).snapshot().version == 3
    assert plan_paths(str(root)) == [plan]
    alive.release(point)
    commit = alive.answer()
    graph = og.open(root)
    assert [found.id for found in graph.commits.list()].count(commit) == 1
    assert assert_sound(str(root))["main"] == after("many", "alive", base)
    assert graph.snapshot().version == 4
    assert notes(graph) == []
    assert plan_paths(str(root)) == []


@pytest.mark.parametrize("point", ["plan.after_put", "publish.before_record"])
def test_a_write_on_the_same_tables_beside_a_parked_writer_wins_and_both_land(
    point: str, root: Path, base: Contents, workers: Workers
) -> None:
    alive = workers.take()
    alive.tell("write", str(root), "many", "alive", True, failpoints=f"{point}=park")
    alive.wait_parked(point)
    og.open(root).commit_work(work("many", "other"))
    alive.release(point)
    alive.answer()
    assert assert_sound(str(root))["main"] == after("many", "alive", after("many", "other", base))
    graph = og.open(root)
    assert graph.snapshot().version == 5
    assert notes(graph) == []


def test_a_writer_taken_for_dead_and_rolled_forward_by_another_still_makes_one_commit(
    root: Path, base: Contents, workers: Workers
) -> None:
    """Another machine's lease can run out while the writer only was slow."""
    slow = workers.take()
    slow.tell("write", str(root), "append", "slow", True, failpoints="publish.before_record=park")
    slow.wait_parked("publish.before_record")
    abandon(root)
    og.open(root).commit_work(work("overwrite", "other"))
    slow.release("publish.before_record")
    commit = slow.answer()
    graph = og.open(root)
    assert [found.id for found in graph.commits.list()].count(commit) == 1
    assert assert_sound(str(root))["main"] == after("overwrite", "other", after("append", "slow", base))
    assert notes(graph) == ["RolledForward"]


def test_a_slow_writer_whose_number_went_to_another_and_whose_plan_was_rolled_forward_makes_one_commit(
    root: Path, base: Contents, workers: Workers
) -> None:
    slow = workers.take()
    slow.tell("write", str(root), "append", "slow", True, failpoints="publish.before_record=park")
    slow.wait_parked("publish.before_record")
    og.open(root).commit_work(work("overwrite", "other"))
    abandon(root)
    og.open(root)
    slow.release("publish.before_record")
    commit = slow.answer()
    graph = og.open(root)
    assert [found.id for found in graph.commits.list()].count(commit) == 1
    assert assert_sound(str(root))["main"] == after("append", "slow", after("overwrite", "other", base))
    assert notes(graph) == ["RolledForward"]


def test_recovery_that_loses_to_the_slow_writer_itself_notes_that_it_landed(
    root: Path, base: Contents
) -> None:
    path = leave_plan(root)
    plan = json.loads((root / path).read_text())

    def land() -> None:
        core = open_graph(open_store(str(root)), Settings.from_environment(), read_only=True)
        publish(core.truth, from_plain(PublishPlan, plan["plan"]), core.truth.state("main"), 0)

    store = Meanwhile(open_store(str(root)), ("create", record_file(4), land))
    graph = Graph(open_graph(store, Settings.from_environment(), read_only=False))
    assert contents(graph.snapshot()) == after("append", "crashed", base)
    assert notes(graph) == ["RolledForward"]
    assert plan_paths(str(root)) == []


@pytest.mark.parametrize("landed", [False, True], ids=["pending", "landed"])
def test_a_plan_whose_branch_is_deleted_while_recovery_settles_it_gets_its_note_on_main(
    landed: bool, root: Path, base: Contents
) -> None:
    og.open(root).branches.create("topic")
    point = "publish.after_record" if landed else "publish.before_record"
    with failpoints.arm_temporarily(point, "raise"), pytest.raises(InjectedFault):
        og.open(root, branch="topic").commit_work(work("append", "crashed"), durable=True)
    other = Graph(open_graph(open_store(str(root)), Settings.from_environment(), read_only=True))
    step = ("create", record_file(5 if landed else 4), lambda: other.branches.delete("topic"))
    store = Meanwhile(open_store(str(root)), step)
    graph = Graph(open_graph(store, Settings.from_environment(), read_only=False))
    assert graph.branches.list() == ["main"]
    assert notes(graph) == ["OrphanedBranchDiscarded"]
    assert plan_paths(str(root)) == []
    assert assert_sound(str(root)) == {"main": base}


# Who owns a plan, and whether it lives.


def test_the_plan_of_a_process_that_ended_and_was_not_reaped_is_abandoned(root: Path, base: Contents) -> None:
    path = leave_plan(root)
    zombie = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    lived = replace(
        plan_owner(root, path), pid=zombie.pid, started=owner._start_time(zombie.pid), process="another"
    )
    edit_plan(root, path, owner=to_plain(lived))
    assert og.open(root).snapshot().version == 3
    os.kill(zombie.pid, signal.SIGKILL)
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert og.open(root).snapshot().version == 4
    zombie.communicate()


def test_the_plan_of_a_dead_process_whose_number_another_has_now_is_abandoned(root: Path) -> None:
    path = leave_plan(root)
    mine = plan_owner(root, path)
    reused = replace(mine, started=str(int(mine.started) - 1), process="another")
    edit_plan(root, path, owner=to_plain(reused))
    assert og.open(root).snapshot().version == 4


def test_the_plan_of_a_living_process_of_this_machine_is_left_alone_however_old(root: Path) -> None:
    path = leave_plan(root)
    edit_plan(root, path, owner=to_plain(replace(plan_owner(root, path), process="another")), created_at=1)
    assert og.open(root).snapshot().version == 3
    assert plan_paths(str(root)) == [path]


def test_the_plan_of_another_machine_is_left_alone_while_it_is_young(root: Path) -> None:
    path = leave_plan(root)
    foreign = replace(plan_owner(root, path), machine="another/machine", process="another")
    edit_plan(root, path, owner=to_plain(foreign))
    assert og.open(root).snapshot().version == 3
    assert plan_paths(str(root)) == [path]


def test_the_plan_of_another_machine_is_abandoned_once_it_is_older_than_the_lease(root: Path) -> None:
    path = leave_plan(root)
    foreign = replace(plan_owner(root, path), machine="another/machine", process="another")
    old = clock.current().now_us() - int(Settings().plan_lease_seconds * 1e6) - 1
    edit_plan(root, path, owner=to_plain(foreign), created_at=old)
    assert og.open(root).snapshot().version == 4
    assert plan_paths(str(root)) == []


def test_an_owner_without_a_start_time_does_not_live_for_ever(root: Path) -> None:
    path = leave_plan(root)
    nameless = replace(plan_owner(root, path), pid=2**22 + 1, started="", process="another")
    edit_plan(root, path, owner=to_plain(nameless))
    assert og.open(root).snapshot().version == 4


# Init, branches: lost acknowledgements.


def test_an_init_whose_stamp_was_not_acknowledged_made_the_graph(tmp_path: Path) -> None:
    store = FaultyStore(open_store(str(tmp_path / "graph")), Fault("create", "*/graph.json", after=True))
    create_graph(store, _schema())
    assert og.open(tmp_path / "graph").snapshot().version == 1


def test_an_init_whose_genesis_was_not_acknowledged_made_the_graph(tmp_path: Path) -> None:
    store = FaultyStore(open_store(str(tmp_path / "graph")), Fault("create", RECORDS, after=True))
    create_graph(store, _schema())
    assert assert_sound(str(tmp_path / "graph")) == {"main": EMPTY}


@pytest.mark.parametrize(
    "fault",
    [Fault("put"), Fault("move"), Fault("create", RECORDS, times=9), Fault("create", "*/graph.json")],
    ids=["schema", "table", "genesis", "stamp"],
)
def test_an_init_that_fails_made_no_graph_and_can_be_run_again(fault: Fault, tmp_path: Path) -> None:
    store = FaultyStore(open_store(str(tmp_path / "graph")), replace(fault, seen=0))
    with pytest.raises(OmniError):
        create_graph(store, _schema())
    with pytest.raises(og.NotAGraph):
        og.open(tmp_path / "graph")
    og.init(tmp_path / "graph", SCHEMA).commit_work(work("many", "first"))
    assert assert_sound(str(tmp_path / "graph"))["main"] == after("many", "first", EMPTY)


def _schema() -> StoredSchema:
    return StoredSchema(compile_schema(SCHEMA), SCHEMA)


@pytest.mark.parametrize("over", ["new", "freed"])
def test_a_branch_whose_creation_was_not_acknowledged_exists_and_is_reported_so(
    over: str, root: Path, base: Contents
) -> None:
    if over == "freed":
        og.open(root).branches.create("topic")
        og.open(root).branches.delete("topic")
    kind = "create" if over == "new" else "replace"
    graph, _ = faulty(root, Fault(kind, "__manifest/branches/*", after=True))
    graph.branches.create("topic")
    assert graph.branches.list() == ["main", "topic"]
    assert contents(graph.snapshot("topic")) == base


def test_a_branch_whose_creation_had_no_effect_does_not_exist(root: Path) -> None:
    graph, _ = faulty(root, Fault("create", "__manifest/branches/*"))
    with pytest.raises(Unavailable):
        graph.branches.create("topic")
    assert graph.branches.list() == ["main"]
    graph.branches.create("topic")


def test_a_branch_delete_whose_close_was_not_acknowledged_deleted_the_branch(root: Path) -> None:
    graph, _ = faulty(root)
    graph.branches.create("topic")
    faults = Fault("create", RECORDS, after=True)
    graph, _ = faulty(root, faults)
    graph.branches.delete("topic")
    assert graph.branches.list() == ["main"]


def test_a_branch_delete_that_cannot_free_the_name_has_deleted_the_branch_all_the_same(
    root: Path, base: Contents
) -> None:
    og.open(root).branches.create("topic")
    graph, _ = faulty(root, Fault("replace", "__manifest/branches/*", nth=2))
    graph.branches.delete("topic")
    assert graph.branches.list() == ["main"]
    with pytest.raises(og.NotFound):
        graph.snapshot("topic")
    graph.branches.create("topic")
    assert contents(graph.snapshot("topic")) == base


def test_a_branch_delete_that_cannot_close_the_chain_leaves_a_live_branch(root: Path, base: Contents) -> None:
    og.open(root).branches.create("topic")
    graph, _ = faulty(root, Fault("create", RECORDS, times=99))
    with pytest.raises(Unavailable):
        graph.branches.delete("topic")
    assert og.open(root).branches.list() == ["main", "topic"]
    og.open(root, branch="topic").commit_work(work("append", "alive"))
    assert assert_sound(str(root))["topic"] == after("append", "alive", base)
    og.open(root).branches.delete("topic")


def test_an_unusable_hint_is_ignored(root: Path, base: Contents) -> None:
    main = og.open(root).internals.core.truth.stamp.main
    hint = root / "__manifest" / "hints" / f"{main}.json"
    good = hint.read_bytes()
    texts = (
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b'{"seq": "x"}',
        b'{"seq": 1.5}',
        b'{"seq": -1}',
        b'{"seq": 99}',
    )
    damaged = (good.replace(b'"format":3', b'"format":9'), good.replace(b'"seq":3', b'"seq":9'), good[:-9])
    assert good not in damaged
    sealed = [stored_format.encode({"seq": seq}, layout.hint_path(main)) for seq in ("x", None, 1.5, -1)]
    for content in (*texts, *damaged, *sealed):
        hint.write_bytes(content)
        assert contents(og.open(root).snapshot()) == base


REACHED_WITH_A_PLAN = {"plan.before_put", "plan.after_put", "plan.before_delete"}
REACHED_BY_A_WRITE = {
    "recovery.after_list",
    "write.after_stage",
    "table.before_pin",
    "table.after_pin",
    "write.after_table_commit",
    "write.after_all_tables",
    "publish.before_record",
    "publish.after_record",
    "publish.before_hint",
}


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
@pytest.mark.parametrize("kind", ["many", "compact"])
def test_a_failpoint_of_a_write_that_raises_leaves_a_graph_that_the_next_write_can_use(
    kind: str, durable: bool, root: Path
) -> None:
    reached: set[str] = set()
    for point in Failpoint:
        with failpoints.arm_temporarily(point.value, "raise@1"):
            with suppress(OSError, Unavailable):
                og.open(root).commit_work(work(kind, f"{point.value}-{durable}"), durable=durable)
            if failpoints._armed[point].hits == 0:
                continue  # the crash matrices have it
        reached.add(point.value)
        og.open(root).commit_work(work("upsert", "next"))
        assert plan_paths(str(root)) == []
    assert_sound(str(root))
    expected = REACHED_BY_A_WRITE | (REACHED_WITH_A_PLAN if durable else set())
    assert reached == expected if kind == "many" else reached and reached <= expected


@pytest.mark.parametrize("kind", ["append", "upsert", "overwrite", "many"])
def test_a_plan_whose_tables_were_compacted_meanwhile_is_applied_to_the_new_files(
    kind: str, root: Path, base: Contents
) -> None:
    """The writer dies while a compaction is about to publish: both count, and versions only grow (A8)."""

    def die_with_a_durable_plan() -> None:
        with (
            failpoints.arm_temporarily("publish.before_record", "raise"),
            pytest.raises(failpoints.InjectedFault),
        ):
            og.open(root, actor="dead").commit_work(work(kind, "late"), durable=True)

    racing(root, ("create", record_file(4), die_with_a_durable_plan)).commit_work(Compaction())
    assert len(plan_paths(str(root))) == 1
    graph = og.open(root)
    assert assert_sound(str(root))["main"] == after(kind, "late", base)
    assert notes(graph) == ["RolledForward"]
    assert plan_paths(str(root)) == []
    history = [graph.snapshot(version=number).tables for number in range(1, graph.snapshot().version + 1)]
    for before, later in itertools.pairwise(history):
        known = {table.key: table.version for table in before}
        assert all(table.version >= known[table.key] for table in later)
    compacted, recovered = history[-2], history[-1]
    changed = [table.key for old, table in zip(compacted, recovered, strict=True) if old != table]
    assert changed
    assert all(new.version > old.version for old, new in zip(compacted, recovered, strict=True) if old != new)
