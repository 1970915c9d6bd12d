"""How many examples a generated test takes."""

from __future__ import annotations

import os

_TIMES = int(os.environ.get("OMNIGRAPH_EXAMPLES", "1"))


def examples(count: int) -> int:
    """Return a test's own number, or so many times that as `OMNIGRAPH_EXAMPLES` says."""
    return count * _TIMES
