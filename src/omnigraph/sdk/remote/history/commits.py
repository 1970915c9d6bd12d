"""Commits of a served graph."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from omnigraph.base.choices import ChangeOp, EntityKind, MergeStrategy
from omnigraph.base.errors import BadInput
from omnigraph.graph.changes.commit import CommitChanges
from omnigraph.graph.changes.model import ChangeFilter
from omnigraph.graph.handle_commits import Commits, check_reverted
from omnigraph.graph.history import Commit, check_where
from omnigraph.graph.merge.run import Merge
from omnigraph.sdk.remote.history.decoding import read_commit_changes
from omnigraph.sdk.remote.requests.transport import Transport, quoted
from omnigraph.wire.values import decode

_COMMITS_PER_PAGE = 1_000


class RemoteCommits:
    """The history of a served graph."""

    stands_for = Commits

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        branch: str | None = None,
        limit: int | None = None,
        actor: str | None = None,
        *,
        start: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> list[Commit]:
        """Return the commits that a branch's head, or the commit `start`, can reach, newest first."""
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
            raise BadInput(f"limit is {limit!r}: it must be a whole number of 0 or more", limit=limit)
        noted = None if where is None else json.dumps(dict(where))
        found: list[Commit] = []
        token = None
        while True:
            wanted = _COMMITS_PER_PAGE if limit is None else min(_COMMITS_PER_PAGE, limit - len(found))
            place = {"branch": branch, "start": start} if token is None else {"page_token": token}
            page = self._transport.ask("/commits", limit=max(wanted, 1), actor=actor, where=noted, **place)
            found += [decode(Commit, item) for item in page["commits"]]
            token = page["next_page_token"]
            if token is None or (limit is not None and len(found) >= limit):
                return found[:limit]

    def show(self, id: str) -> Commit:
        """Return one commit, of any branch."""
        return decode(Commit, self._transport.ask(f"/commits/{quoted(id)}"))  # type: ignore[no-any-return]

    def changes(
        self,
        id: str,
        *,
        kinds: Sequence[EntityKind] | None = None,
        types: Sequence[str] | None = None,
        ops: Sequence[ChangeOp] | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
        page_token: str | None = None,
    ) -> CommitChanges:
        """Return what a commit made different from its first parent, a page at a time."""
        ChangeFilter.of(kinds, types, ops)
        only = {"kinds": kinds, "types": types, "ops": ops}
        page = {"limit": limit, "max_bytes": max_bytes, "page_token": page_token}
        return read_commit_changes(self._transport.ask(f"/commits/{quoted(id)}/changes", **only, **page))

    def revert(
        self,
        id: str | None = None,
        branch: str | None = None,
        strategy: MergeStrategy | None = None,
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
        metadata: Mapping[str, str] | None = None,
        *,
        actor: str | None = None,
        since: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> Merge:
        """Take the change of one commit back from a branch, or all that an actor has done."""
        from omnigraph.sdk.remote.branches import merge_options

        check_reverted(id, actor, since, where)
        if actor is None:
            how = strategy or "entity"
            return self._pick(str(id), "revert", branch, how, resolutions, dry_run, message, metadata)
        body = {"branch": branch, "dry_run": dry_run, "message": message, "metadata": metadata}
        body |= {"actor": actor, "since": since, "where": None if where is None else dict(check_where(where))}
        body |= merge_options(strategy or "property", resolutions)
        ask = self._transport.read if dry_run else partial(self._transport.act, "POST")
        return decode(Merge, ask("/commits/revert", body))  # type: ignore[no-any-return]

    def cherry_pick(
        self,
        id: str,
        onto: str | None = None,
        strategy: MergeStrategy = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Merge:
        """Bring the change of one commit, of any branch, to a branch, as a new commit."""
        return self._pick(id, "cherry-pick", onto, strategy, resolutions, dry_run, message, metadata)

    def _pick(
        self,
        id: str,
        verb: str,
        branch: str | None,
        strategy: str,
        resolutions: Any,
        dry_run: bool,
        message: str | None,
        metadata: Mapping[str, str] | None,
    ) -> Merge:
        from omnigraph.sdk.remote.branches import merge_options

        body = {"branch": branch, "dry_run": dry_run, "message": message, "metadata": metadata}
        body |= merge_options(strategy, resolutions)
        path = f"/commits/{quoted(id)}/{verb}"
        send = self._transport.read if dry_run else self._transport.write
        done = send(path, body)
        return decode(Merge, done)  # type: ignore[no-any-return]
