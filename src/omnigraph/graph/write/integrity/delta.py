"""What a write does to one table, as its final image: the input of every set-level rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.compiler.catalog.model import TableType
from omnigraph.graph.write.integrity.places import RecordPlace

Place = Callable[[int], RecordPlace | str | None]


def nowhere(_: int) -> None:
    """Give no place."""
    return None


@dataclass(frozen=True)
class TableDelta:
    """The rows that a table gets and the stored rows that it loses."""

    table: TableType
    rows: pa.Table
    """New and changed rows, each id once; at least `id`, endpoints and the columns of unique groups."""
    removed: Sequence[str] = ()
    """Ids of stored rows that go away; none of them is in `rows`."""
    replaces: bool = False
    """All stored rows go away; `removed` is then empty."""
    place: Place = field(default=nowhere)
    """Where the row with this number came from."""

    @property
    def ids(self) -> pa.Array:
        """The ids of the new and changed rows."""
        return self.rows["id"].combine_chunks()

    @property
    def touched(self) -> pa.Array:
        """The ids of stored rows that are not what they were: changed or removed."""
        return pa.concat_arrays([self.ids, pa.array(self.removed, pa.string())])


Deltas = Mapping[str, TableDelta]
"""By table key."""
