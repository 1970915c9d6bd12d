"""Merging as a user types it."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import app

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"


class Shell:
    """A folder with a graph in which main and `work` disagree about Ada."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.graph = og.init(folder / "graph", SCHEMA)
        self.put("main", 36)
        self.graph.branches.create("work")
        self.put("work", 37)

    def put(self, branch: str, age: int) -> str:
        done = self.graph.load(
            [{"type": "Person", "data": {"name": "ada", "age": age}}], mode="merge", branch=branch
        )
        assert done.commit_id is not None
        return done.commit_id

    @property
    def age(self) -> int:
        """Ada's age on main."""
        rows = self.graph.query('query q() { match { $p: Person { name: "ada" } } return { $p.age } }').rows
        return int(str(rows[0]["p.age"]))

    def run(self, *words: str) -> Result:
        with chdir(self.folder):
            runner = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "200"})
            return runner.invoke(app, [*words, "--uri", "graph"])


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_a_dry_run_then_a_merge_then_nothing_left(shell: Shell) -> None:
    tried = shell.run("branch", "merge", "work", "--dry-run", "--json")
    assert tried.exit_code == 0, tried.stderr
    said = json.loads(tried.stdout)
    assert (said["outcome"], said["commit"], said["dry_run"]) == ("fast_forward", None, True)
    assert said["counts"] == {"node:Person": {"inserted": 0, "updated": 1, "deleted": 0}}
    assert shell.age == 36
    done = json.loads(shell.run("branch", "merge", "work", "--delete-branch", "--json").stdout)
    assert (done["outcome"], done["branch_deleted"]) == ("fast_forward", True)
    assert done["commit"] == shell.graph.snapshot().commit_id
    assert shell.age == 37
    assert shell.run("branch", "merge", "work").exit_code == 1


def test_conflicts_are_saved_answered_and_merged(shell: Shell) -> None:
    shell.put("main", 38)
    failed = shell.run("branch", "merge", "work", "--conflicts-to", "c.json")
    assert failed.exit_code == 1
    assert "merge_conflicts" in failed.stderr
    assert "c.json" in failed.stderr
    file = shell.folder / "c.json"
    content = json.loads(file.read_text())
    assert [item["kind"] for item in content["conflicts"]] == ["DivergentUpdate"]
    unanswered = shell.run("branch", "merge", "work", "--resolutions", "c.json", "--json")
    assert unanswered.exit_code == 1
    assert [item["entity_id"] for item in json.loads(unanswered.stdout)["details"]["conflicts"]] == ["ada"]
    content["conflicts"][0]["take"] = "theirs"
    file.write_text(json.dumps(content))
    done = shell.run("branch", "merge", "work", "--resolutions", "c.json")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("merged: commit ")
    assert shell.age == 37


def test_conflicts_are_answered_one_by_one_in_one_file(shell: Shell) -> None:
    names = ("ada", "bob", "cy")
    people = [{"type": "Person", "data": {"name": name, "age": 1}} for name in names]
    for branch, age in (("work", 50), ("main", 60)):
        changed = [{**person, "data": {**person["data"], "age": age}} for person in people]
        shell.graph.load(changed, mode="merge", branch=branch)
    file = shell.folder / "c.json"
    assert shell.run("branch", "merge", "work", "--conflicts-to", "c.json").exit_code == 1
    for answered in range(1, 4):
        content = json.loads(file.read_text())
        assert len(content["conflicts"]) == 3
        unanswered = [item for item in content["conflicts"] if item["take"] is None]
        unanswered[0]["take"] = "theirs"
        file.write_text(json.dumps(content))
        done = shell.run("branch", "merge", "work", "--resolutions", "c.json", "--conflicts-to", "c.json")
        assert done.exit_code == (0 if answered == 3 else 1)
        takes = [item["take"] for item in json.loads(file.read_text())["conflicts"]]
        assert takes == ["theirs"] * answered + [None] * (3 - answered)
    assert shell.age == 50
    assert [path.name for path in shell.folder.iterdir() if path.suffix == ".part"] == []


def test_an_answer_that_is_no_longer_used_makes_room_for_the_conflict_as_it_is(shell: Shell) -> None:
    shell.put("main", 38)
    assert shell.run("branch", "merge", "work", "--conflicts-to", "c.json").exit_code == 1
    file = shell.folder / "c.json"
    content = json.loads(file.read_text())
    content["conflicts"][0]["take"] = "theirs"
    rule = {"type_name": "Person", "kind": "OrphanEdge", "take": "ours"}
    file.write_text(json.dumps({"resolutions": [rule, *content["conflicts"]]}))
    shell.put("main", 39)
    again = shell.run("branch", "merge", "work", "--resolutions", "c.json", "--conflicts-to", "d.json")
    assert again.exit_code == 1
    content = json.loads((shell.folder / "d.json").read_text())
    assert content["conflicts"][0] == rule
    assert content["conflicts"][-1]["ours"] == {"properties": {"age": 39, "name": "ada"}}
    content["conflicts"][-1]["take"] = "ours"
    file.write_text(json.dumps(content))
    assert shell.run("branch", "merge", "work", "--resolutions", "c.json").exit_code == 0
    assert shell.age == 39


