"""The one way in which texts become words, with and without an index."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import lance

OPTIONS: dict[str, Any] = {
    "base_tokenizer": "simple",
    "language": "English",
    "lower_case": True,
    "stem": True,
    "remove_stop_words": True,
    "ascii_folding": False,
    "max_token_length": None,
}
"""What a text index is built with; no word is lost for its length, and `é` stays `é`."""


_MAX_REMEMBERED_CHARACTERS = 64
"""Only texts of so many characters are remembered: single words, and what is searched for."""


def tokens(text: str) -> tuple[str, ...]:
    """Return the words of a text as an index holds them: lower case, stems, no stop words."""
    return _remembered(text) if len(text) <= _MAX_REMEMBERED_CHARACTERS else _tokens(text)


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(token.text for token in lance.tokenize(text, **OPTIONS))


_remembered = lru_cache(maxsize=65_536)(_tokens)
