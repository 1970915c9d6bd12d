"""The indexes of one table version: which there are, building and folding them, keeping them over a race.

An index covers fragments. Rows of other fragments are read as if there were none, so a partial index is as
right as a full one (invariant 7). Row ids are stable: a row that was updated has left its old fragment, and
what an index says about it there no longer counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import lance
import numpy as np

from omnigraph.storage.format.version_files import path_of
from omnigraph.storage.indexes import analyser
from omnigraph.storage.lance_errors import translate_errors

VECTORS_PER_PARTITION = 4_096
METRIC = "cosine"
_ALL_PARTS = 1_000_000


class IndexKind(StrEnum):
    """What an index answers."""

    BTREE = "btree"
    """Equality and ranges of one value."""
    TEXT = "text"
    """The rows that hold a word."""
    VECTOR = "vector"
    """The rows nearest to a vector, by cosine."""


_KIND_OF_LANCE_TYPE = {"BTree": IndexKind.BTREE, "Inverted": IndexKind.TEXT, "IVF_FLAT": IndexKind.VECTOR}


@dataclass(frozen=True, slots=True)
class TableIndex:
    """One index of a table version, and how many of its rows it knows."""

    name: str
    column: str
    kind: IndexKind
    rows_covered: int
    rows_uncovered: int
    partitions: int | None = None
    """Of a vector index: into how many groups the vectors are sorted."""


@dataclass(frozen=True)
class IndexChanges:
    """Indexes that were built or folded on one version, so that they can be put on a later one as well."""

    added: tuple[Any, ...] = ()
    """Lance's metadata of the new ones; their files are written."""
    replaced: tuple[Any, ...] = ()
    """And of those that they take the place of."""
    files: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The data files of every fragment that the new ones cover."""

    def then(self, later: IndexChanges) -> IndexChanges:
        """Return these changes and later ones as one."""
        gone = {item.uuid for item in later.replaced}
        mine = {item.uuid for item in self.added}
        return IndexChanges(
            (*(item for item in self.added if item.uuid not in gone), *later.added),
            (*self.replaced, *(item for item in later.replaced if item.uuid not in mine)),
            {**self.files, **later.files},
        )


def list_indexes(dataset: Any) -> tuple[TableIndex, ...]:
    """Return the indexes of an opened version, by column and kind."""
    with translate_errors("listing indexes", reading=True):
        described = dataset.describe_indices()
        rows = int(dataset.count_rows()) if described else 0
    found = [_index(item, rows) for item in described if item.index_type in _KIND_OF_LANCE_TYPE]
    return tuple(sorted(found, key=lambda item: (item.column, item.kind)))


def build(dataset: Any, column: str, kind: IndexKind) -> IndexChanges:
    """Build an index over all rows, in place of one of its kind that there may be; stages versions."""
    old = [item.name for item in list_indexes(dataset) if (item.column, item.kind) == (column, kind)]
    partitions = partitions_for(count_vectors(dataset, column)) if kind is IndexKind.VECTOR else None
    name = name_of(dataset, column, kind, partitions)
    with translate_errors(f"building the {kind} index of {column}"):
        if kind is IndexKind.BTREE:
            dataset.create_scalar_index(column, "BTREE", name=name)
        elif kind is IndexKind.TEXT:
            dataset.create_scalar_index(column, "INVERTED", name=name, **analyser.OPTIONS)
        else:
            dataset.create_index(
                column, "IVF_FLAT", name=name, metric=METRIC, num_partitions=partitions, replace=True
            )
    changes = _last_changes(dataset)
    for other in old:
        if other != name:
            changes = changes.then(_drop(dataset, other))
    return changes


def name_of(dataset: Any, column: str, kind: IndexKind, partitions: int | None) -> str:
    """Return the name of an index; that of vectors says into how many groups they are sorted."""
    # A column keeps its number when it is renamed, so that no other column can come to need this name.
    name = f"{kind}_{_number(dataset, column)}"
    return name if partitions is None else f"{name}_{partitions}"


def put_built(dataset: Any, column: str, kind: IndexKind, built: Any) -> tuple[Any, IndexChanges]:
    """Put an index that was built elsewhere in place of one of its kind; stages versions.

    Return the version that has it, and what has changed.
    """
    changes = IndexChanges()
    for item in list_indexes(dataset):
        if (item.column, item.kind) == (column, kind):
            changes = changes.then(_drop(dataset, item.name))
    added = IndexChanges((built,), (), _files_of(dataset, built.fragment_ids))
    return put(dataset, added), changes.then(added)


def fold(dataset: Any, names: Sequence[str]) -> IndexChanges:
    """Add the rows that some indexes do not know yet; stages one version.

    The new rows are merged into the one part that an index has. Left as a part of their own, which would be
    quicker, they make Lance find an updated text by the words that it had before.
    """
    before = dataset.version
    with translate_errors("folding new rows into indexes"):
        dataset.optimize.optimize_indices(index_names=list(names), num_indices_to_merge=_ALL_PARTS)
    return _last_changes(dataset) if dataset.version > before else IndexChanges()


def drop(dataset: Any, columns: Iterable[str]) -> None:
    """Drop every index of some columns; stages a version for each."""
    wanted = set(columns)
    for index in list_indexes(dataset):
        if index.column in wanted:
            _drop(dataset, index.name)


def fits(dataset: Any, changes: IndexChanges) -> bool:
    """Return whether indexes built on an earlier version are right here: what they cover is still there."""
    fragments = {item.fragment_id: _files(item) for item in dataset.get_fragments()}
    numbers = {int(item.id()) for item in dataset.lance_schema.fields()}
    gone = {item.uuid for item in changes.replaced}
    with translate_errors("listing indexes", reading=True):
        stored = [
            (item.name, segment.uuid) for item in dataset.describe_indices() for segment in item.segments
        ]
    kept = {name for name, uuid in stored if uuid not in gone}
    return (
        all(fragments.get(number) == files for number, files in changes.files.items())
        and all(numbers.issuperset(item.fields) and item.name not in kept for item in changes.added)
        and gone <= {uuid for _, uuid in stored}
    )


def put(dataset: Any, changes: IndexChanges) -> Any:
    """Put indexes that were built on an earlier version on this one; returns the version that has them."""
    with translate_errors("putting indexes on a newer version"):
        return lance.LanceDataset.commit(
            dataset,
            lance.LanceOperation.CreateIndex(list(changes.added), list(changes.replaced)),
            read_version=dataset.version,
            max_retries=0,
        )


def partitions_for(vectors: int) -> int:
    """Return into how many groups a number of vectors is best sorted."""
    return max(1, round(vectors / VECTORS_PER_PARTITION))


def count_vectors(dataset: Any, column: str, fragments: Sequence[int] | None = None) -> int:
    """Return how many vectors with a direction a column has; an index leaves the zero vector out."""
    found = 0
    parts = None if fragments is None else [dataset.get_fragment(number) for number in fragments]
    with translate_errors(f"counting the vectors of {column}", reading=True):
        for batch in dataset.to_batches(columns=[column], fragments=parts):
            values = batch.column(0).drop_null()
            if len(values):
                numbers = np.asarray(values.flatten()).reshape(len(values), -1)
                found += int(np.count_nonzero(numbers.any(axis=1)))
    return found


def _drop(dataset: Any, name: str) -> IndexChanges:
    with translate_errors(f"dropping index {name}"):
        dataset.drop_index(name)
    return _last_changes(dataset)


def _last_changes(dataset: Any) -> IndexChanges:
    """Return what the newest version, which only changed indexes, has changed."""
    with translate_errors("reading an index back", reading=True):
        operation = dataset.read_transaction(dataset.version).operation
    covered = {number for item in operation.new_indices for number in item.fragment_ids}
    files = _files_of(dataset, covered)
    return IndexChanges(tuple(operation.new_indices), tuple(operation.removed_indices), files)


def _files_of(dataset: Any, fragments: Iterable[int]) -> dict[int, tuple[str, ...]]:
    covered = set(fragments)
    return {item.fragment_id: _files(item) for item in dataset.get_fragments() if item.fragment_id in covered}


def _index(described: Any, rows: int) -> TableIndex:
    kind = _KIND_OF_LANCE_TYPE[described.index_type]
    covered = int(described.num_rows_indexed)
    return TableIndex(
        name=described.name,
        column=described.field_names[0],
        kind=kind,
        rows_covered=covered,
        rows_uncovered=rows - covered,
        partitions=int(described.name.rpartition("_")[2]) if kind is IndexKind.VECTOR else None,
    )


def _number(dataset: Any, column: str) -> int:
    return next(int(item.id()) for item in dataset.lance_schema.fields() if item.name() == column)


def _files(fragment: Any) -> tuple[str, ...]:
    return tuple(map(path_of, fragment.metadata.files))
