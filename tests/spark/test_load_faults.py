"""Tasks that die, races that are lost, drivers that are killed: every row arrives once, or none does."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import omnigraph as og
from omnigraph.pipeline.jobs import load
from omnigraph.pipeline.jobs.load import SparkExecutor
from omnigraph.pipeline.workers.read import ReadTask
from support.graphs import plan_paths
from support.killed_drivers import assert_all_killed, run_killed_drivers

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
ROWS = 400


class DyingTask(ReadTask):
    """A task whose worker dies in every split's first attempt, when all rows are written."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        told = list(ReadTask.__call__(self, batches))
        if TaskContext.get().attemptNumber() == 0 and TaskContext.get().partitionId() % 2:
            os._exit(9)
        yield from told


class HopelessTask(ReadTask):
    """A task that always fails, for a reason that trying again could change."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise og.Unavailable("the disk is full")


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lines") / "graph.ndjson"
    people = [f'{{"type":"Person","data":{{"name":"p{i}"}}}}' for i in range(ROWS)]
    knows = [f'{{"edge":"Knows","from":"p{i}","to":"p{(i * 7) % ROWS}"}}' for i in range(ROWS)]
    path.write_text("\n".join([*knows, *people]))
    return path


@pytest.fixture
def graph(tmp_path: Path, session: Any, monkeypatch: pytest.MonkeyPatch) -> og.Graph:
    monkeypatch.setenv("OMNIGRAPH_SPARK_SPLIT_BYTES", "9000")
    return og.init(tmp_path / "graph", SCHEMA)


def _names(graph: og.Graph) -> list[str]:
    return sorted(graph.snapshot().table("node:Person").scan(["name"])["name"].to_pylist())


def _replace_task(monkeypatch: pytest.MonkeyPatch, kind: type[ReadTask]) -> None:
    module = sys.modules[__name__]
    monkeypatch.setattr(load, "ReadTask", kind)
    cloudpickle.register_pickle_by_value(module)


def test_workers_that_die_lose_no_row_and_write_none_twice(
    graph: og.Graph, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace_task(monkeypatch, DyingTask)
    done = graph.load(lines, mode="append", engine="spark")
    assert (done.nodes, done.edges) == ({"Person": ROWS}, {"Knows": ROWS})
    assert _names(graph) == sorted(f"p{i}" for i in range(ROWS))
    assert graph.snapshot().table("edge:Knows").count() == ROWS


def test_a_task_that_never_succeeds_is_a_typed_error_and_writes_nothing(
    graph: og.Graph, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace_task(monkeypatch, HopelessTask)
    with pytest.raises(og.SparkFailed, match="the disk is full"):
        graph.load(lines, mode="append", engine="spark")
    assert graph.snapshot().version == 1


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_a_lost_race_applies_the_staged_files_again_without_reading_again(
    mode: str, graph: og.Graph, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = []
    read = SparkExecutor.read

    def read_and_lose(self: SparkExecutor, order: Any, base: Any) -> Any:
        found = read(self, order, base)
        staged.append(mode)
        og.open(graph.uri).load([{"type": "Person", "data": {"name": "first"}}], mode="append")
        return found

    monkeypatch.setattr(SparkExecutor, "read", read_and_lose)
    graph.load(lines, mode=mode, engine="spark")
    assert staged == [mode]
    assert _names(graph) == sorted(["first", *(f"p{i}" for i in range(ROWS))])


def test_what_another_writer_stored_meanwhile_is_seen_by_the_rules(
    graph: og.Graph, lines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = SparkExecutor.read

    def read_and_lose(self: SparkExecutor, order: Any, base: Any) -> Any:
        found = read(self, order, base)
        og.open(graph.uri).load([{"type": "Person", "data": {"name": "p7", "age": 7}}], mode="append")
        return found

    monkeypatch.setattr(SparkExecutor, "read", read_and_lose)
    with pytest.raises(og.KeyConflict, match="p7"):
        graph.load(lines, mode="append", engine="spark")
    assert _names(graph) == ["p7"]


POINTS = {
    "write.after_stage": ("old", "old"),
    "table.before_pin": ("old", "old"),
    "table.after_pin": ("old", "old"),
    "write.after_table_commit": ("old", "old"),
    "write.after_all_tables": ("old", "old"),
    "plan.before_put": ("old", "old"),
    "plan.after_put": ("old", "new"),
    "publish.before_record": ("old", "new"),
    "publish.after_record": ("new", "new"),
    "plan.before_delete": ("new", "new"),
}


LOAD = """
import omnigraph as og
og.open(root, actor="loader").load(lines, mode="append", engine="spark")
"""


@pytest.fixture(scope="module")
def killed(lines: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A graph for every point, in which a load was killed there."""
    roots = {point: tmp_path_factory.mktemp("killed") / "graph" for point in POINTS}
    for root in roots.values():
        og.init(root, SCHEMA)
    cases = [
        {"failpoints": f"{point}=kill", "root": str(root), "lines": str(lines)}
        for point, root in roots.items()
    ]
    assert_all_killed(run_killed_drivers(LOAD, cases, {"OMNIGRAPH_SPARK_SPLIT_BYTES": "9000"}))
    return roots


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_driver_leaves_the_whole_old_or_the_whole_new_graph(
    point: str, killed: dict[str, Path], lines: Path, tmp_path: Path
) -> None:
    root = killed[point]
    rows = {"old": [], "new": sorted(f"p{i}" for i in range(ROWS))}
    at_once, recovered = POINTS[point]
    assert _names(og.open(root, read_only=True)) == rows[at_once]
    graph = og.open(root)
    assert _names(graph) == rows[recovered]
    assert graph.snapshot().table("edge:Knows").count() == len(rows[recovered])
    assert plan_paths(str(root)) == []
    assert [commit.actor for commit in graph.commits.list()].count("loader") == (recovered == "new")
    if recovered == "old":
        copy = shutil.copytree(root, tmp_path / "again")
        assert og.open(copy).load(lines, mode="append").nodes == {"Person": ROWS}
