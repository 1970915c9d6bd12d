"""DELETE, UPDATE and MERGE INTO as work for `commit`: the changes of one type, in one commit.

Spark has read the rows at one commit and writes at the head of the branch. Rows that somebody else has
changed in between are a conflict, so no update is lost; rows that were only read do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput, ExpectedVersionMismatch
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.compiler.catalog.model import Catalog, NodeType, TableType
from omnigraph.execution.load.executor import Executor, ReadOrder, ReadSource, ReadTable
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.execution.load.keys.row_digest import NO_ROWS
from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.snapshot import Snapshot
from omnigraph.graph.write.integrity.check import check_sets
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.integrity.problems import Problems
from omnigraph.graph.write.integrity.stored import BranchRows
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.filters import AllOf, Filter

ChangedIds = Callable[[CommitRecord], Iterable[str]]
"""Returns the ids of a type's rows that differ between the commit that was read and another."""


@dataclass
class DeletedWhere:
    """Work for `commit`: rows of a type that pass some filters go, and the edges of nodes with them.

    Only rows that the actor sees are found: a refusal for others would tell what is in them.
    """

    table_key: str
    filters: tuple[Filter, ...]
    catalog_at: Callable[[str], Catalog]
    snapshot_of: Callable[[BranchState], Snapshot]
    rows: int = 0
    operation: str = "delete"
    commit_class: CommitClass = CommitClass.LOGICAL
    repeatable: bool = True

    def metadata(self) -> Mapping[str, str]:
        """Return how many rows went."""
        return _counts(0, 0, self.rows)

    def answer(self) -> Mapping[str, Mapping[str, int]]:
        """Return how many rows of the type were written, as a load does."""
        return _rows_written(self.table_key, 0)

    def stage(self, base: WriteBase) -> None:
        """Write nothing ahead."""

    def apply(self, base: WriteBase) -> None:
        """Find the rows in the state at hand."""
        catalog = self.catalog_at(base.state.head.schema)
        table = _type(catalog, self.table_key)
        seen, stored = self.snapshot_of(base.state), base.table(self.table_key)
        found = (stored if seen.sees_all else seen.table(self.table_key)).scan(["id"], AllOf(self.filters))
        removed = found["id"].to_pylist()
        self.rows = len(removed)
        if removed:
            deltas = {self.table_key: TableDelta(table, _no_rows(table), removed=removed)}
            deltas |= _cascade(catalog, base, table, removed)
            _check(catalog, base, deltas)
            _delete(base, deltas)


