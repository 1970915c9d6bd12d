"""OpenLineage events of loads, taken by a real endpoint and by files."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import omnigraph as og
from omnigraph.execution.lineage.events import file_inputs
from omnigraph.execution.lineage.target import find_target
from support.lineage_server import LineageServer, running_lineage_server

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
PARENT = "01890a5d-ac96-774b-bcce-b302099a8057"
FACET_URL = r"https://openlineage\.io/spec/facets/\d-\d-\d/(\w+)\.json#/\$defs/\1"


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if "OPENLINEAGE" in name]:
        monkeypatch.delenv(name)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "people", SCHEMA)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[LineageServer]:
    with running_lineage_server() as server:
        monkeypatch.setenv("OMNIGRAPH_OPENLINEAGE", server.url)
        yield server


def write_people(folder: Path) -> Path:
    path = folder / "people.jsonl"
    records: list[dict[str, Any]] = [
        {"type": "Person", "data": {"name": name}} for name in ("ada", "bob", "eve")
    ]
    records.append({"edge": "Knows", "from": "ada", "to": "bob"})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def require_facets(value: Any) -> None:
    """Require of every facet in an event what OpenLineage requires of all."""
    for name, item in value.items() if isinstance(value, dict) else ():
        if name in ("facets", "outputFacets"):
            for facet in item.values():
                assert re.fullmatch(FACET_URL, facet["_schemaURL"])
                assert facet["_producer"].startswith("urn:omnigraph:")
        require_facets(item)
    for item in value if isinstance(value, list) else ():
        require_facets(item)


def test_a_load_sends_its_start_and_its_end_with_what_it_read_and_wrote(
    graph: og.Graph, endpoint: LineageServer, tmp_path: Path
) -> None:
    source = write_people(tmp_path)
    done = graph.load(source, mode="append")
    start, end = endpoint.events
    assert endpoint.paths == ["/api/v1/lineage"] * 2
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    for event in (start, end):
        assert {"eventTime", "producer", "schemaURL", "run", "job"} < set(event)
        assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
        assert event["inputs"] == [{"namespace": "file", "name": str(source)}]
        assert event["job"]["name"] == "load.people"
        assert event["job"]["facets"]["jobType"]["processingType"] == "BATCH"
        assert event["run"]["facets"]["processing_engine"]["name"] == "omnigraph"
        require_facets(event)
    assert start["run"]["runId"] == end["run"]["runId"] == str(UUID(end["run"]["runId"]))
    assert start["eventTime"] < end["eventTime"]
    people, knows = end["outputs"]
    assert people["name"] == f"{graph.uri}/node:Person"
    assert people["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert knows["facets"]["schema"]["fields"][:2] == [
        {"name": "from", "type": "String"},
        {"name": "to", "type": "String"},
    ]
    assert knows["facets"]["version"]["datasetVersion"] == done.commit_id
    sizes = [item["outputFacets"]["outputStatistics"]["size"] for item in end["outputs"]]
    assert sum(sizes) == done.bytes_written


def test_a_load_that_is_refused_sends_fail_with_the_error(graph: og.Graph, endpoint: LineageServer) -> None:
    with pytest.raises(og.ValidationError):
        graph.load([{"type": "Person", "data": {"nam": "x"}}], mode="append")
    start, end = endpoint.events
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL")
    error = end["run"]["facets"]["errorMessage"]
    assert error["message"].startswith("[validation_error] record 1")
    assert error["programmingLanguage"] == "PYTHON"


def test_the_types_of_a_table_are_known_from_the_start(graph: og.Graph, endpoint: LineageServer) -> None:
    import pyarrow as pa

    graph.load(pa.table({"name": ["ada"]}), type="Person", mode="append")
    start, end = endpoint.events
    assert [item["name"] for item in start["outputs"]] == [f"{graph.uri}/node:Person"]
    assert (start["inputs"], start["job"]["name"]) == ([], "load.people.Person")
    assert end["outputs"][0]["facets"]["version"]["branch"] == "main"


def test_key_namespace_and_parent_come_from_the_environment(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_lineage_server() as server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        monkeypatch.setenv("OPENLINEAGE_ENDPOINT", "/events")
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "s3cret")
        monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "nightly")
        monkeypatch.setenv("OPENLINEAGE_PARENT_ID", f"airflow/dag.task/{PARENT}")
        graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    assert server.paths == ["/events"] * 2
    assert {headers["authorization"] for headers in server.headers} == {"Bearer s3cret"}
    event = server.events[0]
    assert event["job"]["namespace"] == "nightly"
    parent = event["run"]["facets"]["parent"]
    assert (parent["run"], parent["job"]) == (
        {"runId": PARENT},
        {"namespace": "airflow", "name": "dag.task"},
    )
    assert "s3cret" not in repr(find_target())


def test_events_can_go_to_a_file_as_lines(
    graph: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "lineage.ndjson"
    monkeypatch.setenv("OMNIGRAPH_OPENLINEAGE", str(target))
    for name in ("ada", "bob"):
        graph.load([{"type": "Person", "data": {"name": name}}], mode="append")
    kinds = [json.loads(line)["eventType"] for line in target.read_text().splitlines()]
    assert kinds == ["START", "COMPLETE"] * 2


def test_no_load_fails_because_of_its_endpoint(
    graph: og.Graph,
    endpoint: LineageServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(name: str) -> None:
        with caplog.at_level(logging.WARNING, "omnigraph"):
            assert graph.load([{"type": "Person", "data": {"name": name}}], mode="append").commit_id

    endpoint.status = 500
    load("refused")
    assert "status 500" in caplog.text
    for address in ("http://user:s3cret@127.0.0.1:1", "http://[", "/no/such/folder/lineage.ndjson"):
        caplog.clear()
        monkeypatch.setenv("OMNIGRAPH_OPENLINEAGE", address)
        load(address)
        assert "lineage" in caplog.text
        assert "s3cret" not in caplog.text
    assert graph.snapshot().tables[1].rows == 4


def test_an_endpoint_that_hangs_delays_a_load_by_no_more_than_the_setting(
    tmp_path: Path,
    endpoint: LineageServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMNIGRAPH_LINEAGE_SECONDS", "0.2")
    graph = og.init(tmp_path / "slow", SCHEMA)
    endpoint.hangs = True
    began = time.monotonic()
    with caplog.at_level(logging.WARNING, "omnigraph"):
        done = graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    assert done.commit_id is not None
    assert "lineage event" in caplog.text
    assert time.monotonic() - began < 20


def test_nothing_is_sent_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_target({}) is None
    assert find_target({"OMNIGRAPH_OPENLINEAGE": "http://x", "OPENLINEAGE_DISABLED": "true"}) is None
    found = find_target({"OMNIGRAPH_OPENLINEAGE": "https://x/custom", "OPENLINEAGE_URL": "http://other"})
    assert found is not None
    assert found.address == "https://x/custom"


def test_datasets_are_named_by_place_and_many_files_by_their_folders() -> None:
    assert file_inputs(["s3://bucket/day/a.parquet", "file:///data/b%20c.csv"]) == [
        {"namespace": "s3://bucket", "name": "day/a.parquet"},
        {"namespace": "file", "name": "/data/b c.csv"},
    ]
    many = [f"/data/{at % 3}/{at}.parquet" for at in range(1000)]
    assert file_inputs(many) == [{"namespace": "file", "name": f"/data/{at}"} for at in range(3)]
