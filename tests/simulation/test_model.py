"""A graph against a model: random commits, branches, failures, reopens and time travel, and a dictionary.

`OMNIGRAPH_MODEL_EXAMPLES` asks for so many random histories instead of the fixed ones.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import AlreadyExists, BranchInUse, NotFound, OmniError
from omnigraph.base.failpoints import InjectedFault
from support.compaction import Compaction
from support.examples import model_settings
from support.graphs import (
    COMPANY,
    PERSON,
    SCHEMA,
    WORKS_AT,
    Contents,
    assert_sound,
    contents,
    notes,
    plan_paths,
    rows,
)
from support.row_changes import Append, Change, Delete, Overwrite, RowChanges, Upsert

STEPS = 40
BEFORE_THE_RECORD = (
    "write.after_stage",
    "table.before_pin",
    "table.after_pin",
    "write.after_table_commit",
    "write.after_all_tables",
    "plan.before_put",
    "plan.after_put",
)
POINTS = (*BEFORE_THE_RECORD, "publish.before_record", "publish.after_record", "publish.before_hint",
          "plan.before_delete", "maintenance.after_compact")  # fmt: skip
RECOVERY_POINTS = (
    "recovery.after_list",
    "recovery.before_publish",
    "publish.before_record",
    "publish.after_record",
    "recovery.after_publish",
    "recovery.before_delete",
    "plan.before_delete",
)

ids = st.lists(st.integers(0, 9).map(lambda number: f"r{number}"), min_size=1, max_size=4, unique=True)
changes = st.lists(
    st.tuples(
        st.sampled_from(["append", "upsert", "upsert", "delete", "overwrite"]),
        st.sampled_from([PERSON, COMPANY, WORKS_AT]),
        ids,
    ),
    min_size=1,
    max_size=4,
)
names = st.sampled_from(["a", "b", "a/b"])


@dataclass
class Branch:
    """What the model knows of a branch."""

    incarnation: int
    states: list[Contents]
    """By version."""
    commits: list[str | None]
    """By version; None where the test has not learned the id."""
    head_on: int
    """The incarnation whose chain the head lies on."""
    fork_on: int | None = None


@dataclass
class Pending:
    """A plan that a failed write left."""

    branch: str
    incarnation: int
    landed: bool
    state: Contents


@dataclass
class Model:
    """The whole graph, as dictionaries."""

    branches: dict[str, Branch] = field(default_factory=dict)
    pending: list[Pending] = field(default_factory=list)
    notes: int = 0
    incarnations: int = 0

    def add(self, name: str, state: Contents, commit: str | None) -> None:
        """Put a commit on a branch."""
        branch = self.branches[name]
        branch.states.append(state)
        branch.commits.append(commit)
        branch.head_on = branch.incarnation

    def settle(self) -> None:
        """Do what recovery must do before anything else is written."""
        for plan in self.pending:
            branch = self.branches.get(plan.branch)
            if branch is None or branch.incarnation != plan.incarnation:
                self.add("main", self.branches["main"].states[-1], None)
            else:
                self.add(plan.branch, branch.states[-1] if plan.landed else plan.state, None)
            self.notes += 1
        self.pending.clear()


class GraphMachine(RuleBasedStateMachine):
    """Two handles that write, one that only reads, and the model."""

    @initialize()
    def start(self) -> None:
        """Make an empty graph."""
        os.environ["OMNIGRAPH_SMALL_FRAGMENTS"] = "3"
        self.folder = Path(tempfile.mkdtemp(prefix="omnigraph-model-"))
        self.uri = str(self.folder / "graph")
        self.writers = [og.init(self.uri, SCHEMA), og.open(self.uri)]
        self.reader = og.open(self.uri, read_only=True)
        self.model = Model()
        empty: Contents = {PERSON: {}, COMPANY: {}, WORKS_AT: {}}
        self.model.branches["main"] = Branch(0, [empty], [self.reader.snapshot().commit_id], 0)
        self.tag = 0

    def teardown(self) -> None:
        """Check the graph from outside, then from a fresh writer."""
        if not hasattr(self, "uri"):
            return
        try:
            assert assert_sound(self.uri) == self.expected()
            graph = og.open(self.uri)
            self.model.settle()
            assert assert_sound(self.uri) == self.expected()
            assert len(notes(graph)) <= self.model.notes
            assert plan_paths(self.uri) == []
        finally:
            os.environ.pop("OMNIGRAPH_SMALL_FRAGMENTS", None)
            shutil.rmtree(self.folder)

    def expected(self) -> dict[str, Contents]:
        """Return what every branch says, by the model."""
        return {name: branch.states[-1] for name, branch in self.model.branches.items()}

    def pick(self, data: st.DataObject) -> str:
        """Choose a live branch."""
        return data.draw(st.sampled_from(sorted(self.model.branches)), label="branch")

    @rule(data=st.data(), what=changes, durable=st.booleans(), which=st.integers(0, 1))
    def commit(
        self, data: st.DataObject, what: list[tuple[str, str, list[str]]], durable: bool, which: int
    ) -> None:
        """Make a commit that succeeds."""
        name = self.pick(data)
        self.model.settle()
        work, state, writes = self._work(name, what)
        published = self.writers[which].commit_work(work, branch=name, durable=durable)
        assert (published is not None) == writes
        if published is not None:
            self.model.add(name, state, published.commit)
            assert published.record is not None
            assert published.record.seq == len(self.model.branches[name].states)

    @rule(
        data=st.data(),
        what=changes,
        durable=st.booleans(),
        which=st.integers(0, 1),
        point=st.sampled_from(POINTS),
        nth=st.integers(1, 2),
    )
    def fail(
        self,
        data: st.DataObject,
        what: list[tuple[str, str, list[str]]],
        durable: bool,
        which: int,
        point: str,
        nth: int,
    ) -> None:
        """Make a commit that may fail somewhere on its way."""
        name = self.pick(data)
        og.open(self.uri)
        self.model.settle()
        work, state, writes = self._work(name, what)
        self._attempt(
            name,
            lambda: self.writers[which].commit_work(work, branch=name, durable=durable),
            state,
            point,
            nth,
            writes,
        )

    @rule(data=st.data(), durable=st.booleans(), which=st.integers(0, 1))
    def compact(self, data: st.DataObject, durable: bool, which: int) -> None:
        """Run maintenance."""
        name = self.pick(data)
        self.model.settle()
        published = self.writers[which].commit_work(Compaction(), branch=name, durable=durable)
        if published is not None:
            self.model.add(name, self.model.branches[name].states[-1], published.commit)

    @rule(data=st.data(), name=names, which=st.integers(0, 1))
    def create(self, data: st.DataObject, name: str, which: int) -> None:
        """Fork a branch."""
        source = self.pick(data)
        if name in self.model.branches:
            with pytest.raises(AlreadyExists):
                self.writers[which].branches.create(name, from_branch=source)
            return
        self.writers[which].branches.create(name, from_branch=source)
        of = self.model.branches[source]
        self.model.incarnations += 1
        self.model.branches[name] = Branch(
            self.model.incarnations, list(of.states), list(of.commits), of.head_on, of.head_on
        )

    @rule(name=names, which=st.integers(0, 1))
    def delete(self, name: str, which: int) -> None:
        """Delete a branch."""
        branch = self.model.branches.get(name)
        if branch is None:
            with pytest.raises(NotFound):
                self.writers[which].branches.delete(name)
            return
        if any(other.fork_on == branch.incarnation for other in self.model.branches.values()):
            with pytest.raises(BranchInUse):
                self.writers[which].branches.delete(name)
            return
        self.writers[which].branches.delete(name)
        del self.model.branches[name]

    @rule(which=st.integers(0, 1))
    def reopen(self, which: int) -> None:
        """Replace a handle by a fresh one, which settles what is pending."""
        self.writers[which] = og.open(self.uri)
        self.model.settle()

    @precondition(lambda self: self.model.pending)
    @rule(point=st.sampled_from(RECOVERY_POINTS), nth=st.integers(1, 2))
    def fail_to_recover(self, point: str, nth: int) -> None:
        """Let recovery fail somewhere on its way, then let it run."""
        with failpoints.arm_temporarily(point, f"raise@{nth}"), suppress(InjectedFault):
            og.open(self.uri)
        og.open(self.uri)
        self.model.settle()

    @rule()
    def reopen_reader(self) -> None:
        """Replace the reader; this settles nothing."""
        plans = plan_paths(self.uri)
        self.reader = og.open(self.uri, read_only=True)
        assert plan_paths(self.uri) == plans

    @rule(data=st.data())
    def travel(self, data: st.DataObject) -> None:
        """Read an old version, by number and by commit id."""
        name = self.pick(data)
        branch = self.model.branches[name]
        version = data.draw(st.integers(1, len(branch.states)), label="version")
        snapshot = self.reader.snapshot(name, version=version)
        assert contents(snapshot) == branch.states[version - 1]
        known = branch.commits[version - 1]
        assert known is None or known == snapshot.commit_id
        assert contents(self.reader.snapshot(commit=snapshot.commit_id)) == branch.states[version - 1]

    @rule(data=st.data())
    def look_beyond(self, data: st.DataObject) -> None:
        """A version that is not there yet is an error."""
        name = self.pick(data)
        with pytest.raises(NotFound):
            self.reader.snapshot(name, version=len(self.model.branches[name].states) + 1)

    @precondition(lambda self: hasattr(self, "model"))
    @invariant()
    def every_handle_says_what_the_model_says(self) -> None:
        """All branches, through the reader; their names and numbers too."""
        assert self.reader.branches.list() == ["main", *sorted(set(self.model.branches) - {"main"})]
        for name, branch in self.model.branches.items():
            snapshot = self.reader.snapshot(name)
            assert contents(snapshot) == branch.states[-1]
            assert snapshot.version == len(branch.states)

    def _work(self, name: str, what: list[tuple[str, str, list[str]]]) -> tuple[RowChanges, Contents, bool]:
        """Return the work, what the branch says afterwards, and whether any table is written."""
        self.tag += 1
        tag = f"t{self.tag}"
        state = {key: dict(table) for key, table in self.model.branches[name].states[-1].items()}
        work: list[Change] = []
        writes = False
        for place, (kind, key, chosen) in enumerate(what):
            table = state[key]
            if kind == "append":
                new = [f"{tag}.{place}.{id_}" for id_ in chosen]
                work.append(Append(key, rows(key, new, tag)))
                table.update(dict.fromkeys(new, tag))
            elif kind == "upsert":
                work.append(Upsert(key, rows(key, chosen, tag)))
                table.update(dict.fromkeys(chosen, tag))
            elif kind == "overwrite":
                kept = chosen[1:]
                work.append(Overwrite(key, rows(key, kept, tag)))
                state[key] = dict.fromkeys(kept, tag)
            else:
                work.append(Delete(key, chosen))
                writes = writes or any(id_ in table for id_ in chosen)
                for id_ in chosen:
                    table.pop(id_, None)
                continue
            writes = True
        return RowChanges(work), state, writes

    def _attempt(
        self, name: str, write: Callable[[], object], state: Contents, point: str, nth: int, writes: bool
    ) -> None:
        version = len(self.model.branches[name].states)
        assert plan_paths(self.uri) == []
        failed = False
        with failpoints.arm_temporarily(point, f"raise@{nth}"):
            try:
                done = write()
            except (InjectedFault, OmniError):
                failed, done = True, None
        landed = self.reader.snapshot(name).version == version + 1
        left = plan_paths(self.uri)
        if not failed:
            assert landed == (done is not None) == writes
        elif landed:
            assert point == "publish.after_record"
        else:
            assert point in (*BEFORE_THE_RECORD, "publish.before_record")
        assert not left or point in ("publish.before_record", "publish.after_record", "plan.before_delete")
        if landed:
            self.model.add(name, state, None)
        if left:
            branch = self.model.branches[name]
            self.model.pending.append(Pending(name, branch.incarnation, landed, state))


TestModel = pytest.mark.long(GraphMachine.TestCase)
TestModel.settings = model_settings(80, stateful_step_count=STEPS, phases=(Phase.generate,))
