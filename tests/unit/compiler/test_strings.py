"""String literals of both languages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.compiler.source import Span
from omnigraph.compiler.strings import quote, unquote, wrong_escapes


@given(st.text() | st.text('\\"nrt\n\r\t'))
def test_a_quoted_text_is_read_back_and_has_no_wrong_escapes(text: str) -> None:
    assert unquote(quote(text)) == text
    assert list(wrong_escapes(quote(text), 0)) == []


def test_a_wrong_escape_is_named_with_its_place() -> None:
    assert list(wrong_escapes('"a\\\\x\\qb\\"\\\n"', 10)) == [
        ("unsupported escape sequence '\\q'", Span(15, 17)),
        ("unsupported escape sequence '\\\\n'", Span(20, 22)),
    ]
