"""Commits and the change feed of a served graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnigraph.graph.history import Commit
from omnigraph.graph.merge.run import Merge
from omnigraph.sdk.remote.transport import Transport, quoted
from omnigraph.wire.values import decode

_COMMITS_PER_PAGE = 1_000
OnlyNames = Sequence[str] | None


class RemoteCommits:
    """The history of a served graph."""

    def __init__(self, transport: Transport, branch: str) -> None:
        self._transport, self._branch = transport, branch

    def list(
        self, branch: str | None = None, limit: int | None = None, actor: str | None = None
    ) -> list[Commit]:
        """Return the commits that a branch's head can reach, newest first, perhaps only one actor's."""
        found: list[Commit] = []
        token = None
        while limit is None or len(found) < limit:
            wanted = _COMMITS_PER_PAGE if limit is None else min(_COMMITS_PER_PAGE, limit - len(found))
            page = self._transport.ask(
                "/commits", branch=branch or self._branch, limit=wanted, actor=actor, page_token=token
            )
            found += [decode(Commit, item) for item in page["commits"]]
            token = page["next_page_token"]
            if token is None:
                break
        return found

    def show(self, id: str) -> Commit:
        """Return one commit, of any branch."""
        return decode(Commit, self._transport.ask(f"/commits/{quoted(id)}"))  # type: ignore[no-any-return]

    def changes(
        self,
        id: str,
        *,
        kinds: OnlyNames = None,
        types: OnlyNames = None,
        ops: OnlyNames = None,
        limit: int | None = None,
        page_token: str | None = None,
    ) -> dict[str, Any]:
        """Return what a commit made different from its first parent, a page at a time, as JSON data."""
        only = {"kinds": kinds, "types": types, "ops": ops, "limit": limit, "page_token": page_token}
        return dict(self._transport.ask(f"/commits/{quoted(id)}/changes", **only))

    def revert(self, id: str, branch: str | None = None, **options: Any) -> Merge:
        """Take the change of one commit back from a branch, as a new commit."""
        return self._pick(id, "revert", branch, options)

    def cherry_pick(self, id: str, onto: str | None = None, **options: Any) -> Merge:
        """Bring the change of one commit, of any branch, to a branch, as a new commit."""
        return self._pick(id, "cherry-pick", onto, options)

    def _pick(self, id: str, verb: str, branch: str | None, options: dict[str, Any]) -> Merge:
        body = {"branch": branch or self._branch, **options}
        done = self._transport.act("POST", f"/commits/{quoted(id)}/{verb}", body)
        return decode(Merge, done)  # type: ignore[no-any-return]


class RemoteChanges:
    """The changes of a served graph's branches, as they happen."""

    def __init__(self, transport: Transport, branch: str) -> None:
        self._transport, self._branch = transport, branch

    def poll(self, *, branch: str | None = None, **given: Any) -> dict[str, Any]:
        """Return what a branch committed after a cursor, as JSON data."""
        return dict(self._transport.ask("/changes", branch=branch or self._branch, **given))
