"""The grammar: no choice is left to the parser but the documented ones."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator

from lark import Lark, logger
from lark.lexer import Lexer

from omnigraph.compiler.query.grammar import GRAMMAR
from omnigraph.compiler.query.tokens import WORDS


class _NoLexer(Lexer):
    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: object, parser_state: object) -> Iterator[object]:
        return iter(())


def test_where_there_are_two_readings_the_documented_one_is_taken() -> None:
    told = io.StringIO()
    handler = logging.StreamHandler(told)
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    disabled, logger.disabled = logger.disabled, False  # others may have set up logging
    try:
        Lark(GRAMMAR, parser="lalr", lexer=_NoLexer, start="query", debug=True)
    finally:
        logger.setLevel(level)
        logger.disabled = disabled
        logger.removeHandler(handler)
    pairs = re.findall(
        r"Shift/Reduce conflict for terminal (\w+): \(resolving as shift\)\n[^\n]*\* (<.*>)", told.getvalue()
    )
    found: dict[str, set[str]] = {}
    for terminal, rule in pairs:
        found.setdefault(rule, set()).add(terminal)
    # At the beginning of a clause a variable begins a traversal or binding: alone it is not a filter.
    variable = found.pop("<read_variable : VAR>")
    assert {"IN", "IS", "LT", "TEXT_OPERATOR", "IDENT", "VAR"} <= variable <= {"IDENT", "VAR", "LT", *WORDS}
    # A name before a parenthesis calls a function: no value has a name alone, so no filter can end with one.
    assert found.pop("<alias : IDENT>") == {"LPAR"}
    # In a mutation any word may be a property; `case` before `when` is the beginning of a choice.
    assert found.pop("<field : CASE>") == {"WHEN"}
    # After a traversal `shortest` asks for paths: no filter begins with a name.
    traversals = [rule for rule in found if re.match(r"<clause : VAR .*VAR>", rule)]
    assert traversals and all(found.pop(rule) == {"SHORTEST"} for rule in traversals)
    # A minus after a value subtracts, and an index belongs to what is directly before it.
    assert all(re.match(r"<(lead_|row_)?(expr|operand) : ", rule) for rule in found)
    assert set().union(*found.values()) == {"MINUS", "INDEX"}
    assert "Reduce/Reduce" not in told.getvalue()
