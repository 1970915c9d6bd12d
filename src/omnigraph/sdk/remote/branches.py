"""Branches and tags of a served graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.base.choices import MergeStrategy
from omnigraph.graph.branches.info import BranchInfo
from omnigraph.graph.branches.protection import read_protection
from omnigraph.graph.handle_branches import Branches
from omnigraph.graph.handle_tags import Tags
from omnigraph.graph.merge import run as merging
from omnigraph.graph.merge.answers.read_resolutions import list_members
from omnigraph.graph.merge.conflicts import MergeConflict
from omnigraph.graph.merge.duplicates.rules import read_rules
from omnigraph.graph.merge.rebase import Rebase
from omnigraph.graph.merge.run import Merge
from omnigraph.graph.tags import Tag
from omnigraph.graph.write.integrity.json_values import as_json
from omnigraph.sdk.remote.requests.transport import Transport, quoted
from omnigraph.wire.values import decode


class RemoteBranches:
    """The branches of a served graph."""

    stands_for = Branches

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
        """Fork a branch; nothing is copied and no commit is made."""
        body = {"name": name, "from": from_branch, "commit": commit, "tag": tag, "version": version}
        self._transport.act("POST", "/branches", body)

    def restore(self, name: str, *, if_commit: str | None = None) -> None:
        """Bring a deleted branch back with its commits; possible until a cleanup has removed them."""
        self._transport.act("POST", f"/branches/{quoted(name)}/restore", if_commit=if_commit)

    def delete(self, name: str, *, if_commit: str | None = None) -> None:
        """Delete a branch; `restore` brings it back until a cleanup removes the commits that only it has.

        `if_commit` names the commit that must still be its head.
        """
        self._transport.act("DELETE", f"/branches/{quoted(name)}", if_commit=if_commit)

    def rename(self, old: str, new: str, *, if_commit: str | None = None) -> None:
        """Give a branch another name, if its head is still the commit of `if_commit`; its commits stay."""
        path = f"/branches/{quoted(old)}/rename"
        self._transport.act("POST", path, {"name": new}, if_commit=if_commit)

    def info(self, name: str | None = None, compared_with: str = "main") -> BranchInfo:
        """Describe a branch: where it is, who wrote last, how far it is ahead of another and behind it."""
        path = f"/branches/{quoted(self._transport.branch if name is None else name)}/info"
        found = self._transport.ask(path, compared_with=compared_with)
        return decode(BranchInfo, found)  # type: ignore[no-any-return]

    def protect(self, name: str = "main", *, approvals: int = 1, checks: Sequence[str] = ()) -> None:
        """Let nothing but proposals change a branch, with so many approvals, and these checks passed."""
        wanted = read_protection(approvals, checks)
        body = {"approvals": wanted.approvals, "checks": list(wanted.checks)}
        self._transport.act("PUT", f"/branches/{quoted(name)}/protection", body)

    def unprotect(self, name: str = "main") -> None:
        """Let writers change a branch directly again."""
        self._transport.act("DELETE", f"/branches/{quoted(name)}/protection")

    def reset(
        self,
        name: str,
        commit: str,
        *,
        dry_run: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Merge:
        """Give a branch the content and schema that a commit has, as a new commit: no history is lost."""
        body = {"commit": commit, "dry_run": dry_run, "message": message, "metadata": metadata}
        done = self._transport.write(f"/branches/{quoted(name)}/reset", body, idempotency_key)
        return decode(Merge, done)  # type: ignore[no-any-return]

    def merge(
        self,
        source: str,
        into: str = "main",
        delete_branch: bool = False,
        strategy: MergeStrategy = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
        same_as: Any = None,
    ) -> Merge:
        """Bring what a branch has done since its last common commit into another, as one commit."""
        body = {
            "source": source,
            "target": into,
            "delete_branch": delete_branch,
            "dry_run": dry_run,
            "message": message,
            "metadata": metadata,
            **merge_options(strategy, resolutions),
            "same_as": rules_as_data(same_as),
        }
        done = self._transport.write("/branches/merge", body, idempotency_key)
        return decode(Merge, done)  # type: ignore[no-any-return]

    def rebase(
        self,
        name: str,
        onto: str = "main",
        strategy: MergeStrategy = "entity",
        resolutions: Any = None,
        dry_run: bool = False,
        *,
        if_commit: str | None = None,
    ) -> Rebase:
        """Make the commits of a branch again on top of another's head, which the branch then begins after."""
        body = {"onto": onto, "dry_run": dry_run, **merge_options(strategy, resolutions)}
        path = f"/branches/{quoted(name)}/rebase"
        done = self._transport.act("POST", path, body, if_commit=if_commit)
        return decode(Rebase, done)  # type: ignore[no-any-return]


class RemoteTags:
    """Names for commits; cleanup keeps what they name for as long as they exist."""

    stands_for = Tags

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, commit: str | None = None, branch: str | None = None) -> Tag:
        """Name a commit: the one with this id, or a branch's head (this handle's branch unless given)."""
        made = self._transport.act("POST", "/tags", {"name": name, "commit": commit, "branch": branch})
        return decode(Tag, made)  # type: ignore[no-any-return]

    def list(self) -> list[Tag]:
        """Return all tags, sorted by name; the log tells of damaged ones."""
        return [decode(Tag, item) for item in self._transport.ask("/tags")["tags"]]

    def delete(self, name: str, *, if_commit: str | None = None) -> None:
        """Remove a name; the next cleanup may drop the commit. `if_commit` is the one it must still name."""
        self._transport.act("DELETE", f"/tags/{quoted(name)}", if_commit=if_commit)


def merge_options(strategy: str, resolutions: Any) -> dict[str, Any]:
    """Return how to merge, checked as a graph in process checks it."""
    merging.options(strategy, resolutions)
    return {"strategy": strategy, "resolutions": _as_data(resolutions)}


def rules_as_data(same_as: Any) -> list[dict[str, Any]] | None:
    """Return rules that find duplicates, checked as a graph in process checks them."""
    return None if same_as is None else [rule.to_json() for rule in read_rules(same_as)]


def _as_data(resolutions: Any) -> Any:
    if resolutions is None:
        return None
    answers = list_members(resolutions)
    return [as_json(item.to_json() if isinstance(item, MergeConflict) else item) for item in answers]
