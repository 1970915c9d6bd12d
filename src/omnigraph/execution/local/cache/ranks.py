"""Values as integers in the same order, for sorting, grouping and removing duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.cancellation import chunks
from omnigraph.execution.local.frame import NULL, Positions
from omnigraph.execution.local.sorting import distinct_rows, text_order

_DENSE_FACTOR = 4
"""Integers whose range is below so many times their number are used as ranks, shifted to 0."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """An integer for each value: equal for equal values, smaller for smaller ones, -1 for NULL."""

    codes: Positions
    size: int
    """All numbers are below this."""

    @property
    def nbytes(self) -> int:
        """How much memory the numbers take."""
        return self.codes.nbytes

    def take(self, positions: Positions) -> Ranks:
        """Return the ranks at some positions; position -1 gives NULL."""
        if len(self.codes) == 0:
            return Ranks(np.full(len(positions), NULL, dtype=np.int64), self.size)
        found = self.codes[positions]
        if (positions == NULL).any():
            found = np.where(positions == NULL, NULL, found)
        return Ranks(found, self.size)


def rank(values: pa.Array) -> Ranks:
    """Rank an array: strings by their bytes, false before true, dates by time."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _rank_texts(values)
    if pa.types.is_date(kind):
        values = values.view(pa.int32() if kind == pa.date32() else pa.int64())
    elif pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_struct(kind):
        return _rank_maps(values)
    elif pa.types.is_nested(kind):
        return _rank_plain(_dates_as_numbers(values).to_pylist())
    return _rank_numbers(values)


def _rank_numbers(values: pa.Array) -> Ranks:
    absent = _nulls(values)
    numbers = np.asarray((values.fill_null(0) if values.null_count else values).to_numpy())
    if len(numbers) == 0:
        return Ranks(np.empty(0, dtype=np.int64), 0)
    if numbers.dtype.kind in "iu":
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < max(1024, _DENSE_FACTOR * len(numbers)):
            codes = (numbers - numbers.dtype.type(low)).astype(np.int64)
            return Ranks(_without(codes, absent), high - low + 1)
    distinct, _, codes = distinct_rows(numbers)
    return Ranks(_without(codes, absent), len(distinct))


def _rank_texts(values: pa.Array) -> Ranks:
    parts = [pc.dictionary_encode(values[part]) for part in chunks(len(values))]
    encoded = parts[0] if len(parts) == 1 else pc.dictionary_encode(values[:0])
    if len(parts) > 1:
        encoded = pa.concat_arrays(pa.chunked_array(parts).unify_dictionaries().chunks)
    order = text_order(encoded.dictionary)
    ranks = np.empty(len(order) + 1, dtype=np.int64)
    ranks[order] = np.arange(len(order))
    ranks[-1] = NULL
    places = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    return Ranks(ranks[places], len(order))


def _rank_maps(values: pa.Array) -> Ranks:
    """Rank the maps of nodes or edges."""
    whole = pa.concat_arrays([values, values.slice(0, 0)])  # the fields of a slice are not sliced
    return rank_entities(whole.field(0), whole.field(1))


def rank_entities(type_names: pa.Array, ids: pa.Array) -> Ranks:
    """Rank nodes or edges by type, then by id; NULL without an id."""
    types, own = rank(type_names), rank(ids)
    absent = _nulls(ids)
    keys = types.codes * max(own.size, 1) + own.codes
    if absent is not None:
        keys[absent] = 0
    distinct, _, codes = distinct_rows(keys)
    return Ranks(_without(codes, absent), len(distinct))


def _dates_as_numbers(lists: pa.Array) -> pa.Array:
    """Return lists of dates as numbers: in Python a date64 loses its time of day, and an old date fails."""
    member = lists.type.value_type
    if not pa.types.is_date(member):
        return lists
    return lists.cast(pa.list_(pa.field("item", pa.int32() if member == pa.date32() else pa.int64())))


def _rank_plain(values: list[Any]) -> Ranks:
    """Rank lists in Python, as results have only a few."""
    keys = [None if value is None else tuple(_sortable(item) for item in value) for value in values]
    ranks = {key: at for at, key in enumerate(sorted({key for key in keys if key is not None}))}
    return Ranks(np.array([NULL if key is None else ranks[key] for key in keys], dtype=np.int64), len(ranks))


def _sortable(item: Any) -> tuple[bool, Any]:
    if item is None:
        return (False, 0)
    if isinstance(item, dict):
        return (True, (item["type"].encode(), item["id"].encode()))
    return (True, item.encode() if isinstance(item, str) else item)


def _nulls(values: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]] | None:
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False)) if values.null_count else None


def _without(codes: Positions, absent: np.ndarray[Any, np.dtype[np.bool_]] | None) -> Positions:
    if absent is not None:
        codes[absent] = NULL
    return codes
