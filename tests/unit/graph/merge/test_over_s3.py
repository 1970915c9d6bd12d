"""Merging, diffs, rebasing and cleanup over S3: the same outcomes, and a cost that follows the change."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph as og
from support.care import at_once
from support.s3 import S3

SCHEMA = """
node Person { name: String @key  note: String?  photo: Blob? }
node City { name: String @key }
edge Knows: Person -> Person { note: String? }
"""

pytestmark = pytest.mark.s3


@pytest.fixture
def g(s3: S3) -> og.Graph:
    """Fifty persons in two cities; a branch `work` on which p1 and p2 are other, p3 is gone, q is new."""
    graph = og.init(f"{s3.uri}/graph", SCHEMA, storage_options=s3.options)
    cities = [{"type": "City", "data": {"name": name}} for name in ("oslo", "rome")]
    knows = {"edge": "Knows", "from": "p1", "to": "p4", "data": {"id": "k1"}}
    graph.load([*(person(f"p{number}") for number in range(50)), *cities, knows], mode="append")
    graph.branches.create("work")
    put(graph, "work", person("p1", "w"), person("p2", "w"), person("q", "w"))
    graph.mutate('query q() { delete Person where name = "p3" }', branch="work")
    return graph


def person(name: str, note: str | None = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "note": note, "photo": "base64:eA=="}}


def put(graph: og.Graph, branch: str, *records: dict[str, Any]) -> None:
    graph.load(list(records), mode="merge", branch=branch)


def notes(graph: og.Graph, branch: str = "main") -> dict[str, str | None]:
    rows = graph.query("query q() { match { $p: Person } return { $p.name, $p.note } }", branch=branch).rows
    return {row["p.name"]: row["p.note"] for row in rows}


def said(graph: og.Graph, branch: str) -> list[str]:
    return sorted(map(str, graph.export(branch=branch)))


def test_a_diff_finds_what_a_branch_changed(g: og.Graph) -> None:
    found = [(item.op, item.id) for item in g.diff("main", "work")]
    assert found == [("update", "p1"), ("update", "p2"), ("delete", "p3"), ("insert", "q")]
    assert g.commits.changes(g.snapshot("work").commit_id).changes[0].op == "delete"


def test_a_fast_forward_writes_no_data_file(g: og.Graph, s3: S3) -> None:
    with s3.requests() as seen:
        assert g.branches.merge("work", delete_branch=True).outcome == "fast_forward"
    written = [request.key for request in seen if request.method == "PUT"]
    assert not [key for key in written if "/data/" in key or "/_pins/" in key]
    assert len(notes(g)) == 50 and g.branches.list() == ["main"]


def test_rows_of_both_sides_are_merged_and_conflicts_are_answered(g: og.Graph) -> None:
    put(g, "main", person("p1", "m"), person("p9", "m"), person("r", "m"))
    with pytest.raises(og.MergeConflicts) as caught:
        g.branches.merge("work")
    assert [(item.kind, item.entity_id) for item in caught.value.conflicts] == [("DivergentUpdate", "p1")]
    done = g.branches.merge("work", resolutions=[{"entity_id": "p1", "take": "theirs"}])
    assert done.outcome == "merged"
    found = notes(g)
    assert {name: found[name] for name in ("p1", "p2", "p9", "q", "r")} == {
        "p1": "w", "p2": "w", "p9": "m", "q": "w", "r": "m",
    }  # fmt: skip
    assert "p3" not in found and len(found) == 51
    assert g.branches.merge("work").outcome == "already_up_to_date"
    assert g.repair().ok


def test_revert_cherry_pick_and_rebase(g: og.Graph) -> None:
    put(g, "main", person("p9", "m"))
    done = g.branches.rebase("work")
    assert done.outcome == "rebased" and len(done.commits) == 2
    assert notes(g, "work")["p9"] == "m"
    g.commits.cherry_pick(done.commits[0])
    assert notes(g)["p1"] == "w" and "p3" in notes(g)
    g.commits.revert(g.snapshot().commit_id)
    assert notes(g)["p1"] is None
    assert g.branches.merge("work").outcome == "merged"


def test_cleanup_after_merges_leaves_what_the_branches_say(
    g: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(monkeypatch)
    put(g, "main", person("p9", "m"))
    g.branches.merge("work", delete_branch=True)
    g.branches.create("next")
    put(g, "next", person("s", "n"))
    g.branches.rebase("next")
    before = {branch: said(g, branch) for branch in g.branches.list()}
    done = g.cleanup(keep=1)
    assert done.files > 0 and not done.errors
    again = og.open(g.uri, storage_options=g.storage_options)
    assert {branch: said(again, branch) for branch in again.branches.list()} == before
    assert again.branches.merge("next").outcome == "fast_forward"
    assert again.repair().ok
