"""Verifying rows: the heads of all branches obey the rules that every write is checked against."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.types import Scalar
from omnigraph.graph.maintenance.verify.repair_report import LEFTOVER, Findings
from omnigraph.graph.maintenance.verify.verify_history import History
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.write.integrity.check import check_rows, check_sets
from omnigraph.graph.write.integrity.delta import TableDelta
from omnigraph.graph.write.integrity.key_rule import find_misnamed
from omnigraph.graph.write.integrity.problems import Problem, Problems, show_value
from omnigraph.graph.write.integrity.stored import NothingStored
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.table import Table

_ADVICE = (
    "every write is checked, so rows were changed from outside, or the schema was: correct them with a write"
)

_MAX_NAMED_NODES = 3


def verify_rows(store: ObjectStore, schemas: Schemas, history: History, findings: Findings) -> None:
    """Read the tables of every branch's newest commit; equal ones are read once."""
    seen: set[tuple[str, ...]] = set()
    for branch, head in sorted(history.heads.items()):
        pins = (head.schema, *sorted(f"{entry.location}/{entry.pin.path}" for entry in head.tables.values()))
        if pins in seen:
            continue
        seen.add(pins)
        try:
            _verify(store, schemas.get(head.schema).catalog, branch, head, findings)
        except OmniError as error:
            findings.add(
                "rows_unreadable",
                f"branch {branch}",
                f"its rows cannot all be read: {error.message}",
                "see to the other findings first; without any, `repair` with scrub finds the damaged file",
            )


def _verify(
    store: ObjectStore, catalog: Catalog, branch: str, head: CommitRecord, findings: Findings
) -> None:
    pinned = {entry.key: entry.pinned for entry in head.tables.values()}
    namespace = SnapshotNamespace(store.root_uri, store.lance_options(), pinned)
    deltas: dict[str, TableDelta] = {}
    problems = Problems()
    for table in catalog.tables:
        if table.table_key not in pinned:
            findings.add(
                "table_absent",
                f"branch {branch}, {table.table_key}",
                "the schema has this type, the commit has no table for it",
                "restore the commit record or the schema from a backup",
            )
            return
        rows = Table(namespace, table.table_key).scan(_columns(table))
        findings.rows += rows.num_rows
        problems.add(_find_repeated(table, rows))
        problems.add(find_misnamed(table, rows))
        deltas[table.table_key] = TableDelta(table, rows, replaces=True)
    check_rows(deltas, problems)
    check_sets(catalog, deltas, NothingStored(deltas), problems)
    for problem in problems.found:
        findings.add("rule_broken", f"branch {branch}, {problem.type_name}", str(problem), _ADVICE)
    if problems.total > len(problems.found):
        more = f"{problems.total - len(problems.found)} more rows break rules"
        findings.add("rule_broken", f"branch {branch}", more, _ADVICE)
    _note_without_edges(catalog, branch, deltas, findings)


def _note_without_edges(
    catalog: Catalog, branch: str, deltas: dict[str, TableDelta], findings: Findings
) -> None:
    """Report nodes that have no edge of a type whose `@card` asks for some: writes let them be."""
    for edge in catalog.edges:
        nodes = deltas.get(f"node:{edge.source}")
        if edge.cardinality.low == 0 or nodes is None:
            continue
        sources = deltas[edge.table_key].rows["src"].combine_chunks()
        alone = nodes.ids.filter(pc.invert(pc.is_in(nodes.ids, sources)))
        if len(alone):
            named = ", ".join(repr(show_value(name)) for name in sorted(alone[:_MAX_NAMED_NODES].to_pylist()))
            findings.add(
                "card_unmet",
                f"branch {branch}, {edge.name}",
                f"@card asks for {edge.cardinality.low} or more edges {edge.name} of each {edge.source}, and "
                f"{len(alone)} have none, such as {named}",
                "add their edges when they are known; a node may be there before its edges",
                LEFTOVER,
            )


def _columns(table: TableType) -> list[str]:
    fixed = ["id"] if table.kind == "node" else ["id", "src", "dst"]
    return [*fixed, *(item.name for item in table.properties if item.type.scalar is not Scalar.BLOB)]


def _find_repeated(table: TableType, rows: pa.Table) -> list[Problem]:
    ids = rows["id"].combine_chunks()
    if pc.count_distinct(ids).as_py() == len(ids):
        return []
    counts = pc.value_counts(ids).to_pylist()
    return [
        Problem("key", table.name, f"id {item['values']!r} of {table.name} stands {item['counts']} times")
        for item in counts
        if item["counts"] > 1
    ]
