"""Records of the program as a source."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, cast

from omnigraph.graph.write.integrity.json_values import as_json


class RecordSource:
    """Records from the program. Those of a generator pass through a temporary file, not through memory."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._records = records
        self._spool: IO[bytes] | None = None

    @property
    def records(self) -> Iterator[Mapping[str, Any]]:
        """All records; they can be read more than once."""
        return iter(self._records) if isinstance(self._records, list | tuple) else self._spooled()

    def _spooled(self) -> Iterator[Mapping[str, Any]]:
        if self._spool is None:
            self._spool = cast(IO[bytes], tempfile.TemporaryFile(prefix="omnigraph-records-"))  # noqa: SIM115
        yield from _unpickled(self._spool)
        for record in self._records:  # what no reading has come to yet
            self._spool.write(_pickled(record))
            yield record


def _pickled(record: Any) -> bytes:
    try:
        return pickle.dumps(record)
    except Exception:  # whatever the record's own classes raise
        return pickle.dumps(as_json(record))  # no property takes what cannot be pickled; so it stays wrong


def _unpickled(spool: IO[bytes]) -> Iterator[Mapping[str, Any]]:
    spool.seek(0)
    while True:
        try:
            yield pickle.load(spool)
        except EOFError:
            return
