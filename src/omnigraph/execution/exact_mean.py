"""The mean of numbers, rounded once."""

from __future__ import annotations

from collections.abc import Sequence


def exact_mean(numbers: Sequence[float]) -> float:
    """Return the mean of some numbers, rounded once."""
    parts: dict[int, int] = {}
    for number in numbers:
        above, below = number.as_integer_ratio()
        parts[below] = parts.get(below, 0) + above
    widest = max(parts)  # each is a power of two
    total = sum(above * (widest // below) for below, above in parts.items())
    return total / (widest * len(numbers))
