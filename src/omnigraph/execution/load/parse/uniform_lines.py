"""Lines that all have one form: they differ only in their values, and the bytes between values are the same.

Most files that programs write are like that. The bytes between the values are compared and the values cut
out, for all lines at once; if a line differs in anything else, the result is None and a JSON parser is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.graph.model.hashing import mask_words, words_of

Positions = npt.NDArray[np.int64]

_TOKEN = re.compile(
    rb'(?P<text>"[^"\\]*")|(?P<bare>-?[0-9][-+.0-9eE]*|true|false|null)|(?P<mark>[{}:,])|[ \t\n]+'
)
_QUOTE, _BACKSLASH, _SPACE = 34, 92, 32
_MAX_DEPTH = 2


@dataclass(frozen=True, slots=True)
class FormValue:
    """A value of the form: the path of member names to it, and whether it is a quoted string."""

    path: tuple[str, ...]
    is_text: bool


@dataclass(frozen=True, slots=True)
class Form:
    """What lines have in common: the values, and the bytes before, between and after them."""

    values: tuple[FormValue, ...]
    literals: tuple[bytes, ...]


def find_form(line: bytes, fixed: tuple[str, ...]) -> Form | None:
    """Return the form of a line of valid JSON with at most one level of nested objects; None for other lines.

    The member at the path `fixed` has the same value in all lines.
    """
    values: list[FormValue] = []
    literals: list[bytes] = []
    begin = at = 0
    path: list[str] = []
    wants_name = False
    while match := _TOKEN.match(line, at):
        at = match.end()
        mark = match["mark"]
        if mark in (b"{", b","):
            wants_name = True
            path = [*path, ""] if mark == b"{" else path
            if len(path) > _MAX_DEPTH:
                return None
        elif mark == b"}":
            path = path[:-1]
        elif match["text"] is not None and wants_name:
            path[-1], wants_name = match["text"][1:-1].decode(), False
        elif (match["text"] is not None or match["bare"] is not None) and tuple(path) != fixed:
            is_text = match["text"] is not None
            values.append(FormValue(tuple(path), is_text))
            literals.append(line[begin : match.start() + is_text])
            begin = at - is_text
    if at != len(line) or not values:
        return None
    return Form(tuple(values), (*literals, line[begin:]))


def cut_values(lines: pa.StringArray, data: pa.Buffer, form: Form) -> list[pa.StringArray] | None:
    """Return the values of every line, by the values of the form, or None when a line is of another form.

    `data` is the bytes of the lines, and nothing else; every line ends with a line feed.
    """
    count, size = len(lines), 2 * len(form.values) + 1
    plain = np.frombuffer(data, np.uint8)
    offsets = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset : lines.offset + count + 1]
    offsets = offsets - offsets[0]
    per_line = sum(literal.count(b'"') for literal in form.literals)
    quotes = np.flatnonzero(plain == _QUOTE)
    if len(quotes) != count * per_line or np.count_nonzero(plain < _SPACE) != count:
        return None
    if (plain == _BACKSLASH).any():
        return None
    cuts = np.empty(count * size + 1, np.int32)
    cuts[-1] = len(plain)
    table = cuts[:-1].reshape(count, size)
    words = words_of(plain)
    before: Positions = offsets[:-1].astype(np.int64)
    table[:, 0] = before
    ends = offsets[1:].astype(np.int64)
    for number, (begin, end) in enumerate(_find_cuts(form, quotes.reshape(count, per_line), before, ends)):
        literal = form.literals[number]
        if not _is_literal(words, before, begin, literal) or (end < begin).any():
            return None
        table[:, 2 * number + 1], table[:, 2 * number + 2] = begin, end
        before = end
    if not _is_literal(words, before, ends, form.literals[-1]):
        return None
    pieces = pa.StringArray.from_buffers(count * size, pa.py_buffer(cuts), data)
    rows = np.arange(count, dtype=np.int64) * size
    return [pieces.take(pa.array(rows + 2 * number + 1)) for number in range(len(form.values))]


def _find_cuts(
    form: Form, quotes: Positions, starts: Positions, ends: Positions
) -> Iterator[tuple[Positions, Positions]]:
    """Yield where each value would begin and end, according to the quotes around it."""
    used, before = 0, starts
    for value, literal, after in zip(form.values, form.literals, form.literals[1:], strict=False):
        used += literal.count(b'"')
        begin = quotes[:, used - 1] + 1 if value.is_text else before + len(literal)
        first = after.find(b'"')
        before = ends - len(after) if first < 0 else quotes[:, used] - first
        yield begin, before


def _is_literal(words: npt.NDArray[np.uint64], begins: Positions, ends: Positions, literal: bytes) -> bool:
    """Return whether the bytes between two positions are the literal in all lines."""
    if (ends - begins != len(literal)).any():
        return False
    for at in range(0, len(literal), 8):
        part = literal[at : at + 8]
        found = mask_words(words, begins + at, len(part))
        if (found != np.uint64(int.from_bytes(part, "little"))).any():
            return False
    return True
