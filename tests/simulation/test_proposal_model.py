"""Random histories of proposals beside a model: who may approve, what that is worth, what is merged."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key  note: String? }"
CHECK = 'query nobody_bad() { match { $p: Person { name: "bad" } } return { $p.name } }'
PUT = "query q($n: String, $v: String) { upsert Person { name: $n, note: $v } }"
DROP = "query q($n: String) { delete Person where name = $n }"
ACTORS = ("ada", "bob", "cyd")
SOURCES = ("a", "b", "c")
NAMES = ("p", "q", "r", "s", "t", "bad")
STEPS = 14
HISTORIES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "0")) or 200
AT_ONCE = 50

Content = dict[str, str]


@dataclass
class Branch:
    """A branch: what it says, what it began from, and who has written since."""

    content: Content
    base: Content
    state: int
    """A number that is another one after each change."""
    writers: set[str] = field(default_factory=set)


@dataclass
class Proposed:
    """A proposal."""

    id: str
    source: str
    author: str
    state: str = "open"
    verdicts: dict[str, tuple[bool, int, str]] = field(default_factory=dict)
    """By actor: whether it approves, of which state of the source, with which answers."""
    answers: str = ""
    answered_by: str | None = None


class Model:
    """A graph with a protected main, its branches and proposals, and what they should be."""

    def __init__(self, root: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.root = og.init(root, SCHEMA, actor="ada")
        self.handles = {actor: og.open(self.root.uri, actor=actor) for actor in ACTORS}
        self.checked = self.dice.random() < 0.5
        if self.checked:
            (root.parent / "checks").mkdir(exist_ok=True)
            (root.parent / "checks" / "c.gq").write_text(CHECK)
            self.root.queries.apply(root.parent / "checks")
        self.approvals = self.dice.choice([0, 0, 1, 1, 2])
        self.root.branches.protect(
            "main", approvals=self.approvals, checks=["nobody_bad"] if self.checked else []
        )
        self.main: Content = {}
        self.moves = 0
        self.branches: dict[str, Branch] = {}
        self.proposals: list[Proposed] = []
        self.merged = self.refused = 0

    def step(self) -> None:
        """Let somebody do something, and compare."""
        actor = self.dice.choice(ACTORS)
        verbs = (
            (self.push, 4),
            (self.propose, 3),
            (self.decide, 7),
            (self.merge, 7),
            (self.turn, 2),
            (self.maintain, 1),
            (self.drop_branch, 1),
            (self.move_main, 1),
            (self.rename, 1),
            (self.reset, 1),
        )
        chosen = self.dice.choices([verb for verb, _ in verbs], [weight for _, weight in verbs])[0]
        chosen(actor)

    def push(self, actor: str) -> None:
        """Change a branch, which is forked from main if it is not there."""
        name = self.dice.choice(SOURCES)
        if name not in self.branches:
            self.handles[actor].branches.create(name)
            self.branches[name] = Branch(dict(self.main), dict(self.main), -1)
        branch, key = self.branches[name], self.dice.choice(NAMES)
        if key in branch.content and self.dice.random() < 0.3:
            self.handles[actor].mutate(DROP, {"n": key}, branch=name)
            del branch.content[key]
        else:
            branch.content[key] = f"{actor}{self._count()}"
            self.handles[actor].mutate(PUT, {"n": key, "v": branch.content[key]}, branch=name)
        branch.state = self._count()
        branch.writers.add(actor)

    def move_main(self, actor: str) -> None:
        """Change main, which takes its protection away for a moment."""
        key, value = self.dice.choice(NAMES[:-1]), f"main{self._count()}"
        self.root.branches.unprotect("main")
        self.root.mutate(PUT, {"n": key, "v": value})
        self.root.branches.protect(
            "main", approvals=self.approvals, checks=["nobody_bad"] if self.checked else []
        )
        self.main[key] = value

    def propose(self, actor: str) -> None:
        """Propose a branch."""
        if not self.branches:
            return
        source = self.dice.choice(sorted(self.branches))
        made = self.handles[actor].proposals.create(source, title=f"{source} of {actor}")
        self.proposals.append(Proposed(made.id, source, actor))

    def decide(self, actor: str) -> None:
        """Approve, ask for changes, or settle all conflicts by a rule."""
        proposal = self._choose()
        if proposal is None:
            return
        handle, branch = self.handles[actor].proposals, self.branches.get(proposal.source)
        word = self.dice.choice(["approve", "approve", "approve", "request", "resolve"])
        if proposal.state != "open":
            with pytest.raises(og.ProposalClosed):
                handle.approve(proposal.id)
        elif branch is None:
            with pytest.raises(og.NotFound):
                handle.approve(proposal.id)
        elif word == "approve" and actor in self._involved(proposal, branch):
            with pytest.raises(og.PolicyDenied):
                handle.approve(proposal.id)
        elif word == "resolve":
            take = self.dice.choice(["ours", "theirs"])
            handle.resolve(proposal.id, [{"take": take}])
            proposal.answers, proposal.answered_by = take, actor
        else:
            (handle.approve if word == "approve" else handle.request_changes)(proposal.id)
            proposal.verdicts[actor] = (word == "approve", branch.state, proposal.answers)

    def turn(self, actor: str) -> None:
        """Close or open again."""
        proposal = self._choose()
        if proposal is None:
            return
        closes = self.dice.random() < 0.5
        call = getattr(self.handles[actor].proposals, "close" if closes else "reopen")
        if proposal.state == "merged":
            with pytest.raises(og.ProposalClosed):
                call(proposal.id)
            return
        call(proposal.id)
        proposal.state = "closed" if closes else "open"

    def merge(self, actor: str) -> None:
        """Try to merge, which must end as the model says."""
        ready = [proposal for proposal in self.proposals if not self._find_reasons(proposal)]
        proposal = self.dice.choice(ready) if ready and self.dice.random() < 0.7 else self._choose()
        if proposal is None:
            return
        handle = self.handles[actor].proposals
        expected = self._find_reasons(proposal)
        result = None if expected else self._merge_contents(proposal)
        if not expected and result is None:
            expected = {"conflicts"}
        if not expected and self.checked and "bad" in (result or {}):
            expected = {"check_failed"}
        told = handle.mergeable(proposal.id)
        assert {reason.code for reason in told.reasons} >= expected, (proposal, told.reasons)
        assert told.mergeable == (not expected)
        if proposal.state == "merged":
            handle.merge(proposal.id)
        elif expected:
            with pytest.raises((og.NotMergeable, og.MergeConflicts, og.ProposalClosed)):
                handle.merge(proposal.id)
            self.refused += 1
        else:
            assert result is not None
            done = handle.merge(proposal.id)
            if done.commit_id is not None:
                assert self.root.commits.show(done.commit_id).metadata["proposal"] == proposal.id
            branch = self.branches[proposal.source]
            self.main, branch.base, branch.writers = result, dict(branch.content), set()
            proposal.state = "merged"
            self.merged += 1

    def maintain(self, actor: str) -> None:
        """Do what must void nothing."""
        for name in ("main", *self.branches):
            self.root.optimize(name)

    def drop_branch(self, actor: str) -> None:
        """Delete a branch; one of its name that is made later is another."""
        if self.branches:
            name = self.dice.choice(sorted(self.branches))
            self.handles[actor].branches.delete(name)
            del self.branches[name]

    def rename(self, actor: str) -> None:
        """Give a branch another name: proposals of the old one have no source any more."""
        free = [name for name in SOURCES if name not in self.branches]
        if self.branches and free:
            name = self.dice.choice(sorted(self.branches))
            self.handles[actor].branches.rename(name, free[0])
            self.branches[free[0]] = self.branches.pop(name)

    def reset(self, actor: str) -> None:
        """Make a branch what main is: a push like others."""
        if not self.branches:
            return
        name = self.dice.choice(sorted(self.branches))
        branch = self.branches[name]
        if self.handles[actor].branches.reset(name, "main").commit_id is not None:
            branch.content, branch.state = dict(self.main), self._count()
            branch.writers.add(actor)

    def check(self) -> None:
        """Compare everything that is there."""
        assert _read(self.root, "main") == self.main
        for name, branch in self.branches.items():
            assert _read(self.root, name) == branch.content
        for proposal in self.proposals:
            shown = self.root.proposals.show(proposal.id)
            assert (shown.state, shown.author) == (proposal.state, proposal.author)
            if proposal.state == "open" and (branch := self.branches.get(proposal.source)) is not None:
                counting = {review.actor for review in shown.approvals if review.is_current}
                assert counting == self._approved_by(proposal, branch), proposal
        with pytest.raises(og.BranchProtected):
            self.root.mutate(PUT, {"n": "p", "v": "x"})

    def _choose(self) -> Proposed | None:
        recent = self.proposals[-4:]
        is_open = [proposal for proposal in recent if proposal.state == "open"]
        among = is_open if is_open and self.dice.random() < 0.8 else recent
        return self.dice.choice(among) if among else None

    def _count(self) -> int:
        self.moves += 1
        return self.moves

    def _involved(self, proposal: Proposed, branch: Branch) -> set[str]:
        return {proposal.author, *branch.writers} | ({proposal.answered_by} - {None})  # type: ignore[return-value]

    def _approved_by(self, proposal: Proposed, branch: Branch) -> set[str]:
        now = (branch.state, proposal.answers)
        found = {actor for actor, (approves, *of) in proposal.verdicts.items() if approves and (*of,) == now}
        return found - self._involved(proposal, branch)

    def _find_reasons(self, proposal: Proposed) -> set[str]:
        if proposal.state != "open":
            return {proposal.state}
        branch = self.branches.get(proposal.source)
        if branch is None:
            return {"source_gone"}
        found, now = set(), (branch.state, proposal.answers)
        if any(not approves and (*of,) == now for approves, *of in proposal.verdicts.values()):
            found.add("changes_requested")
        if len(self._approved_by(proposal, branch)) < self.approvals:
            found.add("approvals_missing")
        return found

    def _merge_contents(self, proposal: Proposed) -> Content | None:
        """Merge three contents, entity by entity; None when there are conflicts that nobody has answered."""
        branch, result = self.branches[proposal.source], {}
        for key in {*self.main, *branch.base, *branch.content}:
            base, ours, theirs = (side.get(key) for side in (branch.base, self.main, branch.content))
            if theirs in (ours, base):
                value = ours
            elif ours == base:
                value = theirs
            elif proposal.answers:
                value = ours if proposal.answers == "ours" else theirs
            else:
                return None
            if value is not None:
                result[key] = value
        return result


def _read(graph: og.Graph, branch: str) -> dict[str, Any]:
    rows = graph.query("query q() { match { $p: Person } return { $p.name, $p.note } }", branch=branch)
    return {row["p.name"]: row["p.note"] for row in rows}


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, HISTORIES, AT_ONCE))
def test_proposals_are_as_the_model_says(tmp_path: Path, first: int) -> None:
    merged = refused = 0
    for seed in range(first, min(first + AT_ONCE, HISTORIES)):
        model = Model(tmp_path / f"{seed}" / "graph", seed)
        for _ in range(STEPS):
            model.step()
        model.check()
        merged, refused = merged + model.merged, refused + model.refused
    assert merged and refused, "histories in which nothing is merged, or all, say little"
