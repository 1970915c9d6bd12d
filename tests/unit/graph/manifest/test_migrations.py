"""Migrations: work first, stamp last, safe to run twice and by many."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import Contention, Unavailable
from omnigraph.base.failpoints import InjectedFault
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import migrations
from omnigraph.graph.manifest.stamp import read_stamp
from omnigraph.storage.objects import ObjectStore, open_store
from support.faults import Fault, FaultyStore
from support.graphs import SCHEMA, assert_sound, contents, fingerprint
from support.processes import run_in_threads
from support.stored_objects import rewrite
from support.writes import after, work

NOW = stored_format.CURRENT


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A graph of the current format."""
    og.init(tmp_path / "graph", SCHEMA).commit_work(work("many", "first"))
    return tmp_path / "graph"


@pytest.fixture
def runs(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A later release, two formats on, with two steps; the list notes which ran."""
    ran: list[int] = []

    def step(of: int) -> migrations.Step:
        def run(store: ObjectStore) -> None:
            assert read_stamp(store).stamp.format >= NOW - 1 + of, "the stamp came before the work"
            ran.append(of)
            store.put(f"__manifest/step-{of}.json", b"done")

        return run

    monkeypatch.setattr(stored_format, "CURRENT", NOW + 2)
    monkeypatch.setattr(migrations, "STEPS", {NOW: step(1), NOW + 1: step(2)})
    yield ran


def stamped(root: Path) -> int:
    return int(json.loads((root / "__manifest/graph.json").read_text())["format"])


def test_opening_for_writing_steps_to_the_current_format_one_step_at_a_time(
    root: Path, runs: list[int]
) -> None:
    before = contents(og.open(root, read_only=True).snapshot())
    graph = og.open(root)
    assert runs == [1, 2]
    assert stamped(root) == NOW + 2
    assert graph.internals.core.truth.stamp.format == NOW + 2
    graph.commit_work(work("many", "next"))
    assert assert_sound(str(root))["main"] == after("many", "next", before)


def test_a_migrated_graph_is_not_migrated_again(root: Path, runs: list[int]) -> None:
    og.open(root)
    og.open(root)
    assert runs == [1, 2]


def test_opening_for_reading_reads_the_old_format_and_writes_nothing(root: Path, runs: list[int]) -> None:
    before = fingerprint(root)
    assert contents(og.open(root, read_only=True).snapshot())
    assert runs == []
    assert fingerprint(root) == before


def test_a_crash_before_the_stamp_repeats_the_step_and_only_then_stamps(root: Path, runs: list[int]) -> None:
    with failpoints.arm_temporarily("migrate.before_stamp", "raise@2"), pytest.raises(InjectedFault):
        og.open(root)
    assert stamped(root) == NOW + 1
    og.open(root)
    assert runs == [1, 2, 2]
    assert stamped(root) == NOW + 2


def test_a_step_that_fails_leaves_the_stamp(root: Path, runs: list[int]) -> None:
    store = FaultyStore(open_store(str(root)), Fault("put", "*/step-2.json"))
    with pytest.raises(Unavailable):
        migrations.migrate(store, read_stamp(store))
    assert stamped(root) == NOW + 1


def test_runners_at_the_same_time_converge(root: Path, runs: list[int]) -> None:
    graphs = run_in_threads(lambda: og.open(root).internals.core.truth.stamp.format, [()] * 6)
    assert graphs == [NOW + 2] * 6
    assert stamped(root) == NOW + 2
    assert set(runs) == {1, 2}


def test_a_stamp_that_others_keep_changing_is_retryable_contention(root: Path, runs: list[int]) -> None:
    class Busy(FaultyStore):
        def replace(self, path: str, data: bytes, etag: str) -> str:
            rewrite(root / path, lambda stamp: stamp.update(created_at=stamp["created_at"] + 1))
            return super().replace(path, data, etag)

    store = Busy(open_store(str(root)))
    with pytest.raises(Contention) as raised:
        migrations.migrate(store, read_stamp(store))
    assert raised.value.retryable
    assert stamped(root) == NOW
