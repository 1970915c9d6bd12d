"""The grammar: no choice is left to the parser but the documented ones."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest
from lark import Lark, logger
from lark.lexer import Lexer

from omnigraph.compiler.query.grammar import GRAMMAR


class _NoLexer(Lexer):
    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: object, parser_state: object) -> Iterator[object]:
        return iter(())


def test_only_a_variable_before_an_operator_word_has_two_readings(caplog: pytest.LogCaptureFixture) -> None:
    logger.addHandler(caplog.handler)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        Lark(GRAMMAR, parser="lalr", lexer=_NoLexer, start="query", debug=True)
    finally:
        logger.setLevel(level)
        logger.removeHandler(caplog.handler)
    found = re.findall(
        r"Shift/Reduce conflict for terminal (\w+): \(resolving as shift\)\n(?: \* )?", caplog.text
    )
    # A name before a parenthesis calls a function: no value has a name alone, so no filter can end with one.
    assert sorted(set(found)) == ["IN", "IS", "LPAR", "LT", "TEXT_OPERATOR"]
    assert "Reduce/Reduce" not in caplog.text
    assert set(re.findall(r"^ \* (<.*>)$", caplog.text, re.MULTILINE)) <= {
        "<variable : VAR>",
        "<alias : IDENT>",
    }
