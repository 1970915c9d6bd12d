"""The tasks of Spark, run in this process: a load does the same as with the executor of the process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

import omnigraph as og
from omnigraph.base.settings import Settings
from omnigraph.execution.engine import Availability, Engine, EngineChoice
from omnigraph.execution.load.keys.keys_in_memory import KeysInMemory
from omnigraph.execution.load.request import LoadRequest
from omnigraph.execution.load.run import run_load
from omnigraph.execution.load.sources import record_source
from omnigraph.pipeline.jobs import load
from omnigraph.pipeline.jobs.load import SparkExecutor
from omnigraph.pipeline.workers.outcome import decode
from support.engines import said

SCHEMA = """
node P { name: String @key  mail: String? @unique }
edge Knows: P -> P @card(0..2) { w: I64? @unique }
"""
NAMES = st.sampled_from(["a", "b", "c", "stored", "none"])
RECORDS = st.one_of(
    st.builds(
        lambda name, mail: {"type": "P", "data": {"name": name, "mail": mail}},
        NAMES,
        st.sampled_from([None, "m", "n", "taken", 5]),
    ),
    st.builds(
        lambda id_, source, target, w: {
            "edge": "Knows", "from": source, "to": target, "data": {"id": id_, "w": w}
        },
        st.sampled_from([None, "x", "old"]), NAMES, NAMES, st.none() | st.integers(0, 3),
    ),
)  # fmt: skip


class TasksHere(SparkExecutor):
    """Sends every task to itself."""

    def _run(self, order: Any, base: Any, task: Any) -> Any:
        told: list[pa.RecordBatch] = []
        for number in range(len(task.splits)):
            sent = cloudpickle.loads(cloudpickle.dumps(task))
            told += sent(iter([pa.record_batch([[number]], names=["id"])]))
        if not told:
            return [], KeysInMemory({}, task.key)
        outcomes, hashes = decode(pa.Table.from_batches(told))
        return outcomes, KeysInMemory(hashes, task.key)


class EngineHere:
    """`BulkEngine` that needs no Spark."""

    def availability(self) -> Availability:
        return Availability(True, "it is here")

    def estimate(self, source: Any) -> EngineChoice:
        return EngineChoice(Engine.SPARK, "it is asked for")

    def executor(self, source: Any) -> TasksHere:
        return TasksHere(None, Settings())


@pytest.fixture(autouse=True)
def small_splits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(record_source, "_SPLIT_RECORDS", 2)
    monkeypatch.setattr(load, "cores_of", lambda _: 2)
    cores = pa.cpu_count()
    yield
    pa.set_cpu_count(cores)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template") / "graph"
    stored = [
        {"type": "P", "data": {"name": "stored", "mail": "taken"}},
        {"type": "P", "data": {"name": "a"}},
        {"edge": "Knows", "from": "stored", "to": "a", "data": {"id": "old", "w": 0}},
    ]
    og.init(root, SCHEMA).load(stored, mode="append")
    return root


def _outcome(
    template: Path, folder: Path, records: Any, mode: str, on_error: str, bulk: Any
) -> tuple[Any, ...]:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder / "graph")
    graph, bad = og.open(folder / "graph"), folder / "bad"
    rejected = bad if on_error == "quarantine" else None
    request = LoadRequest(source=records, mode=mode, on_error=on_error, rejected_to=rejected)
    try:
        done = run_load(graph, request, bulk)
    except og.OmniError as error:
        return type(error), str(error), error.details, said(graph)
    told = replace(done, commit_id=None, engine="", engine_reason="", rejected_path=None, seconds=0.0)
    told = replace(told, phases=dict.fromkeys(told.phases, 0.0), bytes_written=0)
    return told, bad.read_text() if bad.exists() else "", said(graph)


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("on_error", ["fail", "quarantine"])
@given(records=st.lists(RECORDS, max_size=7))
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_executor_loads_rejects_and_tells_the_same(
    mode: str, on_error: str, records: list[dict[str, Any]], template: Path, tmp_path: Path
) -> None:
    here = _outcome(template, tmp_path / "here", records, mode, on_error, EngineHere())
    assert here == _outcome(template, tmp_path / "local", records, mode, on_error, None)
