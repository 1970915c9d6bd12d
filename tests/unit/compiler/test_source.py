"""Places in a text and how they are shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.compiler.source import SourceText, Span


@given(st.text(alphabet="ab \n", max_size=600), st.data())
def test_a_caret_stands_under_the_place_it_is_about(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    found = SourceText(text).diagnostic("X1", "wrong", Span(start, start + 1))
    line = text.split("\n")[found.line - 1]
    assert text[:start].count("\n") == found.line - 1
    assert found.source_line == line[found.shown_from : found.shown_from + len(found.source_line)]
    place = found.column - 1 - found.shown_from
    assert 0 <= place <= len(found.source_line)
    assert len(found.source_line) <= 200
    if found.source_line:
        shown, caret = found.render().split("\n")[1:3]
        assert caret.index("^") == 2 + place
        assert shown == f"  {found.source_line}"


def test_a_long_line_is_shown_around_the_place() -> None:
    text = "x" * 500 + "HERE" + "y" * 500
    found = SourceText(text).diagnostic("X1", "wrong", Span(500, 504))
    place = found.column - 1 - found.shown_from
    assert found.source_line[place : place + found.width] == "HERE"
