"""The kept tables of the parser: the same parser, made once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lark import Lark

from omnigraph.compiler.query import parser
from omnigraph.compiler.query.tables import load_or_build

GRAMMAR = 'start: "a" B*\nB: "b"'
FOLDER = Path(__file__).parents[3] / "golden" / "query"


def build() -> Lark:
    return Lark(GRAMMAR, parser="lalr")


def never() -> Lark:
    raise AssertionError("the tables are kept")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return str(tmp_path / "grammar.py")


def files(source: str) -> list[Path]:
    return list((Path(source).parent / "__pycache__").glob("*"))


def test_the_tables_are_made_once(source: str) -> None:
    first = load_or_build(GRAMMAR, build, source)
    second = load_or_build(GRAMMAR, never, source)
    assert second.parse("abb") == first.parse("abb")
    assert [path.suffix for path in files(source)] == [".tables"]


def test_tables_of_another_grammar_are_made_again(source: str) -> None:
    load_or_build(GRAMMAR, build, source)
    other = load_or_build("other", lambda: Lark('start: "x"', parser="lalr"), source)
    assert other.parse("x").data == "start"
    assert load_or_build("other", never, source).parse("x") == other.parse("x")
    assert len(files(source)) == 1


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-9], lambda data: data[:99] + b"?" + data[100:]]
)
def test_damaged_tables_are_made_again(source: str, damage: Callable[[bytes], bytes]) -> None:
    load_or_build(GRAMMAR, build, source)
    (file,) = files(source)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    with pytest.raises(AssertionError):
        load_or_build(GRAMMAR, never, source)
    assert load_or_build(GRAMMAR, build, source).parse("ab").data == "start"
    assert load_or_build(GRAMMAR, never, source).parse("ab").data == "start"


def test_nothing_is_kept_where_python_keeps_nothing(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert load_or_build(GRAMMAR, build, source).parse("ab").data == "start"
    assert files(source) == []


def test_a_folder_that_cannot_be_written_does_not_matter(source: str) -> None:
    (Path(source).parent / "__pycache__").write_text("in the way")
    assert load_or_build(GRAMMAR, build, source).parse("ab").data == "start"


def test_the_parser_from_tables_finds_what_the_built_one_finds(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_or_build("queries", parser._build_parser, source)
    parsers = (parser._build_parser(), load_or_build("queries", never, source))
    texts = [path.read_text() for path in sorted(FOLDER.glob("*.gq"))]
    texts += [text[: len(text) // 2] for text in texts]
    found = []
    for each in parsers:
        monkeypatch.setattr(parser, "_parser", lambda each=each: each)
        found.append([parser.parse_all(text) for text in texts])
    assert len(texts) > 50
    assert found[0] == found[1]
    assert any(problems for _, problems in found[0])
