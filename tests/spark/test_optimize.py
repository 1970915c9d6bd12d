"""`optimize(engine="spark")`: what it makes of a graph is what `optimize` makes of it, whatever dies."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import omnigraph as og
from omnigraph.base.failpoints import ENVIRONMENT
from omnigraph.graph.maintenance.optimize.optimize_table import BUSY
from omnigraph.graph.snapshot import Snapshot
from omnigraph.pipeline.jobs import optimize as job
from omnigraph.pipeline.workers.maintenance_tasks import BuildPart, MaintenanceTask
from omnigraph.storage.indexes.indexes import list_indexes
from omnigraph.storage.rows.search import nearest
from support.graphs import plan_paths
from support.lance_tables import has
from support.words import rows_with_words

SCHEMA = """
node Doc { slug: String @key  title: String? @index  rank: I32? @index  vec: Vector(4)? @index }
node Tag { name: String @key }
edge Links: Doc -> Doc { weight: F64? }
"""
DOC = "node:Doc"


def _docs(first: int, end: int, title: str = "Running title") -> list[dict[str, Any]]:
    chance = random.Random(first)
    found = []
    for number in range(first, end):
        data: dict[str, Any] = {"slug": f"d{number}"}
        if number % 5:
            data |= {"title": f"{title} {number}", "rank": number % 7}
        if number % 3:
            data["vec"] = [chance.gauss(0, 1) for _ in range(4)] if number % 11 else [0.0] * 4
        found.append({"type": "Doc", "data": data})
    return found


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph in which there is something to fold, something to join and something to build."""
    root = tmp_path_factory.mktemp("care") / "graph"
    graph = og.init(
        root, SCHEMA.replace("rank: I32? @index  vec: Vector(4)? @index", "rank: I32?  vec: Vector(4)?")
    )
    for first in range(0, 900, 150):
        graph.load(_docs(first, first + 150), mode="append")
    graph.load([{"edge": "Links", "from": "d1", "to": f"d{n}"} for n in range(2, 9)], mode="append")
    graph.ensure_indices()
    graph.schema.apply(SCHEMA)
    graph.load(_docs(900, 930), mode="append")
    graph.load(_docs(5, 9, "Walks"), mode="merge")
    graph.load([{"type": "Tag", "data": {"name": "new"}}], mode="append")
    return root


