"""Proposals of a served graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.base.choices import MergeStrategy
from omnigraph.graph.merge.answers.read_resolutions import list_members
from omnigraph.graph.merge.run import Merge
from omnigraph.graph.proposals.answers import read_answers
from omnigraph.graph.proposals.model import Mergeability, Proposal, ProposalPage
from omnigraph.sdk.proposals.entity_names import read_entity
from omnigraph.sdk.proposals.handle import Proposals, check_state
from omnigraph.sdk.remote.branches import rules_as_data
from omnigraph.sdk.remote.requests.transport import Transport, quoted
from omnigraph.wire.values import decode

_PROPOSALS_PER_PAGE = 1_000


class RemoteProposals:
    """The proposals of a served graph."""

    stands_for = Proposals

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        source: str,
        into: str = "main",
        title: str = "",
        description: str = "",
        *,
        reviewers: Sequence[str] = (),
        checks: Sequence[str] = (),
        strategy: MergeStrategy = "entity",
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        same_as: Any = None,
    ) -> Proposal:
        """Propose to merge a branch into another; nothing of either changes."""
        body = {
            "source": source,
            "into": into,
            "title": title,
            "description": description,
            "reviewers": list(reviewers),
            "checks": list(checks),
            "strategy": strategy,
            "metadata": None if metadata is None else dict(metadata),
            "same_as": rules_as_data(same_as),
        }
        return _proposal(self._transport.write("/proposals", body, idempotency_key))

    def show(self, id: str) -> Proposal:
        """Return a proposal, by its id or the beginning of it."""
        return _proposal(self._transport.ask(_path(id)))

    def comment(
        self,
        id: str,
        text: str,
        *,
        entity: Mapping[str, str] | Sequence[str] | None = None,
        commit: str | None = None,
    ) -> Proposal:
        """Say something about a proposal, or about an entity: (type, id), or (type, id, property)."""
        named = None if entity is None else read_entity(entity)
        body = {"text": text, "entity": named, "commit": commit}
        return _proposal(self._transport.write(f"{_path(id)}/comments", body))

    def approve(self, id: str, *, commit: str | None = None, text: str = "") -> Proposal:
        """Approve a proposal as its source is now; a later push voids that, and so do other saved answers."""
        return self._act("POST", id, "/approve", {"commit": commit, "text": text})

    def request_changes(self, id: str, text: str = "", *, commit: str | None = None) -> Proposal:
        """Ask for changes of a proposal as its source is now: until then it is not merged."""
        return self._act("POST", id, "/request-changes", {"text": text, "commit": commit})

    def resolve(self, id: str, resolutions: Any, *, replace: bool = False) -> Proposal:
        """Save answers to conflicts, some or all, in the place of earlier ones for the same conflicts."""
        body = {"resolutions": read_answers(list_members(resolutions)), "replace": replace}
        return self._act("PUT", id, "/resolutions", body)

    def mergeable(self, id: str) -> Mergeability:
        """Return whether a proposal can be merged now; if not, why: each reason has a code."""
        return decode(Mergeability, self._transport.ask(f"{_path(id)}/mergeable"))  # type: ignore[no-any-return]

    def merge(
        self,
        id: str,
        *,
        message: str | None = None,
        metadata: Mapping[str, str] | None = None,
        delete_branch: bool = False,
        commit: str | None = None,
    ) -> Merge:
        """Merge a proposal that meets what its target demands, as one commit that names it."""
        body = {
            "message": message,
            "metadata": None if metadata is None else dict(metadata),
            "delete_branch": delete_branch,
            "commit": commit,
        }
        return decode(Merge, self._transport.write(f"{_path(id)}/merge", body))  # type: ignore[no-any-return]

    def close(self, id: str, text: str = "") -> Proposal:
        """Close a proposal without merging it; `reopen` takes that back."""
        return self._act("POST", id, "/close", {"text": text})

    def reopen(self, id: str, text: str = "") -> Proposal:
        """Open a closed proposal again."""
        return self._act("POST", id, "/reopen", {"text": text})

    def poll(self, cursor: str | None = None, *, limit: int = 1_000) -> ProposalPage:
        """Return what has happened to proposals after a cursor, all that has happened without one."""
        told = self._transport.ask("/proposals/events", cursor=cursor, limit=limit)
        return decode(ProposalPage, told)  # type: ignore[no-any-return]

    def list(
        self,
        state: str | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        source: str | None = None,
        into: str | None = None,
    ) -> list[Proposal]:
        """Return proposals, newest first: of one state, source or target, and those that follow an id."""
        check_state(state)
        found: list[Proposal] = []
        while limit is None or len(found) < limit:
            most = _PROPOSALS_PER_PAGE if limit is None else min(_PROPOSALS_PER_PAGE, limit - len(found))
            page = self._transport.ask(
                "/proposals", state=state, source=source, into=into, limit=most, page_token=after
            )
            found += [_proposal(item) for item in page["proposals"]]
            after = page["next_page_token"]
            if after is None:
                break
        return found

    def _act(self, method: str, id: str, path: str, body: Mapping[str, Any]) -> Proposal:
        return _proposal(self._transport.act(method, _path(id) + path, body))


def _path(id: str) -> str:
    return f"/proposals/{quoted(id)}"


def _proposal(told: Any) -> Proposal:
    return decode(Proposal, told)  # type: ignore[no-any-return]
