"""A Spark data frame with one column of graph records, each a JSON string."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.sources.line_files import LineBlock, WholeLines, as_graph_records
from omnigraph.execution.load.sources.source import LoadSource, SparkFrame


class RecordFrame(LoadSource):
    """Graph records of any type, in a data frame or in one of its partitions."""

    def __init__(self, frame: Any, batches: Iterable[pa.RecordBatch] = ()) -> None:
        """Use a frame, or the rows of a partition."""
        self.frame = SparkFrame(frame, partial(RecordFrame, None))
        self._batches = batches

    def blocks(self, catalog: Catalog) -> Iterator[LineBlock]:
        """Yield the records batch by batch; a missing string is an invalid record."""
        first = 1
        for batch in self._batches:
            texts = pc.fill_null(pc.utf8_trim_whitespace(batch.column(0).cast(pa.string())), "null")
            data = "".join(f"{_as_line(text)}\n" for text in texts.to_pylist()).encode()
            yield as_graph_records(catalog, WholeLines(first, data), 0)
            first += len(texts)


def _as_line(text: str) -> str:
    """Return a record as one line: breaks between its parts are spaces, others make it a wrong record."""
    if "\n" not in text:
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps(text)
    return text.replace("\n", " ")
