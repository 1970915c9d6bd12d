"""The wording of syntax errors of a query: what was found, what was expected, what may be meant."""

from __future__ import annotations

from lark import Token

from omnigraph.compiler.query.tokens import SPELLING, WORDS
from omnigraph.compiler.source import suggest

_TOKEN_WORDS = {
    "IDENT": "a name",
    "VAR": "a $variable",
    "TYPE": "a type name",
    "INT": "an integer",
    "FLOAT": "a number",
    "STRING": "a string",
    "NOTE": "an annotation",
}
_MANY_TOKEN_KINDS = 20
_VALUE_TOKENS = {"STRING", "INT", "FLOAT", "SIGN", "LSQB", "BOOL", "MOMENT", "NOW"}
_CALL_TOKENS = {
    *("IDENT", "NULL", "NEAREST", "TEXT_CALL", "BM25", "RRF", "AGGREGATE", "CASE", "MINUS", "LPAR"),
    *("EXISTS", "HAVING", "SHORTEST", "UNION", "UPSERT", "WITH"),
}
"""What a value may begin with; the last words are names there."""
_ARITHMETIC_TOKENS = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}
_OPERATOR_TOKENS = _ARITHMETIC_TOKENS | {"COMPARATOR", "LT", "GT", "INDEX", "TEXT_OPERATOR", "IN", "IS"}
_HINTS_BY_STRAY = {
    "#": "write comments as // … or /* … */",
    "'": "write strings in double quotes",
    "&&": "write and",
    "||": "write or",
    "!": "write not",
    "^": "there is no power: multiply",
    ";": "clauses are separated by white space only",
}
_HINTS_BY_PAIR = {
    ("=", "="): "write =",
    ("<", ">"): "write !=",
    ("=", "~"): "write matches(text, pattern)",
    ("*", "*"): "there is no power: multiply",
    ("order", "by"): "write order { … }",
    ("case", "$"): "write case when $v.p = 1 then … end",
    ("{", "*"): "write $v.* for all properties of a variable, count(*) for the number of rows",
}
"""By the token before and the one that is wrong, or its first letter."""
_CONDITION_TOKENS = {"COMPARATOR", "LT", "GT", "TEXT_OPERATOR", "IN", "IS", "AND", "OR"}
HINTS_BY_WORD = {
    "like": "use contains, starts_with, ends_with(…) or matches(…)",
    "between": "write two comparisons, as in $v.p >= 1 and $v.p <= 9",
    "where": "conditions stand in match { … }, those of groups in having { … }",
    "group": "what is returned beside an aggregate is what the rows are grouped by",
    "offset": "write skip",
}
"""By words that other languages have."""


def hint_for(token: Token, expected: set[str], before: Token | None) -> str | None:
    """Return a hint at what may be meant, or None."""
    text = str(token)
    hint = _HINTS_BY_PAIR.get((str(before), text)) or _HINTS_BY_PAIR.get((str(before), text[:1]))
    if hint or token.type == "STRAY":
        return hint or _HINTS_BY_STRAY.get(text)
    if token.type == "RBRACE" and "WHERE" in expected and before and before.type in ("RBRACE", "TYPE"):
        return "to change every row, write where id is not null"
    if (
        token.type in _CONDITION_TOKENS
        and before
        and before.type not in _CONDITION_TOKENS
        and "AS" in expected
    ):
        return "a condition that is a value stands in parentheses"
    return HINTS_BY_WORD.get(text) or (suggest(text, list_words(expected)) if token.type == "IDENT" else None)


def describe_token(token: Token) -> str:
    """Return the found token in words."""
    if token.type != "STRAY":
        text = str(token)
        return repr(text if len(text) <= 40 else text[:40] + "…")
    if token.startswith('"'):
        return "a string that is not closed"
    if token.startswith("/*"):
        return "a comment that is not closed"
    return f"unexpected character {str(token)!r}"


def list_words(kinds: set[str]) -> list[str]:
    """Return the words of the given kinds of token."""
    return sorted(word for kind in kinds & WORDS.keys() for word in WORDS[kind])


def describe_expected(kinds: set[str]) -> str:
    """Return the expected tokens in words."""
    shown = []
    operator = kinds >= _ARITHMETIC_TOKENS
    if operator:
        kinds = kinds - _OPERATOR_TOKENS
    if kinds >= _VALUE_TOKENS:
        kinds = kinds - _VALUE_TOKENS - _CALL_TOKENS
        shown.append("a value")
    shown += [_TOKEN_WORDS[kind] for kind in _TOKEN_WORDS if kind in kinds]
    shown += [repr(text) for kind, texts in SPELLING.items() if kind in kinds for text in texts]
    if len(kinds & WORDS.keys()) < _MANY_TOKEN_KINDS:
        shown += [repr(word) for word in list_words(kinds)]
    if operator:
        shown.append("an operator")
    if not shown or kinds == {"$END"}:
        shown = ["the end"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
