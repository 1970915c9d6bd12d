"""The three commits of a merge, and on top of which of the two sides the result is built."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.manifest.record import CommitRecord, TableEntry
from omnigraph.graph.manifest.schemas import Schemas, StoredSchema


@dataclass(frozen=True, slots=True)
class Sides:
    """Three commits: what both sides began from, the target, and what is merged into it."""

    base: CommitRecord
    ours: CommitRecord
    theirs: CommitRecord
    on_theirs: bool = False
    """Whether the schema of the result is theirs: then our rows are brought to theirs, not theirs to ours."""
    combined_schema: StoredSchema | None = None
    """The schema of the result where it is neither side's."""

    @property
    def onto(self) -> CommitRecord:
        """The side whose schema the result has, and on whose tables rows are staged."""
        return self.theirs if self.on_theirs else self.ours

    @property
    def other(self) -> CommitRecord:
        """The side whose changes are brought over."""
        return self.ours if self.on_theirs else self.theirs

    def catalog(self, schemas: Schemas) -> Catalog:
        """Return the schema of the result."""
        return (
            schemas.get(self.onto.schema).catalog
            if self.combined_schema is None
            else self.combined_schema.catalog
        )

    def for_table(self, identity: str) -> Sides:
        """Return on which side a table is built: on theirs also when ours does not have it."""
        return self if identity in self.onto.tables else replace(self, on_theirs=True)


class TableOutcome(StrEnum):
    """What becomes of one table."""

    KEEP = "keep"
    """It is as on the side that the result is built on."""
    TAKE = "take"
    """It is as on the other side: nobody else has changed it."""
    MERGE = "merge"
    """Both sides have changed it: its rows are merged."""


def fates(sides: Sides, result: Collection[str]) -> dict[str, TableOutcome]:
    """Decide about every table of the result, by its identity, from the three commit records alone."""
    base, onto, other = sides.base.tables, sides.onto.tables, sides.other.tables
    return {identity: _fate(identity, base, onto, other) for identity in sorted(result)}


def same_content(one: TableEntry | None, two: TableEntry | None) -> bool:
    """Return whether two versions are known to hold the same rows, in whatever files."""
    if one is None or two is None:
        return one is two
    return one.changed_by == two.changed_by or one.pin.path == two.pin.path


def _fate(
    identity: str,
    base: Mapping[str, TableEntry],
    onto: Mapping[str, TableEntry],
    other: Mapping[str, TableEntry],
) -> TableOutcome:
    before, here, there = base.get(identity), onto.get(identity), other.get(identity)
    if here is None or there is None:
        return TableOutcome.TAKE if here is None else TableOutcome.KEEP
    if same_content(there, before) or same_content(there, here):
        return TableOutcome.KEEP
    if same_content(here, before):
        return TableOutcome.TAKE
    return TableOutcome.MERGE
