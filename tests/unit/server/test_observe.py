"""What operators see: metrics of all workers, lines of JSON, traces."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from opentelemetry import trace

import omnigraph as og
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.observe.cells import Cells, read_cells
from omnigraph.server.observe.logs import JsonLines
from omnigraph.server.observe.metrics import HELP, Metrics
from omnigraph.server.observe.traces import Traces, find_traces

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")
PAGE = Path(__file__).parents[3] / "docs" / "server.md"
ADD = {"query": "query q($n: String) { insert N { name: $n } }", "params": {"n": "a"}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    og.init(tmp_path / "people", "node N { name: String @key }")
    return tmp_path / "people"


def values(text: str) -> dict[str, float]:
    found = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in found}


def test_numbers_are_read_while_they_are_written_and_after_their_process_was_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from omnigraph.server.observe.cells import Cells\n"
        "cells = Cells(Path(sys.argv[1]))\n"
        "for number in range(5_000): cells.add(f'name{number}', number)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "cells"
    subprocess.run([sys.executable, "-c", program, str(path)], check=False, timeout=60)
    assert read_cells(path) == {f"name{number}": float(number) for number in range(5_000)}
    own = Cells(tmp_path / "own")
    own.add("a", 1)
    own.add("a", 1.5)
    own.put("ü", 7)
    assert read_cells(tmp_path / "own") == {"a": 2.5, "ü": 7.0}
    assert read_cells(path.with_name("own")) == {"a": 2.5, "ü": 7.0}


def test_counters_of_the_dead_count_and_their_gauges_do_not(tmp_path: Path) -> None:
    dead = Cells(tmp_path / "999999999-dead")
    dead.add('omnigraph_errors_total{code="conflict"}', 3)
    dead.put("omnigraph_streams", 3)
    metrics = Metrics(tmp_path)
    metrics.set_gauges({"read": 2}, 1)
    told = values(metrics.render())
    assert told['omnigraph_errors_total{code="conflict"}'] == 3
    assert (told["omnigraph_streams"], told["omnigraph_workers"]) == (1, 1)
    assert told[f'omnigraph_resident_bytes{{process="{os.getpid()}"}}'] > 1e6


def test_requests_are_counted_with_the_operations_of_storage_that_they_took(root: Path) -> None:
    with TestClient(create_app(ServerConfig({"people": str(root)}))) as client:
        assert client.post("/graphs/people/mutate", json=ADD).status_code == 200
        assert client.post("/graphs/people/mutate", json={"query": "nonsense"}).status_code == 400
        assert client.get("/graphs/nobody-has-this/schema").status_code == 404
        assert client.get("/what/is/this").status_code == 404
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    told = values(answer.text)
    route = "/graphs/{graph}/mutate"
    assert told[f'omnigraph_http_requests_total{{method="POST",route="{route}",status="200"}}'] == 1
    assert told[f'omnigraph_http_requests_total{{method="POST",route="{route}",status="400"}}'] == 1
    assert told[f'omnigraph_commits_total{{graph="people",route="{route}"}}'] == 1
    assert told['omnigraph_errors_total{code="parse_error"}'] == 1
    creates = (
        f'omnigraph_storage_operations_total{{graph="people",route="{route}",operation="objects.create"}}'
    )
    assert told[creates] >= 1
    bucket = f'omnigraph_http_request_seconds_bucket{{route="{route}",le="'
    assert told[f'{bucket}+Inf"}}'] == 2
    counts = [value for name, value in told.items() if name.startswith(bucket)]
    assert len(counts) == 15
    assert counts == sorted(counts)  # each counts what is in those below it
    assert "nobody-has-this" not in answer.text
    assert "what" not in answer.text
    for line in answer.text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+(\{.+\})? [\d.e+-]+", line), line


def test_the_page_names_every_metric() -> None:
    assert set(re.findall(r"`(omnigraph_\w+)`", PAGE.read_text())) == set(HELP)


def test_a_worker_that_stops_is_not_ready(root: Path) -> None:
    app = create_app(ServerConfig({"people": str(root)}))
    with TestClient(app) as client:
        assert client.get("/readyz").json() == {"status": "ready"}
        app.state.stopping.set()
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (
            503,
            "unavailable",
            "1",
        )
        assert client.get("/healthz").status_code == 200


def test_a_line_of_the_log_is_json_without_what_an_exception_says() -> None:
    def fail() -> None:
        raise ValueError("a value of a caller")

    try:
        fail()
    except ValueError:
        info = sys.exc_info()
    record = logging.LogRecord(
        "omnigraph.server", logging.ERROR, "", 1, "s3://user:hidden@b/x failed", (), info
    )
    record.__dict__["facts"] = {"status": 500}
    line = JsonLines().format(record)
    told = json.loads(line)
    assert (told["level"], told["status"], told["exception"]) == ("error", 500, "ValueError")
    assert told["frames"][-1].endswith(" fail")
    assert "caller" not in line
    assert "hidden" not in line


class Spans(trace.TracerProvider, trace.Tracer):
    """A provider that keeps what spans are told, as an SDK would send it."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.parents: list[int] = []

    def get_tracer(self, *args: Any, **given: Any) -> trace.Tracer:
        return self

    def start_span(self, name: str, context: Any = None, *args: Any, **given: Any) -> trace.Span:
        self.parents.append(trace.get_current_span(context).get_span_context().trace_id)
        self.told.append({"name": name})
        return Span(self.told[-1])

    def start_as_current_span(self, *args: Any, **given: Any) -> Iterator[Any]:  # type: ignore[override]
        raise NotImplementedError


class Span(trace.NonRecordingSpan):
    """A span that keeps what it is told."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.told = told

    def set_attribute(self, key: str, value: Any) -> None:
        self.told[key] = value

    def update_name(self, name: str) -> None:
        self.told["name"] = name

    def end(self, end_time: int | None = None) -> None:
        self.told["ended"] = True


def test_a_request_is_one_span_of_the_trace_that_its_caller_began(root: Path) -> None:
    spans = Spans()
    with TestClient(create_app(ServerConfig({"people": str(root)}, traces=Traces(spans)))) as client:
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        client.post("/graphs/people/mutate", json=ADD, headers={"traceparent": parent})
    assert spans.parents == [0x0AF7651916CD43DD8448EB211C80319C]
    (told,) = spans.told
    assert told["name"] == "POST /graphs/{graph}/mutate"
    assert (told["http.response.status_code"], told["omnigraph.graph"]) == (200, "people")
    assert told["omnigraph.storage.objects.create"] >= 1
    assert told["ended"]


def test_a_request_is_one_span_also_where_the_program_has_a_provider_for_all(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans)
    with TestClient(create_app(ServerConfig({"people": str(root)}, traces=Traces(spans)))) as client:
        client.post("/graphs/people/mutate", json=ADD)
    assert [told["name"] for told in spans.told] == ["POST /graphs/{graph}/mutate"]


def test_traces_are_made_only_when_they_are_configured() -> None:
    assert find_traces({}) is None
    assert find_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}) is None
    assert find_traces({"OTEL_TRACES_EXPORTER": "none"}) is None
