"""The change feed as a source of Spark: what `g.changes` gives, from where the checkpoint says."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles

import omnigraph as og
from omnigraph.base.failpoints import ENVIRONMENT
from omnigraph.pipeline.datasource import GraphSource
from omnigraph.pipeline.feed_source import FeedStream
from omnigraph.spark import graph_error

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
WIDER = SCHEMA.replace("age: I32?", "age: I32?  mail: String?") + "node Note { text: String @key }\n"
AGE = "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
GONE = 'query q() { delete Person where name = "b" }'


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph whose five commits insert, update, delete, and change the schema."""
    graph = og.init(tmp_path / "graph", SCHEMA, actor="act-ada")
    people = [{"type": "Person", "data": {"name": name}} for name in "abc"]
    knows = {"edge": "Knows", "from": "a", "to": "b", "data": {"id": "k1"}}
    graph.load([*people, knows], mode="append", message="first people")
    graph.mutate(AGE, {"n": "a", "a": 7})
    graph.schema.apply(WIDER)
    graph.mutate(GONE)
    return graph


def _source(graph: og.Graph, changes: str = "beginning", **options: str) -> GraphSource:
    return GraphSource({"graph": graph.uri, "changes": changes, **options})


def _stream(graph: og.Graph, changes: str = "beginning", **options: str) -> FeedStream:
    source = _source(graph, changes, **options)
    reader = source.streamReader(source.schema())
    assert isinstance(reader, FeedStream)
    return reader


def _rows(reader: Any, *between: dict[str, str]) -> list[dict[str, Any]]:
    """Return what Spark would get, without Spark."""
    parts = reader.partitions(*between)
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


def _told(graph: og.Graph, **options: Any) -> list[dict[str, Any]]:
    """Return the rows that a poll's blocks should be."""
    rows: list[dict[str, Any]] = []
    for version, block in enumerate(graph.changes.poll(start="beginning", **options).blocks, 1):
        cause = block.cause
        common = {
            "version": version, "commit_id": cause.commit_id, "branch": cause.branch, "actor": cause.actor,
            "parent_commit_id": cause.parent_commit_id, "operation": cause.operation,
            "merged_parent_commit_id": cause.merged_parent_commit_id, "message": cause.message,
        }  # fmt: skip
        if block.schema is not None:
            rows.append({**common, "position": 0, "op": "schema", "schema": block.schema.to_json()})
        for position, change in enumerate(block.changes, 1):
            said = {name: getattr(change, name) for name in ("kind", "type_id", "type_name", "id", "op")}
            rows.append(
                {**common, "position": position, **said, "before": change.before, "after": change.after}
            )
    return rows


