"""Mutations: statements in order over a pending image, all rules at the end, one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import ResourceLimit
from omnigraph.base.ids import new_ulid
from omnigraph.base.notebook import html_facts
from omnigraph.compiler.catalog.keys import end_types, id_of_end, id_of_key
from omnigraph.compiler.catalog.model import END_COLUMNS, Catalog, TableType
from omnigraph.compiler.ir.conditions import Comparator, Compare
from omnigraph.compiler.ir.queries import (
    Assignment,
    Delete,
    InsertEdge,
    InsertNode,
    MatchedDelete,
    MatchedUpdate,
    ReadQuery,
    Statement,
    Update,
    Upsert,
    WriteQuery,
    target_of,
)
from omnigraph.compiler.ir.values import ROW_VARIABLE, STRING, Constant, EntityId, Value
from omnigraph.compiler.values.accept import Refused
from omnigraph.execution.embed.row_vectors import RowVectors
from omnigraph.execution.write.assigned_values import RowValues, convert_given, plain, split_assigned
from omnigraph.execution.write.matched_rows import MatchedRows, MatchedValues
from omnigraph.execution.write.matched_statements import MatchedStatements
from omnigraph.execution.write.required import require_all, require_key
from omnigraph.execution.write.selected_rows import MATCH, SelectedRows, Selection
from omnigraph.execution.write.write_overlay import PendingTable
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.model.arrow_values import rows_to_arrow
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.snapshot import Snapshot
from omnigraph.graph.write.integrity.check import check_rows, check_sets
from omnigraph.graph.write.integrity.problems import Problem, Problems, as_error, show_value
from omnigraph.graph.write.integrity.stored import BranchRows
from omnigraph.graph.write.stage_deltas import StagedRows, stage_deltas
from omnigraph.graph.write.write_state import WriteBase


@dataclass(frozen=True, slots=True)
class Mutation:
    """What a mutation did; `commit_id` is None when no row was inserted, matched or deleted.

    An update counts the rows that it matched and commits, whatever values they had before.
    """

    commit_id: str | None
    affected_nodes: int
    affected_edges: int
    warnings: tuple[str, ...] = ()
    """What the caller may not expect: vectors that are gone with the text that they stood for."""

    def _repr_html_(self) -> str:
        """Return the counts as a table, for notebooks."""
        facts = [("commit", self.commit_id), ("nodes", self.affected_nodes), ("edges", self.affected_edges)]
        return html_facts("mutation" if self.commit_id else "mutation that changed nothing", facts)


class MutationWork:
    """Work for `commit`: a bound mutation query. Each attempt runs it again on its own state."""

    operation = "mutation"
    commit_class = CommitClass.LOGICAL
    repeatable = True
    """An update or delete compares the rows that it selects on a newer state with those of before."""

    def __init__(
        self,
        catalog_at: Callable[[str], Catalog],
        bind: Callable[[Catalog], WriteQuery],
        row_limit: int,
        vectors: RowVectors,
        solve: Callable[[BranchState, ReadQuery], Sequence[pa.Array]],
        retries: int = 0,
        snapshot_of: Callable[[BranchState], Snapshot] | None = None,
    ) -> None:
        """Take how to find a schema by address, how to compile and bind the query for it, and how to read.

        `snapshot_of` says what the actor sees of a state: statements select no other rows.

        `retries` says how often statements may be evaluated anew when another writer has changed their rows.
        """
        self._catalog_at = catalog_at
        self._bind = bind
        self._row_limit = row_limit
        self._vectors = vectors
        self._solve = solve
        self._snapshot_of = snapshot_of
        self._minted: dict[tuple[int, int], str] = {}
        self._staged = StagedRows()
        self._selected = SelectedRows(retries)
        self.affected_nodes = 0
        self.affected_edges = 0

    def answer(self) -> Mapping[str, Any]:
        """Return how many nodes and edges were affected, and the warnings if there are any."""
        counts = {"affected_nodes": self.affected_nodes, "affected_edges": self.affected_edges}
        return counts | ({"warnings": list(self._vectors.warnings)} if self._vectors.warnings else {})

    def stage(self, base: WriteBase) -> None:
        """Compile the query for the current schema; which rows to write depends on the state."""
        self._catalog = self._catalog_at(base.state.head.schema)
        self._query = self._bind(self._catalog)

    def apply(self, base: WriteBase) -> None:
        """Run the statements, check the result, stage it."""
        self.affected_nodes = self.affected_edges = 0
        seen = None if self._snapshot_of is None else self._snapshot_of(base.state)
        matches = self._find_matches(base)
        run = _MutationRun(self._catalog, base, self._minted, self._vectors, matches, seen)
        for place, statement in enumerate(self._query.statements):
            count, cascaded = run.run_statement(place, statement)
            if _is_node(statement):
                self.affected_nodes += count
                self.affected_edges += cascaded
            else:
                self.affected_edges += count
        self._selected.check(self._match_selection | run.selections)
        self._check_row_limit(run)
        deltas = {key: pending.delta() for key, pending in run.pending.items() if not pending.is_empty}
        problems = Problems()
        check_rows(deltas, problems)
        problems.raise_if_any()
        check_sets(self._catalog, deltas, BranchRows(base), problems)
        problems.raise_if_any()
        fresh = {key for key, pending in run.pending.items() if pending.fresh}
        known = {key for key, pending in run.pending.items() if pending.known}
        stage_deltas(base, deltas, fresh, self._staged, known)

    def _find_matches(self, base: WriteBase) -> MatchedRows | None:
        """Evaluate the match on the state at hand; what it returns counts as read, like selected rows."""
        self._match_selection: dict[int, list[Selection]] = {}
        match = self._query.match
        if match is None:
            return None
        keys = [f"{item.kind}:{item.type_name}" for item in match.reads]
        versions = [base.rely_on(key).pin.version for key in keys]
        rows = MatchedRows(match, self._solve(base.state, match))
        if rows.num_rows > self._row_limit:
            raise _limit_error(rows.num_rows, self._row_limit, "matches")
        self._match_selection = {MATCH: [Selection(keys[0], versions[0], rows.digests())]}
        return rows

    def _check_row_limit(self, run: _MutationRun) -> None:
        rows = sum(pending.rows().num_rows + len(pending.removed) for pending in run.pending.values())
        if rows > self._row_limit:
            raise _limit_error(rows, self._row_limit, "touches")


def _limit_error(rows: int, limit: int, does: str) -> ResourceLimit:
    return ResourceLimit(
        f"this mutation {does} {rows} rows, the limit is {limit}: use a load, or raise "
        "OMNIGRAPH_MUTATION_ROWS",
        resource="mutation_rows",
        limit=limit,
        actual=rows,
    )


class _MutationRun:
    """One attempt: the pending tables of one state."""

    def __init__(
        self,
        catalog: Catalog,
        base: WriteBase,
        minted: dict[tuple[int, int], str],
        vectors: RowVectors,
        matched: MatchedRows | None,
        seen: Snapshot | None,
    ) -> None:
        self._seen = None if seen is None or seen.sees_all else seen
        self._catalog, self._base, self._minted, self._vectors = catalog, base, minted, vectors
        self._matched = matched
        self.pending: dict[str, PendingTable] = {}
        self.selections: dict[int, list[Selection]] = {}
        """By statement."""

    def run_statement(self, place: int, statement: Statement) -> tuple[int, int]:
        """Run one statement; return the number of rows, and of edges deleted with their nodes."""
        label = f"statement {place + 1}"
        if self._matched is not None:
            return self._run_matched(place, statement, MatchedValues(self._matched, self._vectors, label))
        match statement:
            case InsertNode(type_name, given):
                self._insert(place, self._node(type_name), given, {}, label)
                return 1, 0
            case InsertEdge(type_name, source, target, given):
                edge = self._edge(type_name)
                self._insert(place, edge, given, self._ends(edge, source, target, label), label)
                return 1, 0
            case Upsert():
                self._upsert(place, statement, label)
                return 1, 0
            case Update(table, assignments, where):
                pending = self._pending_table(table.kind, table.type_name)
                values = split_assigned(pending.table, assignments, label, self._vectors)
                count = pending.update(where, values, label)
                self._take_selections(place, pending)
                return count, 0
            case Delete(table, where):
                pending = self._pending_table(table.kind, table.type_name)
                ids = pending.matching_ids(where)
                return self._remove(place, pending, ids)
        raise AssertionError(f"{type(statement).__name__} needs a match")

    def _run_matched(self, place: int, statement: Statement, matching: MatchedValues) -> tuple[int, int]:
        """Run one statement for all rows of the match."""
        run, table = MatchedStatements(matching, self._minted), target_of(statement)
        pending = self._pending_table(table.kind, table.type_name)
        match statement:
            case InsertNode() | InsertEdge():
                return run.insert(place, pending, statement), 0
            case MatchedDelete():
                return self._remove(place, pending, run.delete(pending, statement))
            case Upsert():
                count = run.upsert(pending, statement)
            case MatchedUpdate():
                count = run.update(pending, statement)
            case _:
                raise AssertionError(f"{type(statement).__name__} after a match")
        self._take_selections(place, pending)
        return count, 0

    def _remove(self, place: int, pending: PendingTable, ids: list[str]) -> tuple[int, int]:
        count = pending.remove(ids)
        cascaded = self._cascade(pending.table, ids) if pending.table.kind == "node" else 0
        self._take_selections(place, pending)
        return count, cascaded

    def _take_selections(self, place: int, own: PendingTable) -> None:
        """Take what a statement selected: of the table that it names first, then of its edges."""
        found = self.selections.setdefault(place, [])
        for pending in (own, *self.pending.values()):
            found += pending.selections
            pending.selections.clear()

    def _insert(
        self, place: int, table: TableType, values: Sequence[Assignment], ends: dict[str, Any], label: str
    ) -> None:
        row = {item.property.name: convert_given(table.name, item, label) for item in values}
        require_all(table, row, "it needs a value", label)
        row |= ends
        row["id"] = id_of_key(table, row) if table.key else self._minted.setdefault((place, 0), new_ulid())
        self._pending_table(table.kind, table.name).put(row, label, minted=not table.key)

    def _ends(self, edge: TableType, source: Value, target: Value, label: str) -> dict[str, str]:
        """Return the ids of the nodes that an edge connects, which are given by their ids or their keys."""
        types, ids = end_types(self._catalog, edge), dict[str, str]()
        for (name, column), given in zip(END_COLUMNS.items(), (source, target), strict=True):
            try:
                ids[column] = id_of_end(plain(given), types[name])
            except Refused:
                shown = show_value(plain(given))
                message = f"{edge.name}.{name} is {shown}, which is neither an id nor a key of a node"
                raise as_error([Problem("type", edge.name, message, name, shown, label)], 1) from None
        return ids

    def _upsert(self, place: int, statement: Upsert, label: str) -> None:
        """Set what is given in the row that the statement names, or add the row."""
        pending = self._pending_table(statement.table.kind, statement.table.type_name)
        table = pending.table
        values = split_assigned(table, statement.given, label, self._vectors)
        named = dict(values.fixed)
        if statement.ends is not None:
            named |= self._ends(table, *statement.ends, label)
        if table.key:
            require_key(table, named, label)
            id_ = id_of_key(table, named)
        else:
            assert statement.id is not None
            id_ = plain(statement.id)
        where = Compare(Comparator.EQ, EntityId(ROW_VARIABLE), Constant(id_, STRING))
        changed = {name: value for name, value in named.items() if name not in (table.key or ())}
        if not pending.update(where, replace(values, fixed=changed), label):
            row = {item.property.name: plain(item.value) for item in statement.others}
            row |= {name: value for name, value in named.items() if name not in changed} | {"id": id_}
            row |= changed | self._compute_new(values, row, label)
            why = f"no {table.name} has the id '{show_value(id_)}', and a new one needs a value"
            require_all(table, row, why, label)
            pending.put(row, label, minted=False)
        self._take_selections(place, pending)

    def _compute_new(self, values: RowValues, row: Mapping[str, Any], label: str) -> dict[str, Any]:
        """Return what a new row computes from its key and from what it begins with: defaults, else NULL."""
        if not values.computed:
            return {}
        begins = {**dict.fromkeys(table_schema(values.table).names), **row}
        rows = rows_to_arrow(values.table, [begins])
        computed = replace(values, fixed={}).of_rows(rows, label)
        return {name: column[0] for name, column in computed.items()}

    def _cascade(self, node: TableType, ids: list[str]) -> int:
        """Remove the edges of deleted nodes; the commit depends on every table that could have one."""
        count, gone = 0, pa.array(ids, pa.string())
        for edge in self._catalog.edges_of(node.name):
            pending = self._pending_table("edge", edge.name)
            self._base.rely_on(edge.table_key)
            for column, end in (("src", edge.source), ("dst", edge.target)):
                if end == node.name and ids:
                    rows = BranchRows(self._base).rows_where(edge.table_key, column, gone, ("id",))
                    pending.note_edges(rows, column)
                    count += pending.remove(rows["id"].to_pylist())
        return count

    def _pending_table(self, kind: str, name: str) -> PendingTable:
        table = self._node(name) if kind == "node" else self._edge(name)
        return self.pending.setdefault(table.table_key, PendingTable(table, self._base, self._seen))

    def _node(self, name: str) -> TableType:
        found = self._catalog.node(name)
        assert found is not None
        return found

    def _edge(self, name: str) -> TableType:
        found = self._catalog.edge(name)
        assert found is not None
        return found


def _is_node(statement: Statement) -> bool:
    return target_of(statement).kind == "node"
