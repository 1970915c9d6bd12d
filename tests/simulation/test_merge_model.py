"""Random histories on random branches, schemas included, merged in all ways, against a model of merging."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.errors import MergeConflicts, SchemaChangeUnsupported, ValidationError
from omnigraph.compiler.frontend import compile_schema
from omnigraph.graph.merge.tables import MergeCounts
from omnigraph.graph.model.arrow_values import rows_to_plain
from omnigraph.graph.snapshot import Snapshot
from support.compaction import Compaction
from support.merge_model import (
    DEFAULTS,
    FEATURES,
    KNOWS,
    PERSON,
    SCHEMA,
    TABLES,
    Expected,
    ModelCommit,
    State,
    best_base,
    expect_merge,
    merged,
    schema_with,
)
from support.schemas import without_ids

STRATEGIES = ("entity", "property", "ours", "theirs")
MODEL_NAMES = {"years": "age"}
NAMES = ("ada", "bob", "cy", "dee", "eve")


def read(snapshot: Snapshot) -> State:
    """Return all rows of a snapshot, in the columns and under the names that the model has for them."""
    found: State = {}
    for key in TABLES:
        table = snapshot.catalog.table(key)
        rows = rows_to_plain(table, snapshot.table(key).scan()) if table is not None else []
        plain = [{MODEL_NAMES.get(name, name): value for name, value in row.items()} for row in rows]
        found[key] = {row.pop("id"): {**DEFAULTS[key], **row} for row in plain}
        assert len(found[key]) == len(rows)
    return found


class History:
    """A graph and its model, changed together at random."""

    def __init__(self, root: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.graph = og.init(root, SCHEMA)
        self._orders = itertools.count()
        self._new_feature: frozenset[str] = frozenset()
        genesis = self.graph.snapshot()
        self.heads = {"main": self._commit(genesis, (), genesis.commit_id)}
        self.merges = 0
        self.answered = 0

    def _commit(self, snapshot: Snapshot, parents: tuple[ModelCommit, ...], content: str) -> ModelCommit:
        features = frozenset().union(*(parent.features for parent in parents)) | self._new_feature
        self._new_feature = frozenset()
        assert _same_schema(snapshot, schema_with(features))
        order = next(self._orders)
        return ModelCommit(
            snapshot.commit_id, snapshot.version, order, parents, read(snapshot), content, features
        )

    def _record(self, branch: str, merged: ModelCommit | None = None, maintenance: bool = False) -> None:
        head, snapshot = self.heads[branch], self.graph.snapshot(branch)
        if snapshot.commit_id == head.id:
            return
        parents = (head,) if merged is None else (head, merged)
        content = head.content if maintenance else snapshot.commit_id
        self.heads[branch] = self._commit(snapshot, parents, content)

    def step(self) -> None:
        """Do one thing to one branch."""
        branch = self.dice.choice(sorted(self.heads))
        match self.dice.randrange(12):
            case 0 | 1 if len(self.heads) < 4:
                name = f"b{len(self.heads)}"
                self.graph.branches.create(name, branch)
                self.heads[name] = self.heads[branch]
            case 2 | 3 | 4 if len(self.heads) > 1:
                self.merge(self.dice.choice([name for name in sorted(self.heads) if name != branch]), branch)
            case 5:
                self.graph.commit_work(Compaction(), branch=branch)
                self._record(branch, maintenance=True)
            case 6:
                self.change_schema(branch)
            case _:
                self.write(branch)

    def change_schema(self, branch: str) -> None:
        """Make a change of the schema that the branch has not made; stored rows may refuse a rule."""
        has = self.heads[branch].features
        feature = self.dice.choice(FEATURES)
        if feature in has:
            return
        try:
            og.open(self.graph.uri, branch=branch).schema.apply(schema_with(has | {feature}))
        except SchemaChangeUnsupported:
            assert feature == "range"
            return
        self._new_feature = frozenset({feature})
        self._record(branch)

    def write(self, branch: str) -> None:
        """Change a branch; what its own rules refuse does not happen."""
        try:
            self._write(branch, self.heads[branch].state)
        except ValidationError:
            return
        self._record(branch)

    def _write(self, branch: str, state: State) -> None:
        dice, has = self.dice, self.heads[branch].features
        age = "years" if "years" in has else "age"
        match dice.randrange(9):
            case 8 if "club" in has:
                data: dict[str, Any] = {"name": dice.choice(NAMES), "size": dice.choice([None, 1, 2])}
                self.graph.load([{"type": "Club", "data": data}], mode="merge", branch=branch)
            case 0 if state[PERSON]:
                gq = "query q($n: String) { delete Person where name = $n }"
                self.graph.mutate(gq, {"n": dice.choice(sorted(state[PERSON]))}, branch=branch)
            case 1 if state[KNOWS]:
                note = state[KNOWS][dice.choice(sorted(state[KNOWS]))]["note"]
                gq = "query q($n: String) { delete Knows where note = $n }"
                self.graph.mutate(gq, {"n": note}, branch=branch)
            case 2 | 3:
                id_ = f"e{dice.randrange(6)}"
                data = {"id": id_, "note": id_, "weight": dice.choice([None, 1, 2])}
                if "since" in has:
                    data["since"] = dice.choice([None, 1])
                ends = dice.choice(NAMES), dice.choice(NAMES)
                edge = {"edge": "Knows", "from": ends[0], "to": ends[1], "data": data}
                self.graph.load([edge], mode="merge", branch=branch)
            case 4 if state[PERSON]:
                gq = f"query q($n: String, $a: I32) {{ update Person set {{ {age}: $a }} where name = $n }}"
                params = {"n": dice.choice(sorted(state[PERSON])), "a": dice.randrange(3)}
                self.graph.mutate(gq, params, branch=branch)
            case _:
                people = [self._person(name, has) for name in dice.sample(NAMES, dice.randrange(1, 3))]
                self.graph.load(people, mode="merge", branch=branch)

    def _person(self, name: str, has: frozenset[str]) -> dict[str, Any]:
        dice = self.dice
        data = {
            "name": name,
            "years" if "years" in has else "age": dice.choice([None, 0, 1]),
            "nick": dice.choice([None, "", "x", "y"]),
            "hits": dice.choice([None, 1, 5]),
            "tags": dice.choice([None, [], ["a, b"], ["a", "b"]]),
            "seal": dice.choice([None, None, None, "s"]),
        }
        if "mood" in has:
            data["mood"] = dice.choice([3, 3, 4])
        if "city" in has:
            data["city"] = dice.choice([None, "r"])
        return {"type": "Person", "data": data}

    def merge(self, source: str, target: str) -> None:
        """Merge and compare with the model, also the other way round and as a dry run."""
        strategy = self.dice.choice(STRATEGIES)
        ours, theirs = self.heads[target], self.heads[source]
        expected = expect_merge(ours, theirs, strategy)
        tried = self.graph.branches.merge(source, into=target, strategy=strategy, dry_run=True)
        assert tried.outcome == expected.outcome
        assert bool(tried.conflicts) == expected.is_refused
        assert self.graph.snapshot(target).commit_id == ours.id
        if expected.is_refused:
            self._assert_refused(source, target, strategy, expected)
            if expected.structural:
                self._answer(source, target, strategy)
            return
        both_ways = self._other_way_round(source, target, strategy, expected)
        done = self.graph.branches.merge(source, into=target, strategy=strategy)
        assert done.outcome == expected.outcome
        self.merges += 1
        if expected.outcome == "already_up_to_date":
            assert done.commit_id is None
            assert self.graph.snapshot(target).commit_id == ours.id
            return
        assert done.base == best_base(ours, theirs).id
        self._record(target, merged=theirs)
        commit = self.graph.snapshot(target).commit
        assert (commit.id, commit.parent, commit.merged_parent) == (done.commit_id, ours.id, theirs.id)
        assert self.heads[target].state == expected.state
        if both_ways is not None:
            assert self.heads[target].state == both_ways
        assert dict(done.counts) == _counted(ours.state, self.heads[target].state)
        assert dict(tried.counts) == _counted(ours.state, self.heads[target].state)
        again = self.graph.branches.merge(source, into=target, strategy=strategy)
        assert (again.outcome, again.commit_id) == ("already_up_to_date", None)

    def _other_way_round(self, source: str, target: str, strategy: str, expected: Expected) -> State | None:
        """Merge the target into a fork of the source, where the model says that this gives the same."""
        mirrored = expect_merge(self.heads[source], self.heads[target], strategy)
        if expected.outcome != "merged" or mirrored.state != expected.state:
            return None
        fork = f"fork-{next(self._orders)}"
        self.graph.branches.create(fork, source)
        self.graph.branches.merge(target, into=fork, strategy=strategy)
        found = read(self.graph.snapshot(fork))
        self.graph.branches.delete(fork)
        return found

    def _assert_refused(self, source: str, target: str, strategy: str, expected: Expected) -> None:
        before = self.graph.snapshot(target).commit_id
        with pytest.raises(MergeConflicts) as caught:
            self.graph.branches.merge(source, into=target, strategy=strategy)
        assert self.graph.snapshot(target).commit_id == before
        found = caught.value.conflicts
        base, ours, theirs = self._three(source, target)
        for conflict in found:
            assert conflict.message
            if conflict.entity_id is not None:
                key = f"{conflict.entity_kind}:{conflict.type_name}"
                for image, state in ((conflict.base, base), (conflict.ours, ours), (conflict.theirs, theirs)):
                    assert (image is None) == (conflict.entity_id not in state[key])
        structural = {
            (item.kind, f"{item.entity_kind}:{item.type_name}", item.entity_id)
            for item in found
            if item.kind in ("DivergentInsert", "DivergentUpdate", "DeleteVsUpdate")
        }
        assert structural == expected.structural
        if structural:
            assert len(found) == len(structural)
            return
        of_kind = {
            kind: [item.entity_id for item in found if item.kind == kind]
            for kind in ("OrphanEdge", "UniqueViolation", "CardinalityViolation")
        }
        assert sum(map(len, of_kind.values())) == len(found)
        assert sorted(of_kind["OrphanEdge"]) == sorted(expected.orphans)
        unique = set(of_kind["UniqueViolation"])
        assert all(unique & twins for twins in expected.twins)
        assert unique <= set().union(*expected.twins)
        assert len(of_kind["CardinalityViolation"]) == len(expected.crowded)
        assert set(of_kind["CardinalityViolation"]) <= {None}

    def _answer(self, source: str, target: str, strategy: str) -> None:
        """Answer every disagreement alike, by rule or one by one, on a fork of the target."""
        take = self.dice.choice(("base", "ours", "theirs"))
        expected = merged(*self._three(source, target), strategy, take)
        fork = f"fork-{next(self._orders)}"
        self.graph.branches.create(fork, target)
        listed = self.graph.branches.merge(source, into=fork, strategy=strategy, dry_run=True).conflicts
        if self.dice.randrange(2):
            answers = [{**item.to_json(), "take": take} for item in listed]
        else:
            answers = [{"kind": kind, "take": take} for kind in sorted({item.kind for item in listed})]
        how: dict[str, Any] = {"into": fork, "strategy": strategy, "resolutions": answers}
        if expected.is_refused:
            with pytest.raises(MergeConflicts):
                self.graph.branches.merge(source, **how)
        else:
            done = self.graph.branches.merge(source, **how)
            assert read(self.graph.snapshot(fork)) == expected.state
            assert expected.state is not None
            assert dict(done.counts) == _counted(self.heads[target].state, expected.state)
            self.answered += 1
        self.graph.branches.delete(fork)

    def _three(self, source: str, target: str) -> tuple[State, State, State]:
        ours, theirs = self.heads[target], self.heads[source]
        return best_base(ours, theirs).state, ours.state, theirs.state


def _same_schema(snapshot: Snapshot, text: str) -> bool:
    return without_ids(snapshot.catalog) == without_ids(compile_schema(text))


def _counted(before: State, after: State) -> dict[str, MergeCounts]:
    found = {}
    for key in before:
        old, new = before[key], after[key]
        counts = MergeCounts(
            len(new.keys() - old.keys()),
            sum(old[id_] != new[id_] for id_ in old.keys() & new.keys()),
            len(old.keys() - new.keys()),
        )
        if counts:
            found[key] = counts
    return found


@pytest.mark.parametrize("seed", range(12))
def test_random_histories_merge_as_the_model_says(seed: int, tmp_path: Path) -> None:
    history = History(tmp_path / "graph", seed)
    for _ in range(45):
        history.step()
    for branch, head in history.heads.items():
        snapshot = history.graph.snapshot(branch)
        assert (snapshot.commit_id, read(snapshot)) == (head.id, head.state)
