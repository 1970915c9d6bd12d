"""What happens to proposals in the change feed: beside the commits of a branch, behind one cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.base.choices import FeedEvents
from omnigraph.base.errors import BadInput, ChangeCursorRejected
from omnigraph.graph.changes.feed.feed import FeedPage
from omnigraph.graph.proposals.model import ProposalEvent, ProposalPage
from omnigraph.wire.values import encode

COMMITS, PROPOSALS = "commits", "proposals"
_BETWEEN = "."
"""Stands between the cursor of commits and that of proposals, and in neither."""


@dataclass(frozen=True)
class ChangePage(FeedPage):
    """A page of the feed, with what has happened to proposals where that was asked for."""

    proposals: tuple[ProposalEvent, ...] | None = None
    """What has happened to proposals from the branch or into it; None where nobody has asked."""

    def to_json(self) -> dict[str, Any]:
        """Return the page as JSON data."""
        data = super().to_json()
        return data if self.proposals is None else {**data, PROPOSALS: encode(self.proposals)}


def wants_proposals(events: Sequence[FeedEvents] | None) -> bool:
    """Return whether a poll asks for proposals beside commits, or say what is wrong with what it asks for."""
    wanted = [COMMITS] if events is None else events
    if isinstance(wanted, str) or not set(wanted) <= {COMMITS, PROPOSALS}:
        raise BadInput(f"events is {events!r}: give a list of {COMMITS} and {PROPOSALS}")
    if COMMITS not in wanted:
        raise BadInput(
            f"events is {events!r}: {COMMITS} are always among them; g.proposals.poll has no others"
        )
    return PROPOSALS in wanted


def split_token(token: str | None, has_proposals: bool) -> tuple[str | None, str | None]:
    """Return what a cursor or page token says of commits, and of proposals.

    One of commits alone, such as that of a baseline, goes on with all that has happened to proposals.
    """
    if not isinstance(token, str):
        return token, None
    commits, _, proposals = token.partition(_BETWEEN)
    if proposals and not has_proposals:
        raise ChangeCursorRejected(
            f"change cursor rejected: it was made for events of {COMMITS} and {PROPOSALS}: ask for both again"
        )
    return commits, proposals or None


def add_proposals(commits: FeedPage, proposals: ProposalPage | None, limit: int) -> ChangePage:
    """Return one page of both, whose cursor stands in both."""
    if proposals is None:
        return ChangePage(**vars(commits))
    both = {
        name: None if token is None else f"{token}{_BETWEEN}{proposals.cursor}"
        for name, token in (("cursor", commits.cursor), ("page_token", commits.page_token))
    }
    is_end = commits.caught_up and len(proposals.events) < limit
    return ChangePage(**{**vars(commits), **both, "caught_up": is_end}, proposals=proposals.events)