def test_a_dry_run_with_conflicts_says_so_and_fails_as_the_merge_would(shell: Shell) -> None:
    shell.put("main", 38)
    tried = shell.run("branch", "merge", "work", "--dry-run", "--conflicts-to", "c.json")
    assert tried.exit_code == 1
    assert tried.stdout.startswith("would be refused: 1 conflict\n")
    assert "DivergentUpdate" in tried.stdout
    assert "inserted" not in tried.stdout
    assert (shell.folder / "c.json").exists()
    as_json = shell.run("branch", "merge", "work", "--dry-run", "--json")
    assert as_json.exit_code == 1
    said = json.loads(as_json.stdout)
    assert (said["counts"], len(said["conflicts"])) == ({}, 1)
    assert shell.run("branch", "merge", "work", "--strategy", "theirs").exit_code == 0
    assert shell.age == 37


def test_a_source_that_cannot_be_deleted_is_a_warning(shell: Shell) -> None:
    shell.graph.branches.create("child", "work")
    done = shell.run("branch", "merge", "work", "--delete-branch")
    assert done.exit_code == 0
    assert "was not deleted" in done.stderr
    assert "work" in shell.graph.branches.list()


def test_commits_are_picked_and_reverted(shell: Shell) -> None:
    picked = shell.graph.snapshot("work").commit_id
    done = shell.run("commit", "cherry-pick", picked, "--json")
    assert done.exit_code == 0, done.stderr
    assert shell.age == 37
    undone = shell.run("commit", "revert", json.loads(done.stdout)["commit"], "-m", "no")
    assert undone.exit_code == 0, undone.stderr
    assert shell.age == 36
    assert shell.graph.snapshot().commit.message == "no"


def test_reverting_an_actor_takes_the_strategy_that_is_typed(tmp_path: Path) -> None:
    ada = og.init(tmp_path / "graph", "node P { name: String @key  age: I32?  city: String? }", actor="ada")
    ada.load([{"type": "P", "data": {"name": "x", "age": 1, "city": "Rome"}}], mode="append")
    bob = og.open(tmp_path / "graph", actor="bob")
    bob.mutate('query q() { update P set { age: 2 } where name = "x" }')
    ada.mutate('query q() { update P set { city: "Oslo" } where name = "x" }')
    runner = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "200"})
    words = ["commit", "revert", "--actor", "bob", "--dry-run", "--uri", str(tmp_path / "graph")]
    assert runner.invoke(app, words).exit_code == 0
    whole = runner.invoke(app, [*words, "--strategy", "entity"])
    assert (whole.exit_code, "1 conflict" in whole.output) == (1, True), whole.output


def test_a_rebase_is_tried_and_its_conflicts_are_kept(shell: Shell) -> None:
    shell.put("main", 40)
    tried = shell.run("branch", "rebase", "work", "--dry-run", "--conflicts-to", "c.json", "--json")
    assert tried.exit_code == 1, tried.stderr
    said = json.loads(tried.stdout)
    assert (said["outcome"], said["dry_run"], len(said["commits"])) == ("rebased", True, 1)
    assert said["conflicts"][0]["entity_id"] == "ada"
    told = json.loads((shell.folder / "c.json").read_text())
    told["conflicts"][0]["take"] = "theirs"
    (shell.folder / "c.json").write_text(json.dumps(told))
    assert "would be refused: 1 conflict\n" in shell.run("branch", "rebase", "work", "--dry-run").stdout
    tried = shell.run("branch", "rebase", "work", "--dry-run", "--resolutions", "c.json")
    assert "would be rebased: 1 commits made again" in tried.stdout
    done = shell.run("branch", "rebase", "work", "--resolutions", "c.json")
    assert done.exit_code == 0, done.stderr
    assert "work is at" in done.stdout


def test_conflicts_of_schemas_are_saved_answered_and_merged(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for branch, type_ in (("main", "I32"), ("work", "String")):
        og.open(shell.graph.uri, branch=branch).schema.apply(
            f"node Person {{ shoe: {type_}? }}", mode="extend"
        )
    refused = shell.run("branch", "merge", "work", "--conflicts-to", "conflicts.json")
    assert refused.exit_code == 1
    assert "node Person.shoe" in refused.stderr
    file = tmp_path / "conflicts.json"
    saved = json.loads(file.read_text())
    (found,) = saved["conflicts"] if isinstance(saved, dict) else saved
    assert (found["entity_kind"], found["entity_id"]) == ("schema", "node Person.shoe definition")
    assert found["theirs"] == {"properties": {"declaration": "shoe: String?"}}
    found["take"] = "theirs"
    file.write_text(json.dumps(saved))
    done = shell.run("branch", "merge", "work", "--resolutions", "conflicts.json")
    assert done.exit_code == 0, done.stderr
    person = shell.graph.snapshot().catalog.node("Person")
    assert person is not None
    assert str(person.by_name["shoe"].type) == "String?"
