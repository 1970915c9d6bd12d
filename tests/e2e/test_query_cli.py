"""`query` and `explain` as a user types them, with their formats and exit codes."""

from __future__ import annotations

import json
import re
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.base.ids import new_ulid
from omnigraph.cli.main import app
from omnigraph.cli.output import print_table
from support.another_process import as_another_process

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
QUERIES = """
query adults($age: I32) { match { $p: Person  $p.age >= $age } return { $p.name, $p.age } order { $p.name } }
query friends($name: String) {
  match { $p: Person { name: $name }  $p knows $f }
  return { $f.name as friend }
}
"""
NOBODY = 'query q() { match { $p: Person { name: "nobody" } } return { $p.name } }'
COUNT = "query n() { match { $p: Person } return { count($p) as n } }"


@dataclass(frozen=True)
class Shell:
    """A folder with a graph, in which `omnigraph` is called."""

    folder: Path
    first: str
    """The commit before anybody was there."""

    def run(self, *words: str, text: str | None = None, **settings: str) -> Result:
        with chdir(self.folder):
            runner = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "200", **settings})
            return runner.invoke(app, [*words, "--uri", "graph"], input=text)

    def json(self, *words: str) -> Any:
        done = self.run(*words, "--json")
        assert done.exit_code == 0, done.stderr + done.stdout
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("query")
    (folder / "people.gq").write_text(QUERIES)
    (folder / "young.json").write_text('{"age": 5}')
    graph = og.init(folder / "graph", SCHEMA)
    first = graph.snapshot().commit_id
    people = [
        {"type": "Person", "data": {"name": name, "age": age}} for name, age in (("ada", 36), ("bob", 7))
    ]
    graph.load([*people, {"edge": "Knows", "from": "ada", "to": "bob"}], mode="append")
    graph.branches.create("review")
    graph.load([{"type": "Person", "data": {"name": "cyd"}}], mode="append", branch="review")
    return Shell(folder, first)


@pytest.mark.parametrize(
    ("format", "shown"),
    [
        ("table", "p.name\tp.age\nada\t36\nbob\t7\n"),
        ("csv", "p.name,p.age\nada,36\nbob,7\n"),
        ("kv", "p.name: ada\np.age: 36\n\np.name: bob\np.age: 7\n"),
    ],
)
def test_rows_are_shown_in_the_format_that_is_asked_for(shell: Shell, format: str, shown: str) -> None:
    words = ("query", "adults", "--query", "people.gq", "--params-file", "young.json")
    done = shell.run(*words, "--format", format)
    assert (done.exit_code, done.stdout) == (0, shown)
    assert shell.run("query", "-e", NOBODY, "--format", format).stdout == (
        "" if format == "kv" else "p.name\n"
    )


def test_one_row_is_one_row(shell: Shell) -> None:
    assert shell.run("query", "-e", COUNT).stderr.startswith("1 row from branch main via n (commit ")
    assert shell.run("query", "-e", NOBODY).stderr.startswith("0 rows from branch main via ")


def test_a_narrow_terminal_cuts_no_id_and_no_value(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    id_ = new_ulid()
    words = "a message that is too long for what is left of a line of eighty columns [bold]as it is[/bold]"
    columns = ("version", "commit", "when", "actor", "operation", "message")
    print_table(columns, [(12, id_, "2026-01-31T12:00:00+00:00", "act-ada-lovelace", "mutation", words)])
    shown = capsys.readouterr().out
    assert id_ in shown
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])
    assert "…" not in shown
    assert sum(line.count("o") for line in shown.splitlines()[1:]) == sum(
        text.count("o") for text in (words, "act-ada-lovelace", "mutation")
    ), "every letter is there"


def test_programs_get_one_document_or_a_line_for_each_row(shell: Shell) -> None:
    words = ("query", "friends", "--query", "people.gq", "--params", '{"name": "ada"}')
    whole = shell.json(*words)
    assert (whole["columns"], whole["row_count"], whole["rows"]) == (["friend"], 1, [{"friend": "bob"}])
    lines = [json.loads(line) for line in shell.run(*words, "--format", "jsonl").stdout.splitlines()]
    assert lines == [{name: whole[name] for name in ("commit", "columns", "row_count")}, {"friend": "bob"}]


def test_a_query_is_asked_of_a_branch_a_commit_or_standard_input(shell: Shell) -> None:
    assert shell.json("query", "-e", COUNT)["rows"] == [{"n": 2}]
    assert shell.json("query", "-e", COUNT, "--branch", "review")["rows"] == [{"n": 3}]
    assert shell.json("query", "-e", COUNT, "--snapshot", shell.first)["rows"] == [{"n": 0}]
    assert shell.run("query", "--query", "-", text=COUNT).stdout == "n\n2\n"


def test_a_query_that_takes_longer_than_it_may_fails_with_what_ran_out(shell: Shell) -> None:
    assert shell.run("query", "-e", COUNT, "--timeout", "60").exit_code == 0
    for done in (
        shell.run("query", "-e", COUNT, "--timeout", "1e-9", "--json"),
        shell.run("query", "-e", COUNT, "--json", OMNIGRAPH_QUERY_SECONDS="1e-9"),
        shell.run("explain", "-e", COUNT, "--analyze", "--timeout", "1e-9", "--json"),
    ):
        assert done.exit_code == 1
        assert json.loads(done.stdout)["code"] == "resource_limit"
        assert json.loads(done.stdout)["details"]["resource"] == "query_seconds"


