"""Starts the S3 server of the tests and speaks to its control side."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from omnigraph.storage.objects import ObjectStore, open_store
from support.s3_server import LOG_PATH, LOSE_PATH, OWNER_KEY, READER_KEY

AUTHORIZED = {"Authorization": f"AWS4-HMAC-SHA256 Credential={OWNER_KEY}/20260101/us-east-1/s3/aws4_request"}
_buckets = itertools.count(1)


class Request(NamedTuple):
    """One request that the server got: `key` is the path inside the bucket, `query` is decoded."""

    method: str
    key: str
    query: str

    @property
    def is_listing(self) -> bool:
        """Whether it lists a bucket."""
        return self.method == "GET" and "list-type=" in self.query


@dataclass(frozen=True)
class S3:
    """A running server with one bucket that the test may fill; `fresh()` makes another."""

    endpoint: str
    bucket: str
    options: dict[str, str] = field(repr=False)

    @property
    def uri(self) -> str:
        """The bucket as a URI."""
        return f"s3://{self.bucket}"

    def fresh(self) -> S3:
        """Make an empty bucket on the same server."""
        bucket = f"bucket-{next(_buckets)}"
        urlopen(HttpRequest(f"{self.endpoint}/{bucket}", method="PUT", headers=AUTHORIZED)).close()
        return S3(self.endpoint, bucket, self.options)

    def as_reader(self) -> dict[str, str]:
        """Return the options of someone who may read and not write."""
        return {**self.options, "aws_access_key_id": READER_KEY}

    def store(self, prefix: str = "graph") -> ObjectStore:
        """Open a store in the bucket."""
        return open_store(f"{self.uri}/{prefix}", self.options)

    @contextmanager
    def requests(self) -> Iterator[list[Request]]:
        """Yield a list that holds, after the block, every request the server got during it."""
        seen: list[Request] = []
        before = len(self._log(0))
        yield seen
        seen.extend(self._log(before))

    def lose_answer(self, method: str, key: str) -> None:
        """Let the next such request take effect and answer it with an internal error."""
        urlopen(f"{self.endpoint}{LOSE_PATH}/{method}/{quote(key)}").close()

    def _log(self, since: int) -> list[Request]:
        with urlopen(f"{self.endpoint}{LOG_PATH}?{since}") as answer:
            return [Request(*entry) for entry in json.load(answer)]


@contextmanager
def running_server(*arguments: str) -> Iterator[S3]:
    """Run a server for the block; it ends with this process, however this process ends."""
    program = str(Path(__file__).with_name("s3_server.py"))
    process = subprocess.Popen(
        [sys.executable, program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        endpoint = f"http://127.0.0.1:{int(process.stdout.readline())}"
        options = {
            "aws_access_key_id": OWNER_KEY,
            "aws_secret_access_key": "secret",
            "aws_region": "us-east-1",
            "aws_endpoint": endpoint,
            "allow_http": "true",
        }
        yield S3(endpoint, "", options).fresh()
    finally:
        process.stdin.close()
        process.wait(timeout=10)
        process.stdout.close()
