"""Which indexes a schema asks for, and what has to be done to a table to have them: pure decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.plain import json_name, to_full_object
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.storage.indexes.indexes import IndexKind, TableIndex, partitions_for

MIN_INDEXED_VECTORS = 256
"""Fewer are measured one by one faster than an index of them is searched."""
_PARTITION_GROWTH = 2


@dataclass(frozen=True, slots=True)
class WantedIndex:
    """An index that a table should have."""

    column: str = field(metadata=json_name("property"))
    kind: IndexKind

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        return to_full_object(self)


@dataclass(frozen=True, slots=True)
class PendingIndex:
    """A declared index that could not be built yet, and why; searching works without it."""

    type_key: str
    property: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        return to_full_object(self)


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What is to be done to one table."""

    build: tuple[WantedIndex, ...] = ()
    """Missing, or a vector index that its table has outgrown."""
    fold: tuple[TableIndex, ...] = ()
    """There, but without the newest rows."""
    pending: tuple[PendingIndex, ...] = ()


def wanted_indexes(table: TableType) -> tuple[WantedIndex, ...]:
    """Return the indexes of a type's table: those that every table has, and those that its schema declares.

    A declaration counts when it names one property of a node.
    """
    ends = ("id",) if table.kind == "node" else ("id", "src", "dst")
    wanted = [WantedIndex(name, IndexKind.BTREE) for name in ends]
    if table.kind == "node":
        for names in table.indexes:
            if len(names) == 1:
                wanted += [WantedIndex(names[0], kind) for kind in _kinds(table.by_name[names[0]].type)]
    return tuple(dict.fromkeys(wanted))


def plan_indexes(
    table: TableType, present: Sequence[TableIndex], rows: int, count_vectors: Callable[[str], int]
) -> IndexPlan:
    """Compare what a table should have with what it has; `count_vectors` is asked only when it matters."""
    if rows == 0:
        return IndexPlan(pending=tuple(_too_few(table, item, 0) for item in _vectors(table)))
    known = {(item.column, item.kind): item for item in present}
    build: list[WantedIndex] = []
    pending: list[PendingIndex] = []
    for wanted in wanted_indexes(table):
        found = known.get((wanted.column, wanted.kind))
        if wanted.kind is not IndexKind.VECTOR:
            if found is None:
                build.append(wanted)
        elif found is None or _may_have_outgrown(found, rows):
            vectors = count_vectors(wanted.column)
            if found is not None and not _may_have_outgrown(found, vectors):
                continue
            if vectors < MIN_INDEXED_VECTORS:
                pending.append(_too_few(table, wanted, vectors))
            else:
                build.append(wanted)
    anew = {(item.column, item.kind) for item in build}
    fold = [item for item in present if item.rows_uncovered and (item.column, item.kind) not in anew]
    return IndexPlan(tuple(build), tuple(fold), tuple(pending))


def _kinds(type_: PropertyType) -> tuple[IndexKind, ...]:
    if type_.is_vector and not type_.is_list:
        return (IndexKind.VECTOR,)
    if not type_.is_plain:
        return ()
    if type_.scalar is Scalar.STRING and type_.enum is None:
        return (IndexKind.BTREE, IndexKind.TEXT)
    return (IndexKind.BTREE,)


def _vectors(table: TableType) -> list[WantedIndex]:
    return [item for item in wanted_indexes(table) if item.kind is IndexKind.VECTOR]


def _may_have_outgrown(index: TableIndex, vectors: int) -> bool:
    return partitions_for(vectors) >= _PARTITION_GROWTH * (index.partitions or 1)


def _too_few(table: TableType, wanted: WantedIndex, vectors: int) -> PendingIndex:
    return PendingIndex(
        table.table_key,
        wanted.column,
        f"{vectors} vectors are too few to train an index (it needs {MIN_INDEXED_VECTORS}); search is exact",
    )
