"""Events of proposals in the change feed: asked for by name, behind one cursor, in process and served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.identity import Tokens
from support.command_line import run_json, run_text
from support.served_here import serving_here

BOTH = ("commits", "proposals")
ADD = "query q($n: String) { insert Person { name: $n } }"


@pytest.fixture(params=["here", "served"])
def g(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    graph = og.init(tmp_path / "people", "node Person { name: String @key }")
    if request.param == "here":
        yield graph
        return
    config = ServerConfig({"people": str(tmp_path / "people")}, Tokens(()), state=tmp_path / "state")
    with serving_here(create_app(config)) as address:
        yield og.open(f"{address}/graphs/people")


def propose(g: Any, name: str, into: str = "main") -> str:
    g.branches.create(name, into)
    g.mutate(ADD, {"n": name}, branch=name)
    return str(g.proposals.create(name, into, title=name).id)


def told(page: Any) -> list[tuple[str, str]]:
    return [(event.proposal, event.kind) for event in page.proposals]


def test_who_does_not_ask_gets_commits_alone_as_ever(g: Any) -> None:
    propose(g, "a")
    page = g.changes.poll(start="beginning")
    assert page.proposals is None and "proposals" not in page.to_json() and "." not in page.cursor
    assert g.changes.poll(cursor=page.cursor).caught_up


def test_one_cursor_stands_in_commits_and_in_proposals(g: Any) -> None:
    first = propose(g, "a")
    page = g.changes.poll(start="beginning", events=BOTH)
    assert told(page) == [(first, "created")] and len(page.blocks) == 1 and page.caught_up
    g.proposals.comment(first, "why?")
    done = g.proposals.merge(first)
    after = g.changes.poll(cursor=page.cursor, events=BOTH)
    assert told(after) == [(first, kind) for kind in ("commented", "merge_started", "merged")]
    assert [block.cause.commit_id for block in after.blocks] == [done.commit_id]
    assert json.loads(json.dumps(after.to_json()["proposals"]))[0]["facts"]["text"] == "why?"
    end = g.changes.poll(cursor=after.cursor, events=BOTH)
    assert end.caught_up and end.proposals == () and end.blocks == ()


def test_now_is_the_end_of_both_and_a_baseline_begins_with_all_proposals(g: Any) -> None:
    first = propose(g, "a")
    now = g.changes.poll(events=BOTH)
    assert now.proposals == () and now.caught_up
    second = propose(g, "b")
    assert told(g.changes.poll(cursor=now.cursor, events=BOTH)) == [(second, "created")]
    resume = list(g.changes.baseline())[-1]["baseline"]["resume_cursor"]
    assert told(g.changes.poll(cursor=resume, events=BOTH)) == [(first, "created"), (second, "created")]


def test_the_feed_of_a_branch_tells_of_the_proposals_that_begin_or_end_there(g: Any) -> None:
    g.branches.create("team")
    one, other = propose(g, "a"), propose(g, "b", "team")
    feeds = {
        name: told(g.changes.poll(start="beginning", branch=name, events=BOTH))
        for name in ("main", "team", "b")
    }
    assert feeds == {"main": [(one, "created")], "team": [(other, "created")], "b": [(other, "created")]}


def test_pages_hold_no_more_events_than_changes_and_lose_none(g: Any) -> None:
    ids = [propose(g, name) for name in ("a", "b", "c")]
    for id in ids:
        g.proposals.merge(id)
    seen: list[tuple[str, str]] = []
    blocks: list[str] = []
    page = g.changes.poll(start="beginning", events=BOTH, limit=2)
    for _ in range(20):
        assert len(page.proposals) <= 2
        seen += told(page)
        blocks += [block.cause.commit_id for block in page.blocks]
        if page.caught_up:
            break
        more = {"cursor": page.cursor} if page.page_token is None else {"page_token": page.page_token}
        page = g.changes.poll(**more, events=BOTH, limit=2)
    assert sorted(seen) == sorted((id, kind) for id in ids for kind in ("created", "merge_started", "merged"))
    assert len(set(blocks)) == 4


def test_what_cannot_be_asked_for_is_refused(g: Any) -> None:
    propose(g, "a")
    both = g.changes.poll(start="beginning", events=BOTH).cursor
    with pytest.raises(og.ChangeCursorRejected, match="it was made for events of commits and proposals"):
        g.changes.poll(cursor=both)
    for wrong in (("proposals",), ("reviews",), "commits"):
        with pytest.raises(og.BadInput, match="events is"):
            g.changes.poll(events=wrong)
    with pytest.raises(og.ChangeCursorRejected):
        g.changes.poll(cursor=both.partition(".")[0] + ".nothing", events=BOTH)


def test_the_command_line_shows_both(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "people", "node Person { name: String @key }", actor="ada")
    id = propose(graph, "a")
    told = run_json("changes", "poll", graph.uri, "--start", "beginning", "--proposals", "--json")
    assert [event["proposal"] for event in told["proposals"]] == [id]
    assert id in run_text("changes", "poll", graph.uri, "--start", "beginning", "--proposals")
