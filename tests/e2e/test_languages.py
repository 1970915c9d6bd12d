"""`fmt` and `lint` as a user types them, with their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import app

QUERY = "query q(){match{$p:Person}return{$p.name}}\n"
PRETTY = "query q() {\n  match {\n    $p: Person\n  }\n  return {\n    $p.name\n  }\n}\n"
SCHEMA = "node Person{name:String @key}\n"


def run(*words: str, text: str | bytes | None = None) -> Result:
    return CliRunner(env={"NO_COLOR": "1", "COLUMNS": "200"}).invoke(app, list(words), input=text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.gq").write_text(QUERY)
    (tmp_path / "a.pg").write_text(SCHEMA)
    return tmp_path


def test_fmt_rewrites_both_languages_in_place(folder: Path) -> None:
    (folder / "a.gq").chmod(0o640)
    done = run("fmt", str(folder / "a.gq"), str(folder / "a.pg"))
    assert done.exit_code == 0
    assert (folder / "a.gq").read_text() == PRETTY
    assert (folder / "a.pg").read_text() != SCHEMA
    assert (folder / "a.gq").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in folder.iterdir()) == ["a.gq", "a.pg"]
    assert run("fmt", "--check", str(folder / "a.gq"), str(folder / "a.pg")).exit_code == 0


def test_fmt_check_changes_nothing_and_fails(folder: Path) -> None:
    done = run("fmt", "--check", str(folder / "a.gq"))
    assert done.exit_code == 1
    assert "would reformat" in done.stderr
    assert (folder / "a.gq").read_text() == QUERY


def test_fmt_reads_standard_input_as_it_reads_a_file() -> None:
    assert run("fmt", "-", text="\ufeff" + QUERY).stdout == PRETTY
    refused = run("fmt", "-", text=b"// \xff")
    assert refused.exit_code == 1
    assert "<stdin> is not UTF-8 text: byte 3" in refused.stderr


def test_fmt_reads_standard_input() -> None:
    done = run("fmt", "-", text=QUERY)
    assert (done.exit_code, done.stdout) == (0, PRETTY)
    assert run("fmt", "--language", "pg", text=SCHEMA).exit_code == 0
    assert run("fmt", "--check", "-", text=QUERY).exit_code == 1
    assert run("fmt", "--check", "-", text=PRETTY).exit_code == 0


def test_fmt_reports_every_faulty_file_and_formats_the_rest(folder: Path) -> None:
    (folder / "bad.gq").write_text("query q( {")
    done = run("fmt", str(folder / "bad.gq"), str(folder / "missing.gq"), str(folder / "a.gq"))
    assert done.exit_code == 1
    assert "bad.gq:1:10" in done.stderr and "missing.gq" in done.stderr
    assert (folder / "a.gq").read_text() == PRETTY


def test_fmt_keeps_crlf_text_readable_and_refuses_other_files(folder: Path) -> None:
    (folder / "b.gq").write_bytes(QUERY.replace("\n", "\r\n").encode())
    assert run("fmt", str(folder / "b.gq")).exit_code == 0
    assert (folder / "b.gq").read_bytes() == PRETTY.encode()
    (folder / "c.gq").write_bytes(b"\xff")
    assert run("fmt", str(folder / "c.gq")).exit_code == 1
    assert run("fmt", "notes.txt").exit_code == 2
    assert run("fmt", "--language", "sql", text="").exit_code == 2


def test_lint_of_a_correct_file(folder: Path) -> None:
    words = ("lint", "--query", str(folder / "a.gq"), "--schema", str(folder / "a.pg"))
    assert run(*words).exit_code == 0
    done = run(*words, "--json")
    report = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (report["status"], report["queries_processed"]) == ("ok", 1)
    assert report["schema_source"] == {"kind": "file", "path": str(folder / "a.pg")}
    assert report["query_path"] == str(folder / "a.gq")


def test_lint_of_a_faulty_file(folder: Path) -> None:
    (folder / "bad.gq").write_text("query q() { match { $p: Person } return { $p.nam } }")
    words = ("lint", "--query", str(folder / "bad.gq"), "--schema", str(folder / "a.pg"))
    done = run(*words)
    assert done.exit_code == 1
    assert "[T6]" in done.stdout and "did you mean 'name'?" in done.stdout
    report = json.loads(run(*words, "--json").stdout)
    assert (report["status"], report["errors"]) == ("error", 1)


def test_lint_needs_a_query_file_and_a_schema(folder: Path) -> None:
    assert run("lint").exit_code == 2
    assert run("lint", "--query", str(folder / "a.gq")).exit_code == 2
    assert (
        run("lint", "graph", "--query", str(folder / "a.gq"), "--schema", str(folder / "a.pg")).exit_code == 2
    )
    assert run("lint", "--query", str(folder / "x.gq"), "--schema", str(folder / "a.pg")).exit_code == 1


def test_lint_against_the_schema_of_a_graph(folder: Path) -> None:
    graph = og.init(str(folder / "graph"), schema=SCHEMA)
    done = run("lint", str(folder / "graph"), "--query", str(folder / "a.gq"), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["schema_source"] == {"kind": "graph", "uri": graph.uri}
