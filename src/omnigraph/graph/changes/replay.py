"""Applying a block of a change feed to another graph, so that it says the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.stored.queries import QuerySet, StoredQuery
from omnigraph.compiler.stored.read import read_queries
from omnigraph.graph.changes.blocks import Json, row_of
from omnigraph.graph.committer import Committer
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.manifest.schemas import Schemas, StoredSchema
from omnigraph.graph.model.arrow_values import rows_to_arrow
from omnigraph.graph.publish.conflict import batch_landed_error
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.schema_apply.tables import change_table, change_tables
from omnigraph.graph.stored_queries.application import QueriesApplication
from omnigraph.graph.write.integrity.check import check_rows, check_sets
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.integrity.problems import Problems
from omnigraph.graph.write.integrity.stored import BranchRows
from omnigraph.graph.write.stage_deltas import StagedRows, stage_deltas
from omnigraph.graph.write.write_state import WriteBase


def replay(
    graph: Committer,
    block: Json,
    branch: str | None = None,
    message: str | None = None,
    streams: Mapping[str, int] | None = None,
) -> Published | None:
    """Carry out a whole block, the schema first; return its last commit, None when nothing changed.

    `streams` says which block of which feed this is; one that has landed is `BatchLanded`.
    """
    said = message if message is not None else f"replay of {block['cause']['graph_commit_id']}"
    before = graph.snapshot(branch)
    if (repeated := batch_landed_error(streams or {}, before.record, before.branch)) is not None:
        raise repeated
    published = None
    has_more = bool(block["changes"]) or block.get("queries") is not None
    if block["schema"] is not None:
        schema = ReplayedSchema(block["schema"], graph.schemas)
        # A block has landed with its rows, if it has any: a schema that is there already is not a change.
        published = graph.commit_work(
            schema, branch, said, durable=True, streams=None if has_more else streams
        )
    if block.get("queries") is not None:
        work = QueriesApplication(partial(_replay_queries, block["queries"]), graph.schemas, checks=False)
        more = None if block["changes"] else streams
        published = graph.commit_work(work, branch, said, streams=more) or published
    if block["changes"]:
        rows = ReplayedRows(block["changes"], graph.schemas)
        published = graph.commit_work(rows, branch, said, streams=streams) or published
    return published


def _replay_queries(change: Json, there: QuerySet) -> QuerySet:
    gone = [name for name in change["before"] if name in there]
    return there.without(gone).extend(
        QuerySet.of(query for text in change["after"].values() for query in _read_query(text))
    )


def _read_query(text: str) -> Iterable[StoredQuery]:
    return read_queries({"": text}, len(text.encode())).values()


@dataclass
class ReplayedSchema:
    """Work for `commit`: take over a schema as a feed gives it, with its identities."""

    change: Json
    schemas: Schemas
    operation: str = "schema_apply"
    commit_class: CommitClass = CommitClass.LOGICAL
    repeatable: bool = False

    def stage(self, base: WriteBase) -> None:
        """Write nothing ahead."""

    def apply(self, base: WriteBase) -> None:
        """Create, change, rename and drop tables; nothing when the schema is the same already."""
        old, new = self.schemas.get(base.state.head.schema).catalog, codec.from_json(self.change["catalog"])
        if old == new:
            return
        change_tables(base, old, new, change_table)
        base.schema = self.schemas.put(StoredSchema(new, self.change["source"]))


@dataclass
class ReplayedRows:
    """Work for `commit`: the changes of a whole block, each by its id, under all rules of the schema.

    A block that is applied twice leaves the graph as it was after the first time.
    """

    changes: Sequence[Json]
    schemas: Schemas
    operation: str = "replay"
    commit_class: CommitClass = CommitClass.LOGICAL
    repeatable: bool = False

    def __post_init__(self) -> None:
        self._staged = StagedRows()

    def stage(self, base: WriteBase) -> None:
        """Write nothing ahead."""

    def apply(self, base: WriteBase) -> None:
        """Check the changes as one final image and stage it."""
        catalog = self.schemas.get(base.state.head.schema).catalog
        deltas = self._deltas(catalog)
        problems = Problems()
        check_rows(deltas, problems)
        problems.raise_if_any()
        check_sets(catalog, deltas, BranchRows(base), problems)
        problems.raise_if_any()
        stage_deltas(base, deltas, frozenset(), self._staged)

    def _deltas(self, catalog: Catalog) -> dict[str, TableDelta]:
        types = {f"{table.id:08x}{table.table_id:08x}": table for table in catalog.tables}
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        removed: dict[str, list[str]] = defaultdict(list)
        for change in self.changes:
            table = types.get(change["type"]["id"])
            if table is None and change["op"] == "delete":
                continue  # the type went with the schema, and its rows with it
            if table is None:
                name = change["type"]["name"]
                raise BadInput(f"the block changes type {name}, which this graph does not have", type=name)
            if change["op"] == "delete":
                removed[table.table_key].append(change["id"])
            else:
                rows[table.table_key].append(row_of(table, change))
        return {
            key: TableDelta(_type(catalog, key), _arrow(catalog, key, rows[key]), removed=removed[key])
            for key in sorted(rows.keys() | removed.keys())
        }


def _type(catalog: Catalog, key: str) -> TableType:
    table = catalog.table(key)
    assert table is not None
    return table


def _arrow(catalog: Catalog, key: str, rows: list[dict[str, Any]]) -> pa.Table:
    return rows_to_arrow(_type(catalog, key), rows)
