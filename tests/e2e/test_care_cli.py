"""`cleanup`, `repair` and `tag` on the command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import omnigraph as og
from support.care import PEOPLE, fill
from support.command_line import run_json, run_text
from support.graphs import fingerprint


@pytest.fixture
def uri(tmp_path: Path) -> str:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 4)
    return graph.uri


def test_cleanup_previews_until_it_is_confirmed(uri: str) -> None:
    before = fingerprint(Path(uri))
    preview = run_json("cleanup", uri, "--keep", "1")
    assert preview["dry_run"]
    assert preview["commits_dropped"] == 4
    assert preview["bytes"] > 0
    assert "add --confirm" in run_text("cleanup", uri, "--keep", "1", "--older-than", "0s")
    assert fingerprint(Path(uri)) == before
    done = run_json("--as", "act-ada", "cleanup", uri, "--keep", "1", "--confirm")
    assert not done["dry_run"]
    assert {table["table_key"] for table in done["tables"]} == {"node:Person", "edge:Knows"}
    newest = og.open(uri).commits.list()[0]
    assert (newest.operation, newest.actor) == ("cleanup", "act-ada")


def test_cleanup_of_shared_storage_needs_yes() -> None:
    assert "--yes" in run_text("cleanup", "s3://bucket/graph", "--confirm", code=2)


@pytest.mark.parametrize("given", [("--keep", "0"), ("--keep", "x")])
def test_a_wrong_limit_is_a_usage_error(uri: str, given: tuple[str, str]) -> None:
    run_text("cleanup", uri, *given, code=2)


def test_a_wrong_age_is_told(uri: str) -> None:
    assert run_json("cleanup", uri, "--older-than", "soon", code=1)["code"] == "bad_input"


def test_tags_are_made_listed_read_and_deleted(uri: str) -> None:
    commit = og.open(uri).snapshot(version=2).commit_id
    assert run_json("tag", "create", "v1", "--commit", commit, "--uri", uri)["commit"] == commit
    assert "names commit" in run_text("tag", "create", "v2", "--branch", "main", "--uri", uri)
    assert [tag["name"] for tag in run_json("tag", "list", "--uri", uri)["tags"]] == ["v1", "v2"]
    assert commit in run_text("tag", "list", "--uri", uri)
    assert run_json("snapshot", uri, "--tag", "v1")["version"] == 2
    assert "deleted tag v2" in run_text("tag", "delete", "v2", "--uri", uri)
    assert run_json("tag", "delete", "v2", "--uri", uri, code=1)["code"] == "not_found"


@pytest.mark.parametrize("given", [(), ("--confirm",)])
def test_repair_reports_a_damaged_head_with_everything_else(uri: str, given: tuple[str, ...]) -> None:
    newest = max((Path(uri) / "__manifest/chains").rglob("*.json"))
    os.truncate(newest, 50)
    min((Path(uri) / "nodes").rglob("data/*.lance"), key=lambda path: path.stat().st_mtime_ns).unlink()
    before = fingerprint(Path(uri))
    done = run_json("repair", uri, *given, code=1)
    assert {"record_unreadable", "file_missing"} <= {item["code"] for item in done["findings"]}
    assert done["confirmed"] == bool(given)
    assert done["checked"]["commits"] == 4
    assert fingerprint(Path(uri)) == before


def test_a_branch_begins_before_a_damaged_head(uri: str, tmp_path: Path) -> None:
    commit = og.open(uri).snapshot(version=4).commit_id
    os.truncate(max((Path(uri) / "__manifest/chains").rglob("*.json")), 50)
    out = str(tmp_path / "rescued.ndjson")
    assert run_json("export", uri, "--snapshot", commit, "--out", out)["commit_id"] == commit
    assert run_json("branch", "create", "rescued", "--commit", commit, "--uri", uri)["commit"] == commit
    assert run_json("branch", "create", "by-version", "--version", "4", "--uri", uri)["commit"] == commit
    assert run_json("tag", "create", "sound", "--commit", commit, "--uri", uri)["commit"] == commit
    run_text("backup", uri, str(tmp_path / "backup"), "--snapshot", commit)


def test_repair_says_sound_or_what_is_damaged(uri: str) -> None:
    assert run_json("repair", uri)["ok"]
    assert run_text("repair", uri).startswith("sound: 1 branches, 5 commits")
    file = next((Path(uri) / "nodes").rglob("data/*.lance"))
    file.unlink()
    found = run_json("repair", uri, code=1)
    assert "file_missing" in {item["code"] for item in found["findings"]}
    assert "NOT SOUND" in run_text("repair", uri, "--confirm", code=1)


def test_repair_tells_a_plan_that_cannot_be_read_and_whoever_writes_puts_it_aside(uri: str) -> None:
    (Path(uri) / "__recovery").mkdir(exist_ok=True)
    (Path(uri) / "__recovery/bad.json").write_text("{")
    found = run_json("repair", uri, code=1)
    assert [item["code"] for item in found["findings"]] == ["plan_unreadable"]
    assert (Path(uri) / "__recovery/bad.json").exists(), "a repair without confirm changes nothing"
    found = run_json("repair", uri, "--confirm")
    assert [(item["code"], item["where"]) for item in found["findings"]] == [
        ("plan_quarantined", "__quarantine/bad.json")
    ]
    assert (Path(uri) / "__quarantine/bad.json").read_text() == "{"
    assert not (Path(uri) / "__recovery/bad.json").exists()
