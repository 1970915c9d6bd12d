"""`omnigraph embed` as a user types it: on a graph, and on files of records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import app
from support.embedding_server import EmbeddingServer, running_embedding_server, status

SCHEMA = """
node Doc { slug: String @key  title: String?  body: String?  vec: Vector(4)? @embed(body) }
node Tag { slug: String @key  label: String  vec: Vector(4)? @embed(label) }
edge Has: Doc -> Tag
"""
RECORDS: list[dict[str, Any]] = [
    {"type": "Doc", "data": {"slug": "a", "title": "A", "body": "red kettle"}},
    {"type": "Doc", "data": {"slug": "b", "title": "B", "body": "blue whale", "vec": [1.0, 0.0, 0.0, 0.0]}},
    {"type": "Doc", "data": {"slug": "c", "title": "C"}},
    {"type": "Tag", "data": {"slug": "t", "label": "things", "vec": None}},
    {"edge": "Has", "from": "a", "to": "t"},
]
KEY = "sk-of-the-test-9876543210"


class Shell:
    """A folder in which `omnigraph` is called, with a provider over HTTP."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = {"NO_COLOR": "1", "COLUMNS": "200", **environment}
        (folder / "docs.pg").write_text(SCHEMA)
        (folder / "docs.ndjson").write_text("".join(json.dumps(item) + "\n" for item in RECORDS))

    def run(self, *words: str) -> Result:
        with chdir(self.folder):
            return CliRunner(env=self.environment).invoke(app, list(words))

    def json(self, *words: str) -> dict[str, Any]:
        done = self.run(*words, "--json")
        assert done.exit_code == 0, done.stderr + done.stdout
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def records(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running_embedding_server() as running:
        yield running


@pytest.fixture
def shell(tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> Shell:
    for name in list(os.environ):
        if name.startswith("OMNIGRAPH_EMBEDDING") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    environment = {
        "OMNIGRAPH_EMBEDDING_PROVIDER": "openai-compatible",
        "OMNIGRAPH_EMBEDDING_BASE_URL": server.url,
        "OMNIGRAPH_EMBEDDING_MODEL": "small",
        "OMNIGRAPH_EMBEDDING_API_KEY": KEY,
    }
    return Shell(tmp_path, environment)


def files(*more: str) -> list[str]:
    return ["embed", "--input", "docs.ndjson", "--output", "out.ndjson", "--spec", "docs.pg", *more]


def test_a_graph_that_was_loaded_without_a_provider_is_filled_in_one_commit(
    shell: Shell, server: EmbeddingServer
) -> None:
    shell.json("init", "graph", "--schema", "docs.pg")
    og.open(shell.folder / "graph", embedding="none").load(RECORDS, mode="append")
    done = shell.json("embed", "graph", "--message", "vectors")
    assert done["embedded"] == {"Doc.vec": 1, "Tag.vec": 1}
    assert (done["model"], done["branch"]) == ("small", "main")
    assert sorted(server.texts) == ["red kettle", "things"]
    assert shell.json("commit", "show", done["commit"], "--uri", "graph")["message"] == "vectors"
    assert shell.json("embed", "graph")["commit"] is None
    assert "no vector is missing" in shell.run("embed", "graph").stdout
    gq = 'query q() { match { $d: Doc } return { $d.slug } order { nearest($d.vec, "red kettle") } limit 1 }'
    assert shell.json("query", "--uri", "graph", "-e", gq)["rows"] == [{"d.slug": "a"}]


def test_a_load_of_the_command_line_embeds_and_its_key_never_shows(
    shell: Shell, server: EmbeddingServer
) -> None:
    shell.json("init", "graph", "--schema", "docs.pg")
    server.next = [status(401, f"wrong key {KEY}")]
    words = ("load", "graph", "--data", "docs.ndjson", "--mode", "append")
    for more in ((), ("--json",)):
        server.next = [status(401, f"wrong key {KEY}")]
        failed = shell.run(*words, *more)
        assert failed.exit_code == 1
        assert "embedding_refused" in failed.stdout + failed.stderr
        assert KEY not in failed.stdout + failed.stderr
    shell.json(*words)
    assert shell.json("embed", "graph")["commit"] is None


def test_types_branches_and_renewal(shell: Shell, server: EmbeddingServer) -> None:
    shell.json("init", "graph", "--schema", "docs.pg")
    og.open(shell.folder / "graph", embedding="none").load(RECORDS, mode="append")
    shell.json("branch", "create", "side", "--uri", "graph")
    assert shell.json("embed", "graph", "--branch", "side", "--type", "Tag")["embedded"] == {"Tag.vec": 1}
    assert shell.json("embed", "graph", "--reembed-all", "--type", "Doc.vec")["embedded"] == {"Doc.vec": 2}
    assert shell.json("embed", "graph")["embedded"] == {"Tag.vec": 1}
    assert "'Person'" in shell.run("embed", "graph", "--type", "Person").stderr


def test_a_folder_keeps_vectors_between_runs(shell: Shell, server: EmbeddingServer) -> None:
    for name in ("one", "two"):
        shell.json("init", name, "--schema", "docs.pg")
        og.open(shell.folder / name, embedding="none").load(RECORDS, mode="append")
        assert shell.json("embed", name, "--cache", "vectors")["embedded"] == {"Doc.vec": 1, "Tag.vec": 1}
    assert len(server.texts) == 2


def test_a_file_gets_its_missing_vectors_and_nothing_else_changes(
    shell: Shell, server: EmbeddingServer
) -> None:
    done = shell.json(*files())
    assert (done["records"], done["selected"], done["embedded"], done["mode"]) == (5, 4, 2, "fill_missing")
    made = shell.records("out.ndjson")
    assert len(made[0]["data"].pop("vec")) == 4
    assert len(made[3]["data"].pop("vec")) == 4
    expected = json.loads(json.dumps(RECORDS))
    del expected[3]["data"]["vec"]
    assert made == expected
    before = (shell.folder / "docs.ndjson").read_text().splitlines()
    after = (shell.folder / "out.ndjson").read_text().splitlines()
    assert [after[1], after[2], after[4]] == [before[1], before[2], before[4]]
    shell.json("init", "graph", "--schema", "docs.pg")
    server.asked.clear()
    shell.json("load", "graph", "--data", "out.ndjson", "--mode", "append")
    assert server.asked == []


def test_records_can_be_renewed_cleaned_and_selected(shell: Shell, server: EmbeddingServer) -> None:
    assert shell.json(*files("--reembed-all"))["embedded"] == 3
    assert shell.json(*files("--reembed-all", "--type", "Tag"))["embedded"] == 1
    assert shell.json(*files("--reembed-all", "--select", "Doc:slug=b"))["embedded"] == 1
    assert shell.json(*files("--select", "slug=b", "--select", "slug=t"))["embedded"] == 1
    cleaned = shell.json(*files("--clean", "--select", "Doc:title=B"))
    assert (cleaned["cleaned"], cleaned["embedded"], cleaned["model"]) == (1, 0, None)
    assert "vec" not in shell.records("out.ndjson")[1]["data"]


def test_a_file_can_be_changed_in_place(shell: Shell) -> None:
    words = ["embed", "--input", "docs.ndjson", "--output", "docs.ndjson", "--spec", "docs.pg"]
    assert shell.json(*words)["embedded"] == 2
    assert shell.json(*words)["embedded"] == 0
    assert sorted(path.name for path in shell.folder.iterdir()) == ["docs.ndjson", "docs.pg"]


def test_a_manifest_names_files_and_several_fields(shell: Shell, server: EmbeddingServer) -> None:
    spec = {"dimension": 3, "types": {"Doc": {"target": "vec", "fields": ["title", "body"]}}}
    (shell.folder / "seed").mkdir()
    (shell.folder / "seed/seed.json").write_text(
        json.dumps(
            {
                "sources": {"raw_seed": "../docs.ndjson"},
                "artifacts": {"embedded_seed": "build/out.ndjson"},
                "embeddings": spec,
            }
        )
    )
    assert shell.json("embed", "--seed", "seed/seed.json")["embedded"] == 2
    assert sorted(server.texts) == ["title: A\nbody: red kettle", "title: C"]
    assert len(shell.records("seed/build/out.ndjson")[0]["data"]["vec"]) == 3
    (shell.folder / "spec.json").write_text(json.dumps(spec))
    words = ["embed", "--input", "docs.ndjson", "--output", "out.ndjson", "--spec", "spec.json"]
    assert shell.json(*words)["embedded"] == 2


def test_a_failed_run_leaves_no_output(shell: Shell, server: EmbeddingServer) -> None:
    server.always = status(400, "no")
    assert shell.run(*files()).exit_code == 1
    (shell.folder / "docs.ndjson").write_text('{"type": "Doc", "data": {"slug"\n')
    failed = shell.run(*files())
    assert failed.exit_code == 1
    assert "docs.ndjson:1: the line is not one JSON value" in failed.stderr
    assert sorted(path.name for path in shell.folder.iterdir()) == ["docs.ndjson", "docs.pg"]


def test_the_recorded_model_is_kept_to(shell: Shell) -> None:
    (shell.folder / "docs.pg").write_text(SCHEMA.replace("@embed(body)", '@embed(body, model="large")'))
    failed = shell.run(*files())
    assert failed.exit_code == 1
    assert "embedding_model_mismatch" in failed.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["embed"],
        ["embed", "graph", "--clean"],
        ["embed", "graph", "--select", "slug=a"],
        ["embed", "--input", "docs.ndjson"],
        ["embed", "graph", "--input", "docs.ndjson", "--output", "o", "--spec", "docs.pg"],
        ["embed", "--seed", "s.json", "--input", "docs.ndjson"],
        [*files(), "--clean", "--reembed-all"],
    ],
)
def test_a_command_that_makes_no_sense_is_a_usage_error(words: list[str], shell: Shell) -> None:
    assert shell.run(*words).exit_code == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.json", "no json"),
        ("s.json", "[]"),
        ("s.json", '{"dimension": 0, "types": {"Doc": {"target": "vec", "fields": ["body"]}}}'),
        ("s.json", '{"dimension": 3, "types": {"Doc": {"target": "vec", "fields": []}}}'),
        ("s.json", '{"dimension": 3, "types": {"Doc": 7}}'),
        ("s.pg", "node Doc {"),
    ],
)
def test_a_spec_that_says_nothing_is_refused(name: str, content: str, shell: Shell) -> None:
    (shell.folder / name).write_text(content)
    failed = shell.run("embed", "--input", "docs.ndjson", "--output", "o", "--spec", name)
    assert failed.exit_code == 1, failed.output


