"""Providers over HTTP: what is sent, what is repeated, what is refused, and what never shows."""

from __future__ import annotations

import logging
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from omnigraph.base import telemetry
from omnigraph.base.errors import (
    BadInput,
    EmbeddingError,
    EmbeddingNotConfigured,
    EmbeddingRefused,
    EmbeddingUnavailable,
    InvalidEmbedding,
)
from omnigraph.base.settings import Settings
from omnigraph.embedding.config import EmbeddingConfig
from omnigraph.embedding.embedder import Embedder
from support.embedding_server import (
    EmbeddingServer,
    break_off,
    drip,
    hang,
    raw,
    status,
    vector_of,
    vectors,
)

from .conftest import QuickClock

KEY = "sk-very-secret-0123456789"
KINDS = ["openai", "openai-compatible", "gemini"]


def embedder(server: EmbeddingServer, kind: str = "openai", **settings: Any) -> Embedder:
    return Embedder(EmbeddingConfig(kind, base_url=server.url, api_key=KEY), Settings(**settings))


def unit(text: str, dimension: int) -> np.ndarray[Any, Any]:
    vector = np.array(vector_of(text, dimension))
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("kind", KINDS)
def test_each_text_gets_its_own_vector_at_length_one(kind: str, server: EmbeddingServer) -> None:
    texts = ["one", "two", "", "drei ⚙ 你好 \U0001f600"]
    found = embedder(server, kind).vectors([text for text in texts if text], 7)
    assert found.dtype == np.float32
    for row, text in zip(found, [text for text in texts if text], strict=True):
        np.testing.assert_allclose(row, unit(text, 7), atol=1e-6)


def test_openai_is_asked_in_its_own_form(server: EmbeddingServer) -> None:
    embedder(server, "openai").vectors(["a", "b"], 5)
    (asked,) = server.asked
    assert asked.path == "/v1/embeddings"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "text-embedding-3-small",
        "input": ["a", "b"],
        "encoding_format": "float",
        "dimensions": 5,
    }


def test_gemini_is_asked_in_its_own_form_with_the_key_in_a_header(server: EmbeddingServer) -> None:
    embedder(server, "gemini").vectors(["a"], 5)
    (asked,) = server.asked
    assert asked.path == "/v1/models/gemini-embedding-001:batchEmbedContents"
    assert asked.headers["x-goog-api-key"] == KEY
    assert asked.body["requests"] == [
        {
            "model": "models/gemini-embedding-001",
            "content": {"parts": [{"text": "a"}]},
            "outputDimensionality": 5,
        }
    ]


def test_a_server_of_one_size_is_not_told_the_dimension(server: EmbeddingServer) -> None:
    config = EmbeddingConfig("openai-compatible", model="m", base_url=server.url, send_dimension=False)
    Embedder(config).vectors(["a"], 4)
    assert "dimensions" not in server.asked[0].body
    assert "authorization" not in server.asked[0].headers


def test_texts_go_out_in_batches_and_each_once(server: EmbeddingServer) -> None:
    texts = [f"text {number % 25}" for number in range(100)]
    with telemetry.measure() as counts:
        found = embedder(server, embedding_batch=10).vectors(texts, 3)
    assert sorted(len(asked.texts) for asked in server.asked) == [5, 10, 10]
    assert sorted(server.texts) == sorted(set(texts))
    assert (counts["embedding.requests"], counts["embedding.texts"]) == (3, 25)
    for row, text in zip(found, texts, strict=True):
        np.testing.assert_allclose(row, unit(text, 3), atol=1e-6)


def test_long_texts_make_smaller_batches(server: EmbeddingServer) -> None:
    texts = [letter * 100_000 for letter in "abcdef"]
    embedder(server).vectors(texts, 2)
    assert sorted(len(asked.texts) for asked in server.asked) == [2, 4]


def test_a_batch_that_is_refused_is_cut_until_the_text_is_found(server: EmbeddingServer) -> None:
    def too_long(handler: Any, asked: Any) -> None:
        if any(len(text) > 50 for text in asked.texts):
            handler.answer(400, {"error": {"message": "maximum context length"}})
        else:
            vectors(*[vector_of(text, asked.dimension) for text in asked.texts])(handler, asked)

    server.always = too_long
    with pytest.raises(EmbeddingRefused, match=r"maximum context length.*1000 characters: 'xxx") as caught:
        embedder(server).vectors([*"abcdefg", "x" * 1000], 2)
    assert caught.value.status == 400
    assert len(server.asked) <= 8
    server.asked.clear()
    assert embedder(server).vectors([*"abcdefg"], 2).shape == (7, 2)


