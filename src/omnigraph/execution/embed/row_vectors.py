"""The vectors of texts that a mutation computes from rows: they are known only when the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.embedding.embedder import Embedder
from omnigraph.execution.embed.stale_vectors import has_words, stale_vector_error
from omnigraph.execution.missing_vectors import stale_vector_warning


@dataclass(frozen=True, slots=True)
class RowVectors:
    """Embeds the texts of rows; what was asked for once is kept for later attempts of the mutation."""

    embedder: Embedder
    warnings: dict[str, None] = field(default_factory=dict)
    """What the caller is told, each once."""
    _known: dict[tuple[str, int], tuple[float, ...]] = field(default_factory=dict)

    def of(self, table: TableType, item: Property, texts: Sequence[Any]) -> list[tuple[float, ...] | None]:
        """Return the vector of each text; NULL for a blank text, and without a provider."""
        size = item.type.vector or 0
        missing = [
            text for text in dict.fromkeys(texts) if has_words(text) and (text, size) not in self._known
        ]
        if missing and self.embedder.is_configured:
            assert item.embed is not None
            self.embedder.require_model(item.embed.model, f"{table.name}.{item.name}")
            rows = self.embedder.vectors(missing, size)
            self._known.update(
                {(text, size): tuple(row.tolist()) for text, row in zip(missing, rows, strict=True)}
            )
        elif missing and item.type.nullable:
            self.warnings[stale_vector_warning(table.name, item)] = None
        found = [self._known.get((text, size)) if has_words(text) else None for text in texts]
        if not item.type.nullable and None in found:
            raise stale_vector_error(table.name, item, texts[found.index(None)])
        return found
