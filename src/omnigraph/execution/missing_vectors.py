"""Missing vectors of rows: which can be computed from their texts, and computing them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.embedding.config import PROVIDER_VARIABLE
from omnigraph.embedding.embedder import Embedder
from omnigraph.graph.model.columns import arrow_type

_ROWS_PER_PART = 4096


class MissingVectors:
    """Fills the NULL vectors of `@embed` properties whose texts are not blank.

    Without a provider nothing is filled: a nullable vector stays NULL, a required one breaks its rule.
    Rows are in their table's schema; nothing else about them is changed, and given vectors stay.
    """

    def __init__(self, embedder: Embedder, again: bool = False) -> None:
        """Take what embeds texts; with `again`, vectors that exist are computed again."""
        self._embedder = embedder
        self._again = again

    @property
    def can_fill(self) -> bool:
        """Whether there is a provider."""
        return self._embedder.is_configured

    def find_pending(self, table: TableType, rows: pa.Table) -> Mapping[str, pa.Array]:
        """Return by property which rows have a NULL that can be computed; compute nothing."""
        found: dict[str, pa.Array] = {}
        for item in _vector_properties(table):
            column = rows[item.name]
            if not (self._again or column.null_count) or not self._embedder.is_configured:
                continue
            assert item.embed is not None
            texts = rows[item.embed.source].to_pylist()
            absent = column.is_null().to_pylist()
            wanted = [
                (null or self._again) and text is not None and bool(text.strip())
                for null, text in zip(absent, texts, strict=True)
            ]
            if any(wanted):
                self._embedder.require_model(item.embed.model, f"{table.name}.{item.name}")
                found[item.name] = pa.array(wanted, pa.bool_())
        return found

    def fill(self, table: TableType, rows: pa.Table) -> Iterator[pa.Table]:
        """Yield the rows with their vectors, in parts that fit in memory."""
        if not any(self._again or rows[item.name].null_count for item in _vector_properties(table)):
            yield rows
            return
        for start in range(0, rows.num_rows, _ROWS_PER_PART):
            part = rows.slice(start, _ROWS_PER_PART)
            for name, wanted in self.find_pending(table, part).items():
                part = self._fill_property(table.by_name[name], part, wanted)
            yield part

    def _fill_property(self, item: Property, rows: pa.Table, wanted: pa.Array) -> pa.Table:
        assert item.embed is not None and item.type.vector is not None
        texts = rows[item.embed.source].filter(wanted).to_pylist()
        column = rows[item.name].combine_chunks()
        given = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        computed = np.asarray(wanted.to_numpy(zero_copy_only=False), dtype=bool)
        matrix = np.zeros((len(column), item.type.vector), dtype=np.float32)
        matrix[given] = column.drop_null().flatten().to_numpy().reshape(-1, item.type.vector)
        matrix[computed] = self._embedder.vectors(texts, item.type.vector)
        vectors = pa.FixedSizeListArray.from_arrays(
            pa.array(matrix.ravel()), type=arrow_type(item.type), mask=pa.array(~(given | computed))
        )
        place = rows.schema.get_field_index(item.name)
        return rows.set_column(place, rows.schema.field(place), vectors)


def _vector_properties(table: TableType) -> Iterator[Property]:
    return (item for item in table.properties if item.embed is not None)


def stale_vector_warning(type_name: str, item: Property) -> str:
    """Return what the caller is told of a vector that is taken away, since it stood for another text."""
    assert item.embed is not None
    return (
        f"{type_name}.{item.name} is NULL now where {type_name}.{item.embed.source} was changed, since "
        f"no embedding provider is configured: set {PROVIDER_VARIABLE} and run `omnigraph embed`, or give "
        "the vectors"
    )
