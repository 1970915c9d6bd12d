"""What would happen is told to those only who see all of it: a dry run is no way around the rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key  region: String?  level: I64? }\nedge Knows: Person -> Person"
POLICY = """
version: 1
groups: {staff: [ada]}
rules:
  - id: all
    allow: {actors: {group: staff}, actions: [read, change, branch_merge]}
data:
  rows: |
    permit(principal, action, resource is Person) when { resource.region == "eu" };
    permit(principal, action, resource is Knows);
"""
CHANGE = "query q($n: String) { update Person set { level: 7 } where name = $n }"
PREVIEWS: dict[str, Callable[[og.Graph, bool], Any]] = {
    "merge": lambda g, dry: g.branches.merge("side", dry_run=dry),
    "reset": lambda g, dry: g.branches.reset("main", "v1", dry_run=dry),
    "revert": lambda g, dry: g.commits.revert("HEAD", dry_run=dry),
    "cherry-pick": lambda g, dry: g.commits.cherry_pick("side", dry_run=dry),
    "revert of an actor": lambda g, dry: g.commits.revert(actor="root", since="v1", dry_run=dry),
}


@pytest.fixture
def uri(tmp_path: Path) -> str:
    graph = og.init(tmp_path / "g", SCHEMA, actor="root")
    people = [{"name": "seen", "region": "eu"}, {"name": "hidden", "region": "us"}]
    graph.load([{"type": "Person", "data": row} for row in people], mode="append")
    graph.tags.create("v1")
    graph.branches.create("side")
    return graph.uri


@pytest.mark.parametrize("name", PREVIEWS)
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_would_change_hidden_rows_is_denied_whether_or_not_it_is_done(
    uri: str, name: str, dry_run: bool
) -> None:
    root = og.open(uri, actor="root")
    for branch in ("main", "side"):
        root.mutate(CHANGE, {"n": "hidden"}, branch=branch)
    with pytest.raises(og.PolicyDenied) as denied:
        PREVIEWS[name](og.open(uri, actor="ada", policy=POLICY), dry_run)
    assert "hidden" not in denied.value.message


@pytest.mark.parametrize("name", PREVIEWS)
def test_what_changes_visible_rows_only_is_told_and_done(uri: str, name: str) -> None:
    root = og.open(uri, actor="root")
    for branch in ("main", "side") if name in ("reset", "revert", "revert of an actor") else ("side",):
        root.mutate(CHANGE, {"n": "seen"}, branch=branch)
    ada = og.open(uri, actor="ada", policy=POLICY)
    assert PREVIEWS[name](ada, True).counts["node:Person"].updated == 1
    assert PREVIEWS[name](ada, False).commit_id is not None


BY_BRANCH = """
version: 1
groups: {staff: [ada], boss: [root]}
rules:
  - id: all
    allow: {actors: {group: staff}, actions: [read, change, branch_merge, propose, approve]}
  - id: root
    allow: {actors: {group: boss}, actions: [read, change, branch_merge, propose, approve]}
data:
  rows: |
    permit(principal in Group::"boss", action, resource);
    permit(principal, action, resource) when { context.branch == "main" };
    permit(principal, action, resource is Person) when { resource.region == "eu" };
"""
CLASH = 'query q($l: I64) { update Person set { level: $l } where name = "hidden" }'


def test_what_a_proposal_tells_is_judged_by_its_branches_and_not_by_the_handles(tmp_path: Path) -> None:
    root = og.init(tmp_path / "g", SCHEMA, actor="root")
    root.branches.create("base")
    people = [{"name": "seen", "region": "eu"}, {"name": "hidden", "region": "us"}]
    root.load([{"type": "Person", "data": row} for row in people], mode="append", branch="base")
    root.branches.create("side", from_branch="base")
    for level, branch in enumerate(("base", "side")):
        root.mutate(CLASH, {"l": level}, branch=branch)
    made = root.proposals.create("side", "base")
    root.proposals.comment(made.id, "look", entity=("Person", "hidden"))
    root.proposals.comment(made.id, "well", entity=("Person", "seen", "level"))
    root.proposals.comment(made.id, "in all")
    for branch in ("main", "side"):
        ada = og.open(root.uri, actor="ada", branch=branch, policy=BY_BRANCH)
        for look in (
            lambda: ada.proposals.mergeable(made.id),  # noqa: B023
            lambda: ada.proposals.merge(made.id),  # noqa: B023
            lambda: ada.proposals.resolve(made.id, []),  # noqa: B023
            lambda: ada.branches.rebase("side", "base"),  # noqa: B023
        ):
            with pytest.raises(og.PolicyDenied):
                look()
        told = (ada.proposals.show(made.id), ada.proposals.list(), ada.proposals.poll())
        assert "hidden" not in repr(told), branch
        assert [item.text for item in told[0].comments] == ["well", "in all"]
    boss = og.open(root.uri, actor="root", policy=BY_BRANCH)
    assert [item.text for item in boss.proposals.show(made.id).comments] == ["look", "well", "in all"]
    assert boss.proposals.mergeable(made.id).conflicts


@pytest.mark.parametrize(
    "act", [lambda g, to: g.backup(to), lambda g, to: g.repair()], ids=["backup", "repair"]
)
def test_what_takes_in_all_branches_needs_sight_of_each(tmp_path: Path, act: Callable[..., Any]) -> None:
    root = og.init(tmp_path / "g", SCHEMA, actor="root")
    policy = BY_BRANCH.replace("approve]", "approve, admin]")
    ada = og.open(root.uri, actor="ada", policy=policy)
    act(ada, tmp_path / "first")
    root.branches.create("base")
    root.load([{"type": "Person", "data": {"name": "hidden"}}], mode="append", branch="base")
    with pytest.raises(og.PolicyDenied, match="all data"):
        act(og.open(root.uri, actor="ada", policy=policy), tmp_path / "second")
    act(og.open(root.uri, actor="root", policy=policy), tmp_path / "third")
