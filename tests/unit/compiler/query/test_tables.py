"""The stored tables of the parser: the same parser, made ahead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lark import Lark

from omnigraph.compiler.query import parser
from omnigraph.compiler.query.tables import load_or_build, pack_tables

GRAMMAR = 'start: "a" B*\nB: "b"'
FOLDER = Path(__file__).parents[3] / "golden" / "query"


def build() -> Lark:
    return Lark(GRAMMAR, parser="lalr")


def never() -> Lark:
    raise AssertionError("the tables are stored")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "parser.tables"
    place.write_bytes(pack_tables(GRAMMAR, build()))
    return place


def test_stored_tables_are_the_parser_that_was_built(place: Path) -> None:
    assert load_or_build(GRAMMAR, never, place).parse("abb") == build().parse("abb")


def test_tables_of_another_grammar_are_not_used(place: Path) -> None:
    other = load_or_build("other", lambda: Lark('start: "x"', parser="lalr"), place)
    assert other.parse("x").data == "start"


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-9], lambda data: data[:99] + b"?" + data[100:]]
)
def test_damaged_tables_are_not_used(place: Path, damage: Callable[[bytes], bytes]) -> None:
    place.write_bytes(damage(place.read_bytes()))
    with pytest.raises(AssertionError):
        load_or_build(GRAMMAR, never, place)
    assert load_or_build(GRAMMAR, build, place).parse("ab").data == "start"


def test_the_shipped_tables_are_of_this_grammar() -> None:
    """After a change of the grammar run scripts/parser_tables.py: building them takes each process 0.3 s."""
    assert load_or_build(parser._MADE_FROM, never, parser.TABLES)


def test_the_parser_from_tables_finds_what_the_built_one_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsers = (parser._build_parser(), load_or_build(parser._MADE_FROM, never, parser.TABLES))
    texts = [path.read_text() for path in sorted(FOLDER.glob("*.gq"))]
    texts += [text[: len(text) // 2] for text in texts]
    found = []
    for each in parsers:
        monkeypatch.setattr(parser, "_parser", lambda each=each: each)
        found.append([parser.parse_all(text) for text in texts])
    assert len(texts) > 50
    assert found[0] == found[1]
    assert any(problems for _, problems in found[0])
