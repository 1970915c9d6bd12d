"""The keys of a load while it runs: in memory if they are few; else on disk, and their hashes in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from omnigraph.base import clock
from omnigraph.base.errors import OmniError
from omnigraph.base.handed.process_folders import working_folder
from omnigraph.compiler.catalog.model import TableType
from omnigraph.execution.load.keys.key_hashes import hash_keys
from omnigraph.execution.load.keys.keys_in_memory import KeysInMemory
from omnigraph.graph.model.hashing import Hashes

KEYS_IN_MEMORY_BYTES = 48 * 2**20
"""Bytes of keys that all tables of a load may keep in memory."""


@dataclass
class KeyBudget:
    """What the tables of one load may keep in memory together."""

    left: int = field(default_factory=lambda: KEYS_IN_MEMORY_BYTES)

    def __post_init__(self) -> None:
        self.hash_key = int.from_bytes(clock.current().random_bytes(8), "big")


class KeptKeys:
    """The keys of one table's records, in the order in which they came."""

    def __init__(self, table: TableType, schema: pa.Schema, budget: KeyBudget | None) -> None:
        """Take the columns of the keys; without a budget all stay in memory."""
        self._table, self._schema, self._budget = table, schema, budget
        self._parts: list[tuple[pa.Table, pa.Table]] = []
        self._spool: _Spool | None = None
        self._hashes: dict[str, list[Hashes]] = {}
        self.rows = 0
        self.rows_with_id = 0
        """How many records gave their id."""
        self.is_doubtful = False
        """Whether some keys could not be hashed, so that only the exact rules can decide."""

    @property
    def is_spilled(self) -> bool:
        """Whether the keys are on disk."""
        return self._spool is not None

    def add(self, keys: pa.Table, right: pa.Table) -> None:
        """Add keys, and those of them whose records are valid alone."""
        self.rows += keys.num_rows
        self.rows_with_id += keys["_explicit"].combine_chunks().true_count
        if self._budget is not None and self._spool is None:
            self._budget.left -= keys.nbytes
            if self._budget.left < 0:
                self._spill()
        if self._spool is None:
            self._parts.append((keys, right))
        else:
            self._spool.write(keys)
            self._hash(right)

    def table(self) -> pa.Table:
        """Return all keys; those on disk are memory-mapped."""
        if self._spool is not None:
            return self._spool.read()
        return pa.concat_tables([self._schema.empty_table(), *(part for part, _ in self._parts)])

    def hashes(self) -> dict[str, list[Hashes]]:
        """Return the hashes of valid keys by column, in sorted parts."""
        if self._spool is None:
            for _, right in self._parts:
                self._hash(right)
        found, self._hashes = self._hashes, {}
        return found

    def _spill(self) -> None:
        assert self._budget is not None
        self._spool = _Spool(self._schema)
        for part, right in self._parts:
            self._budget.left += part.nbytes
            self._spool.write(part)
            self._hash(right)
        self._parts = []

    def _hash(self, keys: pa.Table) -> None:
        assert self._budget is not None
        try:
            found = hash_keys(self._table, keys, keys["_explicit"].combine_chunks(), self._budget.hash_key)
        except OmniError:
            self.is_doubtful = True
            return
        for name, hashes in found.items():
            self._hashes.setdefault(name, []).append(hashes)


def compact(tables: Mapping[str, KeptKeys], budget: KeyBudget) -> KeysInMemory | None:
    """Return the hashes of all keys; None when they are few or some have none, and the exact rules decide."""
    if not any(kept.is_spilled for kept in tables.values()):
        return None
    columns = {name: parts for kept in tables.values() for name, parts in kept.hashes().items()}
    if any(kept.is_doubtful for kept in tables.values()):
        return None
    return KeysInMemory(columns, budget.hash_key)


class _Spool:
    """A temporary Arrow file."""

    def __init__(self, schema: pa.Schema) -> None:
        self._folder = working_folder("keys")
        self._path = str(Path(self._folder.name, "keys.arrow"))
        self._writer: pa.RecordBatchFileWriter | None = pa.ipc.new_file(self._path, schema)

    def write(self, keys: pa.Table) -> None:
        assert self._writer is not None
        self._writer.write_table(keys)

    def read(self) -> pa.Table:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        return pa.ipc.open_file(pa.memory_map(self._path)).read_all()
