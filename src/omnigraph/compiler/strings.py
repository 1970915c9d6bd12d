"""String literals, which both languages write alike."""

from __future__ import annotations

import re
from collections.abc import Iterator

from omnigraph.compiler.source import Span, make_printable

ESCAPES_HINT = 'the escapes are \\" \\\\ \\n \\r \\t'

_MEANING = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_WRITTEN = str.maketrans({meant: f"\\{letter}" for letter, meant in _MEANING.items()})


def quote(text: str) -> str:
    """Return a string as a literal."""
    return f'"{text.translate(_WRITTEN)}"'


def unquote(literal: str) -> str:
    """Return the value of a string literal."""
    inner = literal[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(lambda match: _MEANING.get(match[1], match[1]), inner)


def wrong_escapes(literal: str, start: int) -> Iterator[tuple[str, Span]]:
    """Yield what is wrong with the escapes of a string literal that starts here, and where."""
    for match in _ESCAPE.finditer(literal):
        if match[1] not in _MEANING:
            at = start + match.start()
            yield f"unsupported escape sequence '\\{make_printable(match[1])}'", Span(at, at + 2)
