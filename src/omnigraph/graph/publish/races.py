"""How often what others keep overtaking is tried, before it is contention."""

from __future__ import annotations

MAX_LOST_RACES = 32
"""Of a change of one object or one record, which is read and decided again after each lost race."""
MAX_RESTARTS = 8
"""Of a change in several steps, which begins again with the first."""
