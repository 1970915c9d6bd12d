"""Three agents propose and people review, over the engine, HTTP and MCP: what the product is for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.policy.read_bundle import open_gate
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.identity import Tokens
from support.agents import Agent, act, agent_by_http
from support.served import EVERYTHING, TOKENS
from support.served_here import serving_here
from support.workers import Workers

SCHEMA = "node Person { name: String @key  age: I32?  city: String? }\nedge Knows: Person -> Person"
CHECK = "query too_old() { match { $p: Person  $p.age > 130 } return { $p.name, $p.age } }"
SET = "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }"
ADD = "query q($n: String, $a: I32) { insert Person { name: $n, age: $a } }"
FOR = {"on_behalf_of": "carol", "task": "t-17"}


@dataclass(frozen=True)
class Office:
    """A graph whose main branch is protected, and the three ways to it."""

    root: str
    engine: og.Graph
    """Of the agent that works in process."""
    served: og.Graph
    """Of the agent that works over HTTP."""
    url: str
    """Of the agent that works by tools."""
    reviewer: og.Graph

    def use_tool(self, name: str, /, **arguments: Any) -> Any:
        """Return the answer of a tool, or its error."""
        return act(self._use(name, arguments))

    async def _use(self, name: str, arguments: dict[str, Any]) -> Any:
        async with agent_by_http(f"{self.url}/mcp", TOKENS["agent-7"]) as agent:
            assert isinstance(agent, Agent)
            done = await agent.client.call_tool(name, arguments)
            return done.structured_content


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    root = str(tmp_path / "people")
    owner = og.init(root, SCHEMA, actor="owner")
    owner.load(
        [{"type": "Person", "data": {"name": name, "age": 36}} for name in ("ada", "bob")], mode="append"
    )
    owner.queries.apply({"checks.gq": CHECK})
    owner.branches.protect("main", approvals=1, checks=["too_old"])
    hashes = tuple((actor, sha256(token.encode()).digest()) for actor, token in TOKENS.items())
    gates = {"people": open_gate(EVERYTHING)}
    config = ServerConfig({"people": root}, Tokens(hashes), state=tmp_path / "state", policies=gates)
    with serving_here(create_app(config)) as address:
        url = f"{address}/graphs/people"
        yield Office(
            root,
            og.open(root, actor="agent-1"),
            og.open(url, token=TOKENS["act-ada"]),
            url,
            og.open(root, actor="reviewer"),
        )


def why(said: str) -> dict[str, Any]:
    return {"message": said, "metadata": FOR}


def test_agents_propose_and_people_review(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = office.engine.snapshot().commit_id
    one, two, three = propose_three(office)
    one_merges(office, one)
    another_conflicts_is_answered_in_part_and_finished_elsewhere(office, two)
    a_third_violates_a_check_and_is_refused(office, three)
    one_is_taken_back_by_entity(office)
    rows = office.reviewer.query(
        "query q() { match { $p: Person } return { $p.name, $p.age } order { $p.name } }"
    )
    assert [tuple(row.values()) for row in rows] == [("ada", 38), ("bob", 36), ("cyd", 7)]
    every_commit_says_who_why_and_for_whom(office.reviewer, begin)


def propose_three(office: Office) -> tuple[str, str, str]:
    """Let each agent change overlapping things on a branch of its own, and propose it."""
    office.engine.branches.create("of-1")
    office.engine.mutate(SET, {"n": "ada", "a": 37}, branch="of-1", **why("from her letter"))
    office.engine.mutate(ADD, {"n": "cyd", "a": 7}, branch="of-1", **why("her daughter"))
    office.served.branches.create("of-2")
    for name, age, text in (("ada", 38, SET), ("cyd", 8, ADD), ("bob", 41, SET)):
        office.served.mutate(text, {"n": name, "a": age}, branch="of-2", **why(f"{name}, by the census"))
    office.use_tool("create_branch", name="of-3")
    for name, age, text in (("bob", 40, SET), ("dan", 400, ADD)):
        made = office.use_tool(
            "mutate",
            query=text,
            params={"n": name, "a": age},
            branch="of-3",
            **why(f"{name}, as it was read"),
        )
        assert made["commit"] is not None
    first = office.engine.proposals.create("of-1", title="a letter", metadata=FOR)
    second = office.served.proposals.create("of-2", title="the census", metadata=FOR)
    third = office.use_tool("propose", source="of-3", title="a scan", metadata=FOR)["proposal"]
    return first.id, second.id, third["id"]


def one_merges(office: Office, id: str) -> None:
    for direct in (
        lambda: office.engine.branches.merge("of-1"),
        lambda: office.served.mutate(ADD, {"n": "x", "a": 1}),
    ):
        with pytest.raises(og.BranchProtected):
            direct()
    assert office.use_tool("merge_branch", source="of-3")["code"] == "branch_protected"
    with pytest.raises(og.PolicyDenied, match="nobody approves what they have opened"):
        office.engine.proposals.approve(id)
    assert office.use_tool("merge_proposal", id=id)["details"]["reasons"][0]["code"] == "approvals_missing"
    office.reviewer.proposals.approve(id, text="I have the letter")
    office.engine.proposals.merge(id, **why("as the letter says"))


def another_conflicts_is_answered_in_part_and_finished_elsewhere(office: Office, id: str) -> None:
    conflicts = office.served.proposals.mergeable(id).conflicts
    assert {(item.kind, item.entity_id) for item in conflicts} == {
        ("DivergentUpdate", "ada"),
        ("DivergentInsert", "cyd"),
    }
    ada = next(item for item in conflicts if item.entity_id == "ada")
    assert ada.properties == ("age",)
    for cause, actor, said in (
        (ada.ours_by, "agent-1", "from her letter"),
        (ada.theirs_by, "act-ada", "ada, by the census"),
    ):
        assert cause is not None
        assert (cause.actor, cause.message, cause.metadata["on_behalf_of"]) == (actor, said, "carol")
    office.served.proposals.resolve(id, [{**ada.to_json(), "take": "theirs"}])
    reasons = {reason.code for reason in office.reviewer.proposals.mergeable(id).reasons}
    assert reasons == {"approvals_missing", "conflicts"}
    shown = office.use_tool("show_proposal", id=id)
    assert [item["entity_id"] for item in shown["conflicts"]] == ["cyd"]
    assert len(shown["proposal"]["resolutions"]) == 1
    workers = Workers()
    try:
        elsewhere = workers.take()
        assert elsewhere.ask("answer_conflicts", office.root, id, "ours", "agent-9") == ["Person/cyd"]
    finally:
        workers.close()
    office.reviewer.proposals.approve(id)
    done = office.served.proposals.merge(id, **why("the census knows better, but for the daughter"))
    assert done.outcome == "merged"
    assert office.reviewer.entity("Person", "ada").properties["age"] == 38


def a_third_violates_a_check_and_is_refused(office: Office, id: str) -> None:
    shown = office.use_tool("show_proposal", id=id)
    office.use_tool("resolve_proposal", id=id, resolutions=[{**shown["conflicts"][0], "take": "ours"}])
    office.reviewer.proposals.approve(id)
    before = office.reviewer.snapshot().commit_id
    refused = office.use_tool("merge_proposal", id=id)
    assert refused["code"] == "not_mergeable" and "show_proposal" in refused["hint"]
    assert [reason["code"] for reason in refused["details"]["reasons"]] == ["check_failed"]
    (check,) = office.use_tool("show_proposal", id=id)["mergeable"]["checks"]
    assert (check["ok"], check["rows"]) == (False, [{"p.name": "dan", "p.age": 400}])
    assert office.reviewer.snapshot().commit_id == before
    closed = office.use_tool("close_proposal", id=id, text="nobody is that old")
    assert closed["proposal"]["state"] == "closed"


def one_is_taken_back_by_entity(office: Office) -> None:
    """Put back bob, whom the census made 41, and leave what else it said."""
    assert office.reviewer.entity("Person", "bob").properties["age"] == 41
    (changed, *_) = office.use_tool("entity_history", type="Person", id="bob")["changes"]
    assert changed["commit"]["metadata"]["proposal"] and changed["came_by_merge"]
    office.use_tool("create_branch", name="undo")
    wrong = office.use_tool("entity_history", type="Person", id="bob", limit=2)["changes"][1]["commit"]
    assert wrong["message"] == "bob, by the census"
    back = office.use_tool(
        "reset_entity",
        type="Person",
        id="bob",
        revision=f"{wrong['id']}~1",
        branch="undo",
        **why("bob was counted twice"),
    )
    assert back["commit"] is not None
    asked = office.use_tool("propose", source="undo", title="bob is 36", metadata=FOR)["proposal"]
    office.reviewer.proposals.approve(asked["id"])
    assert office.use_tool("merge_proposal", id=asked["id"], message="bob is 36 again")["commit"] is not None


def every_commit_says_who_why_and_for_whom(graph: og.Graph, begin: str) -> None:
    before = {item.id for item in graph.commits.list(start=begin)}
    made = {
        item.id: item
        for branch in graph.branches.list()
        for item in graph.commits.list(branch)
        if item.id not in before and not item.maintenance
    }
    assert len(made) >= 10
    for item in made.values():
        assert item.actor in ("agent-1", "agent-7", "act-ada"), item
        assert item.message, item
        assert item.metadata["on_behalf_of"] == "carol" and item.metadata["task"] == "t-17", item
