"""`cleanup`, `repair` and `tag` on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import app
from support.care import PEOPLE, fill
from support.graphs import fingerprint


@pytest.fixture
def uri(tmp_path: Path) -> str:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 4)
    return graph.uri


def _run(*arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == code, done.output
    return done.output


def _json(*arguments: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def test_cleanup_previews_until_it_is_confirmed(uri: str) -> None:
    before = fingerprint(Path(uri))
    preview = _json("cleanup", uri, "--keep", "1")
    assert preview["dry_run"]
    assert preview["commits_dropped"] == 4
    assert preview["bytes"] > 0
    assert "add --confirm" in _run("cleanup", uri, "--keep", "1", "--older-than", "0s")
    assert fingerprint(Path(uri)) == before
    done = _json("--as", "act-ada", "cleanup", uri, "--keep", "1", "--confirm")
    assert not done["dry_run"]
    assert {table["table_key"] for table in done["tables"]} == {"node:Person", "edge:Knows"}
    newest = og.open(uri).commits.list()[0]
    assert (newest.operation, newest.actor) == ("cleanup", "act-ada")


def test_cleanup_of_shared_storage_needs_yes() -> None:
    assert "--yes" in _run("cleanup", "s3://bucket/graph", "--confirm", code=2)


@pytest.mark.parametrize("given", [("--keep", "0"), ("--keep", "x")])
def test_a_wrong_limit_is_a_usage_error(uri: str, given: tuple[str, str]) -> None:
    _run("cleanup", uri, *given, code=2)


def test_a_wrong_age_is_told(uri: str) -> None:
    assert _json("cleanup", uri, "--older-than", "soon", code=1)["code"] == "bad_input"


def test_tags_are_made_listed_read_and_deleted(uri: str) -> None:
    commit = og.open(uri).snapshot(version=2).commit_id
    assert _json("tag", "create", "v1", "--commit", commit, "--uri", uri)["commit"] == commit
    assert "names commit" in _run("tag", "create", "v2", "--branch", "main", "--uri", uri)
    assert [tag["name"] for tag in _json("tag", "list", "--uri", uri)["tags"]] == ["v1", "v2"]
    assert commit in _run("tag", "list", "--uri", uri)
    assert _json("snapshot", uri, "--tag", "v1")["version"] == 2
    assert "deleted tag v2" in _run("tag", "delete", "v2", "--uri", uri)
    assert _json("tag", "delete", "v2", "--uri", uri, code=1)["code"] == "not_found"


@pytest.mark.parametrize("given", [(), ("--confirm",)])
def test_repair_reports_a_damaged_head_with_everything_else(uri: str, given: tuple[str, ...]) -> None:
    newest = max((Path(uri) / "__manifest/chains").rglob("*.json"))
    os.truncate(newest, 50)
    min((Path(uri) / "nodes").rglob("data/*.lance"), key=lambda path: path.stat().st_mtime_ns).unlink()
    before = fingerprint(Path(uri))
    done = _json("repair", uri, *given, code=1)
    assert {"record_unreadable", "file_missing"} <= {item["code"] for item in done["findings"]}
    assert done["confirmed"] == bool(given)
    assert done["checked"]["commits"] == 4
    assert fingerprint(Path(uri)) == before


def test_a_branch_begins_before_a_damaged_head(uri: str, tmp_path: Path) -> None:
    commit = og.open(uri).snapshot(version=4).commit_id
    os.truncate(max((Path(uri) / "__manifest/chains").rglob("*.json")), 50)
    out = str(tmp_path / "rescued.ndjson")
    assert _json("export", uri, "--snapshot", commit, "--out", out)["commit_id"] == commit
    assert _json("branch", "create", "rescued", "--commit", commit, "--uri", uri)["commit"] == commit
    assert _json("branch", "create", "by-version", "--version", "4", "--uri", uri)["commit"] == commit
    assert _json("tag", "create", "sound", "--commit", commit, "--uri", uri)["commit"] == commit
    _run("backup", uri, str(tmp_path / "backup"), "--snapshot", commit)


def test_repair_says_sound_or_what_is_damaged(uri: str) -> None:
    assert _json("repair", uri)["ok"]
    assert _run("repair", uri).startswith("sound: 1 branches, 5 commits")
    file = next((Path(uri) / "nodes").rglob("data/*.lance"))
    file.unlink()
    found = _json("repair", uri, code=1)
    assert "file_missing" in {item["code"] for item in found["findings"]}
    assert "NOT SOUND" in _run("repair", uri, "--confirm", code=1)


def test_repair_tells_a_plan_that_cannot_be_read_and_whoever_writes_puts_it_aside(uri: str) -> None:
    (Path(uri) / "__recovery").mkdir(exist_ok=True)
    (Path(uri) / "__recovery/bad.json").write_text("{")
    found = _json("repair", uri, code=1)
    assert [item["code"] for item in found["findings"]] == ["plan_unreadable"]
    assert (Path(uri) / "__recovery/bad.json").exists(), "a repair without confirm changes nothing"
    found = _json("repair", uri, "--confirm")
    assert [(item["code"], item["where"]) for item in found["findings"]] == [
        ("plan_quarantined", "__quarantine/bad.json")
    ]
    assert (Path(uri) / "__quarantine/bad.json").read_text() == "{"
    assert not (Path(uri) / "__recovery/bad.json").exists()
