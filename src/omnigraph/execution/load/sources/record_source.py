"""Records from the calling program as a source."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, cast

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.parse.fast_json import NeedsStrictReader
from omnigraph.execution.load.sources.source import GivenRecord, LoadSource, LocatedRows, Split
from omnigraph.graph.write.integrity.json_values import as_json

_BLOCK_RECORDS = 1000
_SPLIT_RECORDS = 20_000


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """`SourceBlock` of records from the program."""

    first: int
    given: Sequence[Mapping[str, Any]]
    may_be_read_ahead = False

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    @property
    def count(self) -> int:
        return len(self.given)

    def rows(self) -> list[LocatedRows]:
        raise NeedsStrictReader

    def records(self) -> Iterator[GivenRecord]:
        return ((place, record, (), None) for place, record in enumerate(self.given, self.first))


class RecordSource(LoadSource):
    """Records from the program. Those of a generator are spooled to a temporary file to be read again."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._records = records
        self._spool: IO[bytes] | None = None
        self._failure: Exception | None = None
        """What a generator has raised: it is over then, and what it would have given is not known."""

    def blocks(self, catalog: Catalog) -> Iterator[RecordBlock]:
        """Yield the records, a few at a time."""
        first = 1
        for some in self.chunks(_BLOCK_RECORDS):
            yield RecordBlock(first, some)
            first += len(some)

    def splits(self, size: int) -> Iterator[Split]:
        return (Split(RecordSource(some)) for some in self.chunks(_SPLIT_RECORDS))

    @property
    def is_spooled(self) -> bool:
        """Whether the records come one after the other, and are kept in a file to be read again."""
        return not isinstance(self._records, list | tuple)

    def chunks(self, size: int) -> Iterator[list[Mapping[str, Any]]]:
        """Yield the records, so many at a time."""
        records = self._read_through_spool() if self.is_spooled else iter(self._records)
        return iter(lambda: list(islice(records, size)), [])

    def _read_through_spool(self) -> Iterator[Mapping[str, Any]]:
        if self._spool is None:
            self._spool = cast(IO[bytes], tempfile.TemporaryFile(prefix="omnigraph-records-"))  # noqa: SIM115
        yield from _unpickle(self._spool)
        if self._failure is not None:
            raise self._failure
        try:
            for record in self._records:  # not read before
                self._spool.write(_pickle(record))
                yield record
        except Exception as error:
            self._failure = error
            raise


def _pickle(record: Any) -> bytes:
    try:
        return pickle.dumps(record)
    except Exception:  # whatever the record's own classes raise
        return pickle.dumps(as_json(record))  # no property holds what cannot be pickled, so it stays invalid


def _unpickle(spool: IO[bytes]) -> Iterator[Mapping[str, Any]]:
    spool.seek(0)
    while True:
        try:
            yield pickle.load(spool)
        except EOFError:
            return
