"""The schema of a merge's result: one side's, or both combined; or the conflicts that stand in the way."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.combine import Clash, Side, combine_schemas
from omnigraph.compiler.catalog.combine.clashes import Shown
from omnigraph.compiler.catalog.identity import retire_ids
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import Schemas, StoredSchema, same_schema
from omnigraph.graph.merge.answers.resolutions import Resolutions, Take
from omnigraph.graph.merge.conflicts import ConflictKind, Image, MergeConflict
from omnigraph.graph.merge.sides import Sides, same_content
from omnigraph.graph.schema_apply.check_satisfiable import find_unusable

_TAKEN: dict[Take, Side] = {Take.BASE: "base", Take.OURS: "ours", Take.THEIRS: "theirs"}


def decide_schema(sides: Sides, schemas: Schemas, answers: Resolutions) -> Sides | list[MergeConflict]:
    """Say which schema the result has, or return the conflicts that nobody has answered."""
    base, ours, theirs = (
        schemas.get(record.schema).catalog for record in (sides.base, sides.ours, sides.theirs)
    )
    wrote: dict[Side, set[int]] = {
        "ours": _find_written_types(sides.base, sides.ours, sides.theirs),
        "theirs": _find_written_types(sides.base, sides.theirs, sides.ours),
    }
    if not any(wrote.values()):
        if _plain(theirs) in (_plain(base), _plain(ours)):
            return sides
        if _plain(ours) == _plain(base):
            return replace(sides, on_theirs=True)
    found = combine_schemas(base, ours, theirs, partial(_answer, answers), wrote, find_unusable)
    if found.catalog is None:
        return [answers.describe_left(_conflict(clash)) for clash in found.clashes]
    if _plain(found.catalog) == _plain(ours):
        return sides
    if _plain(found.catalog) == _plain(theirs):
        return replace(sides, on_theirs=True)
    return replace(sides, combined_schema=StoredSchema(found.catalog, found.source))


def put_schema(sides: Sides, schemas: Schemas) -> str | None:
    """Store the schema that the target gets and return its address; None when it keeps its own."""
    if sides.combined_schema is not None:
        return schemas.put(sides.combined_schema)
    if not sides.on_theirs or same_schema(sides.theirs.schema, sides.ours.schema):
        return None
    ours, theirs = (schemas.get(side.schema) for side in (sides.ours, sides.theirs))
    # When an older schema comes back: numbers that were given out since never return (invariant 8).
    kept = retire_ids(theirs.catalog, ours.catalog)
    if kept.last_id == theirs.catalog.last_id:
        return sides.theirs.schema
    return schemas.put(StoredSchema(kept, theirs.source))


def _find_written_types(base: CommitRecord, keeper: CommitRecord, dropper: CommitRecord) -> set[int]:
    """Return the numbers of the types that one side dropped and of which the other changed the table."""
    return {
        int(identity.partition("-")[0], 16)
        for identity, entry in base.tables.items()
        if identity not in dropper.tables
        and identity in keeper.tables
        and not same_content(entry, keeper.tables[identity])
    }


def _plain(catalog: Catalog) -> Catalog:
    # What was added and taken back again leaves nothing but a number that does not return.
    return replace(catalog, last_id=0)


def _answer(answers: Resolutions, clash: Clash) -> Side | None:
    answer = answers.answer(_conflict(clash))
    if answer is None:
        return None
    if answer.take is Take.CUSTOM:
        raise BadInput(
            f"a resolution takes a custom image for {clash.place}, which is about the schema: "
            "take base, ours or theirs",
            place=clash.place,
        )
    return _TAKEN[answer.take]


def _conflict(clash: Clash) -> MergeConflict:
    return MergeConflict(
        ConflictKind.SCHEMA_DIVERGED.value,
        "schema",
        clash.type_name,
        clash.place or None,
        clash.message,
        _image(clash.base),
        _image(clash.ours),
        _image(clash.theirs),
        clash.about,
    )


def _image(shown: Shown | None) -> Image | None:
    return None if shown is None else {"properties": dict(shown)}
