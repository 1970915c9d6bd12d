"""The editor's grammar for queries colours what the language means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from omnigraph.compiler.query.ast import AggregateFunction
from omnigraph.compiler.query.tokens import KEYWORDS

VSCODE = Path(__file__).parents[4] / "editors" / "vscode"
GRAMMAR = json.loads((VSCODE / "syntaxes" / "omnigraph-gq.tmLanguage.json").read_text(encoding="utf-8"))
SUFFIX = ".omnigraph-gq"


def rules(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
        for value in data.values():
            yield from rules(value)
    elif isinstance(data, list):
        for value in data:
            yield from rules(value)


def flat(patterns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for rule in patterns:
        if "include" in rule:
            yield from flat([GRAMMAR["repository"][rule["include"].removeprefix("#")]])
        elif "patterns" in rule and "begin" not in rule:
            yield from flat(rule["patterns"])
        else:
            yield rule


def coloured(line: str) -> dict[str, str]:
    """Return the scope of each piece of a line, found as an editor does: earliest match, first rule."""
    found: dict[str, str] = {}
    at = 0
    everything = list(flat(GRAMMAR["patterns"]))
    while at < len(line):
        matches = [
            (match.start(), order, match, rule)
            for order, rule in enumerate(everything)
            if (match := re.compile(rule.get("match", rule.get("begin"))).search(line, at))
        ]
        if not matches:
            break
        _, _, match, rule = min(matches, key=lambda item: item[:2])
        if "captures" in rule:
            for number, capture in rule["captures"].items():
                if match.group(int(number)):
                    found[match.group(int(number))] = capture["name"].removesuffix(SUFFIX)
        else:
            found[match.group()] = rule["name"].removesuffix(SUFFIX)
        at = max(match.end(), at + 1)
    return found


def test_every_pattern_is_a_regular_expression_and_every_include_exists() -> None:
    for rule in rules(GRAMMAR):
        for key in ("match", "begin", "end"):
            if key in rule:
                re.compile(rule[key])
        if "include" in rule:
            assert rule["include"].removeprefix("#") in GRAMMAR["repository"]


@pytest.mark.parametrize(
    ("line", "piece", "scope"),
    [
        ("query find($a: String)", "find", "entity.name.function.query"),
        ("$p: Person { name: $a }", "Person", "entity.name.type"),
        ("$p: Person { name: $a }", "name", "variable.other.property"),
        ("$p knows{1,3} $q as $n", "knows", "entity.name.function.edge"),
        ("$p knows{1,3} $q as $n", "$n", "variable.other.alias"),
        ("$p order $q", "order", "entity.name.function.edge"),
        ("$p $e:<knows> $q", "knows", "entity.name.function.edge"),
        ("$p <knows> $q", "knows", "entity.name.function.edge"),
        ("$p.age >= -1.5", "age", "variable.other.property"),
        ("$p.age >= -1.5", "-1.5", "constant.numeric"),
        ("$p.age is not null", "null", "constant.language"),
        ("$p.age is not null", "is", "keyword.operator.word"),
        ("not { $p knows $q }", "not", "keyword.control.clause"),
        ("return distinct { count($p) as n }", "count", "support.function.aggregate"),
        ("return distinct { count($p) as n }", "distinct", "keyword.other.modifier"),
        ("order { nearest($p.v, $q) } limit 3", "nearest", "support.function.search"),
        ("order { nearest($p.v, $q) } limit 3", "limit", "keyword.control.clause"),
        ("with distinct { $p, count($q) as $n }", "with", "keyword.control.clause"),
        ("} union all match { $p: Person }", "union", "keyword.control.clause"),
        ("update Person set { age: 3 } where name = $n", "update", "keyword.control.mutation"),
        ("update Person set { age: 3 } where name = $n", "where", "keyword.control.mutation"),
        ("// query", "// query", "comment.line.double-slash"),
    ],
)
def test_a_piece_of_text_has_its_colour(line: str, piece: str, scope: str) -> None:
    assert coloured(line)[piece] == scope


def test_every_word_of_the_language_is_known_to_the_grammar() -> None:
    text = json.dumps(GRAMMAR)
    assert [word for word in sorted(KEYWORDS) if not re.search(rf"\b{word}\b", text)] == []
    assert all(item.value in text for item in AggregateFunction)
