"""The command line as a user types it, with its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from omnigraph.cli.main import app

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"


class Shell:
    """A folder in which `omnigraph` is called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "people.pg").write_text(SCHEMA)

    def run(self, *words: str) -> Result:
        with chdir(self.folder):
            return CliRunner(env={"NO_COLOR": "1", "COLUMNS": "200"}).invoke(app, list(words))

    def json(self, *words: str) -> dict[str, object]:
        done = self.run(*words, "--json")
        assert done.exit_code == 0, done.stderr + done.stdout
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    shell = Shell(tmp_path_factory.mktemp("cli"))
    made = shell.json("init", "graph", "--schema", "people.pg")
    assert made["tables"] == ["edge:Knows", "node:Person"]
    return shell


def test_branches_are_created_listed_and_deleted(shell: Shell) -> None:
    created = shell.json("--as", "act-ada", "branch", "create", "review/x", "--uri", "graph")
    assert created["branch"] == "review/x"
    assert shell.json("--store", "graph", "branch", "list") == {"branches": ["main", "review/x"]}
    assert shell.json("branch", "delete", "review/x", "--uri", "graph") == {"deleted": "review/x"}
    assert shell.run("branch", "list", "--uri", "graph").stdout == "main\n"


def test_history_and_snapshot_are_shown_as_json_and_as_text(shell: Shell) -> None:
    commits = shell.json("commit", "list", "--uri", "graph")["commits"]
    assert isinstance(commits, list)
    assert [commit["operation"] for commit in commits] == ["init"]
    shown = shell.json("commit", "show", commits[0]["id"], "--uri", "graph")
    assert shown == commits[0]
    assert shell.json("commit", "list", "--filter", "actor=nobody", "--uri", "graph")["commits"] == []
    snapshot = shell.json("snapshot", "graph", "--at", "1")
    assert snapshot["commit"] == commits[0]["id"]
    assert "node:Person" in shell.run("snapshot", "graph").stdout


def test_the_installed_command_is_a_program_of_its_own(shell: Shell) -> None:
    program = Path(sys.executable).with_name("omnigraph")
    for words, code in ((("branch", "list", "--uri", "graph"), 0), (("snapshot", "nowhere"), 1)):
        done = subprocess.run(
            [program, *words], cwd=shell.folder, check=False, capture_output=True, timeout=60
        )
        assert done.returncode == code


def test_version_names_the_release_and_the_storage_format(shell: Shell) -> None:
    assert shell.json("version")["format"] == 3
    assert shell.run("-v").stdout == shell.run("version").stdout


def test_a_graph_is_made_among_other_files_only_by_force(shell: Shell) -> None:
    (shell.folder / "mine").mkdir()
    (shell.folder / "mine/notes.txt").write_text("mine")
    refused = shell.run("init", "mine", "--schema", "people.pg")
    assert (refused.exit_code, "notes.txt" in refused.stderr) == (1, True)
    assert shell.json("init", "mine", "--schema", "people.pg", "--force")["tables"]
    assert (shell.folder / "mine/notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("snapshot", "nothing-here"), 1, "not_a_graph"),
        (("init", "graph", "--schema", "people.pg"), 1, "already_exists"),
        (("init", "other", "--schema", "missing.pg"), 1, "cannot be read"),
        (("branch", "delete", "main", "--uri", "graph"), 1, "invalid_name"),
        (("branch", "delete", "ghost", "--uri", "graph"), 1, "not_found"),
        (("branch", "create", "a//b", "--uri", "graph"), 1, "invalid_name"),
        (("snapshot", "graph", "--at", "99"), 1, "no version 99"),
        (("commit", "show", "nonsense", "--uri", "graph"), 1, "does not name a commit"),
        (("commit", "list", "--filter", "colour", "--uri", "graph"), 2, "actor=NAME"),
        (("commit", "list"), 2, "which graph?"),
        (("snapshot", "graph", "--no-such-flag"), 2, "No such option"),
        (("snapshot", "https://example.invalid/graphs/x"), 2, "server"),
        (("--store", "graph", "snapshot", "graph"), 2, "once"),
    ],
)
def test_a_mistake_gets_a_message_and_an_exit_code(
    shell: Shell, words: tuple[str, ...], code: int, said: str
) -> None:
    done = shell.run(*words)
    assert done.exit_code == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_an_error_is_a_json_document_when_json_is_asked_for(shell: Shell) -> None:
    done = shell.run("snapshot", "nothing-here", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["code"] == "not_a_graph"
    assert json.loads(done.stdout)["retryable"] is False


def test_what_a_terminal_cannot_encode_is_shown_escaped(shell: Shell) -> None:
    (shell.folder / "half.jsonl").write_text('{"type": "Person", "data": {"name": "\\ud800"}}\n')
    done = shell.run("load", "graph", "--data", "half.jsonl", "--mode", "append", "--json")
    assert done.exit_code != 0
    assert json.loads(done.stdout)["code"] == "validation_error"


def test_a_write_says_where_it_writes_unless_told_to_be_quiet(shell: Shell) -> None:
    assert "writing to" in shell.run("branch", "create", "loud", "--uri", "graph").stderr
    assert shell.run("--quiet", "branch", "delete", "loud", "--uri", "graph").stderr == ""


def test_a_schema_is_extended_and_drops_must_be_allowed(shell: Shell) -> None:
    shell.json("init", "changing", "--schema", "people.pg")
    (shell.folder / "more.pg").write_text("node Person { nick: String? }\nnode City { name: String @key }\n")
    schema = ("changing", "--schema")
    planned = shell.json("schema", "plan", *schema, "more.pg", "--extend")
    done = shell.json("schema", "apply", *schema, "more.pg", "--extend")
    assert done["steps"] == planned["steps"]
    refused = shell.run("schema", "apply", *schema, "people.pg", "--json")
    assert refused.exit_code == 1
    assert "schema_would_drop" in refused.stdout + refused.stderr
    assert "--allow-drop" in shell.run("schema", "plan", *schema, "people.pg").stderr
    dropped = shell.json("schema", "apply", *schema, "people.pg", "--allow-drop")
    assert [(step["kind"], step["mode"]) for step in dropped["steps"]] == [  # type: ignore[attr-defined]
        ("drop_property", "soft"),
        ("drop_type", "soft"),
    ]


def test_a_load_that_puts_everything_aside_says_that_it_made_no_commit(shell: Shell) -> None:
    (shell.folder / "wrong.ndjson").write_text('{"type": "Robot", "data": {}}\n')
    done = shell.run(
        "load", "graph", "--data", "wrong.ndjson", "--mode", "append", "--on-error", "quarantine"
    )
    assert (done.exit_code, "no commit was made" in done.stdout) == (3, True), done.output
    assert "1 wrong record put aside in " in done.stderr