@dataclass
class ChangedRowsWork:
    """Work for `commit`: rows that tasks have checked and staged, and the ids of rows that go."""

    executor: Executor
    source: LoadSource
    table_key: str
    updated: frozenset[str]
    removed: frozenset[str]
    changed_since: ChangedIds
    catalog_at: Callable[[str], Catalog]
    operation: str
    commit_class: CommitClass = CommitClass.LOGICAL
    repeatable: bool = True
    _read: ReadSource | None = field(default=None, init=False)
    _deleted: int = field(default=0, init=False)

    def metadata(self) -> Mapping[str, str]:
        """Return how many rows came, were changed and went; edges that went with nodes are not counted."""
        return _counts(self._rows() - len(self.updated), len(self.updated), self._deleted)

    def answer(self) -> Mapping[str, Mapping[str, int]]:
        """Return how many rows of the type were written, as a load does."""
        return _rows_written(self.table_key, self._rows())

    def _rows(self) -> int:
        part = None if self._read is None else self._read.tables.get(self.table_key)
        return 0 if part is None else part.rows

    def stage(self, base: WriteBase) -> None:
        """Take what the tasks have made; the rules of single rows hold from here on."""
        order = ReadOrder(self.source, self.catalog_at(base.state.head.schema), "merge")
        self._read = self.executor.read(order, base)
        self._read.problems.raise_if_any()

    def apply(self, base: WriteBase) -> None:
        """Check the changes together with what is stored now, and stage them."""
        assert self._read is not None
        self._refuse_lost_updates(base)
        catalog = self.catalog_at(base.state.head.schema)
        table = _type(catalog, self.table_key)
        part = self._read.tables.get(self.table_key)
        rows = self._check_keys(base, table, part) if part is not None and part.rows else _no_rows(table)
        removed = sorted(self.removed - set(rows["id"].to_pylist()))
        self._deleted = len(removed)
        deltas = {self.table_key: TableDelta(table, rows, removed=removed)}
        deltas |= _cascade(catalog, base, table, removed)
        _check(catalog, base, deltas)
        if part is not None and part.rows:
            if self.updated or self.removed:
                part.merge(base, NO_ROWS)
            else:
                staged = part.collect_fragments(base)
                assert staged is not None
                base.table(self.table_key).append(staged)
            hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)
        _delete(base, deltas)

    def _refuse_lost_updates(self, base: WriteBase) -> None:
        touched = self.updated | self.removed
        lost = next((id_ for id_ in self.changed_since(base.state.head) if id_ in touched), None)
        if lost is not None:
            raise ExpectedVersionMismatch(
                f"the row {lost!r} of {self.table_key} was changed by another writer after this "
                "statement read it: run the statement again",
                table_key=self.table_key,
                id=lost,
            )

    def _check_keys(self, base: WriteBase, table: TableType, part: ReadTable) -> pa.Table:
        """Return the key columns of the new rows, whose ids are updated ones, or free."""
        keys = part.keys(base)
        ids = keys["id"]
        moved = self.updated - set(ids.to_pylist())
        if moved:
            raise BadInput(
                f"the key of {table.name} {min(moved)!r} cannot be changed: "
                "delete the row and insert another",
                table_key=table.table_key,
                id=min(moved),
            )
        stays = pc.invert(pc.is_in(ids, pa.array(sorted(self.updated | self.removed), pa.string())))
        locate, problems = self.source.locate, Problems()
        image = TableImage(table, keys, "merge", locate)
        problems.add(image.find_clashes(BranchRows(base)))
        problems.add(TableImage(table, keys.filter(stays), "append", locate).find_clashes(BranchRows(base)))
        problems.raise_if_any()
        return image.delta.rows


def _counts(inserted: int, updated: int, deleted: int) -> dict[str, str]:
    return {"sql.inserted": str(inserted), "sql.updated": str(updated), "sql.deleted": str(deleted)}


def _rows_written(table_key: str, rows: int) -> dict[str, dict[str, int]]:
    kind, _, name = table_key.partition(":")
    return {"nodes": {}, "edges": {}, f"{kind}s": {name: rows}}


def _check(catalog: Catalog, base: WriteBase, deltas: dict[str, TableDelta]) -> None:
    problems = Problems()
    check_sets(catalog, deltas, BranchRows(base), problems)
    problems.raise_if_any()


def _delete(base: WriteBase, deltas: dict[str, TableDelta]) -> None:
    for key, delta in sorted(deltas.items()):
        if delta.removed:
            base.table(key).delete(delta.removed)
            hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)


def _cascade(catalog: Catalog, base: WriteBase, node: TableType, ids: list[str]) -> dict[str, TableDelta]:
    """Return the edges that go with deleted nodes; the commit relies on every table that could have one."""
    deltas: dict[str, TableDelta] = {}
    gone = pa.array(ids, pa.string())
    for edge in catalog.edges_of(node.name) if isinstance(node, NodeType) and ids else ():
        base.rely_on(edge.table_key)
        found: dict[str, None] = {}
        for column, end in (("src", edge.source), ("dst", edge.target)):
            if end == node.name:
                rows = BranchRows(base).rows_where(edge.table_key, column, gone, ("id",))
                found |= dict.fromkeys(rows["id"].to_pylist())
        if found:
            deltas[edge.table_key] = TableDelta(edge, _no_rows(edge), removed=list(found))
    return deltas


def _type(catalog: Catalog, table_key: str) -> TableType:
    table = catalog.table(table_key)
    if table is None:
        raise BadInput(f"the type {table_key} was dropped meanwhile", table_key=table_key)
    return table


def _no_rows(table: TableType) -> pa.Table:
    return table_schema(table).empty_table()