@pytest.mark.parametrize("trouble", [status(500), status(503), status(429), status(408), break_off])
def test_what_may_pass_is_repeated(
    trouble: Callable[..., None], server: EmbeddingServer, quick: QuickClock
) -> None:
    server.next = [trouble, trouble]
    assert embedder(server).vectors(["a"], 3).shape == (1, 3)
    assert len(server.asked) == 3
    first, second = quick.slept
    assert 0.15 <= first <= 0.25
    assert 0.3 <= second <= 0.5


def test_repeating_has_an_end(server: EmbeddingServer, quick: QuickClock) -> None:
    server.always = status(503, "overloaded")
    with pytest.raises(EmbeddingUnavailable, match=r"asked 5 times: status 503 \(overloaded\)") as caught:
        embedder(server).vectors(["a"], 3)
    assert caught.value.retryable
    assert len(server.asked) == 5


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422, 301])
def test_what_will_not_pass_is_not_repeated(code: int, server: EmbeddingServer) -> None:
    server.always = status(code, "not so")
    with pytest.raises(EmbeddingRefused, match="not so") as caught:
        embedder(server).vectors(["a"], 3)
    assert (caught.value.status, caught.value.retryable, len(server.asked)) == (code, False, 1)


def test_a_provider_that_says_when_is_asked_again_then(server: EmbeddingServer, quick: QuickClock) -> None:
    server.next = [status(429, retry_after="7")]
    embedder(server).vectors(["a"], 3)
    assert quick.slept[0] == 7
    assert len(server.asked) == 2