def _parsed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the source as data, without what is null and the time."""
    data = {name: value for name, value in row.items() if value is not None and name != "authored_at"}
    return {
        name: json.loads(value) if name in ("before", "after", "schema") else value
        for name, value in data.items()
    }


def _full(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def test_rows_are_what_a_poll_gives_schema_changes_included(graph: og.Graph) -> None:
    source = _source(graph)
    rows = _rows(source.reader(source.schema()))
    assert [_parsed(row) for row in rows] == _full(_told(graph))
    assert [row["op"] for row in rows if row["schema"]] == ["schema", "schema"]
    first = graph.changes.poll(start="beginning").blocks[0].cause
    assert int(rows[0]["authored_at"].timestamp() * 1e6) == first.authored_at

    some = _source(graph, types="Person", ops="update,delete", columns="id,op")
    rows = _rows(some.reader(some.schema()))
    assert [row for row in rows if row["op"] != "schema"] == [
        {"id": "a", "op": "update"},
        {"id": "b", "op": "delete"},
    ]


def test_a_block_that_is_larger_than_a_page_comes_whole(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnigraph.pipeline.workers.feed.MOST_CHANGES", 2)
    stream = _stream(graph)
    rows = _rows(stream, {"origin": "-"}, _latest(stream, stream.initialOffset()))
    assert [_parsed(row) for row in rows] == _full(_told(graph))


def _latest(stream: FeedStream, start: dict[str, str], commits: int | None = None) -> dict[str, str]:
    return stream.latestOffset(start, ReadAllAvailable() if commits is None else ReadMaxFiles(commits))


def test_batches_follow_each_other_without_gap_or_overlap(graph: og.Graph) -> None:
    stream = _stream(graph, commits="2")
    assert stream.getDefaultReadLimit() == ReadMaxFiles(2)
    assert _stream(graph).getDefaultReadLimit() == ReadAllAvailable()
    at, rows, ends = stream.initialOffset(), [], []
    while (end := _latest(stream, at, 2)) != at:
        batch = _rows(stream, at, end)
        rows += batch
        ends.append(max((row["version"] for row in batch), default=0))
        at = end
    assert ends == [2, 4, 5]
    assert [_parsed(row) for row in rows] == _full(_told(graph))
    assert _rows(stream, at, at) == []
    page = graph.changes.poll(cursor=at["cursor"])
    assert page.caught_up and page.blocks == ()


def test_the_first_batch_begins_where_it_began_although_now_is_later(graph: og.Graph) -> None:
    stream = _stream(graph, "now")
    first = stream.initialOffset()
    empty = _latest(stream, first)
    assert empty != first  # Spark writes the place down, although there is nothing to read
    graph.mutate(AGE, {"n": "a", "a": 8})
    end = _latest(stream, first)
    again = _stream(graph, "now")
    assert [row["version"] for row in _rows(again, again.initialOffset(), end)] == [6]


def test_a_gap_is_found_when_a_batch_is_planned(graph: og.Graph) -> None:
    stream = _stream(graph)
    start = stream.initialOffset()
    end = _latest(stream, start)
    graph.cleanup(keep=1, older_than="0s", dry_run=False)
    again = _stream(graph)
    with pytest.raises(og.ChangeFeedGap):
        again.partitions(start, end)


def test_a_run_that_takes_what_is_there_ends_at_the_head_that_it_saw(graph: og.Graph) -> None:
    stream = _stream(graph)
    stream.prepareForTriggerAvailableNow()
    graph.mutate(AGE, {"n": "a", "a": 8})
    end = _latest(stream, stream.initialOffset())
    assert max(row["version"] for row in _rows(stream, stream.initialOffset(), end)) == 5
    assert _latest(stream, end) == end


def test_a_stream_begins_at_the_cursor_of_a_baseline_or_after_a_commit(
    graph: og.Graph, tmp_path: Path
) -> None:
    baseline: Any = graph.changes.baseline(tmp_path / "people.ndjson")
    second = graph.snapshot(version=2).commit_id
    graph.mutate(AGE, {"n": "c", "a": 9})
    for start, versions in ((baseline.resume_cursor, [6]), (f"after:{second}", [3, 4, 5, 5, 6])):
        stream = _stream(graph, start)
        rows = _rows(stream, stream.initialOffset(), _latest(stream, stream.initialOffset()))
        assert [row["version"] for row in rows] == versions


def test_options_of_the_feed_are_checked(graph: og.Graph) -> None:
    for wrong in (
        {"changes": "now", "path": "Person"},
        {"changes": "now", "version": "2"},
        {"path": "Person", "kinds": "node"},
        {"changes": "now", "ops": "upsert"},
    ):
        with pytest.raises(og.BadInput):
            GraphSource({"graph": graph.uri, **wrong})
    with pytest.raises(og.BadInput, match="commits"):
        _stream(graph, commits="0")
    with pytest.raises(og.ChangeCursorRejected):
        _stream(graph, "yesterday").initialOffset()
    with pytest.raises(og.BadInput, match="only the change feed"):
        source = GraphSource({"graph": graph.uri, "path": "Person"})
        source.streamReader(source.schema())
    for writer in (graph.changes.stream_writer(app_id="a"), graph.stream_writer(app_id="a")):
        with pytest.raises(og.BadInput, match="Spark Connect runs the function"):
            pickle.dumps(writer)
    with pytest.raises(og.BadInput, match="name a table"):
        _source(graph).writer(_source(graph).schema(), False)


def _run(
    session: Any, graph: og.Graph, checkpoint: Path, writer: Any, **options: str
) -> list[dict[str, Any]]:
    """Let a stream take all commits that are there; return its progress."""
    reader = session.readStream.format("omnigraph").option("graph", graph.uri)
    query = (
        reader.option("changes", "beginning").options(**options).load()
        .writeStream.foreachBatch(writer)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )  # fmt: skip
    assert query.awaitTermination(240)
    if query.exception() is not None:
        raise query.exception()
    return [json.loads(progress.json) for progress in query.recentProgress]


def _equal(one: og.Graph, two: og.Graph) -> bool:
    return sorted(map(str, one.export())) == sorted(map(str, two.export()))


def test_a_copy_that_follows_the_stream_is_equal_and_a_batch_again_changes_nothing(
    session: Any, graph: og.Graph, tmp_path: Path
) -> None:
    copy = og.init(tmp_path / "copy", SCHEMA)
    writer = copy.changes.stream_writer(app_id="mirror")
    progress = _run(session, graph, tmp_path / "checkpoint", writer, commits="2")
    assert [item["batchId"] for item in progress if item["numInputRows"]] == [0, 1, 2]
    assert _equal(graph, copy) and len(writer.last) == 1
    commits = [commit.id for commit in copy.commits.list()]

    logged = tmp_path / "checkpoint" / "commits" / "2"
    logged.unlink()
    logged.with_name(".2.crc").unlink(missing_ok=True)
    graph.mutate(AGE, {"n": "c", "a": 9})
    _run(session, graph, tmp_path / "checkpoint", writer, commits="2")
    assert _equal(graph, copy)
    assert len(copy.commits.list()) == len(commits) + 1

    batch = session.read.format("omnigraph").options(graph=graph.uri, changes="beginning").load()
    assert batch.filter("op = 'delete'").count() == 2
    writer(batch, 0)
    assert writer.last == () and len(copy.commits.list()) == len(commits) + 1
    with pytest.raises(og.BadInput, match="as it was read"):
        writer(batch.drop("after"), 1)


def test_a_gap_is_a_typed_error_inside_that_of_spark(session: Any, graph: og.Graph, tmp_path: Path) -> None:
    commits = {commit.version: commit.id for commit in graph.commits.list()}
    (entry,) = [
        item for item in graph.snapshot(version=2).record.tables.values() if item.key == "node:Person"
    ]
    graph.internals.core.truth.store.delete(f"{entry.location}/{entry.pin.path}")
    with pytest.raises(PySparkException) as caught:
        _run(session, graph, tmp_path / "checkpoint", lambda frame, _: frame.collect())
    gap = graph_error(caught.value)
    assert isinstance(gap, og.ChangeFeedGap)
    assert gap.details["first_unreadable_commit_id"] == commits[2]
    with pytest.raises(PySparkException) as caught:
        session.read.format("omnigraph").options(graph=graph.uri, changes="yesterday").load().collect()
    assert isinstance(graph_error(caught.value), og.ChangeCursorRejected)
    assert graph_error(ValueError("no")) is None


PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
import omnigraph as og
from omnigraph import spark
from spark.test_feed_source import _run
session = spark.session("local[2]", config={{"spark.driver.memory": "1g"}})
writer = og.open({copy!r}).changes.stream_writer(app_id="mirror")
_run(session, og.open({graph!r}), Path({checkpoint!r}), writer, commits="3")
"""


@pytest.mark.long
def test_a_driver_that_is_killed_in_a_batch_goes_on_from_its_checkpoint(
    session: Any, graph: og.Graph, tmp_path: Path
) -> None:
    copy = og.init(tmp_path / "copy", SCHEMA)
    told = {"tests": str(Path(__file__).resolve().parents[1]), "copy": copy.uri, "graph": graph.uri}
    code = PROGRAM.format(checkpoint=str(tmp_path / "checkpoint"), **told)
    armed = {**os.environ, ENVIRONMENT: "publish.after_record=kill"}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=armed, timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert 1 < len(copy.commits.list()) < 4 and not _equal(graph, copy)

    graph.mutate(AGE, {"n": "c", "a": 9})
    again = og.open(copy.uri)
    _run(session, graph, tmp_path / "checkpoint", again.changes.stream_writer(app_id="mirror"), commits="3")
    assert _equal(graph, again)
    messages = [commit.message for commit in again.commits.list()]
    assert len([said for said in messages if said]) == len({said for said in messages if said})
