"""What one actor may see of a graph's history: a commit is judged by the branches that hold it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from omnigraph.base.errors import BranchGone, CorruptState, NotFound
from omnigraph.graph.manifest.lineage import Ancestry
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import Truth

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate


class ActorAccess:
    """What an actor may do with the branches and commits of a graph, at this moment."""

    def __init__(self, truth: Truth, policy: Gate, actor: str | None, action: str = "read") -> None:
        self._truth, self._policy, self._actor, self._action = truth, policy, actor, action

    def allows(self, branch: str) -> bool:
        """Return whether it may be done on a branch."""
        return self._policy.allows(self._actor, self._action, branch=branch)

    def check(self, branch: str) -> None:
        """Raise `PolicyDenied` unless it may be done on a branch."""
        self._policy.check(self._actor, self._action, branch=branch)

    def check_any(self) -> None:
        """Raise `PolicyDenied` if it may be done on no branch: then nobody learns what there is."""
        if not self._policy.allows_anywhere(self._actor, self._action):
            self._policy.check(self._actor, self._action)

    def sees(self, record: CommitRecord) -> bool:
        """Return whether it may be done with a commit."""
        return self.find_holder(record.ref, record.branch) is not None

    def find_holder(self, commit: CommitRef, made_on: str) -> str | None:
        """Return a branch that holds a commit and on which it may be done; None when there is none.

        A branch holds the commits of its own chain and those that it began from. A commit that no branch
        holds, because its branch is deleted, is judged by the name of that.
        """
        if not self._policy.allows_anywhere(self._actor, self._action):
            return None
        if self._policy.allows_everywhere(self._actor, self._action):
            return made_on
        if self.allows(made_on) and self._is_of(commit, made_on):
            return made_on
        names = {name for name, until in self._holders.get(commit.incarnation, ()) if commit.seq <= until}
        candidates = names or {made_on}
        return next(filter(self.allows, sorted(candidates)), None)

    def _is_of(self, commit: CommitRef, branch: str) -> bool:
        with suppress(NotFound, BranchGone, CorruptState):
            return self._truth.state(branch).ref.incarnation == commit.incarnation
        return False

    @cached_property
    def _holders(self) -> dict[str, list[tuple[str, float]]]:
        """By chain, the branches that hold it and up to which number."""
        found: dict[str, list[tuple[str, float]]] = defaultdict(list)
        past = Ancestry(self._truth.chains)
        for ref in self._truth.live_refs():
            for incarnation, until in self._list_chains(ref, past):
                found[incarnation].append((ref.name, until))
        return found

    def _list_chains(self, ref: BranchRef, past: Ancestry) -> Iterator[tuple[str, float]]:
        """Yield the chains of a branch's own line of commits, and up to which number each is of it."""
        for former in ref.predecessors:
            yield former, float("inf")
        place: tuple[str, float] = (ref.incarnation, float("inf"))
        fork = ref.fork
        while True:
            yield place
            with suppress(CorruptState):  # a lost record hides only what lies behind it
                newest = self._truth.newest_of(place[0])
                fork = fork if newest is None else past.fork_of(newest)
            if fork is None:
                return
            place, fork = (fork.incarnation, fork.seq), None
