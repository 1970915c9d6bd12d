"""`backup`, `backups` and `restore` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import app
from support.backups import insert, said
from support.care import PEOPLE, fill
from support.command_line import run_json, run_text
from support.graphs import fingerprint


@pytest.fixture
def uri(tmp_path: Path) -> str:
    graph = og.init(tmp_path / "graph", PEOPLE)
    fill(graph, 3)
    graph.branches.create("dev")
    return graph.uri


def test_a_graph_is_backed_up_listed_verified_and_restored(uri: str, tmp_path: Path) -> None:
    target, again = str(tmp_path / "backups"), str(tmp_path / "again")
    first = run_json("--as", "act-ada", "backup", uri, target)
    assert (first["scope"], first["actor"], sorted(first["heads"])) == ("graph", "act-ada", ["dev", "main"])
    commit = insert(og.open(uri), "new", "dev")
    second = run_json("--store", uri, "backup", target, "--since", first["heads"]["main"])
    assert 0 < second["files_copied"] < first["files_copied"]
    assert f"backup {second['id'][:4]}" in run_text("backup", uri, target)
    listed = run_json("backups", target)["backups"]
    assert [item["id"] for item in listed][:2] == [first["id"], second["id"]]
    assert len(run_json("backups", target, "--commit", commit)["backups"]) == 2
    assert first["id"] in run_text("backups", target)
    assert run_json("backups", target, "--verify")["ok"]
    done = run_json("restore", target, again)
    assert done["graph_id"] == og.open(uri).id
    assert said(og.open(again)) == said(og.open(uri))
    older = run_json("restore", target, str(tmp_path / "older"), "--id", first["id"], "--new-id")
    assert older["graph_id"] != done["graph_id"]
    assert older["commits"] == first["commits"]


def test_one_branch_commit_or_tag_is_backed_up(uri: str, tmp_path: Path) -> None:
    og.open(uri).tags.create("v1")
    for given in (("--branch", "dev"), ("--snapshot", "v1")):
        assert run_json("backup", uri, str(tmp_path / "backups"), *given)["commits"] == 1


def test_a_backup_for_reading_writes_nothing_to_the_graph(uri: str, tmp_path: Path) -> None:
    before = fingerprint(Path(uri))
    run_text("backup", uri, str(tmp_path / "backups"), "--read-only", "--no-read-back")
    assert fingerprint(Path(uri)) == before


def test_what_is_wrong_has_a_code(uri: str, tmp_path: Path) -> None:
    target = str(tmp_path / "backups")
    assert run_json("backup", uri, f"{uri}/x", code=1)["code"] == "bad_input"
    assert run_json("backups", target, code=1)["code"] == "not_found"
    assert run_json("backup", uri, target, "--since", "main", code=1)["code"] == "not_found"
    run_text("backup", uri, target)
    head = insert(og.open(uri), "late")
    assert run_json("backup", uri, target, "--since", head, code=1)["code"] == "not_found"
    assert run_json("restore", target, uri, code=1)["code"] == "already_exists"


def test_damage_is_named_and_ends_with_an_error(uri: str, tmp_path: Path) -> None:
    target = tmp_path / "backups"
    run_text("backup", uri, str(target))
    victim = sorted(path for path in (target / "objects").rglob("*") if path.is_file())[0]
    victim.write_bytes(victim.read_bytes()[:-1] + b"\0")
    assert victim.name in run_text("backups", str(target), "--verify", code=1)
    found = run_json("backups", str(target), "--verify", code=1)
    assert not found["ok"] and found["damage"][0]["path"].endswith(victim.name)
    error = run_json("restore", str(target), str(tmp_path / "again"), code=1)
    assert error["code"] == "corrupt_state" and victim.name in error["error"]


def test_a_backup_that_cannot_be_read_is_named_beside_the_others(uri: str, tmp_path: Path) -> None:
    target = tmp_path / "backups"
    first, second = (run_json("backup", uri, str(target))["id"] for _ in range(2))
    manifest = target / "backups" / f"{first}.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"main", b"niam", 1))
    found = run_json("backups", str(target))
    assert [item["id"] for item in found["backups"]] == [second]
    assert [(item["id"], item["code"]) for item in found["unreadable"]] == [(first, "corrupt_state")]
    assert all(id_ in run_text("backups", str(target)) for id_ in (first, second))
    assert f"it is the manifest of {first}" in run_text("backups", str(target), "--verify", code=1)


def test_a_backup_without_a_target_asks_for_it(uri: str) -> None:
    for given in (["backup", uri], ["--store", uri, "backup"]):
        done = CliRunner().invoke(app, given, env={"COLUMNS": "400"})
        assert done.exit_code == 2
        assert "where to?" in done.output and "which graph?" not in done.output
    assert "which graph?" in CliRunner().invoke(app, ["backup"]).output
