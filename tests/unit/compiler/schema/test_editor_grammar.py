"""The editor's grammar for schemas knows the words of the language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omnigraph.compiler.schema.expectation import BASE_TYPES

VSCODE = Path(__file__).parents[4] / "editors" / "vscode"
GRAMMAR = json.loads((VSCODE / "syntaxes" / "omnigraph-pg.tmLanguage.json").read_text(encoding="utf-8"))


def _rules(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
        for value in data.values():
            yield from _rules(value)
    elif isinstance(data, list):
        for value in data:
            yield from _rules(value)


def _scopes(text: str) -> set[str]:
    """Return the scopes that some rule gives to exactly this text."""
    found: set[str] = set()
    for rule in _rules(GRAMMAR):
        if "match" in rule and re.fullmatch(rule["match"], text):
            captures = rule.get("captures", {}).values()
            found |= {rule["name"]} if "name" in rule else {capture["name"] for capture in captures}
    return found


def test_every_pattern_is_a_regular_expression() -> None:
    patterns = [rule[key] for rule in _rules(GRAMMAR) for key in ("match", "begin", "end") if key in rule]
    assert patterns
    for pattern in patterns:
        re.compile(pattern)


def test_every_included_rule_exists() -> None:
    included = {rule["include"].removeprefix("#") for rule in _rules(GRAMMAR) if "include" in rule}
    assert included <= set(GRAMMAR["repository"])


def test_every_base_type_is_coloured_as_a_type() -> None:
    for name in BASE_TYPES:
        assert "support.type.omnigraph-pg" in _scopes(name)


def test_declarations_literals_and_annotations_are_coloured() -> None:
    assert "entity.name.type.node.omnigraph-pg" in _scopes("node Film")
    assert "entity.name.type.edge.omnigraph-pg" in _scopes("edge Likes: Person -> Film")
    assert "entity.name.type.interface.omnigraph-pg" in _scopes("interface Named")
    assert "constant.numeric.omnigraph-pg" in _scopes("-1.5")
    assert "storage.type.annotation.omnigraph-pg" in _scopes("@default")
    assert "constant.language.omnigraph-pg" in _scopes("null")


def test_the_extension_lists_both_languages_with_their_grammars() -> None:
    manifest = json.loads((VSCODE / "package.json").read_text(encoding="utf-8"))["contributes"]
    assert [language["id"] for language in manifest["languages"]] == ["omnigraph-pg", "omnigraph-gq"]
    assert [grammar["language"] for grammar in manifest["grammars"]] == ["omnigraph-pg", "omnigraph-gq"]
    scope = {grammar["language"]: grammar["scopeName"] for grammar in manifest["grammars"]}
    assert scope["omnigraph-pg"] == GRAMMAR["scopeName"]
