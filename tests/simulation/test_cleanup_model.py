"""Random histories followed by cleanups: whatever is kept reads back as it was recorded when it was made.

`OMNIGRAPH_CLEANUP_SEEDS` asks for so many other histories.
"""

from __future__ import annotations

import os
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import Conflict, NotFound, Unavailable, ValidationError
from omnigraph.base.failpoints import InjectedFault
from support.care import at_once, open_again
from support.compaction import Compaction

SEEDS = int(os.environ.get("OMNIGRAPH_CLEANUP_SEEDS", "0"))
STEPS = 45
BRANCHES = ("a", "b", "a/c")
SCHEMAS = (
    "node Person { name: String @key  note: String? }\nedge Knows: Person -> Person",
    "node Person { name: String @key  note: String?  age: I32? }\nedge Knows: Person -> Person",
    "node Person { name: String @key  note: String? }\nnode City { name: String @key }\n"
    "edge Knows: Person -> Person",
    "node Person { name: String @key  note: String? }",
)
POINTS = ("write.after_stage", "table.after_pin", "write.after_all_tables", "publish.before_record")

Image = dict[str, list[dict[str, Any]]]


def image(snapshot: Any) -> Image:
    """Return every row of every table."""
    return {
        table.key: sorted(snapshot.table(table.key).scan().to_pylist(), key=lambda row: row["id"])
        for table in snapshot.tables
    }


class History:
    """A graph that random things happen to, and what each commit said at the time."""

    def __init__(self, root: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.graph = og.init(root, SCHEMAS[0])
        self.said: dict[str, Image] = {}
        self.number = 0
        self.record()

    def record(self) -> None:
        """Remember what every commit says that has come since."""
        for branch in self.graph.branches.list():
            head = self.graph.snapshot(branch)
            for commit in self.graph.commits.list(branch):
                if commit.id not in self.said:
                    self.said[commit.id] = image(self.graph.snapshot(commit=commit.id))
            assert head.commit_id in self.said

    def step(self) -> None:
        """Do something, whether or not it can be done."""
        act = self.dice.choice(
            [self.write] * 9
            + [
                self.fork,
                self.delete,
                self.merge,
                self.rebase,
                self.tag,
                self.untag,
                self.migrate,
                self.compact,
                self.fail,
            ]
        )
        with suppress(Conflict, NotFound, ValidationError, InjectedFault, og.SchemaChangeUnsupported):
            act()
        self.record()

    def branch(self) -> str:
        return self.dice.choice(self.graph.branches.list())

    def write(self) -> None:
        self.number += 1
        name = f"p{self.dice.randrange(12)}"
        branch = self.branch()
        given = {"n": name, "t": f"t{self.number}"}
        match self.dice.randrange(6):
            case 0 | 1 | 2:
                gq = "query q($n: String, $t: String) { insert Person { name: $n note: $t } }"
            case 3:
                gq = "query q($n: String, $t: String) { update Person set { note: $t } where name = $n }"
            case 4:
                gq = "query q($n: String) { delete Person where name = $n }"
                del given["t"]
            case _:
                gq = "query q($n: String, $m: String) { insert Knows { from: $n to: $m } }"
                given = {"n": name, "m": f"p{self.dice.randrange(12)}"}
        with suppress(og.TypeCheckError):
            self.graph.mutate(gq, given, branch=branch)

    def fork(self) -> None:
        self.graph.branches.create(self.dice.choice(BRANCHES), from_branch=self.branch())

    def delete(self) -> None:
        self.graph.branches.delete(self.dice.choice(BRANCHES))

    def merge(self) -> None:
        source, into = self.branch(), self.branch()
        if source != into:
            strategy = self.dice.choice(["entity", "ours", "theirs"])
            self.graph.branches.merge(source, into, strategy=strategy)

    def rebase(self) -> None:
        branch, onto = self.branch(), self.branch()
        if branch not in ("main", onto):
            self.graph.branches.rebase(branch, onto)

    def tag(self) -> None:
        commits = self.graph.commits.list(self.branch())
        self.graph.tags.create(f"t{self.dice.randrange(3)}", commit=self.dice.choice(commits).id)

    def untag(self) -> None:
        self.graph.tags.delete(f"t{self.dice.randrange(3)}")

    def migrate(self) -> None:
        handle = og.open(self.graph.uri, branch=self.branch())
        handle.schema.apply(self.dice.choice(SCHEMAS), allow_drop=True)

    def compact(self) -> None:
        branch = self.branch()
        if self.dice.random() < 0.5:
            self.graph.optimize(branch=branch)
        else:
            self.graph.commit_work(Compaction(), branch=branch)

    def fail(self) -> None:
        with failpoints.arm_temporarily(self.dice.choice(POINTS), "raise"), suppress(Unavailable):
            self.write()

    def expected(self, keep: int | None) -> set[str]:
        """Return what must stay at least: by an independent walk along first parents."""
        stays = {tag.commit for tag in self.graph.tags.list()}
        for branch in self.graph.branches.list():
            known = {commit.id: commit for commit in self.graph.commits.list(branch)}
            at: str | None = self.graph.snapshot(branch).commit_id
            stays.add(str(at))
            counted = 0
            while at in known and (keep is None or counted < keep):
                stays.add(at)
                counted += 1
                at = known[at].parent
        return stays

    def clean(self) -> None:
        """Clean up, and compare everything that is left with what was recorded."""
        keep = self.dice.choice([None, 1, 2, 5])
        older = self.dice.choice([None, "0s", "1h"]) if keep is not None else None
        expected = self.expected(None if older == "1h" else keep)
        done = self.graph.cleanup(keep=keep, older_than=older)
        assert not done.errors
        graph = open_again(self.graph.uri)
        left = {commit.id for name in graph.branches.list() for commit in graph.commits.list(name)}
        left |= {tag.commit for tag in graph.tags.list()}
        # Notes and fences are not counted, so what stays may reach further back, never less far.
        assert {commit for commit in expected if self._is_counted(commit)} <= left or keep is None
        assert {graph.snapshot(name).commit_id for name in graph.branches.list()} <= left
        for commit in sorted(self.said):
            if commit in left or (older == "1h" and self._is_of_deleted_branch(graph, commit)):
                assert image(graph.snapshot(commit=commit)) == self.said[commit], commit
            else:
                with pytest.raises(NotFound):
                    image(graph.snapshot(commit=commit))
                del self.said[commit]
        found = graph.repair()
        assert found.findings == (), [item.to_json() for item in found.findings]
        self.graph = graph
        self.record()

    def _is_of_deleted_branch(self, graph: og.Graph, commit: str) -> bool:
        """Return whether a commit is left that only a branch which was deleted within the period has."""
        with suppress(NotFound):
            return graph.commits.show(commit).branch in BRANCHES
        return False

    def _is_counted(self, commit: str) -> bool:
        with suppress(NotFound):
            return not self.graph.commits.show(commit).maintenance
        return False


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEEDS or 8))
def test_every_kept_commit_reads_back_as_it_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    at_once(monkeypatch)
    monkeypatch.setenv("OMNIGRAPH_SMALL_FRAGMENTS", "3")
    history = History(tmp_path / "graph", seed + (1_000 if SEEDS else 0))
    for number in range(STEPS):
        history.step()
        if number % 15 == 14:
            history.clean()
