"""Every example of the skill runs: what agents are taught works."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.stored.tools import RESERVED
from omnigraph.mcp.registry import ToolRegistry
from omnigraph.mcp.source import ToolCaller, source_of
from omnigraph.skill.pages import list_pages, read_page
from support.command_line import run, run_text

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }"


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", read_page(page), re.MULTILINE | re.DOTALL)


def make_people(folder: Path) -> og.Graph:
    graph = og.init(folder, SCHEMA, actor="act-ada")
    people = [{"type": "Person", "data": {"name": name, "age": 36}} for name in ("ada", "bob")]
    graph.load([*people, {"edge": "Knows", "from": "ada", "to": "bob"}], mode="append")
    return graph


def call_tools(
    registry: ToolRegistry, caller: ToolCaller, text: str, named: Mapping[str, str]
) -> Iterator[Any]:
    for name, value in named.items():
        text = text.replace(f"${name}", value)
    for call in json.loads(text):
        yield registry.call(caller, call["tool"], call["arguments"])


def test_the_calls_of_the_skill_and_of_reviews_do_what_they_say(tmp_path: Path) -> None:
    make_people(tmp_path / "people")
    registry = ToolRegistry()
    author, reviewer = (
        ToolCaller(source_of(og.open(tmp_path / "people", actor=name)), name)
        for name in ("agent-7", "act-bob")
    )
    first, second = blocks("SKILL.md", "json tools")
    answers = list(call_tools(registry, author, first, {}))
    assert {(item["op"], item["id"]) for item in answers[-2]["changes"] if item["kind"] == "node"} == {
        ("update", "ada"),
        ("insert", "cyd"),
    }
    history, blame, commits = call_tools(registry, author, second, {})
    assert history["changes"][0]["commit"]["metadata"]["source"] == "letters/may.pdf"
    assert blame["properties"]["age"]["message"] == "ada's age, from her letter of May"
    assert len(commits["commits"]) == 2
    proposal = answers[-1]["proposal"]
    review, same = blocks("references/review.md", "json tools")
    named = {"PROPOSAL": proposal["id"], "BASE": proposal["base_commit"], "SOURCE": proposal["source_commit"]}
    approved = list(call_tools(registry, reviewer, review, named))[-1]
    assert [item["actor"] for item in approved["proposal"]["approvals"]] == ["act-bob"]
    (found,) = call_tools(registry, reviewer, same, {})
    assert found["groups"] == [["ada", "bob"]]


def test_the_queries_of_the_language_page_run_in_their_order(tmp_path: Path) -> None:
    page = read_page("references/query-language.md")
    (schema,) = blocks("references/query-language.md", "pg")
    graph = og.init(tmp_path / "people", schema)
    graph.load(
        [
            {"type": "Person", "data": {"name": "ada", "age": 36, "tags": ["admin"]}},
            {"type": "Person", "data": {"name": "bob", "age": 40}},
            {"type": "City", "data": {"name": "Oslo"}},
            {"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": "2026-02-01"}},
            {"edge": "LivesIn", "from": "ada", "to": "Oslo"},
        ],
        mode="append",
    )
    found = re.findall(r"^```gq\n(.*?)^```\n(?:\n```json params\n(.*?)^```)?", page, re.MULTILINE | re.DOTALL)
    answers = {}
    for text, params in found:
        given = json.loads(params) if params else None
        name = text.split("query ")[1].split("(")[0]
        if "return" in text:
            answers[name] = graph.query(text, given).rows
        else:
            answers[name] = graph.mutate(text, given).affected_nodes
    assert answers["friends"] == [{"friend": "bob", "f.age": 40}]
    assert answers["homes"] == [{"p.name": "bob", "city": None}]
    assert answers["around"] == [{"q.name": "bob", "hops": 1}]
    assert answers["sizes"] == [{"c.name": "Oslo", "people": 1, "age": 36.0}]
    assert len(answers["recent"]) == 1
    graph.mutate('query q() { insert Person { name: "dan" } }')
    assert graph.entity("Person", "dan").properties["age"] is None, "an insert replaces, as the page says"
    assert {name: answers[name] for name in ("add", "change", "set", "older", "remove")} == dict.fromkeys(
        ("add", "change", "set", "older", "remove"), 1
    )


def test_the_schema_page_loads_its_records(tmp_path: Path) -> None:
    (schema,) = blocks("references/schema.md", "pg")
    (records,) = blocks("references/schema.md", "json records")
    done = og.init(tmp_path / "people", schema).load(json.loads(records), mode="append")
    assert (done.nodes, done.edges) == ({"Person": 2}, {"Knows": 1})


def test_python_and_the_command_line_do_as_their_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_people(tmp_path / "people")
    monkeypatch.chdir(tmp_path)
    page = "references/python-and-command-line.md"
    (program,), (printed,), (commands,) = (blocks(page, kind) for kind in ("python", "text", "sh"))
    exec(compile(program, page, "exec"), {})
    assert capsys.readouterr().out == printed
    for line in commands.strip().splitlines():
        done = run(*shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.output)


def test_pages_name_tools_that_there_are_and_lead_somewhere() -> None:
    for page in list_pages():
        text = read_page(page)
        for tool in re.findall(r"`([a-z]+_[a-z_]+)`", text):
            known = RESERVED | {
                *(
                    "on_behalf_of",
                    "next_cursor",
                    "idempotency_key",
                    "base_commit",
                    "source_commit",
                    "entity_id",
                ),
                *("outcome_unknown", "policy_denied", "branch_protected", "precondition_failed"),
                *("validation_error", "key_conflict", "dry_run", "starts_with", "same_as"),
            }
            assert tool in known, (page, tool)
        for target in re.findall(r"\]\(([^)]+)\)", text):
            assert target in list_pages()
        assert len(text) < 8_000, "an agent reads it whole"


def test_the_skill_is_printed_and_installed(tmp_path: Path) -> None:
    assert run_text("skill").strip() == read_page("SKILL.md").strip() == run_text("skill", "--print").strip()
    assert run_text("skill", "--list").split() == list_pages()
    assert run_text("skill", "references/schema.md").startswith("# Types")
    run_text("skill", "--install", str(tmp_path / "skills"))
    written = {
        path.relative_to(tmp_path / "skills" / "omnigraph").as_posix() for path in tmp_path.rglob("*.md")
    }
    assert written == {*list_pages()}
    assert "--replace" in run_text("skill", "--install", str(tmp_path / "skills"), code=1)
    run_text("skill", "--install", str(tmp_path / "skills"), "--replace")
    assert "it has SKILL.md" in run_text("skill", "none", code=1)
