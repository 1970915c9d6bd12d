"""Rules between records on compact keys: they prove that nothing is wrong, or leave it to the exact rules.

A hash that is there twice may be two texts, so a suspicion is never an error: the exact rules look at the
staged rows themselves. The other way round, a missing end could hide behind another text with the same hash.
For a load to be accepted wrongly every one of its missing ends would have to, which with a 64-bit key of its
own happens to one wrong end among N nodes with a probability of N / 2^64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, TableType
from omnigraph.execution.load.hashed_keys import column_name, unique_name
from omnigraph.execution.load.mode import Mode
from omnigraph.graph.hashing import Hashes, hash_values
from omnigraph.graph.write.base import WriteBase
from omnigraph.graph.write.integrity.uniqueness import tuple_texts
from omnigraph.storage.tables import Table, open_dataset

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
    """`Keys` that the driver holds."""

    def __init__(self, columns: Mapping[str, Sequence[Hashes]], key: int) -> None:
        self._loaded, self._key = LoadedHashes(columns), key
        self._stored: tuple[str, StoredHashes] | None = None

    def all_is_right(
        self, catalog: Catalog, mode: Mode, tables: Sequence[TableType], base: WriteBase
    ) -> bool:
        """Say whether no rule between records can be broken; False is only a suspicion."""
        stored = self._stored_at(base)
        return (
            all(_ids_are_new(mode, table, self._loaded, stored) for table in tables)
            and all(_tuples_are_unique(mode, table, self._loaded, stored) for table in tables)
            and all(_ends_exist(catalog, mode, table, tables, self._loaded, stored) for table in tables)
            and all(_edges_keep_ends(catalog, mode, table, tables, self._loaded, stored) for table in tables)
            and all(_cardinality_holds(mode, table, tables, self._loaded, stored) for table in tables)
        )

    def any_is_stored(self, table: TableType, base: WriteBase) -> bool:
        """Say whether an id of the load may be stored already."""
        return _any_is_stored(table, self._loaded, self._stored_at(base))

    def _stored_at(self, base: WriteBase) -> StoredHashes:
        """Return what is stored in one state, which several questions are asked about."""
        commit = base.state.head.commit
        if self._stored is None or self._stored[0] != commit:
            self._stored = (commit, StoredHashes(base, self._key))
        return self._stored[1]


class LoadedHashes:
    """The hashes of the records of a load, by table and column."""

    def __init__(self, columns: Mapping[str, Sequence[Hashes]]) -> None:
        self._columns = columns
        self._joined: dict[str, Hashes] = {}

    def parts(self, table_key: str, column: str) -> Sequence[Hashes]:
        """Return the hashes of a column as the tasks have sent them, each part in order."""
        return self._columns.get(column_name(table_key, column), ())

    def column(self, table_key: str, column: str) -> Hashes:
        """Return the hashes of a column, in order."""
        name = column_name(table_key, column)
        if name not in self._joined:
            parts = self.parts(table_key, column)
            self._joined[name] = np.sort(np.concatenate(parts)) if parts else _NONE
        return self._joined[name]


class StoredHashes:
    """The hashes of stored rows, read once; every table that is asked about is one the commit relies on."""

    def __init__(self, base: WriteBase, key: int) -> None:
        self._base, self._key = base, key
        self._read: dict[tuple[str, tuple[str, ...]], list[Hashes]] = {}

    def is_empty(self, table_key: str) -> bool:
        """Say whether a table has no rows."""
        return self._base.rely_on(table_key).rows == 0

    def columns(self, table_key: str, names: Sequence[str]) -> list[Hashes]:
        """Return the hashes of columns without NULLs, row by row."""
        asked = (table_key, tuple(names))
        if asked not in self._read:
            parts = [
                [hash_values(batch.column(name), self._key) for name in names]
                for batch in self._batches(table_key, names)
            ]
            self._read[asked] = [np.concatenate(column) for column in zip(*parts, strict=True)] or [
                _NONE for _ in names
            ]
        return self._read[asked]

    def ids(self, table_key: str) -> Hashes:
        """Return the hashes of a table's ids."""
        return self.columns(table_key, ("id",))[0]

    def tuples(self, table: TableType, group: Sequence[str]) -> tuple[Hashes, Hashes]:
        """Return the hashes of ids and of unique tuples, for the rows whose tuple has no NULL."""
        ids, tuples = [_NONE], [_NONE]
        for batch in self._batches(table.table_key, ("id", *group)):
            texts = tuple_texts(table, pa.Table.from_batches([batch]), group)
            present = pc.is_valid(texts)
            ids.append(hash_values(batch.column("id").filter(present), self._key))
            tuples.append(hash_values(texts.filter(present), self._key))
        return np.concatenate(ids), np.concatenate(tuples)

    def _batches(self, table_key: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield columns of the stored rows; a whole column of texts may be more than memory holds."""
        if not self.is_empty(table_key):
            yield from Table(open_dataset(self._base.pinned(), table_key), table_key).batches(names)


def _any_is_stored(table: TableType, loaded: LoadedHashes, stored: StoredHashes) -> bool:
    """Say whether an id of the load may be stored already."""
    ids = loaded.column(table.table_key, "id")
    if len(ids) == 0 or stored.is_empty(table.table_key):
        return False
    return bool(_are_in(stored.ids(table.table_key), ids).any())


def _ids_are_new(mode: Mode, table: TableType, loaded: LoadedHashes, stored: StoredHashes) -> bool:
    if _has_repeated(loaded.column(table.table_key, "id")):
        return False
    return mode != "append" or not _any_is_stored(table, loaded, stored)


def _tuples_are_unique(mode: Mode, table: TableType, loaded: LoadedHashes, stored: StoredHashes) -> bool:
    for group in table.uniques:
        tuples = loaded.column(table.table_key, unique_name(group))
        if _has_repeated(tuples):
            return False
        if mode == "overwrite" or len(tuples) == 0:
            continue
        ids, taken = stored.tuples(table, group)
        replaced = _are_in(ids, loaded.column(table.table_key, "id"))
        if _are_in(taken[~replaced], tuples).any():
            return False
    return True


def _ends_exist(
    catalog: Catalog,
    mode: Mode,
    table: TableType,
    tables: Sequence[TableType],
    loaded: LoadedHashes,
    stored: StoredHashes,
) -> bool:
    if isinstance(table, NodeType):
        return True
    for column, name in (("src", table.source), ("dst", table.target)):
        node = catalog.node(name)
        assert node is not None
        ids = loaded.column(node.table_key, "id")
        parts = [ends[~_are_in(ends, ids)] for ends in loaded.parts(table.table_key, column)]
        missing = np.concatenate(parts) if parts else _NONE
        is_replaced = mode == "overwrite" and node in tables
        if len(missing) and (is_replaced or not _are_in(missing, np.sort(stored.ids(node.table_key))).all()):
            return False
    return True


def _edges_keep_ends(
    catalog: Catalog,
    mode: Mode,
    table: TableType,
    tables: Sequence[TableType],
    loaded: LoadedHashes,
    stored: StoredHashes,
) -> bool:
    """Look at stored edges that stay although their nodes are replaced."""
    if mode != "overwrite" or not isinstance(table, NodeType) or stored.is_empty(table.table_key):
        return True
    ids = loaded.column(table.table_key, "id")
    return all(
        bool(_are_in(stored.columns(edge.table_key, (column,))[0], ids).all())
        for edge in catalog.edges_of(table.name)
        if edge not in tables
        for column, node in (("src", edge.source), ("dst", edge.target))
        if node == table.name
    )


def _cardinality_holds(
    mode: Mode,
    table: TableType,
    tables: Sequence[TableType],
    loaded: LoadedHashes,
    stored: StoredHashes,
) -> bool:
    if not isinstance(table, EdgeType) or table.cardinality.is_default:
        return True
    sources = loaded.column(table.table_key, "src")
    ids, before = stored.columns(table.table_key, ("id", "src"))
    replaced = _are_in(ids, loaded.column(table.table_key, "id"))
    if mode == "overwrite":
        touched, counted = np.concatenate([sources, before]), sources
        for node in tables:
            if isinstance(node, NodeType) and node.name == table.source:
                touched = touched[_are_in(touched, loaded.column(node.table_key, "id"))]
    else:
        touched = np.concatenate([sources, before[replaced]])
        counted = np.concatenate([sources, before[~replaced]])
    wanted, found = np.unique(touched), np.sort(counted)
    counts = np.searchsorted(found, wanted, "right") - np.searchsorted(found, wanted, "left")
    low, high = table.cardinality.low, table.cardinality.high
    return bool((counts >= low).all() and (high is None or (counts <= high).all()))


def _has_repeated(ordered: Hashes) -> bool:
    return len(ordered) > 1 and bool((ordered[1:] == ordered[:-1]).any())


def _are_in(values: Hashes, ordered: Hashes) -> npt.NDArray[np.bool_]:
    """Say for each value whether it is among others, which are in order; quickest if the values are too."""
    if len(ordered) == 0:
        return np.zeros(len(values), dtype=bool)
    at = np.searchsorted(ordered, values)
    at[at == len(ordered)] = 0
    found: npt.NDArray[np.bool_] = ordered[at] == values
    return found
