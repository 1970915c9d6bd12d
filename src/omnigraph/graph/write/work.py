"""What a writer does, and who asks for it: the two things that `commit` is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.manifest.record import CommitClass, CommitRecord
from omnigraph.graph.write.integrity.blob_sources import BlobSources
from omnigraph.graph.write.write_state import WriteBase


class CommitWork(Protocol):
    """What a writer does. `stage` writes data files, once; `apply` stages table versions, once an attempt.

    `repeatable` work may be applied to a newer state than the one that it was asked for on: inserts and
    upserts may, an update, delete or overwrite reports the conflict instead.
    """

    @property
    def operation(self) -> str:
        """The word for this work in the commit."""

    @property
    def commit_class(self) -> CommitClass:
        """Whether the work changes what the graph says; maintenance is always repeatable."""

    @property
    def repeatable(self) -> bool:
        """Whether a newer state is as good."""

    def stage(self, base: WriteBase) -> None:
        """Write data files for the tables of `base`."""

    def apply(self, base: WriteBase) -> None:
        """Check the work against `base` and stage table versions on top of it."""


class _Ability(ABC):  # noqa: B024 - those below have the abstract methods
    """What some works can do beside: those whose class has the abstract methods, which is looked at once."""

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        return all(hasattr(other, name) for name in cls.__abstractmethods__)


class Answering(_Ability):
    """Work that tells its caller more than the commit."""

    @abstractmethod
    def answer(self) -> Mapping[str, Any]:
        """Return what the caller is told, as plain JSON data, once the work is applied."""


class Noting(_Ability):
    """Work that notes something of itself in the commit."""

    @abstractmethod
    def metadata(self) -> Mapping[str, str]:
        """Return what is noted, once the work is applied; what the caller notes comes before it."""


class Inspecting(_Ability):
    """Work that looks at its result before anybody sees it."""

    @abstractmethod
    def inspect(self, result: CommitRecord) -> None:
        """Refuse, by raising, what would be published; asked on every state that the work is applied to."""


class Restaging(_Ability):
    """Work that can write all its data files again."""

    @property
    @abstractmethod
    def can_stage_again(self) -> bool:
        """Whether what was staged can be thrown away: `stage` reads everything anew."""


class WriteGuard(Protocol):
    """Who judges what a commit changes, whoever makes it: above all, what its actor does not see."""

    def check(self, before: CommitRecord, after: CommitRecord, *, names_rows: bool = False) -> None:
        """Raise PolicyDenied unless the actor may make one commit into the other.

        It names new rows that are out of sight only when it may: when the actor itself has given them.
        """

    def catalog_at(self, record: CommitRecord) -> Catalog:
        """Return the types of a commit as the actor sees them."""

    def refuse_untold(self, record: CommitRecord) -> NoReturn:
        """Raise PolicyDenied for what cannot be told without saying what is hidden."""

    def hide_stored_rows(self, error: OmniError) -> OmniError:
        """Return an error that tells nothing of stored rows, which the actor may not see."""

    def require_sight(self, records: Sequence[CommitRecord], entities: Iterable[tuple[str, str]]) -> None:
        """Raise PolicyDenied if the actor does not see some entities (table key and id) in a commit."""


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """Who asks for a commit, where, and on which conditions."""

    branch: str
    actor: str | None = None
    message: str | None = None
    if_commit: str | None = None
    durable: bool = False
    """Whether staging is so expensive that a crash must not lose it: the plan is then made durable."""
    incarnation: str | None = None
    """The incarnation that the branch must have, when the caller knows it."""
    streams: Mapping[str, int] = field(default_factory=dict)
    """The batch of a streaming application that this commit is; what has landed does not land again."""
    key: str | None = None
    """The caller's idempotency key: what was committed under it is not committed again."""
    staged_behind: int | None = None
    """The newest cleanup that was known when files began to be written, when another process has begun."""
    lasting: bool = False
    """Whether staging surely takes long: what the write begins from is held against cleanups at once."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What the caller notes in the commit beside the message."""
    proposal: str | None = None
    """The proposal that is merged: what the branch's protection demands is looked at by the work."""
    guard: WriteGuard | None = None
    """Who judges the commit; None where everything may be changed."""
    blob_sources: BlobSources | None = None
    """From where its blobs may come; None where the environment says it."""
