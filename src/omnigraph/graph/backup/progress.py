"""Telling how far a long copy is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Progress = Callable[[str, int, int], None]
"""Is told what is being done, how many bytes of it are, and of how many."""


class Told:
    """Counts bytes and tells them."""

    def __init__(self, what: str, sizes: Iterable[int], progress: Progress | None) -> None:
        self._what, self._total, self._done, self._progress = what, sum(sizes), 0, progress

    def advance(self, size: int) -> None:
        """Tell that so many bytes more are done."""
        self._done += size
        if self._progress is not None:
            self._progress(self._what, self._done, self._total)
