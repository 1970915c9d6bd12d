"""Blobs in ranges, handles that name their branch, and values that a caller marks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import omnigraph as og
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.limits import RequestLimits

pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")

SCHEMA = "node Doc { name: String @key  day: Date?  size: I64?  scan: Blob? }"
BASE = "/graphs/docs"
BLOB = {"entity": "node", "type": "Doc", "property": "scan"}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "docs", SCHEMA)
    graph.load([{"type": "Doc", "data": {"name": "a", "scan": b"0123456789", "size": 2**60}}], mode="append")
    return graph


@pytest.fixture
def client(graph: og.Graph) -> Iterator[TestClient]:
    config = ServerConfig({"docs": graph.uri}, limits=RequestLimits(2_000, 4_000))
    with TestClient(create_app(config)) as client:
        yield client


@pytest.fixture
def blob(graph: og.Graph) -> dict[str, str]:
    found = graph.query("query q() { match { $d: Doc } return { $d.id } }").scalar()
    return {**BLOB, "id": found}


@pytest.mark.parametrize(
    ("range", "status", "content", "told"),
    [
        (None, 200, b"0123456789", None),
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
    ],
)
def test_a_blob_is_read_whole_or_in_part(
    client: TestClient, blob: dict[str, str], range: str | None, status: int, content: bytes, told: str | None
) -> None:
    headers = {} if range is None else {"Range": range}
    answer = client.get(f"{BASE}/blob", params=blob, headers=headers)
    assert (answer.status_code, answer.content) == (status, content)
    assert answer.headers.get("content-range") == told
    head = client.head(f"{BASE}/blob", params=blob, headers=headers)
    assert (head.content, head.headers["content-length"]) == (b"", "10")


def test_a_range_beyond_the_end_and_a_blob_that_is_null(client: TestClient, blob: dict[str, str]) -> None:
    answer = client.get(f"{BASE}/blob", params=blob, headers={"Range": "bytes=10-"})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */10")
    assert client.delete(f"{BASE}/blob", params=blob).json()["affected_nodes"] == 1
    assert client.head(f"{BASE}/blob", params=blob).headers["omnigraph-blob-null"] == "true"
    answer = client.get(f"{BASE}/blob", params=blob)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    client.put(f"{BASE}/blob", params=blob, content="base64:AQI=", headers={"Content-Type": "text/plain"})
    assert client.get(f"{BASE}/blob", params=blob).content == b"\1\2"
    assert client.put(f"{BASE}/blob", params=blob, content=b"x" * 5_000).status_code == 413


def test_a_handle_is_of_one_branch_and_not_of_another_that_has_its_name(
    client: TestClient, graph: og.Graph
) -> None:
    graph.branches.create("topic")
    told = client.get(BASE, params={"branch": "topic"}).json()
    headers = {"Omnigraph-Handle": f"{told['branch']}@{told['incarnation']}"}
    body = {"query": 'query q() { insert Doc { name: "b" } }'}
    assert client.post(f"{BASE}/mutate", json=body, headers=headers).json()["branch"] == "topic"
    graph.branches.delete("topic")
    graph.branches.create("topic")
    answer = client.post(f"{BASE}/mutate", json=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (409, "branch_gone")
    assert client.get(BASE, headers={"Omnigraph-Handle": "topic"}).status_code == 400


def test_a_caller_says_that_it_reads_numbers_of_any_size_and_marks_what_it_sends(client: TestClient) -> None:
    text = 'query q($d: Date?) { insert Doc { name: "day", day: $d } }'
    body: dict[str, Any] = {"query": text, "params": {"d": {"@date": "2026-02-03"}}}
    exact = {"Omnigraph-Values": "exact"}
    assert client.post(f"{BASE}/mutate", json=body).status_code == 400
    assert client.post(f"{BASE}/mutate", json=body, headers=exact).status_code == 200
    asked = {"query": "query q() { match { $d: Doc } return { $d.day, $d.size } order { $d.name } }"}
    found = [{"d.day": None, "d.size": 2**60}, {"d.day": "2026-02-03", "d.size": None}]
    assert client.post(f"{BASE}/query", json=asked, headers=exact).json()["rows"] == found
    assert client.post(f"{BASE}/query", json=asked).json()["rows"][0]["d.size"] == str(2**60)


def test_records_that_are_left_out_come_with_the_answer(client: TestClient) -> None:
    body = b'{"type": "Doc", "data": {"name": "ok"}}\n{"type": "Doc", "data": {"name": 1}}\n'
    answer = client.post(f"{BASE}/load/ndjson?mode=append&on_error=quarantine&source=x.jsonl", content=body)
    told = answer.json()
    assert (answer.status_code, told["total_entities"], told["rejected"]) == (200, 1, 1)
    assert "x.jsonl" in told["rejected_records"][0]
    assert "omnigraph-work-" not in answer.text


def test_an_etag_says_whether_bytes_are_the_same(client: TestClient, blob: dict[str, str]) -> None:
    first = client.get(f"{BASE}/blob", params=blob)
    tag = first.headers["etag"]
    assert client.head(f"{BASE}/blob", params=blob).headers["etag"] == tag
    same = client.get(f"{BASE}/blob", params=blob, headers={"If-None-Match": f'W/"x", W/{tag}'})
    assert (same.status_code, same.content) == (304, b"")
    part = client.get(f"{BASE}/blob", params=blob, headers={"Range": "bytes=2-3", "If-Range": tag})
    assert (part.status_code, part.content) == (206, b"23")
    whole = client.get(f"{BASE}/blob", params=blob, headers={"Range": "bytes=2-3", "If-Range": '"x"'})
    assert (whole.status_code, whole.content) == (200, b"0123456789")

    wrong = client.put(f"{BASE}/blob", params=blob, content=b"new", headers={"If-Match": '"x"'})
    assert (wrong.status_code, wrong.json()["code"]) == (412, "precondition_failed")
    assert "another ETag" in wrong.json()["error"]
    keyed = {"If-Match": tag, "Idempotency-Key": "k"}
    put = client.put(f"{BASE}/blob", params=blob, content=b"new", headers=keyed)
    assert put.status_code == 200, put.text
    again = client.put(f"{BASE}/blob", params=blob, content=b"new", headers=keyed)
    assert again.json()["commit_id"] == put.json()["commit_id"]
    assert client.put(f"{BASE}/blob", params=blob, content=b"x", headers={"If-Match": tag}).status_code == 412
    after = client.get(f"{BASE}/blob", params=blob, headers={"If-None-Match": tag})
    assert (after.status_code, after.content) == (200, b"new")


def test_one_entity_is_shown_over_time_and_put_back(
    client: TestClient, graph: og.Graph, blob: dict[str, str]
) -> None:
    first = graph.snapshot().commit_id
    changed = graph.mutate('query q() { update Doc set { size: 1 } where name = "a" }').commit_id
    where = {"type": "Doc", "id": blob["id"]}
    shown = client.get(f"{BASE}/entity", params=where).json()
    assert (shown["kind"], shown["properties"]["size"], shown["commit"]) == ("node", 1, changed)
    assert client.get(f"{BASE}/entity/edges", params=where).json()["edges"] == []
    history = client.get(f"{BASE}/entity/history", params=where).json()["changes"]
    assert len(history) == 2
    assert client.get(f"{BASE}/entity/blame", params=where).json()["properties"]["size"]["id"] == changed
    before = client.get(f"{BASE}/entity", params={**where, "snapshot": first}).json()
    assert before["properties"]["size"] == str(2**60)
    reset = client.post(
        f"{BASE}/entity/reset", params=where, json={"revision": first}, headers={"Idempotency-Key": "k"}
    )
    assert reset.status_code == 200, reset.text
    assert graph.entity("Doc", blob["id"]).properties["size"] == 2**60
    assert client.get(f"{BASE}/entity", params={"type": "Doc", "id": "nope"}).status_code == 404
    assert client.get(f"{BASE}/entity", params={"type": "Nope", "id": "x"}).status_code == 404


def test_tables_tell_their_fragments_and_what_their_indexes_do_not_know(
    client: TestClient, graph: og.Graph
) -> None:
    def ask() -> tuple[dict[str, Any], dict[str, tuple[bool, int]]]:
        (table,) = client.get(f"{BASE}/tables").json()["tables"]
        known = {
            f"{item['property']} {item['kind']}": (item["is_built"], item["rows_uncovered"])
            for item in table.pop("indexes")
        }
        return table, known

    indexes = ("id btree", "name btree", "name text")
    size = {"type_key": "node:Doc", "rows": 1, "fragments": 1, "rows_deleted": 0}
    assert ask() == (size, dict.fromkeys(indexes, (False, 1)))
    graph.optimize()
    assert ask() == (size, dict.fromkeys(indexes, (True, 0)))
    graph.load([{"type": "Doc", "data": {"name": "b"}}], mode="append")
    graph.mutate('query q() { delete Doc where name = "a" }')
    table, known = ask()
    assert table["rows"] == 1 and table["fragments"] >= 1
    assert known["id btree"] == (True, 1)
