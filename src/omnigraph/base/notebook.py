"""Values as HTML for notebooks: tables and facts, escaped, and bounded in rows, columns and characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

SHOWN_ROWS = 20
"""Rows of a table that a notebook shows."""
_SHOWN_COLUMNS = 30
_SHOWN_CHARACTERS = 200


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """Return some rows as a table, with a line beneath it; no more of them than a notebook shows."""
    names = [*columns[:_SHOWN_COLUMNS], *(["…"] if len(columns) > _SHOWN_COLUMNS else [])]
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    body = []
    for row, _ in zip(rows, range(SHOWN_ROWS), strict=False):
        cells = [*map(_cell, row[:_SHOWN_COLUMNS]), *(["<td>…</td>"] if len(row) > _SHOWN_COLUMNS else [])]
        body.append(f"<tr>{''.join(cells)}</tr>")
    beneath = f"<p>{_text(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{beneath}"


def html_facts(title: str, facts: Iterable[tuple[str, Any]]) -> str:
    """Return names with their values, one in a line; what is None is left out."""
    lines = [f"<tr><th>{_text(name)}</th>{_cell(value)}</tr>" for name, value in facts if value is not None]
    return f"<p><b>{_text(title)}</b></p><table><tbody>{''.join(lines)}</tbody></table>"


def html_text(text: str) -> str:
    """Return a text of several lines as it is laid out."""
    return f"<pre>{escape(_encodable(text))}</pre>"


def shorten(text: str, characters: int = _SHOWN_CHARACTERS) -> str:
    """Return a text, cut off with an ellipsis where it is longer than that."""
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def _cell(value: Any) -> str:
    if value is None:
        return "<td><i>null</i></td>"
    return f"<td>{_text(value if isinstance(value, str) else repr(_cut_long(value)))}</td>"


def _cut_long(value: Any) -> Any:
    """Return a value of which `repr` is short enough: of a list, what can be shown."""
    return value[:_SHOWN_CHARACTERS] if isinstance(value, list | tuple | bytes) else value


def _text(value: Any) -> str:
    return escape(_encodable(shorten(str(value))), quote=True)


def _encodable(text: str) -> str:
    """Return a text that every channel of a notebook can carry: half a surrogate pair is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
