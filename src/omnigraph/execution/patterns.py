"""Regular expressions of RE2, which take time linear in the text."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.compiler.functions.patterns import require_few_options

_MAX_SHOWN_CHARACTERS = 80
"""Characters of a pattern that a message shows."""


def find_pattern(texts: pa.Array, pattern: str) -> pa.BooleanArray:
    """Return whether a pattern is found in each string; raise BadInput if it is not a regular expression.

    One with too many optional parts is a ResourceLimit.
    """
    require_few_options(pattern)
    try:
        return pc.match_substring_regex(texts, pattern)
    except pa.ArrowInvalid as error:
        shown = pattern if len(pattern) <= _MAX_SHOWN_CHARACTERS else pattern[:_MAX_SHOWN_CHARACTERS] + "…"
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise BadInput(
            f"the pattern {shown!r} of matches is not a regular expression (RE2): {reason}", pattern=pattern
        ) from None
