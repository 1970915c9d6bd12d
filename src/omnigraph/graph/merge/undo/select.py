"""Which commits are taken back: those of an actor that a branch has and an older commit has not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from omnigraph.base.errors import BadInput, SchemaChangeUnsupported
from omnigraph.graph.manifest.lineage import Ancestry, author_of, history
from omnigraph.graph.manifest.merge_base import list_apart
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.opening import Core


@dataclass(frozen=True, slots=True)
class UndoWanted:
    """Whose commits are taken back, with those by which others have picked what it did."""

    actor: str
    since: CommitRecord | None = None
    """What this commit has, stays; None for the whole history."""
    where: Mapping[str, str] = field(default_factory=dict)
    """What their metadata must say."""
    sees: Callable[[CommitRecord], bool] | None = None

    def takes(self, record: CommitRecord) -> bool:
        """Return whether a commit is one of them."""
        return (
            record.commit_class is CommitClass.LOGICAL
            and record.parent is not None
            and self.actor in (record.actor, author_of(record.operation, record.actor, record.metadata))
            and self.where.items() <= record.metadata.items()
            and (self.sees is None or self.sees(record))
        )


@dataclass(frozen=True, slots=True)
class Undone:
    """A commit that is taken back, with what it stood on."""

    record: CommitRecord
    before: CommitRecord
    merged: CommitRecord | None
    """What it merged: what it only brought over from there was done there."""


def select_commits(core: Core, head: CommitRecord, wanted: UndoWanted) -> tuple[Undone, ...]:
    """Return the commits to take back, newest first, or refuse what cannot be taken back entity by entity."""
    chains = core.truth.chains
    if not wanted.actor:
        raise BadInput("actor is empty: name whose commits are taken back")
    every = history(chains, head) if wanted.since is None else list_apart(chains, head, wanted.since)
    past, found = Ancestry(chains), []
    for record in every:
        if not wanted.takes(record) or record.parent is None:
            continue
        before = past.at(record.parent)
        merged = past.at(record.merged_parent) if record.merged_parent is not None else None
        if before is None:
            continue  # a cleanup has dropped what it stood on: nothing tells what it has done
        made_here = merged is None or not same_schema(record.schema, merged.schema)
        if made_here and not same_schema(record.schema, before.schema):
            raise SchemaChangeUnsupported(
                f"commit {record.commit} of {wanted.actor!r} changed the schema: take it back by its id, or "
                "begin after it with `since`",
                commit=record.commit,
            )
        found.append(Undone(record, before, merged))
    return tuple(found)
