"""One node or edge as one commit has it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from omnigraph.graph.changes.entities import images_of_rows
from omnigraph.graph.changes.equality import equal_values
from omnigraph.graph.changes.model import Json
from omnigraph.graph.changes.pairing import pair_columns
from omnigraph.graph.changes.table_version import TableVersion
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.opening import Core
from omnigraph.storage.rows.find_rows import FoundRow, find_by_id


@dataclass(frozen=True)
class EntityAddress:
    """Which node or edge is meant: the identity of its table, which no renaming changes, and its id."""

    identity: str
    id: str


@dataclass(frozen=True)
class StoredEntity:
    """A node or edge at a commit at which it is there."""

    record: CommitRecord
    version: TableVersion
    row: FoundRow

    @cached_property
    def stored(self) -> pa.Table:
        """The row, with all columns; blobs as bytes."""
        return self.version.images(np.array([self.row.number], np.uint64))

    @cached_property
    def image(self) -> Json:
        """The properties, and the ends of an edge, in the form of a load."""
        (image,) = images_of_rows(self.version.type, self.stored)
        return image

    def list_changed(self, before: StoredEntity) -> list[str]:
        """Return which columns an older version of the same entity has otherwise, by their names here."""
        pairs = pair_columns(before.version.type, self.version.type)
        differ = []
        for pair in pairs:
            new = self.stored[pair.new].combine_chunks()
            if pair.old is None:
                old = pair.default_values(1)
            else:
                old = before.stored[pair.old].combine_chunks()
                old = old if pair.cast is None else old.cast(pair.cast)
            if not equal_values(old, new)[0]:
                differ.append(pair.new)
        return differ


def find_entity(core: Core, record: CommitRecord, key: EntityAddress) -> StoredEntity | None:
    """Return a node or edge at a commit; None where it is not there."""
    version = TableVersion.of(core, record, key.identity)
    row = None if version is None else find_by_id(version.rows, key.id)
    return None if version is None or row is None else StoredEntity(record, version, row)
