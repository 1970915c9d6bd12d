"""Rules between records on compact keys: they prove that nothing is wrong, or leave it to the exact rules.

A hash that is there twice may be two texts, so a suspicion is never an error: the exact rules look at the
rows themselves. The other way round, a missing end could hide behind another text with the same hash. For a
load to be accepted wrongly every one of its missing ends would have to, which with a 64-bit key of its own
happens to one wrong end among N nodes with a probability of N / 2^64.

Stored rows are read batch by batch and never kept: what is in memory follows the load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, TableType
from omnigraph.execution.load.keys.key_hashes import column_name, distinct, unique_name
from omnigraph.execution.load.mode import Mode
from omnigraph.graph.model.hashing import Hashes, hash_values
from omnigraph.graph.write.integrity.uniqueness import tuple_texts
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.tables.table import Table, open_dataset

Flags = npt.NDArray[np.bool_]
_NONE = np.zeros(0, np.uint64)


class Keys(Protocol):
    """The compact keys of a load, in memory or elsewhere."""

    def all_is_right(
        self, catalog: Catalog, mode: Mode, tables: Sequence[TableType], base: WriteBase
    ) -> bool:
        """Say whether no rule between records can be broken; False is only a suspicion."""

    def any_is_stored(self, table: TableType, base: WriteBase) -> bool:
        """Say whether an id of the load may be stored already."""


class KeysInMemory:
    """`Keys` that this process holds."""

    def __init__(self, columns: Mapping[str, Sequence[Hashes]], key: int) -> None:
        """Take the hashes of every column in parts, each in order, and the key that they were made with."""
        self._loaded, self._key = LoadedHashes(columns), key

    def all_is_right(
        self, catalog: Catalog, mode: Mode, tables: Sequence[TableType], base: WriteBase
    ) -> bool:
        """Say whether no rule between records can be broken; False is only a suspicion."""
        rules = _Rules(catalog, mode, tables, self._loaded, StoredHashes(base, self._key))
        return all(rules.hold_for(table) for table in tables)

    def any_is_stored(self, table: TableType, base: WriteBase) -> bool:
        """Say whether an id of the load may be stored already."""
        return _any_is_stored(table, self._loaded, StoredHashes(base, self._key))


class LoadedHashes:
    """The hashes of the records of a load, by table and column."""

    def __init__(self, columns: Mapping[str, Sequence[Hashes]]) -> None:
        self._columns = {name: list(parts) for name, parts in columns.items()}

    def parts(self, table_key: str, column: str) -> Sequence[Hashes]:
        """Return the hashes of a column as they came, each part in order."""
        return self._columns.get(column_name(table_key, column), ())

    def column(self, table_key: str, column: str) -> Hashes:
        """Return the hashes of a column, in order; they take the place of their parts."""
        parts = self._columns.get(column_name(table_key, column), [])
        if len(parts) > 1:
            end = sum(map(len, parts))
            whole = np.empty(end, np.uint64)
            while parts:  # each goes as it is copied: there is never a second copy of all
                part = parts.pop()
                whole[end - len(part) : end] = part
                end -= len(part)
            whole.sort()
            parts.append(whole)
        return parts[0] if parts else _NONE


class StoredHashes:
    """The hashes of stored rows; every table that is asked about is one the commit relies on."""

    def __init__(self, base: WriteBase, key: int) -> None:
        self._base, self._key = base, key

    def is_empty(self, table_key: str) -> bool:
        """Say whether a table has no rows."""
        return self._base.rely_on(table_key).rows == 0

    def columns(self, table_key: str, names: Sequence[str]) -> Iterator[list[Hashes]]:
        """Yield the hashes of columns without NULLs, batch by batch."""
        for batch in self._batches(table_key, names):
            yield [hash_values(batch.column(name), self._key) for name in names]

    def tuples(self, table: TableType, group: Sequence[str]) -> Iterator[tuple[Hashes, Hashes]]:
        """Yield the hashes of ids and of unique tuples, for the rows whose tuple has no NULL."""
        for batch in self._batches(table.table_key, ("id", *group)):
            texts = tuple_texts(table, pa.Table.from_batches([batch]), group)
            present = pc.is_valid(texts)
            ids = hash_values(batch.column("id").filter(present), self._key)
            yield ids, hash_values(texts.filter(present), self._key)

    def _batches(self, table_key: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not self.is_empty(table_key):
            columns = list(dict.fromkeys(names))
            yield from Table(open_dataset(self._base.pinned(), table_key), table_key).batches(columns)


class _Rules:
    """The rules, one load against one state."""

    def __init__(
        self,
        catalog: Catalog,
        mode: Mode,
        tables: Sequence[TableType],
        loaded: LoadedHashes,
        stored: StoredHashes,
    ) -> None:
        self._catalog, self._mode, self._loaded, self._stored = catalog, mode, loaded, stored
        self._replaced = {table.table_key for table in tables} if mode == "overwrite" else set[str]()

    def hold_for(self, table: TableType) -> bool:
        """Say whether no rule about a table can be broken."""
        return (
            self._ids_are_new(table)
            and self._tuples_are_unique(table)
            and (self._edges_keep_ends(table) if isinstance(table, NodeType) else self._ends_exist(table))
            and (isinstance(table, NodeType) or self._cardinality_holds(table))
        )

    def _ids_are_new(self, table: TableType) -> bool:
        if _has_repeated(self._loaded.column(table.table_key, "id")):
            return False
        return self._mode != "append" or not _any_is_stored(table, self._loaded, self._stored)

    def _tuples_are_unique(self, table: TableType) -> bool:
        for group in table.uniques:
            tuples = self._loaded.column(table.table_key, unique_name(group))
            if _has_repeated(tuples):
                return False
            if self._mode == "overwrite" or len(tuples) == 0:
                continue
            loaded = self._loaded.column(table.table_key, "id")
            for ids, taken in self._stored.tuples(table, group):
                if _are_in(taken[~_are_in(ids, loaded)], tuples).any():
                    return False
        return True

    def _ends_exist(self, table: EdgeType) -> bool:
        columns: dict[str, list[str]] = {}
        for column, name in (("src", table.source), ("dst", table.target)):
            columns.setdefault(name, []).append(column)
        for name, ends in columns.items():  # a node type is read once, for both ends
            node = self._catalog.node(name)
            assert node is not None
            ids = self._loaded.column(node.table_key, "id")
            parts = [part for column in ends for part in self._loaded.parts(table.table_key, column)]
            missing = _together([part[~_are_in(part, ids)] for part in parts])
            if len(missing) and node.table_key not in self._replaced:
                missing = _without(missing, (ids for (ids,) in self._stored.columns(node.table_key, ("id",))))
            if len(missing):
                return False
        return True

    def _edges_keep_ends(self, table: NodeType) -> bool:
        """Look at stored edges that stay although their nodes are replaced."""
        if table.table_key not in self._replaced or self._stored.is_empty(table.table_key):
            return True
        ids = self._loaded.column(table.table_key, "id")
        return all(
            bool(_are_in(ends, ids).all())
            for edge in self._catalog.edges_of(table.name)
            if edge.table_key not in self._replaced
            for column, node in (("src", edge.source), ("dst", edge.target))
            if node == table.name
            for (ends,) in self._stored.columns(edge.table_key, (column,))
        )

    def _cardinality_holds(self, table: EdgeType) -> bool:
        if table.cardinality.is_default:
            return True
        key, low = table.table_key, table.cardinality.low
        counted = sources = self._loaded.column(key, "src")
        vacated = self._vacated(table, sources)
        if key not in self._replaced and not self._stored.is_empty(key):
            ids, kept = self._loaded.column(key, "id"), [sources]
            for stored, before in self._stored.columns(key, ("id", "src")):
                here = before[~_are_in(stored, ids)]
                kept.append(here[_are_in(here, sources) | _are_in(here, vacated)])
            counted = np.sort(np.concatenate(kept))
        if low > 0 and not _are_in(vacated, counted).all():
            return False
        return _runs_are_between(counted, low, table.cardinality.high)

    def _vacated(self, table: EdgeType, sources: Hashes) -> Hashes:
        """Return the sources that lose a stored edge and get none, in order."""
        key, found = table.table_key, [_NONE]
        ids = self._loaded.column(key, "id")
        if key not in self._replaced and len(ids) == 0:
            return _NONE
        for stored, before in self._stored.columns(key, ("id", "src")):
            lost = before if key in self._replaced else before[_are_in(stored, ids)]
            found.append(np.sort(lost[~_are_in(lost, sources)]))
        vacated = _together(found)
        source = f"node:{table.source}"
        return (
            vacated[_are_in(vacated, self._loaded.column(source, "id"))]
            if source in self._replaced
            else vacated
        )


def _any_is_stored(table: TableType, loaded: LoadedHashes, stored: StoredHashes) -> bool:
    ids = loaded.column(table.table_key, "id")
    if len(ids) == 0:
        return False
    return any(bool(_are_in(found, ids).any()) for (found,) in stored.columns(table.table_key, ("id",)))


def _together(parts: list[Hashes]) -> Hashes:
    """Return what is in any of some parts, once and in order; each part is in order."""
    return distinct(np.sort(np.concatenate([_NONE, *parts]), kind="stable"))


def _without(values: Hashes, others: Iterator[Hashes]) -> Hashes:
    """Return the values, which are in order, that are not among others."""
    is_left = np.ones(len(values), dtype=bool)
    for some in others:
        is_left[np.searchsorted(values, some[_are_in(some, values)])] = False
        if not is_left.any():
            break
    return values[is_left]


def _runs_are_between(ordered: Hashes, low: int, high: int | None) -> bool:
    """Say whether every value that is there is there so many times."""
    if high is not None and _are_same(ordered, high).any():
        return False
    if low <= 1 or len(ordered) == 0:
        return True
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    enough = np.zeros(len(ordered), dtype=bool)
    ahead = _are_same(ordered, low - 1)
    enough[: len(ahead)] = ahead
    return bool(enough[begins].all())


def _are_same(ordered: Hashes, apart: int) -> Flags:
    """Say for each value whether the one so far after it is the same; the last ones have none."""
    found: Flags = ordered[apart:] == ordered[: max(0, len(ordered) - apart)]
    return found


def _has_repeated(ordered: Hashes) -> bool:
    return bool(_are_same(ordered, 1).any())


def _are_in(values: Hashes, ordered: Hashes) -> Flags:
    """Say for each value whether it is among others, which are in order; quickest if the values are too."""
    if len(ordered) == 0:
        return np.zeros(len(values), dtype=bool)
    at = np.searchsorted(ordered, values)
    at[at == len(ordered)] = 0
    found: Flags = ordered[at] == values
    return found
