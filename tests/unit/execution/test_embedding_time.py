"""The time of a query covers the embedding of its texts, whatever the provider does with its requests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.errors import EmbeddingUnavailable
from support.embedding_server import EmbeddingServer, drip, hang, running_embedding_server, status

SCHEMA = "node Doc { slug: String @key  vec: Vector(4)? }"
NEAREST = """query q($t: String) {
  match { $d: Doc } return { $d.slug } order { nearest($d.vec, $t) } limit 3
}"""
WAYS: dict[str, Callable[[og.Graph, float], Any]] = {
    "query": lambda graph, timeout: graph.query(NEAREST, {"t": "fox"}, timeout=timeout),
    "stream": lambda graph, timeout: list(graph.stream(NEAREST, {"t": "fox"}, timeout=timeout)),
}


@pytest.fixture(autouse=True)
def no_ambient_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OMNIGRAPH_EMBEDDING")]:
        monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running_embedding_server() as running:
        yield running


def _graph(folder: Path, url: str) -> og.Graph:
    config = og.EmbeddingConfig("openai-compatible", model="m", base_url=url)
    return og.init(folder / "graph", SCHEMA, embedding=config)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("slow", [hang, drip])
def test_a_provider_that_does_not_answer_takes_no_more_time_than_the_query_has(
    tmp_path: Path, server: EmbeddingServer, slow: Callable[..., None], way: str
) -> None:
    server.always = slow
    graph = _graph(tmp_path, server.url)
    began = time.monotonic()
    with pytest.raises(og.ResourceLimit) as raised:
        WAYS[way](graph, 1)
    assert raised.value.details["resource"] == "query_seconds"
    assert time.monotonic() - began < 5, "a request may take 30 seconds by itself"
    assert len(server.asked) <= 1


def test_a_provider_that_is_not_there_is_not_asked_beyond_the_time_of_the_query(tmp_path: Path) -> None:
    graph = _graph(tmp_path, "http://127.0.0.1:9")
    began = time.monotonic()
    with pytest.raises((og.ResourceLimit, EmbeddingUnavailable)):
        graph.query(NEAREST, {"t": "fox"}, timeout=0.5)
    assert time.monotonic() - began < 2, "all five tries take about six seconds"


def test_a_provider_that_asks_to_wait_longer_than_the_query_may_is_told_of_at_once(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    server.always = status(429, retry_after="20")
    with pytest.raises(EmbeddingUnavailable, match="asks to wait 20 s"):
        _graph(tmp_path, server.url).query(NEAREST, {"t": "fox"}, timeout=10)
    assert len(server.asked) == 1


def test_waiting_for_our_own_pace_is_part_of_the_time_of_a_query(
    tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDING_REQUESTS_PER_MINUTE", "1")
    graph = _graph(tmp_path, server.url)
    graph.query(NEAREST, {"t": "first"}, timeout=10)
    with pytest.raises(og.ResourceLimit):
        graph.query(NEAREST, {"t": "second"}, timeout=0.3)
    assert server.texts == ["first"]


def test_a_query_in_time_is_answered(tmp_path: Path, server: EmbeddingServer) -> None:
    graph = _graph(tmp_path, server.url)
    assert graph.query(NEAREST, {"t": "fox"}, timeout=10).rows == []
    assert graph.query(NEAREST, {"t": "dog"}, timeout=0).rows == []
    assert server.texts == ["fox", "dog"]
