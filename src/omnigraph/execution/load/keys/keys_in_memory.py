"""`Keys` in the memory of this process, as sorted arrays.

Stored rows are read batch by batch and not kept: memory depends on the load, not on what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.keys.key_hashes import column_name, hash_pairs
from omnigraph.graph.model.hashing import Hashes
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.numbers import drop_repeated
from omnigraph.storage.tables.table import Table

Flags = npt.NDArray[np.bool_]
_NO_HASHES = np.zeros(0, np.uint64)


class KeysInMemory:
    """`Keys` in the memory of this process."""

    def __init__(self, columns: Mapping[str, Sequence[Hashes]], key: int) -> None:
        """Take the hashes of every column in sorted parts, and the key of the hash function."""
        self._columns, self._key = {name: list(parts) for name, parts in columns.items()}, key

    def keys_of_load(self, table: TableType, column: str) -> HashSet:
        return HashSet([self._columns.setdefault(column_name(table.table_key, column), [])])

    def keys_in_storage(self, base: WriteBase, table: TableType, columns: Sequence[str] = ()) -> StoredHashes:
        return StoredHashes(base, table, tuple(columns), self._key)


@dataclass(frozen=True, slots=True)
class HashSet:
    """`KeySet`: some columns, each in sorted parts."""

    columns: Sequence[list[Hashes]]

    def is_empty(self) -> bool:
        return not any(len(part) for part in self._parts())

    def has_repeats(self) -> bool:
        return bool(_equals_later(self._whole(), 1).any())

    def occur_between(self, low: int, high: int | None) -> bool:
        ordered = self._whole()
        if high is not None and _equals_later(ordered, high).any():
            return False
        if low <= 1 or len(ordered) == 0:
            return True
        begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        enough = np.zeros(len(ordered), dtype=bool)
        ahead = _equals_later(ordered, low - 1)
        enough[: len(ahead)] = ahead
        return bool(enough[begins].all())

    def plus(self, other: HashSet) -> HashSet:
        """Return both; nothing is copied."""
        return HashSet([*self.columns, *other.columns])

    def outside(self, other: HashSet) -> HashSet:
        """Return the hashes that are not in another set, each once."""
        return _union(part[~other.flags(part)] for part in self._parts())

    def within(self, other: HashSet) -> HashSet:
        """Return the hashes that are in another set, each once."""
        return _union(part[other.flags(part)] for part in self._parts())

    def flags(self, values: Hashes) -> Flags:
        """Return for each value whether it is in this set; fastest if the values are sorted."""
        found = np.zeros(len(values), dtype=bool)
        for ordered in map(_merge_parts, self.columns):
            if len(ordered):
                at = np.searchsorted(ordered, values)
                at[at == len(ordered)] = 0
                found |= ordered[at] == values
        return found

    def _parts(self) -> Iterator[Hashes]:
        return (part for column in self.columns for part in column)

    def _whole(self) -> Hashes:
        if len(self.columns) == 1:
            return _merge_parts(self.columns[0])
        return np.sort(np.concatenate([_NO_HASHES, *self._parts()]))


@dataclass(frozen=True, slots=True)
class StoredHashes:
    """`StoredKeys`: the rows of a table, read again for each method."""

    base: WriteBase
    table: TableType
    columns: tuple[str, ...]
    key: int
    ids: HashSet | None = None
    """The ids that rows must have, or must not have."""
    has_ids: bool = True

    def with_ids(self, ids: HashSet) -> StoredHashes:
        return replace(self, ids=ids, has_ids=True)

    def without_ids(self, ids: HashSet) -> StoredHashes:
        return replace(self, ids=ids, has_ids=False)

    def any_within(self, keys: HashSet) -> bool:
        return not keys.is_empty() and any(bool(keys.flags(some).any()) for some in self._batches())

    def any_outside(self, keys: HashSet) -> bool:
        return not all(bool(keys.flags(some).all()) for some in self._batches())

    def within(self, keys: HashSet) -> HashSet:
        """Return the hashes of rows that are in `keys`."""
        return HashSet([[np.sort(some[keys.flags(some)]) for some in self._batches()]])

    def outside(self, keys: HashSet) -> HashSet:
        """Return the hashes of rows that are not in `keys`, each once."""
        return _union(np.sort(some[~keys.flags(some)]) for some in self._batches())

    def missing(self, keys: HashSet) -> HashSet:
        """Return the hashes of `keys` that no row has; rows are read until all are found."""
        if keys.is_empty():
            return keys
        wanted = keys._whole()
        is_left = np.ones(len(wanted), dtype=bool)
        for some in self._batches():
            is_left[np.searchsorted(wanted, some[keys.flags(some)])] = False
            if not is_left.any():
                break
        return HashSet([[wanted[is_left]]])

    def _batches(self) -> Iterator[Hashes]:
        key = self.table.table_key
        none_can_be = self.ids is not None and self.has_ids and self.ids.is_empty()
        if none_can_be or self.base.rely_on(key).rows == 0:
            return
        needs_ids = self.ids is not None or not self.columns
        names = list(dict.fromkeys([*(["id"] if needs_ids else []), *self.columns]))
        for batch in Table(self.base.view_pinned(), key).batches(names):
            ids, hashes = hash_pairs(self.table, pa.Table.from_batches([batch]), self.columns, self.key)
            yield hashes if self.ids is None else hashes[self.ids.flags(ids) == self.has_ids]


def _merge_parts(parts: list[Hashes]) -> Hashes:
    """Merge the parts of a column into one sorted part, in place, and return it."""
    if len(parts) > 1:
        end = sum(map(len, parts))
        whole = np.empty(end, np.uint64)
        while parts:  # each part is freed once it is copied: there is never a second copy of all
            part = parts.pop()
            whole[end - len(part) : end] = part
            end -= len(part)
        whole.sort()
        parts.append(whole)
    return parts[0] if parts else _NO_HASHES


def _union(parts: Iterable[Hashes]) -> HashSet:
    """Return the union of some sorted parts, each hash once."""
    return HashSet([[drop_repeated(np.sort(np.concatenate([_NO_HASHES, *parts]), kind="stable"))]])


def _equals_later(ordered: Hashes, apart: int) -> Flags:
    """Return whether each value equals the one `apart` places later; the last `apart` values have none."""
    found: Flags = ordered[apart:] == ordered[: max(0, len(ordered) - apart)]
    return found
