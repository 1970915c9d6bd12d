"""Histories for tests of cleanup: what every commit said when it was made, and whether it still does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.errors import HistoricalVersionReclaimed, NotFound
from omnigraph.graph.manifest import chain
from support.graphs import Contents, contents

PEOPLE = "node Person { name: String @key  note: String? }\nedge Knows: Person -> Person { note: String? }"
INSERT = "query q($n: String, $t: String) { insert Person { name: $n note: $t } }"
UPDATE = "query q($n: String, $t: String) { update Person set { note: $t } where name = $n }"
DELETE = "query q($n: String) { delete Person where name = $n }"

Said = dict[str, Contents]
"""By commit id."""


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cleanup remove everything at once: no grace period for files, no rest for records."""
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
    monkeypatch.setattr(chain, "HINT_AFTER_SECONDS", -1.0)
    monkeypatch.setattr(chain, "RECORD_REST_SECONDS", -1.0)


def remembered(graph: og.Graph, branches: Iterable[str] | None = None) -> Said:
    """Return what every commit that the branches reach says."""
    said: Said = {}
    for branch in branches or graph.branches.list():
        for commit in graph.commits.list(branch):
            said.setdefault(commit.id, contents(graph.snapshot(commit=commit.id)))
    return said


def assert_kept(graph: og.Graph, said: Said, commits: Iterable[str]) -> None:
    """Check that these commits still say what they said, and that all others are typed as reclaimed."""
    kept = set(commits)
    for commit, expected in said.items():
        if commit in kept:
            assert contents(graph.snapshot(commit=commit)) == expected
        else:
            with pytest.raises(HistoricalVersionReclaimed):
                contents(graph.snapshot(commit=commit))


def assert_listed_are_kept(graph: og.Graph, said: Said, at_least: Iterable[str]) -> None:
    """Check that what the graph lists says what it said, and that no other commit can be read."""
    listed = {commit.id for branch in graph.branches.list() for commit in graph.commits.list(branch)}
    listed |= {tag.commit for tag in graph.tags.list()}
    assert listed >= set(at_least)
    for commit, expected in said.items():
        if commit in listed:
            assert contents(graph.snapshot(commit=commit)) == expected
        else:
            with pytest.raises(NotFound):
                contents(graph.snapshot(commit=commit))


def files(root: Path, *parts: str) -> list[str]:
    """Return the files of a graph under a folder, without the store's claims (which it bounds itself)."""
    folder = root.joinpath(*parts)
    names = (str(path.relative_to(root)) for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if not name.startswith(".og/swaps/"))


def fill(graph: og.Graph, count: int, first: int = 0, branch: str | None = None) -> list[str]:
    """Insert people one commit at a time and return the commits."""
    made = []
    for number in range(first, first + count):
        done = graph.mutate(INSERT, {"n": f"p{number}", "t": f"t{number}"}, branch=branch)
        assert done.commit_id is not None
        made.append(done.commit_id)
    return made


def cleaned(graph: og.Graph, **limits: Any) -> Any:
    """Clean up, and check that the dry run had said so."""
    foretold = graph.cleanup(dry_run=True, **limits)
    done = graph.cleanup(**limits)
    assert not done.errors
    assert {table.location: table.removed for table in foretold.tables} == {
        table.location: table.removed for table in done.tables
    }
    assert foretold.commits_dropped == done.commits_dropped
    return done


def open_again(uri: str, options: Mapping[str, str] | None = None) -> og.Graph:
    """Open a graph as a process does that knows nothing."""
    return og.open(uri, storage_options=options)
