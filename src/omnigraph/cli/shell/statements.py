"""What was typed: whether it is whole, and the query that it stands for."""

from __future__ import annotations

import re

_QUERY = re.compile(r"\s*(?:(?://[^\n]*\n|/\*.*?\*/)\s*)*query\b", re.DOTALL)
_PIECES = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|"|/\*|[{}()]', re.DOTALL)
_BEGINNINGS = ("match", "insert", "upsert", "update", "delete")
_NAMELESS = "q"
"""What a query is called that was typed without a name."""


def is_whole(text: str) -> bool:
    """Return whether a statement ends here: a command in one line, or a query whose brackets are closed.

    An empty line ends every statement, so that nobody is caught in one.
    """
    if text.lstrip().startswith("\\") or not text.strip():
        return True
    if text.endswith("\n\n") or re.search(r"\n[ \t]*\Z", text):
        return True
    depth = 0
    for piece in _PIECES.findall(text):
        if piece in ('"', "/*"):
            return False
        depth += (piece in "{(") - (piece in "})") if len(piece) == 1 else 0
    if depth > 0:
        return False
    # Clauses without a name go on: `match { … }` alone answers nothing.
    return (
        not re.match(r"\s*match\b", text)
        or re.search(r"\b(return|insert|upsert|update|delete)\b", text) is not None
    )


def as_query(text: str) -> str:
    """Return the text of a query; clauses that were typed alone become one."""
    if _QUERY.match(text) or not text.strip().startswith(_BEGINNINGS):
        return text
    return f"query {_NAMELESS}() {{\n{text.strip()}\n}}"


def split_statements(text: str) -> list[str]:
    """Return the statements of a text that nobody types, such as a file: each begins a line of its own."""
    found: list[str] = []
    held: list[str] = []
    for line in text.splitlines():
        held.append(line)
        so_far = "\n".join(held)
        if is_whole(so_far):
            found += [so_far] if so_far.strip() else []
            held = []
    rest = "\n".join(held)
    return found + ([rest] if rest.strip() else [])
