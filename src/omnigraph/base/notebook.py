"""Values as HTML for notebooks: tables, facts and pictures of graphs (SVG), escaped and bounded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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


MOST_NODES = 40
MOST_EDGES = 200
_LABEL_CHARACTERS = 24
_SIDE, _RADIUS, _DOT = 480, 180, 6
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777")
_Node = tuple[str, str]
"""Type and id; the type of an end that is not among the nodes is empty."""


def draw_entities(values: Iterable[Any]) -> str:
    """Return a picture of the nodes and edges among some values; empty where there is no node or edge."""
    nodes: dict[_Node, None] = {}
    edges: dict[tuple[str, str, str], None] = {}
    for value in values:
        if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
            continue
        ends = value.get("from"), value.get("to")
        if all(isinstance(end, str) for end in ends):
            edges.setdefault((value["type"], str(ends[0]), str(ends[1])))
        elif isinstance(value.get("id"), str):
            nodes.setdefault((value["type"], value["id"]))
    known = {id_ for _, id_ in nodes}
    loose = (end for _, *ends in edges for end in ends if end not in known)
    every = [*nodes, *dict.fromkeys(("", end) for end in loose)]
    shown = every[:MOST_NODES]
    return _draw(shown, list(edges)[:MOST_EDGES], len(every) - len(shown)) if shown else ""


def _draw(nodes: list[_Node], edges: list[tuple[str, str, str]], left_out: int) -> str:
    places = {id_: _place(at, len(nodes)) for at, (_, id_) in enumerate(nodes)}
    kinds = {kind: at for at, kind in enumerate(dict.fromkeys(kind for kind, _ in nodes))}
    lines = [_line(kind, places[a], places[b]) for kind, a, b in edges if a in places and b in places]
    dots = [_dot(kind, id_, places[id_], _COLOURS[kinds[kind] % len(_COLOURS)]) for kind, id_ in nodes]
    note = f'<text x="4" y="{_SIDE - 6}">and {left_out} more</text>' if left_out > 0 else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIDE} {_SIDE}" width="{_SIDE}" '
        f'height="{_SIDE}" font-size="10" font-family="sans-serif">{"".join([*lines, *dots])}{note}</svg>'
    )


def _place(at: int, count: int) -> tuple[int, int]:
    angle = 2 * math.pi * at / count
    radius = _RADIUS if count > 1 else 0
    return round(_SIDE / 2 + radius * math.sin(angle)), round(_SIDE / 2 - radius * math.cos(angle))


def _line(kind: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    title = f"<title>{_label(kind)}</title>"
    if start == end:
        x, y = start[0], start[1] - 2 * _DOT
        return f'<circle cx="{x}" cy="{y}" r="{2 * _DOT}" fill="none" stroke="#999999">{title}</circle>'
    # A dot nearer to the end says where an edge leads.
    tip = [round(a + 0.85 * (b - a)) for a, b in zip(start, end, strict=True)]
    return (
        f'<g><line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="#999999"/>'
        f'<circle cx="{tip[0]}" cy="{tip[1]}" r="2" fill="#999999"/>{title}</g>'
    )


def _dot(kind: str, id_: str, at: tuple[int, int], colour: str) -> str:
    title = _label(f"{kind} {id_}".strip())
    return (
        f'<g><circle cx="{at[0]}" cy="{at[1]}" r="{_DOT}" fill="{colour}"/><title>{title}</title>'
        f'<text x="{at[0] + _DOT + 2}" y="{at[1] + 3}">{_label(id_)}</text></g>'
    )


def _label(text: str) -> str:
    short = text if len(text) <= _LABEL_CHARACTERS else f"{text[: _LABEL_CHARACTERS - 1]}…"
    # What XML cannot hold at all would keep the whole picture from being shown.
    readable = "".join(letter if letter.isprintable() else "�" for letter in short)
    return escape(readable.encode("utf-8", "replace").decode(), quote=True)
