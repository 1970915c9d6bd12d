"""Rules between records on hashed keys: they prove that a load is valid, or leave it to the exact rules.

Two equal hashes may come from two different strings, so a suspicion is not an error: the exact rules decide
on the rows themselves. Conversely, a missing end may share its hash with an existing id. An invalid load is
accepted only if that holds for all of its missing ends; hashes have a random 64-bit key for each load, so for
one missing end among N nodes the probability is N / 2^64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, TableType
from omnigraph.execution.load.keys.key_hashes import unique_name
from omnigraph.execution.load.mode import Mode
from omnigraph.graph.write.write_state import WriteBase


class KeySet(Protocol):
    """A multiset of hashes."""

    def is_empty(self) -> bool:
        """Return whether it has no hash."""

    def has_repeats(self) -> bool:
        """Return whether a hash occurs more than once."""

    def occur_between(self, low: int, high: int | None) -> bool:
        """Return whether each hash in it occurs between `low` and `high` times."""

    def plus(self, other: Self) -> Self:
        """Return the sum of both multisets."""

    def outside(self, other: Self) -> Self:
        """Return the hashes that are not in another set."""

    def within(self, other: Self) -> Self:
        """Return the hashes that are in another set."""


K = TypeVar("K", bound=KeySet)


class StoredKeys(Protocol[K]):
    """Stored rows by their ids and by one hash each: of the id, or of a group of columns without NULLs.

    Rows are read when a method is called, and the commit then depends on their table.
    """

    def with_ids(self, ids: K) -> Self:
        """Return the rows with these ids."""

    def without_ids(self, ids: K) -> Self:
        """Return the rows with other ids."""

    def any_within(self, keys: K) -> bool:
        """Return whether the hash of any row is in `keys`."""

    def any_outside(self, keys: K) -> bool:
        """Return whether the hash of any row is not in `keys`."""

    def within(self, keys: K) -> K:
        """Return the hashes of rows that are in `keys`."""

    def outside(self, keys: K) -> K:
        """Return the hashes of rows that are not in `keys`."""

    def missing(self, keys: K) -> K:
        """Return the hashes of `keys` that no row has."""


class Keys(Protocol[K]):
    """The hashed keys of a load and of stored rows, in memory or in Spark."""

    def keys_of_load(self, table: TableType, column: str) -> K:
        """Return the hashes of a column of the load, by the name that `hash_keys` gives it."""

    def keys_in_storage(
        self, base: WriteBase, table: TableType, columns: Sequence[str] = ()
    ) -> StoredKeys[K]:
        """Return the stored rows of a table, each with the hash of these columns, or of its id."""


AnyKeys = Keys[Any]


def any_is_stored(keys: Keys[K], table: TableType, base: WriteBase) -> bool:
    """Return whether an id of the load may be stored already."""
    return keys.keys_in_storage(base, table).any_within(keys.keys_of_load(table, "id"))


class KeyScreen(Generic[K]):
    """Checks the rules for one load against one state."""

    def __init__(
        self, keys: Keys[K], catalog: Catalog, mode: Mode, tables: Sequence[TableType], base: WriteBase
    ) -> None:
        """Take the keys of a load, and the tables of its records."""
        self._keys, self._catalog, self._mode, self._base = keys, catalog, mode, base
        self._tables = tables
        self._replaced = {table.table_key for table in tables} if mode == "overwrite" else set[str]()

    def passes(self) -> bool:
        """Return whether it is certain that no rule between records is broken; False is only a suspicion."""
        return all(self._holds_for(table) for table in self._tables)

    def _holds_for(self, table: TableType) -> bool:
        if not (self._ids_are_new(table) and self._tuples_are_unique(table)):
            return False
        if isinstance(table, NodeType):
            return self._edges_keep_ends(table)
        return self._ends_exist(table) and self._cardinality_holds(table)

    def _ids_are_new(self, table: TableType) -> bool:
        if self._keys.keys_of_load(table, "id").has_repeats():
            return False
        return self._mode != "append" or not any_is_stored(self._keys, table, self._base)

    def _tuples_are_unique(self, table: TableType) -> bool:
        for group in table.uniques:
            tuples = self._keys.keys_of_load(table, unique_name(group))
            if tuples.has_repeats():
                return False
            if self._mode != "overwrite":
                stored = self._keys.keys_in_storage(self._base, table, group)
                if stored.without_ids(self._keys.keys_of_load(table, "id")).any_within(tuples):
                    return False
        return True

    def _ends_exist(self, table: EdgeType) -> bool:
        source, target = self._node(table.source), self._node(table.target)
        froms, tos = self._keys.keys_of_load(table, "src"), self._keys.keys_of_load(table, "dst")
        # A node type is read once, for both ends.
        ends = [(source, froms.plus(tos))] if source == target else [(source, froms), (target, tos)]
        for node, wanted in ends:
            missing = wanted.outside(self._keys.keys_of_load(node, "id"))
            if not self._is_replaced(node):
                missing = self._keys.keys_in_storage(self._base, node).missing(missing)
            if not missing.is_empty():
                return False
        return True

    def _edges_keep_ends(self, table: NodeType) -> bool:
        """Return whether stored edges that stay keep their ends, where their nodes are replaced."""
        if not self._is_replaced(table) or self._has_no_stored(table):
            return True
        ids = self._keys.keys_of_load(table, "id")
        return not any(
            self._keys.keys_in_storage(self._base, edge, (column,)).any_outside(ids)
            for edge in self._catalog.edges_of(table.name)
            if not self._is_replaced(edge)
            for column, node in (("src", edge.source), ("dst", edge.target))
            if node == table.name
        )

    def _cardinality_holds(self, table: EdgeType) -> bool:
        """Return whether sources that gain or lose an edge keep to the cardinality."""
        low, high = table.cardinality.low, table.cardinality.high
        if table.cardinality.is_default:
            return True
        counted = sources = self._keys.keys_of_load(table, "src")
        if self._has_no_stored(table):
            return counted.occur_between(low, high)
        ids, stored = (
            self._keys.keys_of_load(table, "id"),
            self._keys.keys_in_storage(self._base, table, ("src",)),
        )
        is_replaced, source = self._is_replaced(table), self._node(table.source)
        vacated = (stored if is_replaced else stored.with_ids(ids)).outside(sources)
        if self._is_replaced(source):
            vacated = vacated.within(self._keys.keys_of_load(source, "id"))
        if not is_replaced:
            counted = sources.plus(stored.without_ids(ids).within(sources.plus(vacated)))
        if low > 0 and not vacated.outside(counted).is_empty():
            return False
        return counted.occur_between(low, high)

    def _is_replaced(self, table: TableType) -> bool:
        return table.table_key in self._replaced

    def _has_no_stored(self, table: TableType) -> bool:
        return self._base.rely_on(table.table_key).rows == 0

    def _node(self, name: str) -> NodeType:
        node = self._catalog.node(name)
        assert node is not None
        return node
