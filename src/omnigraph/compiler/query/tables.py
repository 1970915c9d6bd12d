"""The parser's tables, made ahead and shipped beside the grammar: making them takes as long as a short query.

The file is trusted like the modules beside it, and not used unless it is complete and of this grammar. What
is kept are the objects themselves: Lark's own format has to be taken apart entry by entry.
`scripts/parser_tables.py` writes it.
"""

from __future__ import annotations

import io
import pickle
import zlib
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

import lark
from lark import Lark
from lark.parsers.lalr_analysis import Action, IntParseTable
from lark.parsers.lalr_parser import LALR_Parser, _Parser

_DIGEST_BYTES = 32
_FORMAT = 3
_PICKLE_PROTOCOL = 5
"""The one of all Pythons that the package runs on."""


def load_or_build(made_from: str, build: Callable[[], Lark], place: Path) -> Lark:
    """Return the parser that `build` makes, from the file at `place` where that is valid."""
    # A file that cannot be read, for whatever reason, counts as missing.
    with suppress(Exception):
        data = place.read_bytes()
        if data[:_DIGEST_BYTES] == _digest(data[_DIGEST_BYTES:], made_from):
            return _unpack(zlib.decompress(data[_DIGEST_BYTES:]))
    return build()


def pack_tables(made_from: str, parser: Lark) -> bytes:
    """Return a parser as the bytes of the file that is shipped."""
    content = zlib.compress(_pack(parser))
    return _digest(content, made_from) + content


def _pack(parser: Lark) -> bytes:
    """Return a parser as bytes: its settings as Lark stores them, its rules and table as they are."""
    data, memo = parser.memo_serialize([lark.lexer.TerminalDef, lark.grammar.Rule])
    data["parser"]["parser"] = None
    known = lark.utils.SerializeMemoizer.deserialize(
        memo, {"Rule": lark.grammar.Rule, "TerminalDef": lark.lexer.TerminalDef}, {}
    )
    table = parser.parser.parser._parse_table
    # The rules of the table are those of the settings.
    rules = {rule: rule for rule in known.values() if isinstance(rule, lark.grammar.Rule)}
    states = {
        state: {token: (action, rules.get(then, then)) for token, (action, then) in actions.items()}
        for state, actions in table.states.items()
    }
    content = io.BytesIO()
    pickler = pickle.Pickler(content, protocol=_PICKLE_PROTOCOL)
    # The parser compares actions by identity: each is stored as the name that the module has for it.
    pickler.dispatch_table = {Action: lambda action: action.name}
    pickler.dump((data, known, (states, table.start_states, table.end_states)))
    return content.getvalue()


def _unpack(content: bytes) -> Lark:
    data, memo, table = pickle.loads(content)
    made: Any = IntParseTable
    load: Any = Lark._load_from_dict
    parser: Lark = load(data, memo, _plugins={"LALR_Parser": _WithTable(made(*table))})
    return parser


class _WithTable:
    """Gives Lark the table that it would otherwise make of what it has stored."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def deserialize(self, data: object, memo: object, callbacks: Any, debug: bool = False) -> LALR_Parser:
        """Return a parser with the table."""
        found: Any = LALR_Parser.__new__(LALR_Parser)
        found._parse_table = self._table
        found.parser = _Parser(self._table, callbacks, debug)
        return cast(LALR_Parser, found)


def _digest(content: bytes, made_from: str) -> bytes:
    form = f"{lark.__version__}\n{_FORMAT}\n{made_from}"
    key = blake2b(form.encode(), digest_size=_DIGEST_BYTES).digest()
    return blake2b(content, key=key, digest_size=_DIGEST_BYTES).digest()