def test_a_moment_is_understood_as_well(server: EmbeddingServer, quick: QuickClock) -> None:
    server.next = [status(503, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")]
    embedder(server).vectors(["a"], 3)
    assert quick.slept == [0.0]


def test_waiting_longer_than_the_deadline_is_left_to_the_caller(
    server: EmbeddingServer, quick: QuickClock
) -> None:
    server.always = status(429, retry_after="3600")
    with pytest.raises(EmbeddingUnavailable, match=r"asks to wait 3\.6e") as caught:
        embedder(server).vectors(["a"], 3)
    assert caught.value.retry_after == 3600
    assert (len(server.asked), quick.slept) == (1, [])


def test_requests_keep_to_a_number_a_minute(server: EmbeddingServer, quick: QuickClock) -> None:
    texts = [f"t{number}" for number in range(5)]
    embedder(
        server, embedding_batch=1, embedding_requests_per_minute=30, embedding_requests_at_once=1
    ).vectors(texts, 2)
    assert len(quick.slept) == 4
    assert sum(quick.slept) == pytest.approx(8, abs=0.5)


@pytest.mark.parametrize("slow", [hang, drip])
def test_a_slow_answer_is_given_up(slow: Callable[..., None], server: EmbeddingServer) -> None:
    server.always = slow
    with pytest.raises(EmbeddingUnavailable, match=r"no answer within|did not end in time"):
        embedder(server, embedding_timeout_seconds=0.1, embedding_retries=0).vectors(["a"], 3)


def test_the_deadline_holds_whatever_the_retries(server: EmbeddingServer) -> None:
    server.always = hang
    with pytest.raises(EmbeddingUnavailable, match="was asked once"):
        embedder(server, embedding_timeout_seconds=5, embedding_deadline_seconds=0.2).vectors(["a"], 3)


def test_nobody_at_home_is_unavailable(quick: QuickClock) -> None:
    config = EmbeddingConfig("openai", base_url="http://127.0.0.1:9", api_key=KEY)
    with pytest.raises(EmbeddingUnavailable, match=r"127\.0\.0\.1:9 was asked 5 times: ConnectError"):
        Embedder(config).vectors(["a"], 3)


@pytest.mark.parametrize("kind", ["openai", "gemini"])
@pytest.mark.parametrize(
    "answer",
    [
        vectors([0.0, 0.0, 0.0]),
        vectors([1.0, 2.0]),
        vectors([1.0, 2.0, 3.0, 4.0]),
        vectors([1.0, None, 3.0]),
        vectors(["1", "2", "3"]),
        vectors([1.0, "x", 3.0]),
        vectors([[1.0], [2.0], [3.0]]),
        vectors([[1.0, 2.0], 2.0, 3.0]),
        vectors(17),
        vectors(None),
        vectors("abc"),
        vectors([True, False, True]),
        vectors([10**400, 1, 1]),
        vectors(),
        raw(b'{"data": [{"index": 0, "embedding": [NaN, 1, 1]}], "embeddings": [{"values": [NaN, 1, 1]}]}'),
        raw(
            b'{"data": [{"index": 0, "embedding": [Infinity, 1, 1]}],'
            b' "embeddings": [{"values": [Infinity, 1, 1]}]}'
        ),
        raw(b'{"data": [{"index": 1, "embedding": [1, 1, 1]}], "embeddings": {}}'),
        raw(b'{"data": {}, "embeddings": [{}]}'),
        raw(b"[]"),
        raw(b"null"),
        raw(b"<html>hello</html>"),
        raw(b"[" * 100_000),
        raw(b""),
        raw(b"\xff\xfe"),
    ],
)
def test_what_is_no_vector_is_refused(answer: Any, kind: str, server: EmbeddingServer) -> None:
    server.always = answer
    with pytest.raises(InvalidEmbedding) as caught:
        embedder(server, kind).vectors(["a"], 3)
    assert caught.value.code == "embedding_invalid"


def test_large_and_small_numbers_keep_their_direction(server: EmbeddingServer) -> None:
    server.next = [vectors([3e200, 4e200], [3e-200, 4e-200])]
    np.testing.assert_allclose(embedder(server).vectors(["a", "b"], 2), [[0.6, 0.8]] * 2, rtol=1e-6)


def test_more_vectors_than_texts_are_refused(server: EmbeddingServer) -> None:
    server.next = [vectors([1.0], [2.0])]
    with pytest.raises(InvalidEmbedding, match="2 vectors for 1 texts"):
        embedder(server, "gemini").vectors(["a"], 1)


FAILURES = [
    status(401, f"Incorrect API key provided: {KEY}. Find yours"),
    status(500, f"header was Bearer {KEY}"),
    raw(f"oops {KEY}".encode()),
    vectors([0.0, 0.0]),
    break_off,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("failure", FAILURES)
def test_the_key_never_shows(
    failure: Any, kind: str, server: EmbeddingServer, quick: QuickClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.always = failure
    used = embedder(server, kind)
    with pytest.raises(EmbeddingError) as caught:
        used.vectors(["a"], 2)
    shown = [
        str(caught.value),
        repr(caught.value),
        repr(caught.value.details),
        "".join(traceback.format_exception(caught.value)),
        caplog.text,
        repr(used),
        repr(EmbeddingConfig(kind, base_url=server.url, api_key=KEY)),
        repr(vars(used)),
    ]
    assert any(KEY in value for asked in server.asked for value in asked.headers.values())
    for text in [*shown, str(pickle.loads(pickle.dumps(caught.value)))]:
        assert KEY not in text


@pytest.mark.parametrize(
    "address",
    [
        f"https://user:{KEY}@example.org/v1",
        f"https://{KEY}@example.org/v1",
        f"https://example.org/v1?key={KEY}",
        f"https://example.org/v1#{KEY}",
        f"ftp://{KEY}",
        KEY,
        "https://",
        "http://[::1",
    ],
)
def test_an_address_holds_no_secret_and_is_not_repeated(address: str) -> None:
    with pytest.raises(BadInput) as caught:
        EmbeddingConfig("openai", base_url=address)
    assert KEY not in str(caught.value)


def test_a_key_that_is_no_header_is_refused_without_showing_it(server: EmbeddingServer) -> None:
    config = EmbeddingConfig("openai", base_url=server.url, api_key=f"{KEY}\n")
    with pytest.raises(EmbeddingNotConfigured) as caught:
        Embedder(config).vectors(["a"], 2)
    assert KEY not in str(caught.value)
    assert server.asked == []
