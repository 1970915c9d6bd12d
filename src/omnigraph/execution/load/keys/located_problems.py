"""Problems of records in the order of the records, in whatever order they were found."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import SHOWN_PROBLEMS, Problem, as_error, select_shown

_NOWHERE = -1


class PlacedProblems:
    """The first problems by place in the source, with one of each kind, and the number of all."""

    def __init__(self, limit: int = SHOWN_PROBLEMS) -> None:
        """`limit`: how many problems are reported; the rest are only counted."""
        self._limit = limit
        self._found: list[tuple[int, int, Problem]] = []
        self.total = 0

    def add(self, problems: Iterable[Problem]) -> None:
        """Add problems; those of one record keep their order."""
        for problem in problems:
            at = problem.place.at if isinstance(problem.place, RecordPlace) else _NOWHERE
            self._found.append((at, self.total, problem))
            self.total += 1
            if len(self._found) > 8 * self._limit:
                self._found = self._first()

    def list_first(self) -> list[tuple[int, Problem]]:
        """Return the first problems, each with its place."""
        return [(place, problem) for place, _, problem in self._first()]

    def count_more(self, number: int) -> None:
        """Count problems that are not reported."""
        self.total += number

    def raise_if_any(self) -> None:
        """Raise the error for the problems, if there are any."""
        if self.total:
            raise as_error([problem for *_, problem in self._first()], self.total)

    def _first(self) -> list[tuple[int, int, Problem]]:
        ordered = sorted(self._found, key=lambda item: item[:2])
        shown = {id(problem) for problem in select_shown([item[2] for item in ordered], self._limit)}
        return [item for item in ordered if id(item[2]) in shown]
