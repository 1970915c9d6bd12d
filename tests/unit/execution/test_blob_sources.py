"""Blobs that are given by an address are read where a policy allows it, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.graph.write.integrity.blob_sources import VARIABLE, forbid_files
from omnigraph.storage.objects import open_store
from support.s3 import S3

SCHEMA = "node Paper { name: String @key  body: Blob? }"
PUT = "query put($body: Blob?) { upsert Paper { name: $name body: $body } }".replace("$name", '"m"')


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that may be read, with a file, beside one that may not."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a.bin").write_bytes(b"hello")
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "opened").write_bytes(b"secret")
    (tmp_path / "open" / "link").symlink_to(tmp_path / "secret")
    monkeypatch.setenv(VARIABLE, f"file://{tmp_path}/open")
    return tmp_path


def _load(graph: og.Graph, address: str) -> None:
    graph.load([{"type": "Paper", "data": {"name": "p", "body": address}}], mode="merge")


def test_a_load_and_a_mutation_copy_the_bytes_of_a_file(graph: og.Graph, folder: Path) -> None:
    _load(graph, f"file://{folder}/open/a.bin")
    graph.mutate(PUT, {"body": f"file://{folder}/open/a.bin"})
    (folder / "open" / "a.bin").write_bytes(b"other")
    assert graph.blob("node", "Paper", "p", "body").read() == b"hello"
    assert graph.blob("node", "Paper", "m", "body").read() == b"hello"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("file://{}/secret", "no folder of"),
        ("file://{}/opened", "no folder of"),
        ("file://{}/open/link", "no folder of"),
        ("file://{}/open/../secret", "without dots"),
        ("file://{}/open/%2e%2e/secret", "no folder of"),
        ("file://{}/open/none", "there is no file"),
        ("file://{}/open", "no folder of"),
        ("file://{}/open/a.bin?x=1", "a query"),
        ("s3://user:pass@bucket/a", "credentials"),
        ("s3://bucket/a", "no folder of"),
        ("http://host/a", "write base64"),
        ("hello", "write base64"),
        ("file://{}/open/" + "a" * 70_000, "an address of more than"),
    ],
)
def test_what_is_not_allowed_is_refused_and_nothing_is_written(
    graph: og.Graph, folder: Path, address: str, said: str
) -> None:
    with pytest.raises(og.ValidationError, match=said):
        _load(graph, address.format(folder))
    assert [table.rows for table in graph.snapshot().tables] == [0]


def test_nothing_may_be_read_unless_told(
    graph: og.Graph, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(og.ValidationError, match=VARIABLE):
        _load(graph, f"file://{folder}/open/a.bin")
    monkeypatch.setenv(VARIABLE, "/data")
    with pytest.raises(og.BadInput, match="write s3://bucket/prefix/"):
        _load(graph, f"file://{folder}/open/a.bin")


def test_a_server_reads_no_file_of_its_own_disk(
    graph: og.Graph, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, f"file://{folder}/open,s3://bucket/papers")
    forbid_files()
    with pytest.raises(og.ValidationError, match="no folder of"):
        _load(graph, f"file://{folder}/open/a.bin")


def test_a_large_file_is_not_read(graph: og.Graph, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_BLOB_SOURCE_BYTES", "4")
    with pytest.raises(og.ValidationError, match="has 5 bytes, the limit is 4"):
        _load(graph, f"file://{folder}/open/a.bin")


@pytest.mark.s3
def test_the_bytes_of_an_object_are_copied(graph: og.Graph, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(s3.uri, s3.options).put("papers/a.pdf", b"pdf")
    for name, value in s3.options.items():
        monkeypatch.setenv(name.upper() if name.lower().startswith("aws_") else f"AWS_{name.upper()}", value)
    monkeypatch.setenv(VARIABLE, f"{s3.uri}/papers/")
    _load(graph, f"{s3.uri}/papers/a.pdf")
    assert graph.blob("node", "Paper", "p", "body").read() == b"pdf"
    with pytest.raises(og.ValidationError, match="names an external source"):
        _load(graph, f"{s3.uri}/papers/none.pdf")
