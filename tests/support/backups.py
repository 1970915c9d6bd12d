"""Graphs to back up, and whether a restored one is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.backup import run
from support.care import INSERT, PEOPLE, fill
from support.graphs import contents


def varied(uri: str, options: dict[str, str] | None = None) -> og.Graph:
    """Make a graph with branches, merges, a deleted branch, a schema change, an index and a tag."""
    graph = og.init(uri, PEOPLE, actor="act-ada", storage_options=options)
    fill(graph, 4)
    graph.branches.create("dev")
    fill(graph, 2, 10, "dev")
    graph.branches.merge("dev", message="take dev")
    graph.branches.create("gone")
    fill(graph, 2, 20, "gone")
    graph.branches.merge("gone", delete_branch=True)
    graph.tags.create("v1", commit=graph.commits.list()[2].id)
    graph.load([{"edge": "Knows", "from": "p1", "to": "p2"}], mode="append")
    graph.schema.apply(PEOPLE.replace("note: String?", "note: String? @index", 1))
    graph.optimize()
    graph.mutate("query q() { delete Person where name = 'p3' }".replace("'", '"'))
    graph.branches.create("empty", from_branch="dev")
    fill(graph, 1, 30, "dev")
    return graph


def insert(graph: og.Graph, name: str, branch: str | None = None) -> str:
    """Insert one person and return the commit."""
    done = graph.mutate(INSERT, {"n": name, "t": name}, branch=branch)
    assert done.commit_id is not None
    return done.commit_id


def said(graph: og.Graph) -> dict[str, Any]:
    """Return everything that a graph says: branches, their commits and the rows at each of them, tags."""
    return {
        "tags": graph.tags.list(),
        "branches": {
            branch: [
                (commit, contents(graph.snapshot(commit=commit.id))) for commit in graph.commits.list(branch)
            ]
            for branch in graph.branches.list()
        },
        "exports": {
            branch: sorted(repr(record) for record in _records(graph, branch))
            for branch in graph.branches.list()
        },
        "schemas": {branch: graph.snapshot(branch).schema_source for branch in graph.branches.list()},
    }


@contextmanager
def meanwhile(name: str, act: Callable[[], None]) -> Iterator[None]:
    """Let something happen when a backup passes a point for the first time."""
    waiting = [act]

    def passed(point: Failpoint) -> None:
        if point.value == name and waiting:
            waiting.pop()()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "hit", passed)
        yield
    assert not waiting, f"no backup came to {name}"


def _records(graph: og.Graph, branch: str) -> Iterator[dict[str, Any]]:
    found = graph.export(branch=branch)
    assert isinstance(found, Iterator)
    return found


def holds(graph: og.Graph) -> list[str]:
    """Return the hidden tags that lie in a local graph."""
    folder = Path(graph.uri, "__manifest", "tags")
    return sorted(path.name for path in folder.glob("__backup*")) if folder.exists() else []


def objects(target: Path) -> dict[str, bytes]:
    """Return the files of all backups at a target."""
    return {path.name: path.read_bytes() for path in (target / "objects").rglob("*") if path.is_file()}