def test_a_type_that_is_not_embedded_is_told_and_a_property_may_be_named(shell: Shell) -> None:
    wrong = shell.run(*files(), "--type", "Dok")
    assert wrong.exit_code == 1
    assert "'Dok' is not embedded here: use Doc, Doc.vec, Tag, Tag.vec" in wrong.stderr
    done = shell.json(*files(), "--type", "Tag.vec")
    assert (done["selected"], done["embedded"]) == (1, 1)


def test_records_are_read_as_a_load_reads_them_and_packed_by_their_names(shell: Shell) -> None:
    mine = shell.folder / "filled.ndjson.part"
    mine.write_text("mine")
    packed = ["embed", "--input", "docs.ndjson", "--output", "filled.ndjson.gz", "--spec", "docs.pg"]
    assert shell.json(*packed)["embedded"] == 2
    again = ["embed", "--input", "filled.ndjson.gz", "--output", "filled.ndjson", "--spec", "docs.pg"]
    assert shell.json(*again)["embedded"] == 0
    assert mine.read_text() == "mine"
    (shell.folder / "docs.ndjson").write_text('{"type": "Doc", "type": "Tag", "data": {}}\n')
    twice = shell.run(*files())
    assert twice.exit_code == 1 and "docs.ndjson:1: " in twice.stderr
