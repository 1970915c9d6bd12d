"""The parser's tables, kept where Python keeps compiled modules: making them takes as long as a short query.

The file is trusted like the modules beside it, and rebuilt unless it is complete and of this grammar.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from importlib.util import cache_from_source
from pathlib import Path

import lark
from lark import Lark

_DIGEST_BYTES = 32


def load_or_build(made_from: str, build: Callable[[], Lark], source: str) -> Lark:
    """Return the parser that `build` makes, from the file beside the compiled source where that is valid."""
    key = blake2b(f"{lark.__version__}\n{made_from}".encode(), digest_size=_DIGEST_BYTES).digest()
    place = Path(cache_from_source(source)).with_suffix(".tables")
    # A file that cannot be read, for whatever reason, counts as missing.
    with suppress(Exception):
        data = place.read_bytes()
        if data[:_DIGEST_BYTES] == _digest(data[_DIGEST_BYTES:], key):
            return Lark.load(io.BytesIO(data[_DIGEST_BYTES:]))
    parser = build()
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            _store(place, parser, key)
    return parser


def _store(place: Path, parser: Lark, key: bytes) -> None:
    content = io.BytesIO()
    parser.save(content)
    place.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own: several processes may write at the same time.
    draft = place.with_suffix(f".{os.getpid()}")
    draft.write_bytes(_digest(content.getvalue(), key) + content.getvalue())
    draft.replace(place)


def _digest(content: bytes, key: bytes) -> bytes:
    return blake2b(content, key=key, digest_size=_DIGEST_BYTES).digest()
