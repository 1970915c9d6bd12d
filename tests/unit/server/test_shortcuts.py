"""What is asked most takes a short way, and is answered as on the long one; large results are not copied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

import omnigraph as og
from omnigraph.server import shortcuts
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.limits import RequestLimits
from omnigraph.server.requests.streams import cut_slices
from omnigraph.wire.media import ARROW, IF_COMMIT_HEADER

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")

READ = "query named($n: String) { match { $p: Person { name: $n } } return { $p.name, $p.age } }"
ALL = "query everybody() { match { $p: Person } return { $p.name, $p.age } }"
ADD = "query add($n: String) { insert Person { name: $n } }"
PEOPLE = 40_000
SHORT, LONG = "application/json", "application/json; charset=utf-8"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("served")
    graph = og.init(folder / "people", "node Person { name: String @key  age: I64? }")
    names = [f"person number {number}" for number in range(PEOPLE)]
    graph.load(pa.table({"name": names, "age": range(PEOPLE)}), type="Person", mode="append")
    config = ServerConfig({"people": graph.uri}, state=folder / "state", limits=RequestLimits(streams=1))
    with TestClient(create_app(config), raise_server_exceptions=False) as client:
        yield client


def without_ids(text: str) -> str:
    return re.sub(r"\b0[0-9A-Z]{25}\b", "(id)", text)


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("query", {"query": READ, "params": {"n": "person number 7"}}, {}),
        ("query", {"query": ALL + READ, "params": {"n": "person number 7"}, "name": "named"}, {}),
        ("query", {"query": READ, "params": {"n": "x"}}, {"Accept": "application/x-ndjson;q=0.9"}),
        ("query", {"query": READ, "params": {"n": 7}}, {}),
        ("query", {"query": ADD, "params": {"n": "x"}}, {}),
        ("query", {"query": "query {"}, {}),
        ("query", {"query": READ, "parms": {}}, {}),
        ("query", {"params": {}}, {}),
        ("query", [], {}),
        ("query", "not JSON", {}),
        ("query", b"\xff", {}),
        ("query", b"[" * 100_000, {}),
        ("query", b"", {}),
        ("query", {"query": READ}, {"Omnigraph-Handle": "main"}),
        ("query", {"query": READ}, {"Omnigraph-Handle": "none@x"}),
        ("query", {"query": READ}, {IF_COMMIT_HEADER: "01M70000000000000000000000"}),
        ("query", {"query": READ, "branch": "none"}, {}),
        ("mutate", {"query": ADD, "params": {"n": "once"}}, {"Idempotency-Key": "once"}),
        ("mutate", {"query": ADD, "params": {"n": "x"}}, {IF_COMMIT_HEADER: "01M70000000000000000000000"}),
        ("mutate", {"query": ADD, "params": {"n": "x"}}, {IF_COMMIT_HEADER: "*"}),
        ("mutate", {"query_source": ADD, "params": {"n": "person number 7"}}, {}),
        ("mutate", {"query": READ}, {}),
    ],
)
def test_the_short_way_answers_as_the_long_one_does(
    client: TestClient, path: str, body: Any, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    call = shortcuts.Shortcut.call
    monkeypatch.setattr(shortcuts.Shortcut, "call", lambda *given: taken.append(1) or call(*given))
    given = {"content": body} if isinstance(body, bytes) else {"json": body}
    for graph in ("people", "nobody"):
        answers = [
            client.post(f"/graphs/{graph}/{path}", **given, headers={**headers, "Content-Type": kind})
            for kind in (LONG, SHORT)
        ]
        assert answers[0].status_code == answers[1].status_code, answers[1].text
        assert without_ids(answers[0].text) == without_ids(answers[1].text)
        told = [
            {name: item.headers.get(name) for name in ("content-type", "retry-after")} for item in answers
        ]
        assert told[0] == told[1]
        assert graph == "people" or answers[0].status_code in (400, 404)
    if isinstance(body, dict) and "query" in body and "parms" not in body:
        assert len(taken) == 2, "a request that is right takes the short way"


def test_a_parameter_of_the_address_is_refused_on_the_short_way_too(client: TestClient) -> None:
    answer = client.post("/graphs/people/query?branhc=x", json={"query": ALL})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")


def test_a_large_result_is_sent_as_one_batch_whose_length_is_known(client: TestClient) -> None:
    answer = client.post(
        "/graphs/people/query", json={"query": ALL, "stream": False}, headers={"Accept": ARROW}
    )
    assert int(answer.headers["content-length"]) == len(answer.content) > 1024 * 1024
    batches = list(pa.ipc.open_stream(answer.content))
    assert len(batches) == 1
    assert {f"person number {number}" for number in range(PEOPLE)} <= set(batches[0]["p.name"].to_pylist())


def test_a_large_result_counts_among_the_streams(client: TestClient) -> None:
    admission = client.app.state.pool.admission  # type: ignore[attr-defined]
    asked: dict[str, Any] = {"json": {"query": ALL, "stream": False}, "headers": {"Accept": ARROW}}
    admission.begin_stream()
    try:
        assert client.post("/graphs/people/query", **asked).status_code == 429
    finally:
        admission.end_stream()
    assert client.post("/graphs/people/query", **asked).status_code == 200
    assert admission.streams == 0


def test_slices_are_of_one_size_and_join_what_is_small() -> None:
    parts = [b"", b"ab", b"cdefghij", b"k", b"", b"lm"]
    assert list(cut_slices([memoryview(part) for part in parts], 4)) == [b"abcd", b"efgh", b"ijkl", b"m"]
    assert list(cut_slices([], 4)) == []
