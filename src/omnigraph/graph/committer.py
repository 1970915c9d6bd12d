"""What work that commits through a handle needs of it, so that it can stand below the handle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from omnigraph.base.settings import Settings
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.publish.outcome import Published
from omnigraph.graph.snapshot import Snapshot
from omnigraph.graph.write.work import CommitWork


class Committer(Protocol):
    """A graph that is open for writing on a branch; `Graph` is one."""

    @property
    def settings(self) -> Settings:
        """The limits and budgets."""

    @property
    def schemas(self) -> Schemas:
        """The stored schemas of the graph."""

    def snapshot(self, branch: str | None = None) -> Snapshot:
        """Return the graph at the head of a branch, its own unless given."""

    def commit_work(
        self,
        work: CommitWork,
        branch: str | None = None,
        message: str | None = None,
        *,
        durable: bool = False,
        streams: Mapping[str, int] | None = None,
    ) -> Published | None:
        """Carry out work as one commit of a branch; None when it changed nothing."""
