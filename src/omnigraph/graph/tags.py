"""Tags as users see them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from omnigraph.base import clock
from omnigraph.base.errors import InvalidName
from omnigraph.base.ids import is_ulid
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.branches.rename import RENAMES
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.tags import WRITE_HOLDS, StoredTag, no_tag
from omnigraph.graph.manifest.truth import Truth

_log = logging.getLogger("omnigraph")

HOLDS = "__backup/"
"""How the names of hidden tags begin that keep cleanups from what a backup is copying."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A name for a commit, which stays readable as long as the tag exists."""

    name: str
    commit: str
    branch: str
    """The branch that the commit was made on."""
    version: int
    actor: str | None
    created_at: datetime

    @staticmethod
    def of(stored: StoredTag) -> Tag:
        """Return a stored tag as users see it."""
        return Tag(
            stored.name,
            stored.ref.commit,
            stored.branch,
            stored.ref.seq,
            stored.actor,
            stored.made_at,
        )


def create_tag(truth: Truth, name: str, record: CommitRecord, actor: str | None) -> Tag:
    """Give a name to a commit."""
    name = tag_name(name)
    return Tag.of(truth.tags.create(name, record, clock.current().now_us(), actor))


def list_tags(truth: Truth, find_holder: Callable[[CommitRef, str], str | None] | None = None) -> list[Tag]:
    """Return all tags, sorted by name; the log tells of those that cannot be read.

    With `find_holder` only those of commits for which it finds a branch that holds them.
    """
    found, damaged = truth.tags.scan()
    for error in damaged:
        _log.warning("a tag is not listed: %s", error.message)
    return [
        Tag.of(stored)
        for stored in found
        if not is_hidden(stored.name)
        if find_holder is None or find_holder(stored.ref, stored.branch) is not None
    ]


def find_tagged(truth: Truth, name: str) -> CommitRecord:
    """Return the record of the commit that a tag names."""
    found = truth.tags.find(tag_name(name))
    if found is None:
        raise no_tag(name)
    return truth.chains.at(found.ref)


def tag_name(name: str) -> str:
    """Return a tag's name without surrounding space, or say what is wrong with it; nothing is looked up."""
    name = normalise(name, "tag")
    if is_ulid(name):
        raise InvalidName(f"{name!r} is not a tag name: it looks like the id of a commit", name=name)
    if is_hidden(name):
        raise InvalidName(
            f"{name!r} is not a tag name: {HOLDS!r}, {WRITE_HOLDS!r} and {RENAMES!r} are used internally",
            name=name,
        )
    return name


def is_hold(name: str) -> bool:
    """Return whether a tag is a hidden one of a backup."""
    return name.startswith(HOLDS)


def is_renaming(name: str) -> bool:
    """Return whether a tag is the hidden one of a branch that is being renamed."""
    return name.startswith(RENAMES)


def is_hidden(name: str) -> bool:
    """Return whether a tag is not a user's."""
    return is_hold(name) or is_renaming(name) or name.startswith(WRITE_HOLDS)
