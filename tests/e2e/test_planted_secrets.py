"""Secrets are planted wherever there are any, and everything that was written is searched for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

import omnigraph as og
from support.s3 import S3

MARK = "planted"
TOKEN, WRONG_TOKEN = f"{MARK}-token-of-ada", f"{MARK}-token-of-nobody"
STORAGE_SECRET, STORAGE_TOKEN = f"{MARK}-storage-secret", f"{MARK}-storage-session"
PROVIDER_KEY, PARAMETER = f"{MARK}-provider-key", f"{MARK}-parameter"
SCHEMA = 'node Person { name: String @key  bio: String?  vec: Vector(4)? @embed("bio") }'
READ = "query q($n: String) { match { $p: Person { name: $n } } return { $p.name } }"
RUN = [sys.executable, "-c", "from omnigraph.cli.main import run; run()"]


def settings(s3: S3) -> dict[str, str]:
    """Return the environment of a server whose storage, provider and callers all have secrets."""
    return {
        **os.environ,
        "AWS_ACCESS_KEY_ID": s3.options["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": STORAGE_SECRET,
        "AWS_SESSION_TOKEN": STORAGE_TOKEN,
        "AWS_ENDPOINT": s3.endpoint,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "OMNIGRAPH_EMBEDDING_PROVIDER": "openai",
        "OMNIGRAPH_EMBEDDING_BASE_URL": "http://127.0.0.1:9",
        "OMNIGRAPH_EMBEDDING_API_KEY": PROVIDER_KEY,
        "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps({"act-ada": TOKEN}),
        "OMNIGRAPH_SERVER_LOG_LEVEL": "debug",
    }


@contextmanager
def serving(s3: S3, folder: Path, uri: str) -> Iterator[tuple[str, psutil.Process]]:
    words = [*RUN, "serve", uri, "--bind", "127.0.0.1:0", "--state", str(folder / "state"), "--workers", "2"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=log, text=True, env=settings(s3), cwd=folder
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            yield f"http://{line.partition('=')[2]}", psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(60)


@pytest.mark.long
@pytest.mark.s3
def test_no_secret_of_a_server_is_written_anywhere(s3: S3, tmp_path: Path) -> None:
    bucket = s3.fresh()
    uri = f"{bucket.uri}/people"
    og.init(uri, SCHEMA, storage_options={**bucket.options, "aws_secret_access_key": STORAGE_SECRET})
    told: list[str] = []
    with serving(bucket, tmp_path, uri) as (address, process):
        base = f"{address}/graphs/people"
        good, wrong = ({"Authorization": f"Bearer {token}"} for token in (TOKEN, WRONG_TOKEN))
        ask: dict[str, Any] = {"query": READ, "params": {"n": PARAMETER}}
        with httpx.Client(timeout=120) as client:
            for headers in (good, wrong, {"Authorization": TOKEN}, {"Cookie": TOKEN}):
                told += [
                    repr((answer.text, [*answer.headers.items()]))
                    for answer in (
                        client.get(f"{address}/healthz", headers=headers),
                        client.get(f"{address}/metrics", headers=headers),
                        client.get(f"{base}", headers=headers),
                        client.get(f"{base}/commits", headers=headers),
                        client.post(f"{base}/query", json=ask, headers=headers),
                        client.post(f"{base}/query", json={"query": "query ("}, headers=headers),
                        client.post(f"{base}/mutate", json={"query": "query ("}, headers=headers),
                        client.post(f"{base}/embed", json={}, headers=headers),
                        client.post(f"{base}/jobs/optimize", json={}, headers=headers),
                        client.get(f"{address}/lance/v1/namespace/people$main/table/list", headers=headers),
                        client.post(
                            f"{address}/lance/v1/table/people$main$node:Person/describe",
                            json={},
                            headers=headers,
                        ),
                    )
                ]
        told += [" ".join(each.cmdline()) for each in (process, *process.children(recursive=True))]
    told += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    store = bucket.store("")
    told += [store.get(item.path).decode("latin-1") for item in store.list("")]
    assert (tmp_path / "log").stat().st_size > 0
    found = {secret for secret in told if MARK in secret}
    assert not found, [text[max(0, text.index(MARK) - 300) :][:700] for text in found]


@pytest.mark.long
@pytest.mark.s3
def test_no_secret_of_storage_is_in_what_python_shows(
    s3: S3, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bucket = s3.fresh()
    options = {**bucket.options, "aws_secret_access_key": STORAGE_SECRET, "aws_session_token": STORAGE_TOKEN}
    graph = og.init(f"{bucket.uri}/g", SCHEMA, storage_options=options, embedding=_provider())
    told = [repr(graph), repr(vars(graph)), repr(graph.snapshot()), repr(graph.snapshot().namespace)]
    graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append", metadata={"task": "t"})
    for wrong in (
        lambda: og.open(f"{bucket.uri}/none", storage_options=options),
        lambda: og.open("s3://no-such-bucket/g", storage_options=options),
        lambda: og.open(f"{bucket.uri}/g", storage_options={**options, "aws_endpoint": "http://127.0.0.1:9"}),
        lambda: og.open(f"s3://user:{STORAGE_SECRET}@bucket/g"),
        lambda: graph.backup(f"s3://user:{STORAGE_SECRET}@bucket/b"),
        lambda: graph.load(f"s3://user:{STORAGE_SECRET}@bucket/x.jsonl", mode="append"),
        lambda: graph.load(f"s3://no-such-bucket/x.jsonl?token={STORAGE_SECRET}", mode="append"),
        lambda: graph.load([{"type": "Person", "data": {"name": "x", "bio": "y"}}], mode="append"),
    ):
        with pytest.raises(og.OmniError) as error:
            wrong()
        causes = [error.value, error.value.__cause__, error.value.__context__]
        told += [repr(item) + str(item) for item in causes if item is not None]
        told.append(repr(error.value.details))
    told += [caplog.text, *(repr(item) for item in graph.commits.list())]
    store = bucket.store("")
    told += [store.get(item.path).decode("latin-1") for item in store.list("")]
    found = {text for text in told if MARK in text}
    assert not found, [text[max(0, text.index(MARK) - 300) :][:700] for text in found]


def _provider() -> Any:
    from omnigraph.embedding.config import EmbeddingConfig

    return EmbeddingConfig("openai", base_url="http://127.0.0.1:9", api_key=PROVIDER_KEY)
