"""What only S3 can do: buckets, credentials, and a price for every request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import pytest

from omnigraph.base.errors import AlreadyExists, NotFound, OmniError, ReadOnly, StorageMissing, Unavailable
from omnigraph.storage.objects import ObjectStore, open_store
from support.s3 import S3

pytestmark = pytest.mark.s3

EVERY_CALL: Mapping[str, Callable[[ObjectStore], object]] = {
    "get": lambda store: store.get("a"),
    "get_versioned": lambda store: store.get_versioned("a"),
    "get_many": lambda store: store.get_many(["a", "b"]),
    "put": lambda store: store.put("a", b""),
    "create": lambda store: store.create("a", b""),
    "replace": lambda store: store.replace("a", b"", "tag"),
    "delete": lambda store: store.delete("a"),
    "exists": lambda store: store.exists("a"),
    "list": lambda store: list(store.list()),
    "move": lambda store: store.move("a", "b"),
}
WRITES = ("put", "create", "replace", "delete")


@pytest.mark.parametrize("call", EVERY_CALL)
def test_every_call_names_the_bucket_that_is_missing(s3: S3, call: str) -> None:
    store = open_store("s3://no-such-bucket/graph", s3.options)
    with pytest.raises(StorageMissing, match=r"'no-such-bucket' does not exist: create it"):
        EVERY_CALL[call](store)


@pytest.mark.parametrize("call", EVERY_CALL)
def test_wrong_credentials_are_an_error_and_never_absence(s3: S3, call: str) -> None:
    store = open_store(s3.uri, {**s3.options, "aws_access_key_id": "nobody"})
    with pytest.raises(Unavailable, match="credentials"):
        EVERY_CALL[call](store)


@pytest.mark.parametrize("call", WRITES)
def test_someone_who_may_only_read_gets_read_only(s3: S3, call: str) -> None:
    with pytest.raises(ReadOnly, match="open the graph read-only"):
        EVERY_CALL[call](open_store(s3.uri, s3.as_reader()))


def test_someone_who_may_only_read_reads(s3: S3) -> None:
    open_store(s3.uri, s3.options).put("a", b"1")
    assert open_store(s3.uri, s3.as_reader()).get("a") == b"1"


@pytest.mark.parametrize("call", EVERY_CALL)
def test_a_server_that_is_not_there_is_unavailable(s3: S3, call: str) -> None:
    nobody_listens = {**s3.options, "aws_endpoint": "http://127.0.0.1:1", "client_max_retries": "0"}
    with pytest.raises(Unavailable, match="reachable") as caught:
        EVERY_CALL[call](open_store(s3.uri, nobody_listens))
    assert caught.value.retryable


def test_the_environment_alone_is_enough(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.options["aws_access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.options["aws_secret_access_key"])
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    open_store(f"{s3.uri}/x").put("a", b"1")
    assert open_store(s3.uri).get("x/a") == b"1"


@pytest.mark.parametrize(
    ("call", "requests"),
    [
        ("get", [("GET", "graph/a")]),
        ("get_versioned", [("GET", "graph/a")]),
        ("put", [("PUT", "graph/a")]),
        ("create", [("PUT", "graph/a")]),
        ("replace", [("PUT", "graph/a")]),
        ("delete", [("DELETE", "graph/a")]),
        ("exists", [("HEAD", "graph/a")]),
        ("list", [("GET", "")]),
        ("move", [("PUT", "graph/b"), ("DELETE", "graph/a")]),
    ],
)
def test_a_call_costs_exactly_these_requests(s3: S3, call: str, requests: list[tuple[str, str]]) -> None:
    store = s3.store()
    store.put("a", b"")
    with s3.requests() as seen, suppress(OmniError):
        EVERY_CALL[call](store)
    assert [(request.method, request.key) for request in seen] == requests


def test_reading_a_missing_object_costs_one_request_and_no_listing(s3: S3) -> None:
    with s3.requests() as seen, pytest.raises(NotFound):
        s3.store().get("nothing")
    assert [(request.method, request.is_listing) for request in seen] == [("GET", False)]


def test_a_create_whose_answer_was_lost_meets_its_own_object(s3: S3) -> None:
    s3.lose_answer("PUT", "graph/a")
    with s3.requests() as seen, pytest.raises(AlreadyExists):
        s3.store().create("a", b"mine")
    assert len(seen) == 2, "the client has sent the request again"
    assert s3.store().get("a") == b"mine"


def test_a_put_whose_answer_was_lost_is_repeated_and_succeeds(s3: S3) -> None:
    s3.lose_answer("PUT", "graph/a")
    s3.store().put("a", b"mine")
    assert s3.store().get("a") == b"mine"


def test_a_lost_answer_that_is_not_asked_for_again_is_unavailable(s3: S3) -> None:
    s3.lose_answer("PUT", "graph/a")
    store = open_store(f"{s3.uri}/graph", {**s3.options, "client_max_retries": "0"})
    with pytest.raises(Unavailable):
        store.create("a", b"mine")
    assert store.get("a") == b"mine"
