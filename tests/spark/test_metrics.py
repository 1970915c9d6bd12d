"""What Spark tells of loads: observed metrics of their tasks, and lineage of what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.java_gateway import ensure_callback_server_started

import omnigraph as og
from omnigraph.pipeline.steps.run import METRICS

SCHEMA = "node Person { nr: I64 @key  name: String? }\n"


class Listener:
    """A `QueryExecutionListener` that keeps what was observed."""

    def __init__(self) -> None:
        self.observed: list[dict[str, int]] = []

    def onSuccess(self, function: str, execution: Any, nanoseconds: int) -> None:
        found = execution.observedMetrics()
        if found.contains(METRICS):
            row = json.loads(found.apply(METRICS).json())
            self.observed.append(row)

    def onFailure(self, function: str, execution: Any, error: Any) -> None:
        """Do nothing."""

    class Java:
        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)


@pytest.fixture
def graph(tmp_path: Path, session: Any) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "lineage.ndjson"
    monkeypatch.setenv("OMNIGRAPH_OPENLINEAGE", str(path))
    return path


def test_listeners_of_spark_see_the_rows_and_bytes_of_a_load(session: Any, graph: og.Graph) -> None:
    ensure_callback_server_started(session.sparkContext._gateway)
    listener, manager = Listener(), session._jsparkSession.listenerManager()
    manager.register(listener)
    try:
        done = graph.load(
            # Files of several tasks would be joined: what the tasks wrote is more than what is there then.
            session.createDataFrame([(at, "x") for at in range(100)], "nr long, name string").coalesce(1),
            type="Person",
            mode="append",
        )
        session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    finally:
        manager.unregister(listener)
    assert listener.observed == [{"rows": 100, "bytes": done.bytes_written, "problems": 0}]


def test_a_data_frame_is_followed_to_the_files_that_it_was_read_from(
    session: Any, graph: og.Graph, events: Path, tmp_path: Path
) -> None:
    source = tmp_path / "people.parquet"
    session.createDataFrame([(1, "ada")], "nr long, name string").coalesce(1).write.parquet(str(source))
    done = graph.load(session.read.parquet(str(source)), type="Person", mode="append")
    start, end = map(json.loads, events.read_text().splitlines())
    (part,) = source.glob("*.parquet")
    assert start["inputs"] == end["inputs"] == [{"namespace": "file", "name": str(part)}]
    assert end["run"]["facets"]["processing_engine"]["name"] == "pyspark"
    assert end["outputs"][0]["facets"]["version"]["datasetVersion"] == done.commit_id


def test_batches_of_a_stream_are_runs_of_one_job(session: Any, graph: og.Graph, events: Path) -> None:
    write = graph.stream_writer("Person", app_id="crm")
    frame = session.createDataFrame([(1, "ada")], "nr long, name string")
    for batch in (0, 1, 1):
        write(frame, batch)
    told = [json.loads(line) for line in events.read_text().splitlines()]
    assert [event["eventType"] for event in told] == ["START", "COMPLETE"] * 3
    assert {event["job"]["name"] for event in told} == {"crm"}
    assert {event["job"]["facets"]["jobType"]["processingType"] for event in told} == {"STREAMING"}
    assert len({event["run"]["runId"] for event in told}) == 3
    assert [len(event["outputs"]) for event in told[1::2]] == [1, 1, 0]
