"""The pair matrix (E5): everything that a source can do against everything that a target can do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import omnigraph as og
from support.stored_graph import read_back

SCHEMA = """
node Person { name: String @key  age: I32? }
edge Knows: Person -> Person
"""
CHANGES: dict[str, list[str]] = {
    "noop": [],
    "+node": ['insert Person { name: "Eve" age: $age }'],
    "-node": ['delete Person where name = "Alice"'],
    "+edge": ['insert Knows { from: "Alice" to: "Bob" }'],
    "-edge": ['delete Knows where from = "Bob"'],
    "set": ['update Person set { age: $age } where name = "Alice"'],
    "net-zero": ['insert Person { name: "Zoe" age: $age }', 'delete Person where name = "Zoe"'],
}
MATRIX = """
src\\tgt  noop +node           -node          +edge      -edge set             net-zero
noop      U    U               U              U          U     U               U
+node     F    DivergentInsert M              M          M     M               M
-node     F    M               M              OrphanEdge M     DeleteVsUpdate  M
+edge     F    M               OrphanEdge     M          M     M               M
-edge     F    M               M              M          M     M               M
set       F    M               DeleteVsUpdate M          M     DivergentUpdate M
net-zero  F    M               M              M          M     M               M
"""
OUTCOMES = {"U": "already_up_to_date", "F": "fast_forward", "M": "merged"}
AGES = {"src": 41, "main": 42}


def _cells() -> list[tuple[str, str, str]]:
    head, *rows = (line.split() for line in MATRIX.strip().splitlines())
    return [(row[0], target, cell) for row in rows for target, cell in zip(head[1:], row[1:], strict=True)]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Alice, Bob and Carol; Bob knows Carol; a branch `src`."""
    root = tmp_path_factory.mktemp("matrix") / "graph"
    graph = og.init(root, SCHEMA)
    people = [{"type": "Person", "data": {"name": name, "age": 30}} for name in ("Alice", "Bob", "Carol")]
    graph.load([*people, {"edge": "Knows", "from": "Bob", "to": "Carol", "data": {}}], mode="append")
    graph.branches.create("src")
    return root


def _change(graph: og.Graph, branch: str, what: str) -> None:
    for statement in CHANGES[what]:
        gq = f"query q($age: I32) {{ {statement} }}"
        assert graph.mutate(gq, {"age": AGES[branch]}, branch=branch).commit_id is not None


def _said(graph: og.Graph, branch: str = "main") -> tuple[dict[str, int | None], list[tuple[str, str]]]:
    """Return everybody's age, and who knows whom."""
    found = read_back(graph.snapshot(branch))
    ages = {id_: row["age"] for id_, row in found.nodes["Person"].items()}
    return ages, sorted((edge.source, edge.target) for edge in found.edges["Knows"].values())


def _expected(source: str, target: str) -> tuple[dict[str, int | None], list[tuple[str, str]]]:
    ages: dict[str, int | None] = {"Alice": 30, "Bob": 30, "Carol": 30}
    edges = [("Bob", "Carol")]
    for branch, what in (("src", source), ("main", target)):
        if what == "+node":
            ages["Eve"] = AGES[branch]
        elif what == "-node":
            ages.pop("Alice", None)
        elif what == "+edge":
            edges.append(("Alice", "Bob"))
        elif what == "-edge" and ("Bob", "Carol") in edges:
            edges.remove(("Bob", "Carol"))
        elif what == "set":
            ages["Alice"] = AGES[branch]
    return ages, sorted(edges)


@pytest.mark.parametrize(("source", "target", "cell"), _cells(), ids=str)
def test_every_pair_of_changes_merges_as_the_matrix_says(
    source: str, target: str, cell: str, template: Path, tmp_path: Path
) -> None:
    graph = og.open(shutil.copytree(template, tmp_path / "graph"))
    _change(graph, "src", source)
    _change(graph, "main", target)
    before, theirs = graph.snapshot(), graph.snapshot("src")
    if cell not in OUTCOMES:
        with pytest.raises(og.MergeConflicts) as caught:
            graph.branches.merge("src")
        assert [conflict.kind for conflict in caught.value.conflicts] == [cell]
        assert caught.value.conflicts[0].entity_id is not None
        assert graph.snapshot().commit_id == before.commit_id
        assert graph.snapshot().tables == before.tables
        return
    done = graph.branches.merge("src")
    assert done.outcome == OUTCOMES[cell]
    assert _said(graph) == _expected(source, target)
    after = graph.snapshot()
    if cell == "U":
        assert done.commit_id is None
        assert after.commit_id == before.commit_id
        return
    commit = graph.commits.show(str(done.commit_id))
    assert after.commit_id == commit.id
    assert after.version == before.version + 1
    assert (commit.parent, commit.merged_parent) == (before.commit_id, theirs.commit_id)
    assert commit.operation == "merge"
    if source == "net-zero":
        assert after.tables == before.tables
    again = graph.branches.merge("src")
    assert (again.outcome, again.commit_id) == ("already_up_to_date", None)
