"""`LoadSource`: what a load asks of wherever its records come from; nothing else asks what kind it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.parse.fast_json import QuickRows
from omnigraph.execution.load.parse.strict_json import BadRecord
from omnigraph.graph.write.integrity.places import RecordPlace

LocatedRows = tuple[QuickRows, pa.Array]
"""Rows of one table, and the place of each."""


GivenRecord = tuple[int, bytes | Mapping[str, Any], Collection[str], BadRecord | None]
"""A place, the record as it was given, the keys of the types that it counts for where the source names types,
and what is wrong with it where that is known without the schema."""


class SourceBlock(Protocol):
    """Successive records of a source."""

    @property
    def first(self) -> int:
        """The place of the first record."""

    @property
    def last(self) -> int:
        """The place of the last record, or a later one that no other block has."""

    @property
    def count(self) -> int:
        """How many lines or rows it takes, blank and wrong ones included."""

    @property
    def may_be_read_ahead(self) -> bool:
        """Whether another thread may read the rows while those of earlier blocks are taken."""

    def rows(self) -> list[LocatedRows]:
        """Return all rows, or raise Doubt when the strict reader must look at each record."""

    def records(self) -> Iterator[GivenRecord]:
        """Yield the records one by one."""


class LoadSource(Protocol):
    """Records of a load. They can be read more than once, and in parts.

    What is not said otherwise: they are in no file and no data frame, and each says its own type.
    """

    frame: SparkFrame | None = None
    """Spark's data frame that the records are in."""

    def blocks(self, catalog: Catalog) -> Iterator[SourceBlock]:
        """Yield all records, in order."""

    def type_names(self) -> Sequence[str]:
        """Return the types that the source names; none where each record says its own."""
        return ()

    def is_distinct(self, type_name: str) -> bool:
        """Say whether a record of this type may be given more than once, and is then one."""
        return False

    def locate(self, at: int) -> RecordPlace:
        """Return where people find the record with this place."""
        return RecordPlace(at, at)

    def paths(self) -> Sequence[str]:
        """Return the files that the records come from."""
        return ()

    def size_bytes(self) -> int | None:
        """Return how many bytes the files take; None when that is not known without reading."""
        return None

    def splits(self, size: int) -> Iterator[Split]:
        """Yield the source in parts of about so many bytes where it can be cut; none for a data frame."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source that can be sent elsewhere; its places count from its own first record."""

    source: LoadSource
    file: int = 0
    """The number of its file in the whole source."""


@dataclass(frozen=True, slots=True)
class SparkFrame:
    """A data frame of Spark as a source."""

    rows: Any
    of_partition: Callable[[Iterable[pa.RecordBatch]], LoadSource]
    """Makes a source of the rows of one partition; it can be sent elsewhere."""
