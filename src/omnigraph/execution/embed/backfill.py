"""`run_embed`: computes the missing vectors of a branch from its texts, as one commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base import clock
from omnigraph.base.errors import BadInput
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.compiler.catalog.model import Catalog, NodeType, Property
from omnigraph.compiler.types import Scalar
from omnigraph.embedding.embedder import Embedder
from omnigraph.execution.load.stage.sinks import SpoolSink
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.model.arrow_values import rows_to_arrow, rows_to_plain
from omnigraph.graph.model.columns import table_schema
from omnigraph.graph.write.write_state import WriteBase
from omnigraph.storage.filters import OneOf
from omnigraph.storage.tables.staging import StagedTable

_ROWS_PER_PART = 1024


@dataclass(frozen=True, slots=True)
class Backfill:
    """The result of an embedding run: vectors by property (`Doc.vec`); no commit if none was missing."""

    commit_id: str | None
    embedded: dict[str, int] = field(default_factory=dict)
    model: str = ""
    seconds: float = 0.0


def run_embed(
    graph: Graph,
    *,
    branch: str | None = None,
    types: Collection[str] | None = None,
    reembed: bool = False,
    cache: str | os.PathLike[str] | None = None,
    message: str | None = None,
) -> Backfill:
    """Compute the missing vectors of a branch, or all of them, and commit them."""
    graph.internals.check_allowed("change", graph.internals.resolve_branch(branch))
    graph.internals.check_writable()
    graph.internals.check_sees_all("the embedding of all texts", branch)
    started = clock.current().monotonic()
    with graph.embedder.cache_on_disk(cache) as embedder:
        work = EmbedWork(graph.catalog_at, embedder, types, reembed)
        published = graph.commit_work(work, branch=branch, message=message, durable=True)
        return Backfill(
            published.commit if published else None,
            work.embedded if published else {},
            embedder.model,
            clock.current().monotonic() - started,
        )


class EmbedWork:
    """Work for `commit`: vectors for texts.

    Staging requests the vectors of all texts and caches them in the embedder's folder. Applying reads the
    rows of the current state, so that after a lost race only new texts are embedded.
    """

    operation = "embed"
    commit_class = CommitClass.LOGICAL
    repeatable = True

    def __init__(
        self,
        catalog_at: Callable[[str], Catalog],
        embedder: Embedder,
        types: Collection[str] | None,
        reembed: bool,
    ) -> None:
        """Take the embedder, the types or `Type.property` names to embed, and whether to embed all again."""
        self._catalog_at = catalog_at
        self._vectors = MissingVectors(embedder, again=reembed)
        self._types = types
        self.embedded: dict[str, int] = {}

    def stage(self, base: WriteBase) -> None:
        """Request the vectors of all texts without one."""
        self._tables = list(_choose_types(self._catalog_at(base.state.head.schema), self._types))
        for table, narrowed in self._tables:
            for rows in self._find_lacking(base.table(table.table_key), narrowed, _columns(narrowed)):
                for _ in self._vectors.fill(narrowed, rows):
                    pass  # they are cached now

    def apply(self, base: WriteBase) -> None:
        """Stage the rows with their vectors."""
        self.embedded = {}
        for table, narrowed in self._tables:
            self._apply_table(base.table(table.table_key), table, narrowed)
            hit(Failpoint.WRITE_AFTER_TABLE_COMMIT)

    def _apply_table(self, stored: StagedTable, table: NodeType, narrowed: NodeType) -> None:
        schema, found = table_schema(table), False
        sink = SpoolSink(schema)
        has_blobs = any(item.type.scalar is Scalar.BLOB for item in table.properties)
        columns = _columns(narrowed) if has_blobs else schema.names
        for lacking in self._find_lacking(stored, narrowed, columns):
            found = True
            for name, wanted in self._vectors.find_pending(narrowed, lacking).items():
                full_name = f"{table.name}.{name}"
                self.embedded[full_name] = self.embedded.get(full_name, 0) + pc.sum(wanted).as_py()
            whole = _read_whole_rows(stored, table, lacking["id"]) if has_blobs else lacking.cast(schema)
            for rows in self._vectors.fill(narrowed, whole):
                sink(rows)
        if found:
            stored.merge(sink.reader())

    def _find_lacking(
        self, stored: StagedTable, narrowed: NodeType, columns: Sequence[str]
    ) -> Iterator[pa.Table]:
        """Yield columns of the rows with a vector to compute."""
        for batch in stored.batches(columns):
            for start in range(0, batch.num_rows, _ROWS_PER_PART):
                rows = pa.Table.from_batches([batch.slice(start, _ROWS_PER_PART)])
                pending = list(self._vectors.find_pending(narrowed, rows).values())
                if pending:
                    yield rows.filter(reduce(pc.or_, pending))


def _choose_types(catalog: Catalog, names: Collection[str] | None) -> Iterator[tuple[NodeType, NodeType]]:
    """Yield every type with @embed, and the same type with only the wanted vector properties."""
    known = {table: [item for item in table.properties if item.embed is not None] for table in catalog.nodes}
    spelled = {name for table, items in known.items() if items for name in _names(table, items)}
    for name in names or ():
        if name not in spelled:
            raise BadInput(f"{name!r} is neither a type nor a property with @embed: {_offer(spelled)}")
    for table, items in known.items():
        wanted = tuple(item for item in items if not names or {table.name, _name(table, item)} & {*names})
        if wanted:
            yield table, replace(table, properties=wanted)


def _names(table: NodeType, items: list[Property]) -> list[str]:
    return [table.name, *(_name(table, item) for item in items)]


def _name(table: NodeType, item: Property) -> str:
    return f"{table.name}.{item.name}"


def _offer(spelled: set[str]) -> str:
    return f"use {', '.join(sorted(spelled))}" if spelled else "this schema has none"


def _columns(narrowed: NodeType) -> list[str]:
    """Return the columns that decide whether a vector is missing: id, texts and vectors."""
    sources = [item.embed.source for item in narrowed.properties if item.embed is not None]
    return list(dict.fromkeys(["id", *sources, *narrowed.by_name]))


def _read_whole_rows(stored: StagedTable, table: NodeType, ids: pa.ChunkedArray) -> pa.Table:
    """Return rows in full, with the bytes of their blobs."""
    rows = stored.scan(table_schema(table).names, OneOf("id", ids))
    return rows_to_arrow(table, rows_to_plain(table, rows))
