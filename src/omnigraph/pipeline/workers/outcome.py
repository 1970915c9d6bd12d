"""What a task sends back to the driver: names of data files, compact keys and problems. Never rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph.base.errors import OmniError
from omnigraph.graph.model.hashing import Hashes
from omnigraph.graph.write.integrity.problems import Problem
from omnigraph.storage.tables.staging import StagedFragments

Places = npt.NDArray[np.int64]

COUNTED = ("rows", "bytes", "problems")
"""The columns that Spark adds up: rows and bytes that were written, and problems that were found."""
FIELDS = "split int, name string, payload binary, rows long, bytes long, problems long"
_SCHEMA = pa.schema(
    [
        ("split", pa.int32()),
        ("name", pa.string()),
        ("payload", pa.binary()),
        *((name, pa.int64()) for name in COUNTED),
    ]
)
NO_OUTCOMES = _SCHEMA.empty_table()
"""What no task at all has told."""
OUTCOME = ""
"""The name of the row that holds the outcome; every other name is that of a column of hashes."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Ascending numbers, run-length encoded: record numbers are mostly successive."""

    first: Places
    count: Places

    @staticmethod
    def of(places: Places) -> Runs:
        """Return the runs of ascending numbers."""
        if len(places) == 0:
            return Runs(places, places)
        begins = np.concatenate([[0], np.flatnonzero(np.diff(places) != 1) + 1])
        return Runs(places[begins], np.diff(np.concatenate([begins, [len(places)]])))

    def places(self) -> Places:
        """Return all numbers."""
        before = np.cumsum(self.count) - self.count
        steps = np.arange(int(self.count.sum()), dtype=np.int64) - np.repeat(before, self.count)
        found: Places = np.repeat(self.first, self.count) + steps
        return found


@dataclass(frozen=True, slots=True)
class SplitTableOutcome:
    """The records of one table in a split: their number, staged files and record numbers."""

    rows: int
    staged: StagedFragments
    places: Runs
    explicit: npt.NDArray[np.uint8] | None
    """Which ids were given, as bits; None when none was."""
    keys: bytes | None = field(default=None, repr=False)
    """The key columns themselves, as an Arrow stream, where they were asked for."""
    contents: bytes | None = field(default=None, repr=False)
    """A digest of each record, packed, where a record may be given more than once."""

    def explicit_mask(self) -> pa.Array:
        """Return for each record whether its id was given."""
        if self.explicit is None:
            return pa.array(np.zeros(self.rows, dtype=bool))
        return pa.array(np.unpackbits(self.explicit, count=self.rows).astype(bool))


@dataclass
class SplitOutcome:
    """The outcome of one split. Record numbers count from the split's own first record."""

    split: int
    records: int = 0
    """Lines or rows, blank and wrong ones included: the next split counts from here."""
    tables: dict[str, SplitTableOutcome] = field(default_factory=dict)
    occurring: frozenset[str] = frozenset()
    """The keys of the types that a record counted for, taken or not, where the source names types."""
    problems: list[tuple[int, Problem]] = field(default_factory=list)
    total: int = 0
    aside: list[tuple[int, Problem]] = field(default_factory=list)
    """The problems of records that the task has put aside itself; they are among `skipped`."""
    skipped: list[tuple[int, bytes | Mapping[str, Any]]] = field(default_factory=list)
    doubtful: bool = False
    """Whether the keys could not be hashed, so that only the exact check can decide."""
    cut: frozenset[str] = frozenset()
    """The properties of which values had digits beyond milliseconds."""
    stale: frozenset[str] = frozenset()
    """The vectors that patches have taken away."""
    error: OmniError | None = None
    """An error that a retry would not change."""


def encode(outcome: SplitOutcome, hashes: Mapping[str, Hashes]) -> Iterator[pa.RecordBatch]:
    """Yield an outcome and its hashes as rows of Spark."""
    tables = outcome.tables.values()
    counts = [
        sum(part.rows for part in tables),
        sum(part.staged.size_bytes for part in tables),
        outcome.total,
    ]
    yield _row(outcome.split, OUTCOME, pickle.dumps(outcome), counts)
    for name, found in hashes.items():
        yield _row(outcome.split, name, found.tobytes(), [0] * len(COUNTED))


def _row(split: int, name: str, payload: bytes, counts: Sequence[int]) -> pa.RecordBatch:
    return pa.record_batch([[split], [name], [payload], *([count] for count in counts)], schema=_SCHEMA)


def decode(rows: pa.Table) -> tuple[list[SplitOutcome], dict[str, list[Hashes]]]:
    """Return the outcomes in the order of the splits, and the hashes by the name of their column."""
    outcomes: list[SplitOutcome] = []
    hashes: dict[str, list[Hashes]] = {}
    for batch in rows.to_batches():
        names = batch.column("name").to_pylist()
        for name, payload in zip(names, batch.column("payload"), strict=True):
            if name == OUTCOME:
                outcomes.append(pickle.loads(payload.as_py()))
            else:
                found = np.frombuffer(payload.as_buffer(), np.uint64)
                hashes.setdefault(name, []).append(found)
    return sorted(outcomes, key=lambda item: item.split), hashes