@pytest.fixture
def root(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OMNIGRAPH_SPARK_INDEX_ROWS", "200")
    return Path(shutil.copytree(template, tmp_path / "graph"))


def _content(snapshot: Snapshot) -> dict[str, list[dict[str, Any]]]:
    return {
        info.key: sorted(snapshot.table(info.key).scan().to_pylist(), key=lambda row: row["id"])
        for info in snapshot.tables
    }


def _shape(snapshot: Snapshot) -> dict[str, Any]:
    """Return what maintenance decides: fragments, and every index with what it covers."""
    return {
        info.key: (
            [fragment.rows for fragment in snapshot.table(info.key).fragments()],
            list_indexes(snapshot.table(info.key).dataset),
        )
        for info in snapshot.tables
    }


def _answers(snapshot: Snapshot) -> dict[str, Any]:
    """Return what the indexes of a table say."""
    table = snapshot.table(DOC)
    by_address = table.dataset.scanner(columns=["id"], with_row_address=True).to_table().to_pylist()
    ids = {row["_rowaddr"]: row["id"] for row in by_address}
    words, near = {}, []
    for word in ("walking", "runs", "7"):
        found = rows_with_words(table, "title", word)
        assert found is not None
        words[word] = (sorted(ids[at] for at in found.addresses.tolist()), found.unread)
    for x in (0.1, -2.0):
        closest = nearest(table, "vec", [x, 1.0, 0.5, -x], 12)
        assert closest is not None
        near.append(closest["id"].to_pylist())
    ranks = [sorted(table.scan(["id"], has("rank", rank))["id"].to_pylist()) for rank in range(7)]
    return {"words": words, "near": near, "ranks": ranks}


def _assert_like_local(root: Path, template: Path, tmp_path: Path) -> None:
    """Everything is as `optimize` in process would have left it."""
    other = og.open(shutil.copytree(template, tmp_path / "local"))
    other.optimize(engine="local")
    mine, local = og.open(root, read_only=True).snapshot(), other.snapshot()
    assert _content(mine) == _content(local)
    assert _shape(mine) == _shape(local)
    assert _answers(mine) == _answers(local)


def test_optimize_on_spark_makes_of_a_graph_what_optimize_makes_of_it(
    root: Path, template: Path, tmp_path: Path, session: Any
) -> None:
    graph = og.open(root)
    before = len(graph.commits.list())
    done = graph.optimize(engine="spark")
    assert done.commit_id == graph.commits.list()[0].id
    assert len(graph.commits.list()) == before + 1
    (docs,) = [table for table in done.tables if table.type_key == DOC]
    assert {(item.column, item.kind.value) for item in docs.built} == {("rank", "btree"), ("vec", "vector")}
    assert docs.folded
    assert docs.fragments_removed > docs.fragments_added
    _assert_like_local(root, template, tmp_path)
    assert graph.optimize(engine="spark").commit_id is None


def test_indices_on_spark_leave_fragments_alone_and_are_built_in_parts(
    root: Path, template: Path, tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = []
    run = job.SparkMaintenance._run

    def watched(self: job.SparkMaintenance, steps: Any, action: str) -> list[Any]:
        parts.extend(step for step in steps if isinstance(step, BuildPart))
        return run(self, steps, action)

    monkeypatch.setattr(job.SparkMaintenance, "_run", watched)
    graph = og.open(root)
    fragments = graph.snapshot().table(DOC).fragments()
    graph.ensure_indices(engine="spark")
    assert graph.snapshot().table(DOC).fragments() == fragments
    of_vectors = [step.fragments for step in parts if step.index.column == "vec"]
    assert len(of_vectors) == 2
    assert sorted(number for some in of_vectors for number in some) == [item.number for item in fragments]
    other = og.open(shutil.copytree(template, tmp_path / "local"))
    other.ensure_indices(engine="local")
    assert _shape(graph.snapshot()) == _shape(other.snapshot())
    assert _answers(graph.snapshot()) == _answers(other.snapshot())


def test_auto_takes_a_session_that_runs_for_a_large_graph(
    session: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_SPARK_OPTIMIZE_ROWS", "1")
    done = og.open(root).optimize()
    assert done.engine == "spark"
    assert done.engine_reason.endswith("rows, 1 or more, and a session is running")
    assert done.commit_id is not None


def test_an_engine_that_does_not_exist_is_refused(root: Path) -> None:
    with pytest.raises(og.BadInput, match="use 'auto', 'local' or 'spark'"):
        og.open(root).optimize(engine="flink")


# Faults.


class DyingTask(MaintenanceTask):
    """A task whose worker dies after the step's files are written, in every job's first task."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        told = list(MaintenanceTask.__call__(self, batches))
        if TaskContext.get().attemptNumber() == 0 and TaskContext.get().partitionId() == 0:
            os._exit(9)
        yield from told


class HopelessTask(MaintenanceTask):
    """A task that always fails, for a reason that trying again could change."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise og.Unavailable("the disk is full")


class SpoiledTask(MaintenanceTask):
    """A task that cannot build indexes of vectors."""

    def _outcome(self, number: int) -> Any:
        step = self.steps[number]
        if isinstance(step, BuildPart) and step.index.column == "vec":
            return og.BadInput("these vectors are odd")
        return MaintenanceTask._outcome(self, number)


def _replace_task(monkeypatch: pytest.MonkeyPatch, kind: type[MaintenanceTask]) -> None:
    monkeypatch.setattr(job, "MaintenanceTask", kind)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])


def test_workers_that_die_neither_lose_nor_repeat_anything(
    root: Path, template: Path, tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace_task(monkeypatch, DyingTask)
    graph = og.open(root)
    before = len(graph.commits.list())
    graph.optimize(engine="spark")
    assert len(graph.commits.list()) == before + 1
    _assert_like_local(root, template, tmp_path)
    assert graph.repair().ok


def test_a_task_that_never_succeeds_is_a_typed_error_and_changes_nothing(
    root: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace_task(monkeypatch, HopelessTask)
    graph = og.open(root)
    version = graph.snapshot().version
    with pytest.raises(og.SparkFailed, match="the disk is full"):
        graph.optimize(engine="spark")
    assert graph.snapshot().version == version
    assert plan_paths(str(root)) == []


def test_an_index_that_cannot_be_built_keeps_nobody_from_the_others(
    root: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace_task(monkeypatch, SpoiledTask)
    done = og.open(root).optimize(engine="spark")
    assert [(item.property, item.reason) for item in done.pending_indexes if item.property == "vec"] == [
        ("vec", "these vectors are odd")
    ]
    (docs,) = [table for table in done.tables if table.type_key == DOC]
    assert [item.column for item in docs.built] == ["rank"]


def test_a_lost_race_keeps_the_indexes_that_were_built(
    root: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = _lose_a_race(root, monkeypatch)
    graph = og.open(root)
    done = graph.ensure_indices(engine="spark")
    assert runs.count(DOC) == 1  # what was built is put on the newer version, not built again
    (docs,) = [table for table in done.tables if table.type_key == DOC]
    assert {item.column for item in docs.built} == {"rank", "vec"}
    names = graph.snapshot().table(DOC).scan(["slug"])["slug"].to_pylist()
    assert len(names) == len(set(names)) == 933
    assert _answers(graph.snapshot())["ranks"][2001 % 7].count("d2001") == 1


def test_fragments_that_others_change_meanwhile_are_left_as_they_are(
    root: Path, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _lose_a_race(root, monkeypatch)
    graph = og.open(root)
    done = graph.optimize(engine="spark")
    assert {table.skipped for table in done.tables if table.type_key == DOC} == {BUSY}
    assert graph.snapshot().table(DOC).count() == 933
    assert graph.repair().ok


def _lose_a_race(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let another writer be first once, when the indexes are built; return the tables that were built."""
    runs: list[str] = []
    build = job.SparkMaintenance.build

    def build_and_lose(self: job.SparkMaintenance, base: Any, key: str, wanted: Any) -> Iterator[Any]:
        yield from build(self, base, key, wanted)
        if key == DOC and DOC not in runs:
            og.open(root).load(_docs(2000, 2003), mode="append")
        runs.append(key)

    monkeypatch.setattr(job.SparkMaintenance, "build", build_and_lose)
    return runs


# What Spark does itself, and the publish; the other points are those of the same code in process.
POINTS = {
    "maintenance.after_compact": (False, False),
    "maintenance.after_index": (False, False),
    "publish.after_record": (True, True),
}


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_driver_leaves_it_done_whole_or_not_at_all(
    point: str, root: Path, template: Path, tmp_path: Path
) -> None:
    before = og.open(root, read_only=True).snapshot().version
    code = (
        "import omnigraph as og\nfrom omnigraph.spark import session\n"
        "session('local[2]', config={'spark.driver.memory': '512m'})\n"
        f"og.open({str(root)!r}, actor='carer').optimize(engine='spark')"
    )
    armed = {**os.environ, ENVIRONMENT: f"{point}=kill"}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=armed, timeout=900)
    assert done.returncode == -signal.SIGKILL

    at_once, recovered = POINTS[point]
    assert (og.open(root, read_only=True).snapshot().version > before) == at_once
    graph = og.open(root)
    assert (graph.snapshot().version > before) == recovered
    assert [commit.actor for commit in graph.commits.list()].count("carer") == recovered
    if not recovered:
        graph.optimize()
    _assert_like_local(root, template, tmp_path)
