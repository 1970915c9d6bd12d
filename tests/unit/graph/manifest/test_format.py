"""Both bounds of the format, on everything that is read, in both modes and on branch reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.errors import CorruptState, FormatTooNew, FormatTooOld
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout, migrations
from support.graphs import SCHEMA, contents, fingerprint
from support.writes import work

BOUNDS = [(99, FormatTooNew, "upgrade"), (0, FormatTooOld, "export")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A graph with two commits on main and one on `topic`."""
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.commit_work(work("many", "first"))
    graph.branches.create("topic")
    graph.commit_work(work("many", "topic"), branch="topic")
    return tmp_path / "graph"


def restamp(path: Path, found: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": found}))


def refused(root: Path, kind: type[CorruptState], advice: str, call: Callable[[], object]) -> None:
    before = fingerprint(root)
    with pytest.raises(kind, match=advice):
        call()
    assert fingerprint(root) == before


def newest(root: Path, branch: str) -> Path:
    head = og.open(root, read_only=True).internals.core.truth.state(branch).head
    return root / layout.record_path(head.incarnation, head.seq)


def test_no_record_can_stand_in_for_another(root: Path) -> None:
    path = newest(root, "main")
    first = path.with_name(f"{1:020d}.json")
    path.write_bytes(first.read_bytes())
    with pytest.raises(CorruptState, match=path.name):
        og.open(root, read_only=True).snapshot()


def test_the_oldest_format_is_the_one_that_the_lowest_step_starts_from() -> None:
    assert min(migrations.STEPS, default=stored_format.CURRENT) == stored_format.OLDEST
    assert set(migrations.STEPS) == set(range(stored_format.OLDEST, stored_format.CURRENT))


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(("found", "kind", "advice"), BOUNDS)
def test_a_stamp_out_of_bounds_is_refused_in_both_modes(
    found: int, kind: type[CorruptState], advice: str, read_only: bool, root: Path
) -> None:
    restamp(root / "__manifest/graph.json", found)
    refused(root, kind, advice, lambda: og.open(root, read_only=read_only))


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(("found", "kind", "advice"), BOUNDS)
def test_a_record_out_of_bounds_is_refused_in_both_modes(
    found: int, kind: type[CorruptState], advice: str, read_only: bool, root: Path
) -> None:
    restamp(newest(root, "main"), found)
    refused(root, kind, advice, lambda: og.open(root, read_only=read_only))


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(("found", "kind", "advice"), BOUNDS)
def test_a_ref_or_a_record_of_a_branch_out_of_bounds_is_refused_by_reads_and_writes_of_that_branch(
    found: int, kind: type[CorruptState], advice: str, read_only: bool, root: Path
) -> None:
    for damaged in (root / "__manifest/branches/topic.json", newest(root, "topic")):
        good = damaged.read_text()
        restamp(damaged, found)
        graph = og.open(root, read_only=read_only)
        assert contents(graph.snapshot())
        for call in (
            lambda graph=graph: graph.snapshot("topic"),
            lambda: og.open(root, branch="topic", read_only=read_only),
            lambda: og.open(root).commit_work(work("append", "x"), branch="topic"),
        ):
            refused(root, kind, advice, call)
        damaged.write_text(good)


@pytest.mark.parametrize(("found", "kind", "advice"), BOUNDS)
def test_a_long_lived_handle_refuses_a_record_that_a_later_release_put(
    found: int, kind: type[CorruptState], advice: str, root: Path
) -> None:
    reader, writer = og.open(root, read_only=True), og.open(root)
    og.open(root).commit_work(work("append", "later"))
    restamp(newest(root, "main"), found)
    refused(root, kind, advice, reader.snapshot)
    with pytest.raises(kind, match=advice):
        writer.commit_work(work("append", "x"))


@pytest.mark.parametrize("found", [99, 0, "1", None, True, 1.0])
def test_a_plan_out_of_bounds_is_kept_and_named_and_stops_nobody(
    found: object, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plan = root / "__recovery" / "01ARZ3NDEKTSV4RRFFQ69G5FAV.json"
    plan.parent.mkdir()
    plan.write_text(json.dumps({"format": found}))
    with caplog.at_level("WARNING", "omnigraph"):
        graph = og.open(root)
    assert plan.name in caplog.text
    graph.commit_work(work("append", "goes on"))
    # A later release can read its own plan; what nobody can read is put aside.
    kept = plan if found == 99 else root / "__quarantine" / plan.name
    assert json.loads(kept.read_text()) == {"format": found}
    assert contents(og.open(root, read_only=True).snapshot())


@pytest.mark.parametrize("found", ["1", None, True, 1.5, [], {}])
def test_a_format_that_is_no_number_is_corrupt(found: object, root: Path) -> None:
    restamp(root / "__manifest/graph.json", found)
    refused(root, CorruptState, "stamp", lambda: og.open(root, read_only=True))
