"""The three commits of a merge, and on top of which of the two sides the result is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from omnigraph.graph.manifest.record import CommitRecord, TableEntry
from omnigraph.graph.manifest.schemas import Schemas


@dataclass(frozen=True, slots=True)
class Sides:
    """Three commits: what both sides began from, the target, and what is merged into it."""

    base: CommitRecord
    ours: CommitRecord
    theirs: CommitRecord
    on_theirs: bool = False
    """Whether the schema of the result is theirs: then our rows are brought to theirs, not theirs to ours."""

    @property
    def onto(self) -> CommitRecord:
        """The side whose schema the result has, and on whose tables rows are staged."""
        return self.theirs if self.on_theirs else self.ours

    @property
    def other(self) -> CommitRecord:
        """The side whose changes are brought over."""
        return self.ours if self.on_theirs else self.theirs


def with_schema(sides: Sides, schemas: Schemas) -> Sides | None:
    """Choose the side whose schema the result has; None when both have changed it, and differently."""
    # What was added and taken back again leaves nothing but a number that does not return.
    base, ours, theirs = (
        replace(schemas.get(record.schema).catalog, last_id=0)
        for record in (sides.base, sides.ours, sides.theirs)
    )
    if theirs in (base, ours):
        return sides
    return Sides(sides.base, sides.ours, sides.theirs, on_theirs=True) if ours == base else None


class TableOutcome(StrEnum):
    """What becomes of one table."""

    KEEP = "keep"
    """It is as on the side that the result is built on."""
    TAKE = "take"
    """It is as on the other side: nobody else has changed it."""
    MERGE = "merge"
    """Both sides have changed it: its rows are merged."""
    LOST = "lost"
    """One side has dropped it and the other has changed it."""


def fates(sides: Sides) -> dict[str, TableOutcome]:
    """Decide about every table, by its identity, from the three commit records alone."""
    base, onto, other = sides.base.tables, sides.onto.tables, sides.other.tables
    return {identity: _fate(identity, base, onto, other) for identity in sorted({**base, **onto, **other})}


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
    if same_content(there, before) or same_content(there, here):
        return TableOutcome.KEEP
    if same_content(here, before):
        return TableOutcome.TAKE
    return TableOutcome.LOST if here is None or there is None else TableOutcome.MERGE
