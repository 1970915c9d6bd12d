"""Graphs with very many commits and branches, made fast: real records in real chains with real pins.

A few commits are made as users make them. The others are put into the chains directly; each logical one
changes a table, whose new version is a copy of a real pin at a path of its own, so it opens as any other.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph.base import clock
from omnigraph.base.ids import new_commit_id
from omnigraph.graph.branches.create import create_branch
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.chain import stamp_time
from omnigraph.graph.manifest.floors import Floor, write_floor
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, TableEntry
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.storage.checksums.sums import sums_path

SCHEMA = "node Person { name: String @key  note: String? }\nedge Knows: Person -> Person { note: String? }"
_REAL = 6
"""Commits that are made as users make them."""
_DROPPED = 3
"""Records that a branch with a floor has lost."""


@dataclass
class _Branch:
    """A branch that is being filled."""

    state: BranchState
    has_floor: bool = False
    children: int = 0
    made: list[CommitRecord] = field(default_factory=list)

    @property
    def may_be_named(self) -> bool:
        """Say whether others may fork from it or merge it."""
        return not self.has_floor


def large_history(folder: Path, commits: int, branches: int, seed: int = 0) -> og.Graph:
    """Return a new handle on a graph with about so many commits in all, and so many branches beside main.

    Branches are forked from many places, some of branches; some are merged, some deleted later, some have
    a floor; now and then a cleanup has left its fence.
    """
    graph = og.init(folder, SCHEMA)
    for number in range(_REAL):
        people = [{"type": "Person", "data": {"name": f"p{number}-{item}"}} for item in range(3)]
        knows = {"edge": "Knows", "from": f"p{number}-0", "to": f"p{number}-1", "data": {}}
        graph.load([*people, knows], mode="append")
    _Maker(graph, folder, random.Random(seed)).make(commits, branches)
    return og.open(folder)


class _Maker:
    """Puts records and refs."""

    def __init__(self, graph: Any, folder: Path, dice: random.Random) -> None:
        self.truth, self.folder, self.dice = graph.internals.core.truth, folder, dice
        self.graph = graph
        state = self.truth.state("main")
        self.live: dict[str, _Branch] = {"main": _Branch(state)}
        self.names = ["main"]
        self.count = state.head.seq
        self.branches = 0
        self.versions = {
            identity: (
                (folder / entry.location / entry.pin.path).read_bytes(),
                (folder / entry.location / sums_path(entry.pin)).read_bytes(),
            )
            for identity, entry in state.head.tables.items()
        }

    def make(self, commits: int, branches: int) -> None:
        """Go on until there are so many."""
        to_delete = branches // 10
        every = max(1, commits // (branches + to_delete))
        while self.count < commits or self.branches < branches + to_delete:
            if self.branches < branches + to_delete and self.count >= every * self.branches:
                self._fork()
            elif self.count < commits:
                self._step()
            else:
                self._fork()
        self._delete(to_delete)
        self._put_floors()

    def _fork(self) -> None:
        parent = self.live[self._any_name() if self.dice.random() < 0.2 else "main"]
        head = parent.state.head
        if parent.made and self.dice.random() < 0.3:
            head = self.dice.choice(parent.made)
        name = f"b{self.branches:05d}"
        ref = create_branch(self.truth, name, head, None)
        self.live[name] = _Branch(BranchState(ref, head, clock.moment()), self.branches % 25 == 24)
        parent.children += 1
        self.names.append(name)
        self.branches += 1

    def _step(self) -> None:
        """Commit to main or to one of the newer branches; now and then merge, or leave a fence."""
        name = "main" if self.dice.random() < 0.4 else self.dice.choice(self.names[-50:])
        luck = self.dice.random()
        if luck < 0.1:
            self._merge(name, self._any_name())
        elif luck < 0.12:
            self._put(name, operation="cleanup", commit_class=CommitClass.MAINTENANCE)
        else:
            self._put(name)

    def _merge(self, into: str, source: str) -> None:
        if into == source:
            source = "main"
        if into != source:
            theirs = self.live[source].state.head
            self._put(into, operation="merge", merged_parent=theirs.ref)

    def _put(self, name: str, **said: Any) -> None:
        branch = self.live[name]
        head = branch.state.head
        commit = new_commit_id(branch.state.ref.incarnation)
        record = replace(
            head,
            commit=commit,
            seq=head.seq + 1,
            branch=name,
            incarnation=branch.state.ref.incarnation,
            parent=head.ref,
            parent_digest=head.digest,
            created_at=stamp_time(commit, head),
            **{
                "operation": "load",
                "commit_class": CommitClass.LOGICAL,
                "content": commit,
                "merged_parent": None,
                **said,
            },
        )
        if record.commit_class is CommitClass.MAINTENANCE:
            record = replace(record, content=head.content)
        elif not (branch.has_floor and len(branch.made) < _DROPPED):
            record = self._changed(record)
        stored = self.truth.chains.put(record)
        assert stored is not None
        self.truth.chains.leave_hint(stored)
        branch.made.append(stored)
        branch.state = replace(branch.state, head=stored)
        self.count += 1

    def _changed(self, record: CommitRecord) -> CommitRecord:
        """Give the record a version of its own of one table."""
        identity = sorted(record.tables)[record.seq % len(record.tables)]
        entry = record.tables[identity]
        name = entry.pin.path.rsplit("/", 1)[1]
        pin = replace(entry.pin, path=f"_pins/{uuid.UUID(int=self.dice.getrandbits(128))}/{name}")
        folder = self.folder / entry.location
        (folder / pin.path).parent.mkdir()
        manifest, sums = self.versions[identity]
        (folder / pin.path).write_bytes(manifest)
        (folder / sums_path(pin)).write_bytes(sums)
        changed: TableEntry = replace(entry, pin=pin, changed_by=record.commit)
        return replace(record, tables={**record.tables, identity: changed})

    def _any_name(self) -> str:
        """Return the name of a branch that others may name, mostly a newer one."""
        for _ in range(8):
            name = self.dice.choice(self.names[-100:] if self.dice.random() < 0.8 else self.names)
            if self.live[name].may_be_named:
                return name
        return "main"

    def _delete(self, count: int) -> None:
        childless = [name for name in self.names if name != "main" and not self.live[name].children]
        for name in self.dice.sample(childless, count):
            self.graph.branches.delete(name)
            del self.live[name]
            self.names.remove(name)

    def _put_floors(self) -> None:
        """Drop the first records of some branches, as a cleanup does: the floor first."""
        for branch in self.live.values():
            if not branch.has_floor or branch.children or len(branch.made) <= _DROPPED:
                continue
            dropped, first = branch.made[:_DROPPED], branch.made[_DROPPED]
            ref = branch.state.ref
            floor = Floor(ref.incarnation, ref.name, ref.fork, first.seq, first.created_at)
            write_floor(self.truth.store, floor, None)
            for record in dropped:
                self.truth.store.delete(layout.record_path(record.incarnation, record.seq))
