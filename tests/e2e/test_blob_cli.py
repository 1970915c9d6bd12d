"""`blob get`, `stat`, `put` and `clear` as a user types them."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import app

WHICH = ("node", "Paper", "a", "body")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    graph = og.init(tmp_path / "graph", "node Paper { name: String @key  body: Blob? }")
    graph.load([{"type": "Paper", "data": {"name": "a", "body": b"\x00hello\xff"}}], mode="append")
    graph.tags.create("v1")
    return tmp_path


def _run(folder: Path, *words: str, data: bytes | None = None) -> Result:
    with chdir(folder):
        return CliRunner(env={"NO_COLOR": "1"}).invoke(app, ["blob", *words, "--uri", "graph"], input=data)


def test_bytes_are_read_whole_in_ranges_and_into_a_file(folder: Path) -> None:
    assert _run(folder, "get", *WHICH).stdout_bytes == b"\x00hello\xff"
    assert _run(folder, "get", *WHICH, "--offset", "1", "--length", "5").stdout_bytes == b"hello"
    assert _run(folder, "get", *WHICH, "-o", "out.bin").stdout_bytes == b""
    assert (folder / "out.bin").read_bytes() == b"\x00hello\xff"


def test_bytes_are_put_from_a_file_or_standard_input_and_cleared(folder: Path) -> None:
    (folder / "new.bin").write_bytes(b"new")
    done = _run(folder, "put", *WHICH, "new.bin", "-m", "why", "--json")
    told = json.loads(done.stdout)
    assert (told["size"], told["null"]) == (3, False)
    assert og.open(folder / "graph").commits.show(told["commit"]).message == "why"
    assert _run(folder, "put", *WHICH, "-", data=b"\xfe\x00").exit_code == 0
    assert _run(folder, "get", *WHICH).stdout_bytes == b"\xfe\x00"
    assert _run(folder, "clear", *WHICH).stdout.startswith("null: commit ")
    assert _run(folder, "stat", *WHICH).stdout == "null\n"
    assert _run(folder, "stat", *WHICH, "--snapshot", "v1").stdout == "7 bytes\n"


def test_what_cannot_be_read_says_why(folder: Path) -> None:
    for words, said in [
        (("get", *WHICH, "--offset", "99"), "offset is 99"),
        (("get", *WHICH, "--length", "x"), "--length"),
        (("get", *WHICH, "-o", "no/such/file"), "cannot be written"),
        (("put", *WHICH, "missing.bin"), "missing.bin cannot be read"),
        (("get", "node", "Paper", "b", "body"), "no node Paper with the id 'b'"),
    ]:
        done = _run(folder, *words)
        assert (done.exit_code, said in done.stderr) == (1, True), done.stderr