def test_explain_shows_the_plan_without_running_it_or_needing_parameters(shell: Shell) -> None:
    shown = shell.run("explain", "friends", "--query", "people.gq").stdout
    assert shown.splitlines() == [
        "query friends",
        "tables: edge:Knows 1, node:Person 2",
        "engine: local  [the largest step is expected to have 1 row, fewer than 1,000,000,000]",
        "├─ look up $p: Person by $p.name = $name  [hash table: only 2 rows, name is unique]  (about 1 row)",
        "├─ expand $p -[Knows]-> $f from $p  [adjacency: only 1 edge]  (about 0 rows)",
        "└─ project $f.name",
    ]


def test_explain_analyze_tells_what_each_step_did(shell: Shell) -> None:
    words = ("explain", "friends", "--query", "people.gq", "--params", '{"name": "ada"}')
    with as_another_process():
        shown = shell.run(*words, "--analyze").stdout
    with as_another_process():
        told = shell.json(*words, "--analyze")
    assert re.search(r"^query friends: 1 row in [\d.]+ ms, ", shown)
    assert re.search(r"expand .*; 1 row, [\d.]+ ms, \d+ reads of [\d,]+ (bytes|KB)\)", shown)
    assert (told["query"], told["optimised"], told["rows"]) == ("friends", True, 1)
    assert [step.get("rows") for step in told["plan"]] == [1, 1, None]
    assert told["statistics"] == {"edge:Knows": 1, "node:Person": 2}
    assert told["io"]


def test_explain_looks_at_a_branch_or_a_commit_and_at_the_steps_as_written(shell: Shell) -> None:
    assert shell.json("explain", "-e", COUNT, "--branch", "review")["statistics"] == {"node:Person": 3}
    assert shell.json("explain", "-e", COUNT, "--snapshot", shell.first)["statistics"] == {"node:Person": 0}
    written = shell.json("explain", "friends", "--query", "people.gq", "--as-written")
    assert written["optimised"] is False
    assert [step["step"].split()[0] for step in written["plan"]] == ["scan", "filter", "expand", "project"]


@pytest.mark.parametrize("command", ["query", "explain"])
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("-e", COUNT, "--query", "people.gq"), 2, "once"),
        ((), 2, "once"),
        (("--query", "people.gq"), 1, "friends"),
        (("-e", COUNT, "--branch", "review", "--snapshot", "x"), 2, "not both"),
        (("-e", COUNT, "--snapshot", "nothing"), 1, "not_found"),
        (("-e", COUNT, "--branch", "ghost"), 1, "not_found"),
        (("-e", "query q() { match { $p: Pirson } return { $p } }"), 1, "T1"),
        (("-e", "query q() { delete Person where age = 1 }"), 1, "is a mutation"),
        (("-e", COUNT, "--params", "{"), 2, "JSON"),
    ],
)
def test_a_mistake_gets_a_message_and_an_exit_code(
    shell: Shell, command: str, words: tuple[str, ...], code: int, said: str
) -> None:
    done = shell.run(command, *words)
    assert (done.exit_code, done.stdout) == (code, ""), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_explanation_that_fails_is_a_json_document_too(shell: Shell) -> None:
    done = shell.run("explain", "friends", "--query", "people.gq", "--analyze", "--json")
    assert done.exit_code == 1
    assert "name" in json.loads(done.stdout)["error"]


def test_stored_queries_are_applied_listed_run_and_removed(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node Person { name: String @key }")
    (tmp_path / "people.gq").write_text(
        "// Everybody.\nquery all() { match { $p: Person } return { $p.name } }\n"
        "query add($n: String) { insert Person { name: $n } }"
    )
    run = CliRunner().invoke
    at = ["--store", str(tmp_path / "g")]

    def read(*words: str) -> Any:
        done = run(app, [*words, *at, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    assert [item["name"] for item in read("queries", "validate", "--queries", str(tmp_path))["queries"]] == [
        "add",
        "all",
    ]
    assert read("queries", "apply", "--queries", str(tmp_path))["added"] == ["add", "all"]
    assert read("queries", "list")["queries"][1]["description"] == "Everybody."
    assert read("mutate", "add", "--params", '{"n": "ada"}', "-m", "why")["affected_nodes"] == 1
    assert read("query", "all")["rows"] == [{"p.name": "ada"}]
    assert "scan" in run(app, ["explain", "all", *at]).stdout
    assert read("queries", "show", "add")["kind"] == "mutation"
    assert read("queries", "remove", "add")["removed"] == ["add"]
    for words, said in ((["query", "add"], "no stored query"), (["mutate", "all"], "only reads")):
        done = run(app, [*words, *at])
        assert (done.exit_code, said in done.stderr) == (1, True), done.stderr
    assert len(graph.commits.list()) == 4
