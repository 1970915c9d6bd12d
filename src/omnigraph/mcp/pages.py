"""Answers in pages: so many items, so many bytes, and a cursor from which the next call goes on.

A cursor says of which call it is, and of which commit: a page is of the same commit as the first one,
whatever has been committed since. It gives no right: every call is judged anew.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.base.plain import read_json
from omnigraph.wire.values import encode

_CUTS = (4_000, 1_000, 200, 40)
"""Characters that are kept of a text, and items of a list, of what is too large; tried in this order."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: after so many items of a commit, or at a token of the list's own."""

    offset: int = 0
    commit: str | None = None
    token: str | None = None

    def write(self, tool: str, digest: str) -> str:
        """Return the cursor as text."""
        packed = json.dumps([tool, digest, self.offset, self.commit, self.token]).encode()
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """Some items, as JSON data, and the cursor of the next ones; None when these are the last."""

    items: list[Any]
    next_cursor: str | None


def read_cursor(text: str | None, tool: str, digest: str) -> Cursor:
    """Return what a cursor says; one of another call is refused."""
    if text is None:
        return Cursor()
    try:
        data = read_json(base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4)))
        named, asked, offset, commit, token = data
    except (ValueError, TypeError, binascii.Error):
        raise _wrong("it is not one that an answer has had as next_cursor") from None
    texts = all(item is None or isinstance(item, str) for item in (commit, token))
    if not isinstance(offset, int) or isinstance(offset, bool) or not 0 <= offset < 2**53 or not texts:
        raise _wrong("it is not one that an answer has had as next_cursor")
    if named != tool or asked != digest:
        raise _wrong("it is of a call with another tool or other arguments; repeat these as they were")
    return Cursor(offset, commit, token)


def fill_page(items: Iterable[Any], skip: int, rows: int, most_bytes: int) -> tuple[list[Any], bool]:
    """Return the items after the skipped ones that fit, as JSON data, and whether there are more.

    An item that alone is too large is cut.
    """
    page: list[Any] = []
    used = 0
    for item in islice(iter(items), skip, None):
        data = encode(item)
        size = size_of(data)
        if page and (len(page) >= rows or used + size > most_bytes):
            return page, True
        if size > most_bytes:
            data = cut_down(data, most_bytes)
            size = most_bytes
        page.append(data)
        used += size
    return page, False


def size_of(data: Any) -> int:
    """Return how many bytes JSON data has as text."""
    return len(json.dumps(data, ensure_ascii=False).encode(errors="replace"))


def cut_down(data: Any, most_bytes: int) -> Any:
    """Return data whose long texts and lists are cut, and say how long they were."""
    if size_of(data) <= most_bytes:
        return data
    found = data
    for keep in _CUTS:
        found = _cut(data, keep)
        if size_of(found) <= most_bytes:
            break
    return found


def _cut(data: Any, keep: int) -> Any:
    if isinstance(data, str):
        return data if len(data) <= keep else f"{data[:keep]}… (cut: {len(data)} characters)"
    if isinstance(data, list):
        found = [_cut(item, keep) for item in data[:keep]]
        if len(data) > keep and not isinstance(data[0], dict):
            found.append(f"… (cut: {len(data)} items)")  # not among objects, whose number is told elsewhere
        return found
    if isinstance(data, dict):
        return {name: _cut(item, keep) for name, item in data.items()}
    return data


def _wrong(why: str) -> BadInput:
    return BadInput(f"the cursor cannot be used: {why}")
