"""Changing one table inside a write attempt: data files first, then table versions on top of a pin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lance
import numpy as np
import pyarrow as pa
from lance.fragment import write_fragments
from numpy.typing import NDArray

from omnigraph.storage import filters
from omnigraph.storage.checksums import sums
from omnigraph.storage.checksums.sealing import seal
from omnigraph.storage.filters import Filter, OneOf
from omnigraph.storage.format.digests import FileSum
from omnigraph.storage.format.version_files import DATA, path_of
from omnigraph.storage.indexes import indexes
from omnigraph.storage.indexes.indexes import IndexChanges, IndexKind, TableIndex
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.namespace import Pin, SnapshotNamespace, WriteAttempt
from omnigraph.storage.tables import column_changes
from omnigraph.storage.tables import maintenance_parts as care_parts
from omnigraph.storage.tables import replace_rows as replacing
from omnigraph.storage.tables.columns import LAST_CHANGED
from omnigraph.storage.tables.distinct import estimate_distinct
from omnigraph.storage.tables.maintenance_parts import PlannedIndex
from omnigraph.storage.tables.opening import open_dataset
from omnigraph.storage.tables.stored_ids import find_stored_ids, remember_written
from omnigraph.storage.tables.table import TableState
from omnigraph.storage.tables.written_rows import remember_rows

_MAX_PROBED_ROWS = 1000


@dataclass(frozen=True, slots=True)
class StagedFragments:
    """Data files that are written but belong to no table version; can be sent between processes."""

    fragments: tuple[Any, ...]
    """As Lance describes them."""
    rows: int
    sums: tuple[tuple[str, int, str], ...] = ()
    """The path, size and hash of each file, from who wrote it; empty where nothing is hashed."""

    @staticmethod
    def join(parts: Iterable[StagedFragments]) -> StagedFragments:
        """Return several as one."""
        found = list(parts)
        return StagedFragments(
            fragments=tuple(item for part in found for item in part.fragments),
            rows=sum(part.rows for part in found),
            sums=tuple(item for part in found for item in part.sums),
        )

    @property
    def size_bytes(self) -> int:
        """The size of the files."""
        return sum(_bytes_of(fragment) for fragment in self.fragments)


@dataclass(frozen=True, slots=True)
class TableFields:
    """Where the files of a table lie, and the name and number of each of its columns."""

    uri: str
    fields: tuple[tuple[str, int], ...]


def create_table(attempt: WriteAttempt, table_id: str, schema: pa.Schema) -> TableState:
    """Create an empty table with stable row ids."""
    there = attempt.declare_table({"id": [table_id]})
    with translate_errors(f"creating table {table_id}"):
        lance.LanceDataset.commit(  # what `lance.write_dataset` does without rows, without its REST client
            there.location,
            lance.LanceOperation.Overwrite(schema, []),
            storage_options=there.storage_options,
            max_retries=0,
            enable_stable_row_ids=True,
            namespace_client=attempt,
            table_id=[table_id],
            namespace_client_managed_versioning=True,
        )
    seal(attempt, table_id)
    return TableState(rows=0, fragments=0)


class StagedTable:
    """One table in a write attempt. Each call stages one more version; none is visible to others."""

    def __init__(self, attempt: SnapshotNamespace, table_id: str) -> None:
        """Take a write attempt; over a snapshot, data files can be written and nothing can be staged."""
        self._attempt = attempt
        self._table_id = table_id
        self._dataset = open_dataset(attempt, table_id)

    @property
    def schema(self) -> pa.Schema:
        """The table's Arrow schema."""
        return self._dataset.schema

    @property
    def columns(self) -> TableFields:
        """What a data file that is written now fits."""
        fields = self._dataset.lance_schema.fields()
        return TableFields(self._uri, tuple((item.name(), item.id()) for item in fields))

    @property
    def state(self) -> TableState:
        """The size of the newest staged version."""
        return TableState(rows=int(self._dataset.count_rows()), fragments=self.fragments)

    @property
    def fragments(self) -> int:
        """The number of fragments of the newest staged version."""
        return int(self._dataset._ds.count_fragments())  # `dataset_stats` counts deleted rows as well

    def estimate_distinct(self, columns: Sequence[str]) -> dict[str, int]:
        """Return how many values each of some columns is thought to have in the newest staged version."""
        return estimate_distinct(self._dataset, columns)

    def fragment_rows(self, less_than: int) -> list[int]:
        """Return the number of physical rows of every fragment whose files have less than so many bytes."""
        found = [fragment.metadata for fragment in self._dataset.get_fragments()]
        return [item.physical_rows for item in found if _bytes_of(item) < less_than]

    def file_sizes(self) -> dict[str, int]:
        """Return the size of every data file of the newest staged version, by its path."""
        files = [file for item in self._dataset.get_fragments() for file in item.metadata.files]
        return {path_of(file): file.file_size_bytes or 0 for file in files}

    def write_rows(self, rows: pa.Table | pa.RecordBatchReader) -> StagedFragments:
        """Write rows as data files that belong to no version yet."""
        # Given an address instead of the opened dataset, Lance would invent field ids and scramble columns.
        schema = self.schema
        rows = _order_columns(rows, schema)
        with translate_errors(f"writing rows of {self._table_id}"):
            written = write_fragments(rows, self._dataset, schema=schema)
        remember_written(self._uri, self._dataset, rows, written)
        return StagedFragments(
            fragments=tuple(written),
            rows=sum(item.physical_rows for item in written),
            sums=self._hash_written(written),
        )

    def seal(self) -> Pin:
        """Return the newest staged version with the digest of its sums, which are stored."""
        assert isinstance(self._attempt, WriteAttempt)
        return seal(self._attempt, self._table_id)

    def append(self, staged: StagedFragments) -> None:
        """Add written rows."""
        self._learn(staged)
        with translate_errors(f"appending to {self._table_id}"):
            self._dataset = lance.LanceDataset.commit(
                self._dataset,
                lance.LanceOperation.Append(list(staged.fragments)),
                read_version=self._dataset.version,
                max_retries=0,
            )

    def upsert(self, rows: pa.Table, staged: StagedFragments | None = None) -> None:
        """Replace the rows whose `id` is stored and add the others."""
        if staged is not None and rows.num_rows <= _MAX_PROBED_ROWS and not self.find_stored_ids(rows["id"]):
            self.append(staged)
            return
        self.merge(rows)

    def merge(self, rows: pa.Table | pa.RecordBatchReader) -> None:
        """Replace the rows whose `id` is stored and add the others, in one join."""
        rows = _order_columns(rows, self.schema)
        with translate_errors(f"upserting into {self._table_id}"):
            (
                self._dataset.merge_insert("id")
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .conflict_retries(0)
                .execute(rows)
            )
        if isinstance(rows, pa.Table) and rows.num_rows == 1:  # Lance orders several as it likes
            remember_rows(self._uri, self._dataset, rows, self._dataset.get_fragments()[-1].metadata)

    def replace_rows(self, staged: StagedFragments | None, ids: pa.Array, rows: NDArray[np.uint64]) -> bool:
        """Delete rows by Lance's own numbers and add others; False when the numbers are not of these ids.

        Nothing is searched for, so the cost does not follow the size of the table.
        """
        fragments = list(staged.fragments) if staged is not None and staged.rows else []
        if staged is not None:
            self._learn(staged)
        with translate_errors(f"replacing rows of {self._table_id}"):
            if 0 < len(rows) <= replacing.MAX_ROWS_BY_ADDRESS:
                places = replacing.places_of(self._dataset, ids, rows)
                if places is not None:
                    self._dataset = replacing.replace_rows(self._dataset, places, fragments)
                return places is not None
            if len(rows):
                held = self._dataset._take_rows(pa.array(rows, pa.uint64()), columns=["id"])["id"]
                if not held.combine_chunks().equals(ids):
                    return False
                self._delete_rows(pa.array(rows, pa.uint64()))
        if staged is not None and fragments:
            self.append(staged)
        return True

    def delete(self, ids: Sequence[str]) -> int:
        """Delete rows by id and return how many there were; no rows, no new version."""
        wanted = OneOf("id", pa.array(ids, pa.string()))
        with translate_errors(f"deleting from {self._table_id}"):
            found = filters.read_filtered(self._dataset, [], wanted, with_row_id=True)
            if found.num_rows:
                self._delete_rows(found["_rowid"])
        return int(found.num_rows)

    def overwrite(self, staged: StagedFragments) -> None:
        """Replace all rows; no rows at all is a valid, empty version."""
        self._learn(staged)
        with translate_errors(f"overwriting {self._table_id}"):
            self._dataset = lance.LanceDataset.commit(
                self._dataset,
                lance.LanceOperation.Overwrite(self._dataset.lance_schema, list(staged.fragments)),
                read_version=self._dataset.version,
                max_retries=0,
            )

    def put_deletions(self, fragments: Mapping[int, str | None]) -> None:
        """Put fragments of which other processes have deleted rows in their places; None is an empty one."""
        if not fragments:
            return
        left = [lance.FragmentMetadata.from_json(text) for text in fragments.values() if text is not None]
        gone = [number for number, text in fragments.items() if text is None]
        with translate_errors(f"deleting from {self._table_id}"):
            self._dataset = lance.LanceDataset.commit(
                self._dataset,
                lance.LanceOperation.Delete(left, gone, "true"),
                read_version=self._dataset.version,
                max_retries=0,
            )

    def compact(self, target_rows: int) -> tuple[int, int]:
        """Join fragments smaller than `target_rows`; return how many went and how many came instead."""
        with translate_errors(f"compacting {self._table_id}"):
            metrics = self._dataset.optimize.compact_files(**care_parts.compaction_options(target_rows))
        return int(metrics.fragments_removed), int(metrics.fragments_added)

    def plan_compaction(self, target_rows: int) -> list[Any]:
        """Return what `compact` would do, as tasks that any process can carry out."""
        with translate_errors(f"compacting {self._table_id}"):
            return care_parts.plan_compaction(self._dataset, target_rows)

    def put_compaction(self, done: Sequence[Any], target_rows: int) -> tuple[int, int]:
        """Put joined fragments in the place of those they were made of; return the numbers of both."""
        with translate_errors(f"compacting {self._table_id}"):
            return care_parts.put_compaction(self._dataset, done, target_rows)

    def fragment_sizes(self) -> dict[int, int]:
        """Return the number of rows of every fragment, deleted ones left out."""
        return {item.fragment_id: int(item.count_rows()) for item in self._dataset.get_fragments()}

    def indexes(self) -> tuple[TableIndex, ...]:
        """Return the indexes of the newest staged version."""
        return indexes.list_indexes(self._dataset)

    def build_index(self, column: str, kind: IndexKind) -> IndexChanges:
        """Build an index over all rows; only maintenance does."""
        return indexes.build(self._dataset, column, kind)

    def fold_indexes(self, names: Sequence[str]) -> IndexChanges:
        """Add the rows that some indexes do not know yet; only maintenance does."""
        return indexes.fold(self._dataset, names)

    def put_indexes(self, changes: IndexChanges) -> bool:
        """Put indexes that were built on an earlier version on this one, if they are right here too."""
        if not indexes.fits(self._dataset, changes):
            return False
        self._dataset = indexes.put(self._dataset, changes)
        return True

    def plan_index(self, column: str, kind: IndexKind, vectors: int) -> PlannedIndex:
        """Return an index that is to be built in parts; vectors have still to be trained."""
        partitions = indexes.partitions_for(vectors) if kind is IndexKind.VECTOR else None
        name = indexes.name_of(self._dataset, column, kind, partitions)
        return PlannedIndex(column, kind, name, partitions)

    def put_index(self, column: str, kind: IndexKind, built: Any) -> IndexChanges:
        """Put an index that other processes have built in place of one of its kind."""
        self._dataset, changes = indexes.put_built(self._dataset, column, kind, built)
        return changes

    def count_vectors(self, column: str) -> int:
        """Return how many vectors of a column an index could be trained with."""
        return indexes.count_vectors(self._dataset, column)

    def add_column(self, field: pa.Field, fill: Callable[[int], pa.Array] | None) -> None:
        """Add a column: NULL everywhere, or what `fill` gives for a number of rows."""
        with translate_errors(f"adding column {field.name} to {self._table_id}"):
            column_changes.add_column(self._dataset, field, fill)

    def change_columns(self, alterations: Sequence[Mapping[str, Any]]) -> None:
        """Rename, widen or require columns, as Lance describes it; a widened column loses its indexes."""
        with translate_errors(f"altering columns of {self._table_id}"):
            column_changes.change_columns(self._dataset, alterations)

    def remove_columns(self, names: Sequence[str]) -> None:
        """Drop columns; versions before this one keep them."""
        with translate_errors(f"dropping columns of {self._table_id}"):
            column_changes.remove_columns(self._dataset, names)

    def scan(self, columns: Sequence[str], filter: Filter | None = None) -> pa.Table:
        """Return columns of the rows that pass the filter in the newest staged version; blobs as bytes."""
        with translate_errors(f"scanning {self._table_id}", reading=True):
            return filters.read_filtered(self._dataset, columns, filter, blob_handling="all_binary")

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows of the newest staged version, batch by batch."""
        with translate_errors(f"scanning {self._table_id}", reading=True):
            yield from self._dataset.to_batches(columns=list(columns))

    def schema_of(self, columns: Sequence[str]) -> pa.Schema:
        """Return the schema of some columns."""
        kept = pa.field(LAST_CHANGED, pa.uint64())
        return pa.schema([kept if name == LAST_CHANGED else self.schema.field(name) for name in columns])

    def find_stored_ids(self, ids: pa.ChunkedArray) -> set[str]:
        """Return those of the given ids that the table holds."""
        with translate_errors(f"looking for ids in {self._table_id}"):
            return find_stored_ids(self._dataset, self._uri, set(ids.to_pylist()))

    def _delete_rows(self, rows: pa.Array | pa.ChunkedArray) -> None:
        """Delete rows by Lance's own numbers, which costs less than finding them by their values again."""
        self._dataset.delete(filters.as_sql(OneOf("_rowid", rows)), conflict_retries=0)

    def _hash_written(self, written: Sequence[Any]) -> tuple[tuple[str, int, str], ...]:
        """Return the sums of fragments that were just written, while the system still holds their bytes."""
        folder = self._attempt.folder(self._table_id)
        if not sums.keeps_sums(folder):
            return ()
        paths = [f"{DATA}{path_of(file)}" for item in written for file in item.files]
        found = sums.hash_written(folder, paths)
        return tuple((path, item.size, item.hash) for path, item in found.items())

    def _learn(self, staged: StagedFragments) -> None:
        found = {path: FileSum(size, hash_) for path, size, hash_ in staged.sums}
        sums.learn(self._attempt.folder(self._table_id), found)

    @property
    def _uri(self) -> str:
        return self._attempt.table_uri(self._table_id)


def _order_columns(
    rows: pa.Table | pa.RecordBatchReader, schema: pa.Schema
) -> pa.Table | pa.RecordBatchReader:
    """Return rows with their columns in a table's order, which schema changes may have made another."""
    if rows.schema.names == schema.names:
        return rows
    if isinstance(rows, pa.Table):
        return rows.select(schema.names)
    return pa.RecordBatchReader.from_batches(schema, (batch.select(schema.names) for batch in rows))


def _bytes_of(fragment: Any) -> int:
    return sum(file.file_size_bytes or 0 for file in fragment.files)
