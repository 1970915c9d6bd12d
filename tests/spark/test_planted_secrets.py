"""Secrets are given to a session of Spark in every way; tasks, logs, checkpoints and processes have none."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.objects import open_store
from support import planted_session
from support.embedding_server import running_embedding_server
from support.s3 import S3
from support.served_here import wait_until

SECRETS = {
    "aws_secret_access_key": "planted-storage-secret",
    "aws_session_token": "planted-storage-session",
}
KEY = "planted-provider-key"


@dataclass(frozen=True)
class Session:
    """A session that has ended: where its things lie, and what it has said."""

    folder: Path
    said: str

    def dump(self, name: str) -> Path:
        """Return a dump of Java's memory."""
        return self.folder / f"dump-of-{name}.hprof"


@pytest.fixture(scope="module")
def ended(s3_server: S3, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session that was given secrets in every way."""
    s3, folder = s3_server.fresh(), tmp_path_factory.mktemp("session")
    options = {**s3.options, **SECRETS}
    uri = f"{s3.uri}/graph"
    og.init(uri, planted_session.SCHEMA, storage_options=s3.options)
    open_store(s3.uri, s3.options).put("graph-in/people.csv", b"name,age\nada,36\nbob,41\n")
    (folder / "events").mkdir()
    with running_embedding_server() as provider:
        told = {
            "folder": str(folder), "uri": uri, "options": options, "provider": provider.url, "key": KEY
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, planted_session.__file__],
            input=json.dumps(told),
            env={**os.environ, "TMPDIR": str(folder)},
            capture_output=True,
            text=True,
            timeout=540,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    assert KEY in str([asked.headers for asked in provider.asked])  # the workers have asked with it
    # What Java's own processes have handed over goes when the watchdog has seen them end.
    wait_until(lambda: not list(folder.glob("omnigraph-credentials-*")), seconds=60)
    yield Session(folder, done.stdout + done.stderr)
    for dump in folder.glob("*.hprof"):
        dump.unlink()


@pytest.mark.s3
def test_nothing_that_a_session_writes_has_a_secret(ended: Session) -> None:
    read = {
        str(path): path.read_bytes()
        for path in ended.folder.rglob("*")
        if path.is_file() and path.suffix != ".hprof"
    }
    assert any("events" in path and b"SparkListenerTaskEnd" in data for path, data in read.items())
    assert b"pyspark.daemon" in read[str(ended.folder / "processes")]
    read["what it has said"] = ended.said.encode()
    found = [
        (path, data[max(0, at - 200) : at + 100])
        for path, data in read.items()
        for secret in (*SECRETS.values(), KEY)
        if (at := data.find(secret.encode())) >= 0
    ]
    assert not found


@pytest.mark.s3
def test_java_never_sees_the_secrets_of_handles_and_catalogs(ended: Session) -> None:
    for secret in (*SECRETS.values(), KEY):
        assert not list(_places(ended.dump("handles"), secret.encode()))


@pytest.mark.s3
def test_no_pickle_and_nothing_that_java_serialises_has_the_secrets_of_data_sources(ended: Session) -> None:
    for secret in SECRETS.values():
        data = secret.encode()
        assert list(_places(ended.dump("sources"), data))  # Java was told it, as an option
        for prefix in (b"\x8c" + bytes([len(data)]), b"t\0" + bytes([len(data)])):
            assert not list(_places(ended.dump("sources"), prefix + data))


@pytest.mark.s3
def test_files_of_secrets_are_gone_when_the_session_has_ended(ended: Session) -> None:
    wait_until(lambda: not list(ended.folder.glob("omnigraph-credentials-*")), 60)


def _places(dump: Path, wanted: bytes) -> Iterator[bytes]:
    """Yield what stands around each place where a dump has some bytes."""
    with _mapped(dump) as data:
        at = data.find(wanted)
        while at >= 0:
            yield data[max(0, at - 100) : at + 100]
            at = data.find(wanted, at + 1)


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        yield data
