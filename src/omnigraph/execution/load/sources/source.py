"""`LoadSource`: what a load needs from a source; nothing else depends on the kind of source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.parse.fast_json import BlockRows
from omnigraph.execution.load.parse.strict_json import BadRecord
from omnigraph.graph.write.integrity.places import RecordPlace

LocatedRows = tuple[BlockRows, pa.Array]
"""Rows of one table, and the place of each."""


GivenRecord = tuple[int, bytes | Mapping[str, Any], Collection[str], BadRecord | None]
"""A place, the record as given, the keys of its types where the source names types, and its error where that
is known without the schema."""


class SourceBlock(Protocol):
    """Successive records of a source."""

    @property
    def first(self) -> int:
        """The place of the first record."""

    @property
    def last(self) -> int:
        """The place of the last record, or a later place that is in no other block."""

    @property
    def count(self) -> int:
        """The number of lines or rows, blank and invalid ones included."""

    @property
    def may_be_read_ahead(self) -> bool:
        """Whether another thread may read the rows while earlier blocks are processed."""

    def rows(self) -> list[LocatedRows]:
        """Return all rows, or raise NeedsStrictReader if the strict reader must read each record."""

    def records(self) -> Iterator[GivenRecord]:
        """Yield the records one by one."""


class LoadSource(Protocol):
    """The records of a load, which can be read more than once, and in parts.

    By default, they are not in files or a data frame, and each record names its own type.
    """

    frame: SparkFrame | None = None
    """The Spark data frame with the records, if they are in one."""

    cut: Collection[str] = ()
    """The properties of which values had digits beyond milliseconds, in what was read."""

    def blocks(self, catalog: Catalog) -> Iterator[SourceBlock]:
        """Yield all records, in order."""

    def type_names(self) -> Sequence[str]:
        """Return the types that the source names; empty if each record names its own."""
        return ()

    def is_distinct(self, type_name: str) -> bool:
        """Return whether repeated records of this type count as one."""
        return False

    def locate(self, at: int) -> RecordPlace:
        """Return the location of a record for people."""
        return RecordPlace(at, at)

    def paths(self) -> Sequence[str]:
        """Return the files that the records come from."""
        return ()

    def size_bytes(self) -> int | None:
        """Return the size of the files in bytes; None if it is not known without reading."""
        return None

    def splits(self, size: int) -> Iterator[Split]:
        """Yield parts of about `size` bytes where the source can be cut; nothing for a data frame."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Split:
    """A picklable part of a source; its places count from its own first record."""

    source: LoadSource
    file: int = 0
    """The number of its file in the whole source."""


@dataclass(frozen=True, slots=True)
class SparkFrame:
    """A Spark data frame as a source."""

    rows: Any
    of_partition: Callable[[Iterable[pa.RecordBatch]], LoadSource]
    """Makes a source from the rows of one partition; it can be pickled."""
