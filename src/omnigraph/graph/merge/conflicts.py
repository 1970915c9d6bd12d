"""Places where two branches disagree, as values: which entity, in which way, and what each side has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from omnigraph.base.blob_text import blob_to_text
from omnigraph.base.errors import MergeConflicts
from omnigraph.base.plain import to_full_object
from omnigraph.compiler.catalog.model import END_COLUMNS, TableType
from omnigraph.compiler.types import Scalar
from omnigraph.compiler.values.results import to_json

_MAX_NAMED_CONFLICTS = 3
CAUSES = ("ours_by", "theirs_by")
"""The members of a conflict that tell who and why; an answer is not about them."""

Image = dict[str, Any]
"""An entity as JSON data: `properties`, and for an edge `endpoints` with `from` and `to`."""


class ConflictKind(StrEnum):
    """The ways in which a merge can fail."""

    DIVERGENT_INSERT = "DivergentInsert"
    DIVERGENT_UPDATE = "DivergentUpdate"
    DELETE_VS_UPDATE = "DeleteVsUpdate"
    ORPHAN_EDGE = "OrphanEdge"
    UNIQUE_VIOLATION = "UniqueViolation"
    CARDINALITY_VIOLATION = "CardinalityViolation"
    VALUE_CONSTRAINT_VIOLATION = "ValueConstraintViolation"
    POSSIBLE_DUPLICATE = "PossibleDuplicate"
    SCHEMA_DIVERGED = "SchemaDiverged"
    QUERY_DIVERGED = "QueryDiverged"
    QUERY_BROKEN = "QueryBroken"


@dataclass(frozen=True, slots=True)
class ConflictCause:
    """The commit that made one side of a conflict what it is: who, when and why."""

    commit: str
    actor: str | None
    at: datetime
    message: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the cause as plain JSON data."""
        told = {"commit": self.commit, "actor": self.actor, "at": self.at.isoformat()}
        return {**told, "message": self.message, "metadata": dict(self.metadata)}

    def __str__(self) -> str:
        who = self.actor or "nobody named"
        why = f": {self.message!r}" if self.message else ""
        noted = ", ".join(f"{name}={value}" for name, value in self.metadata.items())
        return f"{who} in {self.commit}{why}" + (f" ({noted})" if noted else "")


@dataclass(frozen=True)
class MergeConflict:
    """One place where two branches disagree."""

    kind: str
    entity_kind: str
    """node, edge, schema or query."""
    type_name: str
    entity_id: str | None
    message: str
    base: Image | None = None
    ours: Image | None = None
    theirs: Image | None = None
    properties: tuple[str, ...] = ()
    """The properties that stand in the way, where the kind is about some of them."""
    entities: tuple[str, ...] = ()
    """Where several entities break a rule together, the ids of those that an answer can be for."""
    ours_by: ConflictCause | None = None
    """The last commit that changed it on our side; None where it left it alone, or that is too long ago."""
    theirs_by: ConflictCause | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the conflict as plain JSON data; with a `take` added it is a resolution."""
        return to_full_object(self)


def in_order(conflicts: Sequence[MergeConflict]) -> tuple[MergeConflict, ...]:
    """Return conflicts in the order in which they are reported: nodes before edges, by type and id."""
    ranks = {"schema": 0, "query": 1, "node": 2, "edge": 3}
    return tuple(
        sorted(
            conflicts,
            key=lambda item: (ranks[item.entity_kind], item.type_name, item.entity_id or "", item.kind),
        )
    )


def as_error(source: str, target: str, conflicts: Sequence[MergeConflict]) -> MergeConflicts:
    """Return the error that carries all conflicts and names the first few."""
    found = in_order(conflicts)
    named = "; ".join(f"{item.kind}: {item.message}" for item in found[:_MAX_NAMED_CONFLICTS])
    more = f" +{len(found) - _MAX_NAMED_CONFLICTS} more" if len(found) > _MAX_NAMED_CONFLICTS else ""
    return MergeConflicts(
        f"{source} cannot be merged into {target}: {named}{more}. Nothing was changed: "
        "resolve the conflicts and try again",
        conflicts=found,
        source=source,
        target=target,
    )


def without_properties(image: Image | None, hidden: Set[str]) -> Image | None:
    """Return an image without some properties."""
    if image is None or not hidden or "properties" not in image:
        return image
    return {**image, "properties": {k: v for k, v in image["properties"].items() if k not in hidden}}


def image_of(table: TableType, row: Mapping[str, Any] | None) -> Image | None:
    """Return a plain row as an image; the bytes of a blob as `base64:` text."""
    if row is None:
        return None
    properties = {
        item.name: _blob_text(row[item.name])
        if item.type.scalar is Scalar.BLOB
        else to_json(row[item.name], item.type)
        for item in table.properties
        if item.name in row
    }
    image: Image = {"properties": properties}
    if table.kind == "edge":
        image["endpoints"] = {end: row[column] for end, column in END_COLUMNS.items()}
    return image


def _blob_text(value: bytes | None) -> str | None:
    return None if value is None else blob_to_text(value)
