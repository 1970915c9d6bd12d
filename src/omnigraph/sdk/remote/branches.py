"""Branches and tags of a served graph."""

from __future__ import annotations

from typing import Any

from omnigraph.graph.branches.info import BranchInfo
from omnigraph.graph.merge.rebase import Rebase
from omnigraph.graph.merge.run import Merge
from omnigraph.graph.tags import Tag
from omnigraph.sdk.remote.transport import Transport, quoted
from omnigraph.wire.values import decode


class RemoteBranches:
    """The branches of a served graph."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[str]:
        """Return the names of all branches: main first, then by name."""
        return list(self._transport.ask("/branches")["branches"])

    def create(
        self,
        name: str,
        from_branch: str | None = None,
        *,
        commit: str | None = None,
        tag: str | None = None,
        version: int | None = None,
    ) -> None:
        """Fork a branch."""
        body = {"name": name, "from": from_branch, "commit": commit, "tag": tag, "version": version}
        self._transport.act("POST", "/branches", body)

    def restore(self, name: str) -> None:
        """Bring a deleted branch back with its commits."""
        self._transport.act("POST", f"/branches/{quoted(name)}/restore")

    def delete(self, name: str) -> None:
        """Delete a branch."""
        self._transport.act("DELETE", f"/branches/{quoted(name)}")

    def rename(self, old: str, new: str) -> None:
        """Give a branch another name."""
        self._transport.act("POST", f"/branches/{quoted(old)}/rename", {"name": new})

    def info(self, name: str = "main", compared_with: str = "main") -> BranchInfo:
        """Describe a branch: where it is, who wrote last, how far it is ahead of another and behind it."""
        found = self._transport.ask(f"/branches/{quoted(name)}/info", compared_with=compared_with)
        return decode(BranchInfo, found)  # type: ignore[no-any-return]

    def reset(
        self,
        name: str,
        commit: str,
        *,
        dry_run: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Merge:
        """Give a branch the content and schema that a commit has, as a new commit."""
        body = {"commit": commit, "dry_run": dry_run, "message": message}
        done = self._transport.write(f"/branches/{quoted(name)}/reset", body, idempotency_key)
        return decode(Merge, done)  # type: ignore[no-any-return]

    def merge(
        self,
        source: str,
        into: str = "main",
        delete_branch: bool = False,
        strategy: str = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Merge:
        """Bring what a branch has done since its last common commit into another, as one commit."""
        body = {
            "source": source,
            "target": into,
            "delete_branch": delete_branch,
            "strategy": strategy,
            "resolutions": resolutions,
            "dry_run": dry_run,
            "message": message,
        }
        done = self._transport.write("/branches/merge", body, idempotency_key)
        return decode(Merge, done)  # type: ignore[no-any-return]

    def rebase(
        self,
        name: str,
        onto: str = "main",
        strategy: str = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
    ) -> Rebase:
        """Make the commits of a branch again on top of another's head."""
        body = {"onto": onto, "strategy": strategy, "resolutions": resolutions, "dry_run": dry_run}
        done = self._transport.act("POST", f"/branches/{quoted(name)}/rebase", body)
        return decode(Rebase, done)  # type: ignore[no-any-return]


class RemoteTags:
    """Names for commits of a served graph."""

    def __init__(self, transport: Transport, branch: str) -> None:
        self._transport, self._branch = transport, branch

    def create(self, name: str, commit: str | None = None, branch: str | None = None) -> Tag:
        """Name a commit: the one with this id, or a branch's head (this handle's branch unless given)."""
        where = branch or (self._branch if commit is None else None)
        made = self._transport.act("POST", "/tags", {"name": name, "commit": commit, "branch": where})
        return decode(Tag, made)  # type: ignore[no-any-return]

    def list(self) -> list[Tag]:
        """Return all tags, sorted by name."""
        return [decode(Tag, item) for item in self._transport.ask("/tags")["tags"]]

    def delete(self, name: str) -> None:
        """Remove a name; the next cleanup may drop the commit."""
        self._transport.act("DELETE", f"/tags/{quoted(name)}")
