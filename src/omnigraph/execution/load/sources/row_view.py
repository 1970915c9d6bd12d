"""How the rows of a batch of columns become records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.compiler.catalog.keys import EndTypes
from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.parse.text_cells import read_texts, to_python_values
from omnigraph.execution.load.sources.json_rows import as_record, property_names
from omnigraph.graph.write.integrity.problems import Problem


@dataclass(frozen=True, slots=True)
class RowView:
    """The type of the rows of a batch, property names by column, and which cells are unparsed strings."""

    table: str
    mapping: Mapping[str, str]
    texts: Collection[str]
    """Properties whose cells are strings to be parsed by the type of the property."""
    failed: Mapping[int, Sequence[Problem]] = field(default_factory=dict)
    """Why rows cannot be loaded, whatever their cells are: by their number in the batch."""

    def records(self, table: TableType, batch: pa.RecordBatch, ends: EndTypes) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a batch as graph records."""
        names = property_names(batch.schema.names, self.mapping)
        types = [item.type if (item := table.by_name.get(name)) else ends.get(name) for name in names]
        columns = [
            (read_texts if name in self.texts else to_python_values)(column, type_)
            for name, column, type_ in zip(names, batch.columns, types, strict=True)
        ]
        for number in range(batch.num_rows):
            yield as_record(
                table, {name: values[number] for name, values in zip(names, columns, strict=True)}
            )
