"""Structured Streaming: a micro-batch is one commit, and lands once whatever Spark remembers of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

import omnigraph as og
from omnigraph.base.failpoints import ENVIRONMENT
from omnigraph.spark import graph_error

SCHEMA = (
    "node Person { name: String @key  age: I32? }\nnode Note { text: String }\nedge Knows: Person -> Person\n"
)


@pytest.fixture
def graph(tmp_path: Path, session: Any) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


def _drop(folder: Path, batch: int) -> None:
    """Put a file of records of three types where a stream looks for files."""
    folder.mkdir(exist_ok=True)
    lines = [
        f'{{"edge": "Knows", "from": "p{batch}", "to": "q{batch}"}}',
        f'{{"type": "Person", "data": {{"name": "p{batch}", "age": {batch}}}}}',
        f'{{"type": "Person", "data": {{"name": "q{batch}"}}}}',
        f'{{"type": "Note", "data": {{"text": "note {batch}"}}}}',
    ]
    draft = folder.with_name(f"draft-{batch}")
    draft.write_text("\n".join(lines) + "\n")
    draft.rename(folder / f"{batch}.ndjson")


def _run(session: Any, folder: Path, writer: Any) -> None:
    """Let a stream take all files that are there, one in a batch."""
    query = (
        session.readStream.option("maxFilesPerTrigger", 1)
        .text(str(folder))
        .writeStream.foreachBatch(writer)
        .option("checkpointLocation", str(folder.with_name("checkpoint")))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(240)
    if query.exception() is not None:
        raise query.exception()


def _counts(graph: og.Graph) -> dict[str, int]:
    return {info.key: info.rows for info in graph.snapshot().tables}


def test_a_batch_of_many_types_is_one_commit_and_a_batch_that_spark_forgot_changes_nothing(
    graph: og.Graph, session: Any, tmp_path: Path
) -> None:
    for batch in range(2):
        _drop(tmp_path / "in", batch)
    writer = graph.stream_writer(mode="append", app_id="crm")
    _run(session, tmp_path / "in", writer)
    assert graph.snapshot().version == 3
    assert _counts(graph) == {"edge:Knows": 2, "node:Note": 2, "node:Person": 4}

    commits = tmp_path / "checkpoint" / "commits"
    last = max((path for path in commits.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    last.unlink()
    (commits / f".{last.name}.crc").unlink(missing_ok=True)
    _run(session, tmp_path / "in", writer)
    assert writer.last is None
    assert graph.snapshot().version == 3
    assert last.exists()


def test_the_error_of_a_batch_is_ours_inside_of_spark_s(
    graph: og.Graph, session: Any, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.ndjson").write_text('{"type": "Person", "data": {"name": "ada", "age": "x"}}\n')
    with pytest.raises(PySparkException) as told:
        _run(session, tmp_path / "in", graph.stream_writer(app_id="crm"))
    ours = graph_error(told.value)
    assert isinstance(ours, og.ValidationError)
    assert "Person.age needs an integer" in ours.message


def test_a_frame_of_one_type_is_written_and_wrong_records_stop_the_stream(
    graph: og.Graph, session: Any
) -> None:
    writer = graph.stream_writer("Person", app_id="crm", mapping={"who": "name"})
    frame = session.createDataFrame([("ada", 36), ("bob", None)], "who string, age int")
    writer(frame, 0)
    assert writer.last is not None
    assert writer.last.nodes == {"Person": 2}
    writer(frame, 0)
    assert (writer.last, graph.snapshot().version) == (None, 2)

    records = graph.stream_writer(app_id="records")
    for text in ('{"type": "Robot"}', None, '{"type":\n"Note"}'):
        with pytest.raises(og.BadInput):
            records(session.createDataFrame([(text,)], "value string"), 0)
    with pytest.raises(og.BadInput, match="one column"):
        records(frame, 0)
    with pytest.raises(og.BadInput):
        graph.stream_writer(app_id="")
    with pytest.raises(og.BadInput):
        graph.stream_writer(app_id="crm", mode="replace")
    with pytest.raises(og.BadInput, match="no mapping file"):
        graph.stream_writer(app_id="crm", mapping="people.toml")  # type: ignore[arg-type]
    assert graph.snapshot().version == 2


PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
import omnigraph as og
from omnigraph import spark
from spark.test_streaming import _run
session = spark.session("local[2]", config={{"spark.driver.memory": "1g"}})
_run(session, Path({folder!r}), og.open({root!r}).stream_writer(mode="append", app_id="crm"))
"""


@pytest.mark.long
@pytest.mark.parametrize("point", ["plan.after_put", "publish.after_record"])
def test_a_driver_that_is_killed_before_spark_has_heard_of_the_commit_lands_the_batch_once(
    point: str, graph: og.Graph, session: Any, tmp_path: Path
) -> None:
    _drop(tmp_path / "in", 0)
    tests = str(Path(__file__).resolve().parents[1])
    code = PROGRAM.format(tests=tests, folder=str(tmp_path / "in"), root=graph.uri)
    armed = {**os.environ, ENVIRONMENT: f"{point}=kill"}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=armed, timeout=300)
    assert done.returncode == -signal.SIGKILL

    _drop(tmp_path / "in", 1)
    again = og.open(graph.uri)
    _run(session, tmp_path / "in", again.stream_writer(mode="append", app_id="crm"))
    assert _counts(again) == {"edge:Knows": 2, "node:Note": 2, "node:Person": 4}
