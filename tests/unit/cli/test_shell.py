"""`omnigraph shell`: what completes, where a statement ends, and what statements do."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import omnigraph as og
from omnigraph.cli.main import app
from omnigraph.cli.shell.completion import Known, complete
from omnigraph.cli.shell.statements import as_query, is_whole, split_statements
from omnigraph.compiler.frontend import compile_schema

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String? }
node City { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge LivesIn: Person -> City
"""
KNOWN = Known(compile_schema(SCHEMA), ["main", "review"], ["of_age"], ["\\branch", "\\branches", "\\run"])


@pytest.mark.parametrize(
    ("before", "offered"),
    [
        ("match { $p: P", ["Person"]),
        ("match { $p: ", ["City", "Person"]),
        ("match { $p: Person  $p.n", ["name", "nick"]),
        ("match { $p: Person  $p ", ["knows", "livesIn"]),
        ("match { $c: City  $c ", ["livesIn"]),
        ("match { $p: Person  $p livesIn $c  $c.", ["id", "name"]),
        ("match { $p $k:knows $q  $k.s", ["since"]),
        ("match { $p: Person  $p knows $friend } return { $", ["$p", "$friend"]),
        ("match { $p: Person { a", ["age"]),
        ("insert Per", ["Person"]),
        ('insert Person { name: "x", a', ["age"]),
        ("insert Knows { fr", ["from"]),
        ("match { $p: Person } ret", ["return"]),
        ("\\br", ["\\branch", "\\branches"]),
        ("\\branch re", ["review"]),
        ("\\run ", ["of_age"]),
        ("\\schema Kn", ["Knows"]),
        ("\\nothing x", []),
        ("", []),
    ],
)
def test_what_could_stand_at_the_cursor_is_offered(before: str, offered: list[str]) -> None:
    assert [item.text for item in complete(before, KNOWN)] == offered


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("\\log 3", True),
        ("match { $p: Person }", False),
        ("match { $p: Person } return { $p.name }", True),
        ("match { $p: Person {", False),
        ('insert Person { name: "}" }', True),
        ('insert Person { name: "}', False),
        ("query q() { match { $p: Person } // }\n return { $p }", False),
        ("match { $p: Person\n\n", True),
        ("", True),
    ],
)
def test_a_statement_ends_where_its_brackets_do(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


def test_clauses_alone_become_a_query_and_a_text_is_split() -> None:
    assert as_query("match { $p: Person } return { $p }").startswith("query q() {")
    for text in ("query a() { match { $p: Person } return { $p } }", "// what\nquery a() {}", "nonsense"):
        assert as_query(text) == text
    assert split_statements("\\log\nmatch { $p: Person }\nreturn { $p }\n\n\n\\q") == [
        "\\log",
        "match { $p: Person }\nreturn { $p }",
        "\\q",
    ]


TYPED = """
match { $p: Person }
  return { $p.name, $p.age } order { $p.name }
\\branches
\\branch review
insert Person { name: "cyd", age: 7 }
\\params {"n": "ada"}
query one($n: String) { match { $p: Person { name: $n } } return { $p.age as years } }
\\diff main review
\\history Person cyd
\\at HEAD~1
match { $p: Person } return { count($p) as n }
insert Person { name: "eve" }
\\at
\\entity Person ada
\\stored
\\run of_age '{"age": 7}'
\\schema Knows
\\explain match { $p: Person } return { $p.name }
\\json
match { $p: Person { name: "cyd" } } return { $p.age }
\\nonsense
match { $p: Persn } return { $p }
\\q
insert Person { name: "after" }
"""


def test_statements_that_come_from_a_file_run_one_after_the_other(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "people", SCHEMA)
    graph.load(
        [{"type": "Person", "data": {"name": name, "age": 36}} for name in ("ada", "bob")], mode="append"
    )
    graph.queries.apply(
        {"a.gq": "query of_age($age: I32) { match { $p: Person { age: $age } } return { $p.name } }"}
    )
    graph.branches.create("review")
    done = CliRunner().invoke(app, ["--as", "act-ada", "shell", str(tmp_path / "people")], input=TYPED)
    assert done.exit_code == 1, "two statements failed"
    for line in (
        "ada\t36",
        "review\t",
        "36",
        "insert\tPerson\tcyd",
        "cyd",
        "since\tDate?",
        '{"p.age": 7}',
        "2",
    ):
        assert line in done.stdout, line
    for said in (
        "(2 rows; commit ",
        "1 nodes and 0 edges changed",
        "HEAD~1 is in the past",
        "there is no command ",
        "did you mean 'Person'?",
    ):
        assert said in done.output, said
    assert [item.actor for item in graph.commits.list("review", 1)] == ["act-ada"]
    assert (
        not graph.entity("Person", "after").exists
        and not graph.entity("Person", "eve", branch="review").exists
    )
