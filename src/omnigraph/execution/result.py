"""The result of a read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from omnigraph.compiler.ir.queries import Column
from omnigraph.compiler.values.results import to_json
from omnigraph.graph.plain import to_arrow


@dataclass(frozen=True)
class Result:
    """Rows of a read, of the commit that it saw."""

    schema: tuple[Column, ...]
    values: Sequence[tuple[Any, ...]]
    """Plain values in the order of the columns: dates as epoch numbers, lists as tuples."""
    commit_id: str

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.schema]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries of JSON values."""
        return list(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self.values:
            yield {
                column.name: to_json(value, column.type)
                for column, value in zip(self.schema, row, strict=True)
            }

    def __len__(self) -> int:
        return len(self.values)

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        arrays = [
            to_arrow([row[place] for row in self.values], column.type)
            for place, column in enumerate(self.schema)
        ]
        return pa.table(arrays, names=self.columns)

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame; pandas must be installed."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the rows as a polars data frame; polars must be installed."""
        import polars

        return polars.from_arrow(self.to_arrow())
