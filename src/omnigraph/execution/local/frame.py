"""Assignments of variables as arrays: a column for each variable, a row for each assignment."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omnigraph.base.errors import ResourceLimit
from omnigraph.execution.local.sorting import distinct_rows, sort_numbers
from omnigraph.storage.numbers import drop_repeated

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NULL = -1


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows of positions by slot; -1 is NULL. A path length is its own value."""

    rows: int
    columns: Mapping[int, Positions]
    weights: Positions | None = None
    """How many assignments each row represents; None if each represents one."""

    def take(self, places: Positions, more: Mapping[int, Positions] | None = None) -> Frame:
        """Return the rows at these places, with more columns."""
        taken = {slot: column[places] for slot, column in self.columns.items()}
        weights = None if self.weights is None else self.weights[places]
        return Frame(len(places), {**taken, **(more or {})}, weights)

    def keep(self, wanted: Mask) -> Frame:
        """Return the rows where the mask is true."""
        return self if wanted.all() else self.take(np.flatnonzero(wanted))

    def cut(self, first: int, last: int) -> Frame:
        """Return the rows from `first` to before `last`."""
        weights = None if self.weights is None else self.weights[first:last]
        return Frame(
            last - first, {slot: column[first:last] for slot, column in self.columns.items()}, weights
        )

    def multiply(self, weights: Positions) -> Frame:
        """Multiply row weights; drop rows whose weight becomes 0."""
        together = weights if self.weights is None else multiply_weights(self.weights, weights)
        return Frame(self.rows, self.columns, together).keep(together > 0)

    def keep_columns(self, slots: Set[int]) -> Frame:
        """Return the rows with only these columns."""
        if self.columns.keys() <= slots:
            return self
        return Frame(
            self.rows, {slot: column for slot, column in self.columns.items() if slot in slots}, self.weights
        )

    def merge_equal(self, weighted: bool) -> Frame:
        """Return each distinct row once; if `weighted`, with the sum of its weights."""
        if not self.columns:
            total = self.total()
            return Frame(int(total > 0), {}, np.array([total] if total else [], dtype=np.int64))
        columns = list(self.columns.items())
        if len(columns) == 1 and not weighted:
            slot, column = columns[0]
            once = distinct(column)
            return Frame(len(once), {slot: once})
        key = combine_keys([column + 1 for _, column in columns])
        _, first, place = distinct_rows(key)
        weights = None
        if weighted:
            weights = sum_weights(place, self.weights, len(first))
        return Frame(len(first), {slot: column[first] for slot, column in columns}, weights)

    def total(self) -> int:
        """Return the sum of all weights."""
        return self.rows if self.weights is None else int(sum_weights(None, self.weights, 1)[0])


START = Frame(1, {})
"""One row without variables."""


def concatenate(frames: list[Frame]) -> Frame:
    """Return the rows of several frames with the same columns."""
    if len(frames) == 1:
        return frames[0]
    slots = frames[0].columns if frames else {}
    weights = None
    if any(frame.weights is not None for frame in frames):
        weights = np.concatenate([_weights(frame) for frame in frames])
    columns = {slot: np.concatenate([frame.columns[slot] for frame in frames]) for slot in slots}
    return Frame(sum(frame.rows for frame in frames), columns, weights)


def find_cuts(counts: Positions, most: int) -> list[int]:
    """Return the borders of runs whose counts sum to about `most`; empty if one run is enough."""
    ends = np.cumsum(counts)
    if len(ends) == 0 or ends[-1] <= most:
        return []
    runs = ends // most
    borders = np.flatnonzero(np.diff(runs)) + 1
    return [0, *borders.tolist(), len(counts)]


def distinct(*parts: Positions) -> Positions:
    """Return each number of some arrays once, sorted; sorting many can be interrupted."""
    return drop_repeated(sort_numbers(parts[0] if len(parts) == 1 else np.concatenate(parts)))


def combine_keys(columns: list[Positions]) -> Positions:
    """Return one non-negative number for each row, equal for equal rows."""
    key = columns[0]
    for column in columns[1:]:
        width = int(column.max(initial=0)) + 1
        if int(key.max(initial=0)) >= (1 << 62) // width:
            key = distinct_rows(key)[2]
        key = key * width + column
    return key


def sum_weights(groups: Positions | None, weights: Positions | None, count: int) -> Positions:
    """Return the sum of weights in each group; groups None is one group, weights None are ones."""
    if weights is None:
        assert groups is not None
        return np.bincount(groups, minlength=count).astype(np.int64)
    if float(np.abs(weights).max(initial=0)) * len(weights) >= _MAX_WEIGHT:
        raise _too_many_error()
    if groups is None:
        return np.array([weights.sum()], dtype=np.int64)
    if float(np.abs(weights).max(initial=0)) * len(weights) < 2**53:
        return np.bincount(groups, weights, minlength=count).astype(np.int64)
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, groups, weights)
    return total


def multiply_weights(left: Positions, right: Positions) -> Positions:
    """Return the products of weights; raise ResourceLimit beyond 64 bits."""
    if float(left.max(initial=0)) * float(right.max(initial=0)) >= _MAX_WEIGHT:
        raise _too_many_error()
    return left * right


_MAX_WEIGHT = float(2**63 - 1)


def _too_many_error() -> ResourceLimit:
    return ResourceLimit(
        "the pattern has more assignments than a 64-bit integer can count: narrow it",
        resource="query_assignments",
        limit=2**63 - 1,
    )


def _weights(frame: Frame) -> Positions:
    return np.ones(frame.rows, dtype=np.int64) if frame.weights is None else frame.weights
