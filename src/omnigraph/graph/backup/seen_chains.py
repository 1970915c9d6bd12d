"""What a backup has seen of chains while it looked at a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.graph.backup.manifest import HeldCommit
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.storage.files.copying import Content

Place = tuple[str, int]
"""A chain's incarnation and a number in it."""


class ChangedMeanwhile(Exception):
    """What was looked at has changed meanwhile: look again."""


@dataclass
class SeenChain:
    """What belongs to the backup of one chain."""

    incarnation: str
    branch: str
    fork: CommitRef | None
    live: bool
    known: dict[int, HeldCommit] = field(default_factory=dict)
    """Commits that an earlier backup holds, by number."""
    fresh: dict[int, CommitRecord] = field(default_factory=dict)
    """Those that no backup holds yet."""
    contents: dict[int, Content] = field(default_factory=dict)
    """Of the records of the fresh ones, as they are stored."""
    dropped_tables: Mapping[str, int] = field(default_factory=dict)
    starts: frozenset[int] = frozenset()
    """What was kept for merges alone when that was last told."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left of the chain."""
        return not (self.known or self.fresh)

    @property
    def last(self) -> int:
        """The highest number."""
        return max((*self.known, *self.fresh))

    @property
    def is_closed(self) -> bool:
        """Whether the chain ends with the record that closes it."""
        record = self.fresh.get(self.last) or self.known[self.last]
        return record.closed
