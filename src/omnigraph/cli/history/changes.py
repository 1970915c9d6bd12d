"""Changes for people: each node or edge with its properties before and after, within the width of a line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from omnigraph.cli.output import Styled

if TYPE_CHECKING:
    from omnigraph.compiler.catalog.model import Catalog
    from omnigraph.graph.changes.model import Change

_SIGNS = {
    "insert": Styled("+ ", "bold green"),
    "update": Styled("~ ", "bold yellow"),
    "delete": Styled("- ", "bold red"),
}
_OLD, _NEW, _NAME, _FAINT = "red", "green", "cyan", "dim"
_INDENT_LETTERS = 4
_MAX_NAME_COLUMNS = 20
_SHORT_VALUE_LETTERS = 30
_SHOWN_LETTERS = 400
"""Of a value that is not compared with another one."""
_CONTEXT_WORDS = 4
_MAX_COMPARED_WORDS = 4_000
_WORDS = re.compile(r"\S+\s*|\s+")
_LARGE_UNITS = ("KiB", "MiB", "GiB", "TiB")
_FIRST_LINE, _NEXT_LINE = 0, 1


@dataclass(frozen=True)
class PropertyKinds:
    """Which properties are vectors and which are blobs, by type and name."""

    vectors: frozenset[tuple[str, str]] = frozenset()
    blobs: frozenset[tuple[str, str]] = frozenset()

    @staticmethod
    def of(catalogs: Iterable[Catalog]) -> PropertyKinds:
        """Return what some schemas say."""
        every = [
            (table.name, item.name, item.type)
            for catalog in catalogs
            for table in catalog.tables
            for item in table.properties
        ]
        return PropertyKinds(
            frozenset((owner, name) for owner, name, type_ in every if type_.is_vector),
            frozenset((owner, name) for owner, name, type_ in every if type_.scalar.value == "Blob"),
        )


@dataclass
class _Lines:
    """Pieces, put into lines of a width; what goes on in the next line is indented."""

    width: int
    measure: Callable[[str], int]
    indents: Sequence[int] = (0, 0)
    lines: list[list[Styled]] = field(default_factory=list)
    used: int = 0

    def add(self, pieces: Iterable[Styled]) -> None:
        """Put pieces after one another."""
        for piece in pieces:
            for word in _WORDS.findall(piece.text) if piece.text.strip() else [piece.text]:
                self._add_word(word, piece.style)

    def _add_word(self, word: str, style: str) -> None:
        if self.lines and self.used + self.measure(word.rstrip()) > self.width:
            self._begin()
        if not self.lines:
            self._begin()
        room = self.width - self.used
        while self.measure(word.rstrip()) > room:  # no line is long enough: it is cut where it must be
            part = word[: max(_count_fitting(word, room, self.measure), 1)]
            self.lines[-1].append(Styled(part, style))
            word = word[len(part) :]
            self._begin()
            room = self.width - self.used
        self.lines[-1].append(Styled(word, style))
        self.used += self.measure(word)

    def finish(self) -> list[list[Styled]]:
        """Return the lines, without spaces at their ends."""
        if self.lines and self.lines[-1]:
            last = self.lines[-1][-1]
            self.lines[-1][-1] = Styled(last.text.rstrip(), last.style)
        return self.lines

    def _begin(self) -> None:
        self.finish()
        indent = self.indents[_NEXT_LINE if self.lines else _FIRST_LINE]
        self.lines.append([Styled(" " * indent)] if indent else [])
        self.used = indent


def _count_fitting(word: str, room: int, measure: Callable[[str], int]) -> int:
    """Return how many letters of a word fit."""
    used = 0
    for count, letter in enumerate(word):
        used += measure(letter)
        if used > room:
            return count
    return len(word)


def describe_change(
    change: Change, kinds: PropertyKinds, width: int, measure: Callable[[str], int] = len
) -> Iterator[list[Styled]]:
    """Yield the lines about one node or edge."""
    title = _Lines(width, measure, (0, _INDENT_LETTERS))
    ends = change.endpoints
    title.add([_SIGNS[change.op], Styled(f"{change.type_name} ", "bold"), Styled(_visible(change.id))])
    if ends:
        title.add([Styled(f"  {_visible(ends['from'])} → {_visible(ends['to'])}", _FAINT)])
    yield from title.finish()
    before, after = _properties(change.before), _properties(change.after)
    if change.op == "update":
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    else:
        names = [name for name, value in (after or before).items() if value is not None]
    broad = min(max(map(len, names), default=0), _MAX_NAME_COLUMNS)
    for name in names:
        lines = _Lines(width, measure, (_INDENT_LETTERS, _INDENT_LETTERS * 2))
        lines.add([Styled(f"{_visible(name):<{broad}}  ", _NAME)])
        is_vector, is_blob = (
            (change.type_name, name) in kinds.vectors,
            (change.type_name, name) in kinds.blobs,
        )
        if change.op == "update":
            lines.add(_compare(before.get(name), after.get(name), is_vector, is_blob))
        else:
            style = _NEW if change.op == "insert" else _OLD
            lines.add([Styled(_show_value((after or before)[name], is_vector, is_blob), style)])
        yield from lines.finish()


def _properties(image: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (image or {}).get("properties", {})
    return found


def _compare(before: Any, after: Any, is_vector: bool, is_blob: bool) -> Iterator[Styled]:
    """Yield what an update did to one value."""
    if is_vector and isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        yield Styled(f"{len(after)} numbers, {_distance(before, after)}")
        return
    if is_blob and isinstance(before, str) and isinstance(after, str):
        old, new = _show_value(before, is_vector, is_blob), _show_value(after, is_vector, is_blob)
        yield from (Styled(old, _OLD), Styled(" → "), Styled(f"{'other ' if old == new else ''}{new}", _NEW))
        return
    tokens = None if is_vector else _tokens(before, after)
    if tokens is not None and max(map(len, tokens)) <= _MAX_COMPARED_WORDS:
        yield from _compare_words(*tokens)
        return
    yield Styled(_show_value(before, is_vector, is_blob), _OLD)
    yield Styled(" → ")
    yield Styled(_show_value(after, is_vector, is_blob), _NEW)


def _tokens(before: Any, after: Any) -> tuple[list[str], list[str]] | None:
    """Return the parts of two long texts or lists, to be compared one by one; None for short values."""
    if isinstance(before, str) and isinstance(after, str):
        if max(len(before), len(after)) <= _SHORT_VALUE_LETTERS:
            return None
        return [[_visible(word) for word in _WORDS.findall(text)] for text in (before, after)]  # type: ignore[return-value]
    if isinstance(before, list) and isinstance(after, list) and max(len(before), len(after)) > 1:
        return [[f"{_json(item)} " for item in values] for values in (before, after)]  # type: ignore[return-value]
    return None


def _compare_words(before: Sequence[str], after: Sequence[str]) -> Iterator[Styled]:
    """Yield the parts that are gone and new, as Git marks words, and what is around them."""
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for at, (op, old_start, old_end, new_start, new_end) in enumerate(steps):
        if op == "equal":
            words = before[old_start:old_end]
            first = 0 if at == 0 else _CONTEXT_WORDS
            last = 0 if at == len(steps) - 1 else _CONTEXT_WORDS
            if len(words) > first + last + 1:
                head, tail = words[:first], words[len(words) - last :]
                yield Styled("".join([*head, "… ", *tail]))
            else:
                yield Styled("".join(words))
            continue
        for mark, words, style in (
            ("[-{}-]", before[old_start:old_end], _OLD),
            ("{{+{}+}}", after[new_start:new_end], _NEW),
        ):
            text = "".join(words)
            if text:
                yield Styled(mark.format(text.rstrip()), style)
                yield Styled(text[len(text.rstrip()) :] or " ")


def _show_value(value: Any, is_vector: bool, is_blob: bool) -> str:
    if is_vector and isinstance(value, list):
        return f"{len(value)} numbers"
    if is_blob and isinstance(value, str):
        coded = value.removeprefix("base64:")
        return _size(len(coded) * 3 // 4 - coded[-2:].count("=")) if coded != value else _visible(value)
    text = _json(value)
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}… ({len(text):,} letters)"


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    power = min(int(math.log(count, 1024)), len(_LARGE_UNITS))
    return f"{count / 1024**power:.1f} {_LARGE_UNITS[power - 1]}"


def _distance(before: Sequence[float], after: Sequence[float]) -> str:
    lengths = math.hypot(*before) * math.hypot(*after)
    if not lengths:
        return f"moved by {math.dist(before, after):.4g}"
    cosine = sum(one * other for one, other in zip(before, after, strict=True)) / lengths
    return f"cosine distance {max(1 - cosine, 0):.4g}"


def _json(value: Any) -> str:
    return _visible(json.dumps(value, ensure_ascii=False, default=str))


def _visible(text: str) -> str:
    """Return a text in which nothing steers a terminal; the ends of lines become spaces."""
    return "".join(
        letter if letter.isprintable() else " " if letter in "\n\t" else ascii(letter)[1:-1]
        for letter in text
    )
