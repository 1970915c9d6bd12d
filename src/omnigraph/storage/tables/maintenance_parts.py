"""Compaction and index builds in parts: planned on one version, done by any process that can read it.

A part writes files that nothing references and returns metadata that can be sent between processes. Nothing
counts before `StagedTable` has put it onto a version; a part that is done twice has left files for cleanup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from lance.indices import IndicesBuilder
from lance.optimize import Compaction, CompactionOptions

from omnigraph.storage.indexes import analyser, indexes
from omnigraph.storage.indexes.indexes import METRIC, IndexChanges, IndexKind
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.namespace import PinnedTable, WriteAttempt
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.opening import open_dataset


@dataclass(frozen=True)
class PlannedIndex:
    """An index that is built in parts, and what its parts have in common."""

    column: str
    kind: IndexKind
    name: str
    partitions: int | None = None
    centroids: pa.Array | None = None
    """Of a vector index: the middles of its groups, which all parts must sort their vectors by."""


def compaction_options(target_rows: int) -> CompactionOptions:
    """Return how fragments are joined, whoever joins them."""
    return CompactionOptions(target_rows_per_fragment=target_rows, num_threads=1)


def join_fragments(dataset: Any, task: Any) -> Any:
    """Write the rows of the fragments of one task of a compaction anew; return Lance's account of it."""
    with translate_errors("joining fragments"):
        return task.execute(dataset)


def plan_compaction(dataset: Any, target_rows: int) -> list[Any]:
    """Return Lance's tasks, each of which joins some fragments."""
    return list(Compaction.plan(dataset, compaction_options(target_rows)).tasks)


def put_compaction(dataset: Any, done: Sequence[Any], target_rows: int) -> tuple[int, int]:
    """Stage a version with the joined fragments; return how many went and how many came instead."""
    metrics = Compaction.commit(dataset, list(done), compaction_options(target_rows))
    return int(metrics.fragments_removed), int(metrics.fragments_added)


def train(dataset: Any, column: str, partitions: int) -> pa.Array:
    """Return the middles of groups of vectors that lie near to each other, found in a sample."""
    with translate_errors(f"training the vector index of {column}"):
        return IndicesBuilder(dataset, column).train_ivf(partitions, distance_type=METRIC).centroids


def build_part(dataset: Any, index: PlannedIndex, fragments: Sequence[int]) -> Any:
    """Build the part of an index that covers some fragments; return Lance's metadata of it."""
    given: dict[str, Any] = {"name": index.name, "fragment_ids": list(fragments)}
    if index.kind is IndexKind.BTREE:
        kind = "BTREE"
    elif index.kind is IndexKind.TEXT:
        kind, given = "INVERTED", {**given, **analyser.OPTIONS}
    else:
        kind = "IVF_FLAT"
        given |= {"metric": METRIC, "num_partitions": index.partitions, "ivf_centroids": index.centroids}
    with translate_errors(f"building a part of the {index.kind} index of {index.column}"):
        return dataset.create_index_uncommitted(index.column, kind, **given)


def join_parts(dataset: Any, parts: Sequence[Any]) -> Any:
    """Join the parts of an index into one, which is searched once and folded like any other."""
    if len(parts) == 1:
        return parts[0]
    with translate_errors("joining the parts of an index"):
        return dataset.merge_existing_index_segments(list(parts))


def fold_apart(store: ObjectStore, pinned: PinnedTable, key: str, names: Sequence[str]) -> IndexChanges:
    """Add the rows that some indexes do not know, in an attempt of its own that nobody publishes.

    The files of the folded indexes are what counts: they fit every version with the same fragments.
    """
    return indexes.fold(open_dataset(WriteAttempt(store, {key: pinned}), key), names)
