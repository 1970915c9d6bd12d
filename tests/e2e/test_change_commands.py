"""`diff`, `commit changes`, `changes` and `export` as a user types them."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import app

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"


class Shell:
    """A folder with a graph in it, `g`, in which `omnigraph` is called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.graph = og.init(folder / "g", SCHEMA, actor="act-ada")
        people = [{"type": "Person", "data": {"name": name}} for name in "ab"]
        self.load = self.graph.load([*people, {"edge": "Knows", "from": "a", "to": "b", "data": {"id": "k"}}],
                                    mode="append").commit_id  # fmt: skip
        self.graph.branches.create("side")
        change = 'query q() { update Person set { age: 5 } where name = "b" }'
        self.update = self.graph.mutate(change, branch="side").commit_id

    def run(self, *words: str | None) -> Result:
        with chdir(self.folder):
            runner = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "200"})
            return runner.invoke(app, [str(word) for word in words])

    def json(self, *words: str | None) -> dict[str, Any]:
        done = self.run(*words, "--json")
        assert done.exit_code == 0, done.stderr + done.stdout
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("cli"))


def test_a_diff_is_shown_to_people_and_to_programs(shell: Shell) -> None:
    shown = shell.run("diff", "main", "side", "g").stdout.splitlines()
    assert [line.rpartition(", ")[0] for line in shown[:2]] == [
        f"from commit {shell.load} on main by act-ada: load",
        f"to   commit {shell.update} on side by act-ada: mutation",
    ]
    assert shown[2:] == ["~ Person b", "    age  null → 5"]
    found = shell.json("diff", "main", "side", "g")
    assert (found["to"], found["schema"], found["next_page_token"]) == (shell.update, None, None)
    assert found["changes"] == [item.to_json() for item in shell.graph.diff("main", "side")]
    assert (
        shell.run("diff", "main", "side", "g", "--counts").stdout
        == "table\tinsert\tupdate\tdelete\nnode:Person\t0\t1\t0\n"
    )
    assert shell.json("diff", "main", "side", "g", "--counts")["counts"] == {
        "node:Person": {"insert": 0, "update": 1, "delete": 0}
    }
    assert shell.json("diff", "main", "side", "g", "--kind", "edge")["changes"] == []
    failed = shell.run("diff", "main", "nowhere", "g", "--json")
    assert failed.exit_code == 1 and json.loads(failed.stdout)["code"] == "not_found"


def test_a_commit_shows_its_changes_in_pages(shell: Shell) -> None:
    first = shell.json("commit", "changes", shell.load, "--limit", "2", "--uri", "g")
    assert [item["id"] for item in first["changes"]] == ["a", "b"]
    assert first["cause"]["graph_commit_id"] == shell.load and first["cause"]["actor_id"] == "act-ada"
    token = first["next_page_token"]
    done = shell.run("commit", "changes", shell.load, "--page-token", token, "--uri", "g")
    assert done.stdout == "+ Knows k  a → b\n"
    genesis = shell.graph.commits.list()[-1].id
    refused = json.loads(shell.run("commit", "changes", genesis, "--uri", "g", "--json").stdout)
    assert refused["code"] == "change_diff_refusal"
    assert refused["details"]["reason"] == "parentless_commit"


def test_the_feed_is_polled_from_cursor_to_cursor(shell: Shell) -> None:
    page = shell.json("changes", "poll", "g", "--branch", "side", "--start", f"after:{shell.load}")
    assert [block["cause"]["graph_commit_id"] for block in page["blocks"]] == [shell.update]
    assert page["caught_up"] is True
    again = shell.json("changes", "poll", "g", "--branch", "side", "--cursor", page["cursor"])
    assert again["blocks"] == []
    shown = shell.run("changes", "poll", "g", "--branch", "side", "--start", "beginning")
    assert f"commit {shell.update} on side by act-ada: mutation" in shown.stdout
    assert "caught up: --cursor" in shown.stderr
    wrong = shell.run("changes", "poll", "g", "--cursor", page["cursor"])
    assert wrong.exit_code == 1 and "change cursor rejected: " in wrong.stderr


def test_a_baseline_is_written_whole_and_its_cursor_printed(shell: Shell) -> None:
    done = shell.json("changes", "baseline", "g", "--out", "base.ndjson", "--branch", "side")
    lines = (shell.folder / "base.ndjson").read_text().splitlines()
    assert json.loads(lines[-1])["baseline"]["resume_cursor"] == done["resume_cursor"]
    failed = shell.run("changes", "baseline", "g", "--out", "base.ndjson", "--type", "Nobody")
    assert failed.exit_code == 1
    assert (shell.folder / "base.ndjson").read_text().splitlines() == lines


def test_an_export_goes_to_standard_output_or_to_a_file(shell: Shell) -> None:
    printed = shell.run("export", "g", "--branch", "side").stdout.splitlines()
    assert [json.loads(line) for line in printed] == list(shell.graph.export(branch="side"))
    done = shell.json("export", "g", "--snapshot", shell.load, "--type", "Person", "--out", "people.ndjson")
    assert done["nodes"] == {"Person": 2} and done["commit_id"] == shell.load
    assert len((shell.folder / "people.ndjson").read_text().splitlines()) == 2
    assert "wrote Person 2" in shell.run("export", "g", "--type", "Person", "-o", "people.ndjson").stdout
    assert shell.run("export", "g", "--json").exit_code == 2
    done = shell.json("export", "g", "--out", "folder", "--format", "parquet")
    assert (done["format"], Path(done["path"], "_SUCCESS").exists()) == ("parquet", True)
    assert shell.run("export", "g", "--format", "parquet").exit_code == 2


def test_why_is_shown_wherever_a_commit_is(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    change = 'query q() { update Person set { age: 6 } where name = "a" }'
    told = shell.run("mutate", "-e", change, "-m", "her birthday", "--metadata", "task=t-1", "--uri", "g")
    assert told.exit_code == 0, told.stderr
    commit = shell.graph.snapshot().commit_id
    for words in (
        ("commit", "list", "--uri", "g"),
        ("log", "g"),
        ("commit", "changes", commit, "--uri", "g"),
    ):
        shown = shell.run(*words).stdout
        assert "her birthday" in shown and "task=t-1" in shown, (words, shown)
    diff = shell.run("diff", shell.load, "main", "g").stdout.splitlines()
    assert diff[2:4] == ["     her birthday", "     task=t-1"]
    assert shell.json("commit", "changes", commit, "--uri", "g")["cause"]["metadata"] == {"task": "t-1"}
    clash = 'query q() { update Person set { age: 7 } where name = "a" }'
    shell.run("mutate", "-e", clash, "-m", "counted", "--branch", "side", "--uri", "g")
    refused = shell.run("branch", "merge", "side", "--uri", "g")
    assert refused.exit_code == 1
    assert "'her birthday' (task=t-1)" in refused.stdout and "'counted'" in refused.stdout
