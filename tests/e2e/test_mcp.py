"""`omnigraph mcp` and the tools of a server, called by the official client as agents call them."""

from __future__ import annotations

import base64
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from omnigraph.compiler.stored.tools import RESERVED
from support.agent_graph import PEOPLE, make_graph
from support.agents import Agent, act, agent_by_http, agent_by_process
from support.served import TOKENS, running_server


@asynccontextmanager
async def two_agents(way: str, folder: Path) -> AsyncIterator[tuple[Agent, Agent]]:
    """Connect two agents to the graph of a folder: each its own process, or one server, or both."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        if way == "processes":
            for_each = [agent_by_process(str(folder), "--as", name) for name in ("act-ada", "agent-7")]
        else:
            server = stack.enter_context(running_server(folder.parent, str(folder)))
            url = server.url(folder.name)
            if way == "http":
                for_each = [agent_by_http(f"{url}/mcp", token) for token in TOKENS.values()]
            else:
                for_each = [agent_by_process(url, OMNIGRAPH_BEARER_TOKEN=token) for token in TOKENS.values()]
        first, second = [await enter(one) for one in for_each]
        yield first, second


BIG = 2**53 + 1
WAYS = pytest.mark.parametrize("way", ["processes", "http", "processes of a server"])


@WAYS
def test_every_tool_is_called_by_two_agents_and_does_what_it_says(tmp_path: Path, way: str) -> None:
    graph = make_graph(tmp_path / "people")

    async def story() -> None:
        async with two_agents(way, tmp_path / "people") as (ada, seven):
            called = await call_every_tool(ada, seven)
            listed = {*await ada.tools()}
            assert listed - {"of_age", "add_person", "nameless"} == RESERVED - {"find_tool", "call_tool"}
            assert listed - called == set()

    act(story())
    merged = graph.commits.list(limit=1)[0]
    told = {"proposal", "task", "on_behalf_of", "tool"}
    assert told <= {*merged.metadata}, "the merge says who, why and on whose behalf"
    by_seven = graph.commits.list(actor="agent-7", where={"task": "t-17"})
    assert [(item.message, item.metadata["tool"]) for item in by_seven][-1:] == [("for the report", "mutate")]


async def call_every_tool(ada: Agent, seven: Agent) -> set[str]:
    """Call each tool at least once; return the names of those that were called."""
    called: set[str] = set()

    async def do(agent: Agent, name: str, /, **arguments: Any) -> Any:
        called.add(name)
        return await agent.call(name, **arguments)

    why = {"message": "for the report", "metadata": {"task": "t-17", "on_behalf_of": "carol"}}
    assert "node Person" in (await do(seven, "schema"))["schema"]
    assert "match" in (await do(seven, "language"))["text"]
    assert (await do(seven, "create_branch", name="work", idempotency_key="b"))["branch"] == "work"
    assert (await do(seven, "create_branch", name="work", idempotency_key="b"))["branch"] == "work"
    add = "query q($n: String, $a: I64) { insert Person { name: $n, age: $a } }"
    sent = {"query": add, "params": {"n": "cyd", "a": BIG}, "branch": "work", "idempotency_key": "1", **why}
    made = await do(seven, "mutate", **sent)
    assert (await do(seven, "mutate", **sent)) == made and made["affected_nodes"] == 1
    records = [
        {"type": "Person", "data": {"name": "dan", "age": 7}},
        {"edge": "Knows", "from": "dan", "to": "ada"},
    ]
    loaded = await do(seven, "load", records=records, mode="merge", branch="work", idempotency_key="1", **why)
    assert (loaded["nodes"], loaded["edges"]) == ({"Person": 1}, {"Knows": 1})
    rows = (await do(ada, "query", query=PEOPLE, branch="work"))["rows"]
    assert rows[2] == {"p.name": "cyd", "p.age": str(BIG)}
    assert "Person" in (await do(ada, "explain", query=PEOPLE, analyze=True))["plan"]
    assert [row["p.name"] for row in (await do(ada, "of_age", age=36))["rows"]] == ["ada", "bob"]
    assert (await do(ada, "nameless"))["rows"] == []
    added = await do(seven, "add_person", name="eve", branch_="work", idempotency_key="2", **why)
    assert added["affected_nodes"] == 1
    stored = (await do(ada, "stored_queries"))["queries"]
    assert [query["tool_name"] for query in stored] == ["add_person", "nameless", "of_age"]
    shown = await do(ada, "entity", type="Person", id="ada", branch="work")
    assert shown["properties"]["age"] == 36 and {edge["from"] for edge in shown["edges"]} == {"ada", "dan"}
    (born,) = (await do(ada, "entity_history", type="Person", id="cyd", branch="work"))["changes"]
    assert (born["commit"]["actor"], born["commit"]["metadata"]["on_behalf_of"]) == ("agent-7", "carol")
    blamed = await do(ada, "entity_blame", type="Person", id="cyd", branch="work")
    assert blamed["properties"]["age"]["message"] == "for the report"
    log = (await do(ada, "commits", branch="work", where={"task": "t-17"}))["commits"]
    assert [item["operation"] for item in log] == ["mutation", "load", "mutation"]
    changes = (await do(ada, "diff", **{"from": "main", "to": "work"}))["changes"]
    assert [(item["op"], item["id"]) for item in changes if item["kind"] == "node"] == [
        ("insert", "cyd"),
        ("insert", "dan"),
        ("insert", "eve"),
    ]
    reverted = await do(seven, "revert", commit=added["commit"], branch="work", **why)
    assert reverted["commit"] is not None
    put_back = await do(
        seven, "reset_entity", type="Person", id="dan", revision=made["commit"], branch="work"
    )
    assert put_back["commit"] is not None
    assert (await do(ada, "branches", name="work"))["described"]["ahead"] == 5
    seen = await do(ada, "changes", branch="work")
    assert (seen["commits"], seen["events"]) == ([], [])
    await call_every_tool_on_a_branch(do, ada, seven, made["commit"])
    assert (await do(ada, "branches"))["branches"] == ["main", "work"]
    asked = {"source": "work", "title": "one more", "idempotency_key": "p", "metadata": why["metadata"]}
    one = (await do(seven, "propose", **asked))["proposal"]["id"]
    assert (await do(seven, "propose", **asked))["proposal"]["id"] == one
    assert [item["id"] for item in (await do(ada, "proposals", state="open"))["proposals"]] == [one]
    about = {"type": "Person", "id": "cyd", "property": "age"}
    for _ in range(2):
        said = await do(ada, "comment_proposal", id=one, text="so old?", entity=about, idempotency_key="c")
    assert [item["text"] for item in said["proposal"]["comments"]] == ["so old?"]
    asked_for = await do(ada, "request_changes", id=one, text="younger")
    assert asked_for["proposal"]["changes_requested"][0]["actor"] == "act-ada"
    assert (await do(ada, "show_proposal", id=one))["mergeable"]["mergeable"] is False
    assert (await do(ada, "approve_proposal", id=one))["proposal"]["approvals"][0]["actor"] == "act-ada"
    await do(seven, "resolve_proposal", id=one, resolutions=[{"take": "theirs"}])
    news = await do(ada, "changes", branch="work", since=seen["resume"], limit=2)
    assert [event["kind"] for event in news["events"]] == ["created", "commented"] and not news["caught_up"]
    more = await do(ada, "changes", branch="work", since=news["resume"])
    assert [event["kind"] for event in more["events"]] == ["changes_requested", "approved", "resolved"]
    assert (await do(seven, "close_proposal", id=one))["proposal"]["state"] == "closed"
    await do(seven, "close_proposal", id=one, reopen=True)
    await do(seven, "create_branch", name="other")
    assert (await do(seven, "delete_branch", name="other"))["deleted"] == "other"
    merged = await do(ada, "merge_branch", source="work", into="main", dry_run=True)
    assert merged["commit"] is None
    done = await do(ada, "merge_proposal", id=one)
    assert done["outcome"] == "fast_forward" or done["commit"] is not None
    return called


async def call_every_tool_on_a_branch(do: Any, ada: Agent, seven: Agent, picked: str) -> None:
    """Call the tools that change a schema, tags, branches and what is one thing, beside the others."""
    await do(seven, "create_branch", name="side")
    on = {"branch": "side", "idempotency_key": "3", "metadata": {"task": "t-18"}}
    city = "node City { name: String @key  map: Blob? }"
    planned = await do(seven, "plan_schema", schema=city, branch="side")
    assert planned["supported"] and len(planned["steps"]) == 1
    applied = await do(seven, "apply_schema", schema=city, **on)
    assert applied["applied"] and (await do(seven, "apply_schema", schema=city, **on)) == applied
    assert "City" not in (await do(ada, "schema"))["schema"]
    records = [{"type": "City", "data": {"name": "Bonn", "map": "base64:" + b64("Köln".encode())}}]
    await do(seven, "load", records=records, mode="append", **on)
    place = {"type": "City", "id": "Bonn", "property": "map", "branch": "side"}
    read = await do(ada, "read_blob", **place, form="text")
    assert (read["content"], read["size"], read["next_cursor"]) == ("Köln", 5, None)
    assert (await do(ada, "read_blob", **place))["content"] == b64("Köln".encode())
    chosen = await do(seven, "cherry_pick", commit=picked, **on)
    assert (await do(seven, "cherry_pick", commit=picked, **on))["commit"] == chosen["commit"]
    groups = (await do(ada, "find_same", type="Person", on=["age"], branch="side"))["groups"]
    assert groups == [["ada", "bob"]]
    asked = {"type": "Person", "keep": "ada", "drop": ["bob"], **on}
    combined = await do(seven, "combine", **asked)
    assert combined["loops_removed"] == 1 and (await do(seven, "combine", **asked)) == combined
    tag = await do(seven, "create_tag", name="v1", branch="side", idempotency_key="t")
    assert (await do(seven, "create_tag", name="v1", branch="side", idempotency_key="t")) == tag
    assert [item["commit"] for item in (await do(ada, "tags"))["tags"]] == [combined["commit"]]
    undone = await do(ada, "revert_actor", actor="agent-7", since=chosen["commit"], branch="side")
    assert undone["commit"] is not None
    rebased = await do(seven, "rebase_branch", name="side")
    assert rebased["outcome"] == "already_up_to_date"
    await do(ada, "delete_branch", name="side")
    restored = await do(ada, "restore_branch", name="side")
    assert restored["commit"] == undone["commit"]
    assert (await do(ada, "delete_tag", name="v1"))["deleted"] == "v1"
    await do(ada, "delete_branch", name="side")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_two_agents_at_once_stay_in_their_own_branches_and_are_themselves(tmp_path: Path) -> None:
    import asyncio

    graph = make_graph(tmp_path / "people")

    async def story() -> None:
        async with two_agents("http", tmp_path / "people") as agents:

            async def work(number: int, agent: Agent) -> None:
                branch = f"of-{number}"
                await agent.call("create_branch", name=branch)
                add = "query q($n: String) { insert Person { name: $n } }"
                calls = [
                    agent.call(
                        "mutate",
                        query=add,
                        params={"n": f"{number}-{step}"},
                        branch=branch,
                        idempotency_key=f"{step}",
                    )
                    for step in (*range(6), *range(6))
                ]
                await asyncio.gather(*calls)

            await asyncio.gather(*(work(number, agent) for number, agent in enumerate(agents)))

    act(story())
    for number, actor in enumerate(TOKENS):
        made = [commit for commit in graph.commits.list(f"of-{number}") if commit.branch == f"of-{number}"]
        assert {commit.actor for commit in made} == {actor} and len(made) == 6, "a key is one commit"
        changes = [item.id for item in graph.diff("main", f"of-{number}")]
        assert sorted(changes) == [f"{number}-{step}" for step in range(6)]


def test_an_agent_goes_on_after_its_server_was_killed(tmp_path: Path) -> None:
    graph = make_graph(tmp_path / "people")
    sent = {
        "query": 'query q() { insert Person { name: "x" } }',
        "idempotency_key": "k",
        "metadata": {"task": "t"},
    }

    async def ask(url: str) -> tuple[Any, Any]:
        async with agent_by_http(f"{url}/mcp", TOKENS["act-ada"]) as agent:
            return await agent.call("mutate", **sent), await agent.call("query", query=PEOPLE, limit=1)

    with running_server(tmp_path, str(tmp_path / "people")) as server:
        made, page = act(ask(server.url("people")))
        address = server.address
        server.process.kill()
        server.process.wait(30)
    with running_server(tmp_path, str(tmp_path / "people"), bind=address) as server:
        again, _ = act(ask(server.url("people")))
        assert again == made

        async def go_on() -> Any:
            async with agent_by_http(f"{server.url('people')}/mcp", TOKENS["act-ada"]) as agent:
                return await agent.call("query", query=PEOPLE, limit=1, cursor=page["next_cursor"])

        assert act(go_on())["commit"] == page["commit"], "cursors outlive the server"
    assert len(graph.commits.list(where={"task": "t"})) == 1


def test_who_has_no_token_is_not_answered(tmp_path: Path) -> None:
    import httpx

    make_graph(tmp_path / "people")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    with running_server(tmp_path, str(tmp_path / "people")) as server:
        url = f"{server.url('people')}/mcp"
        client = httpx.Client(timeout=120)  # the first call loads the protocol
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            refused = client.post(url, json=message, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized")
        known = {"Authorization": f"Bearer {TOKENS['act-ada']}"}
        assert client.post(server.url("none") + "/mcp", json=message, headers=known).status_code == 404
        assert client.get(url, headers=known).status_code == 405
        for body in (b"", b"[", b"null", b"[1]", b'{"jsonrpc": "2.0"}', b"\xff" * 10):
            answered = client.post(url, content=body, headers={**known, "Content-Type": "application/json"})
            assert 400 <= answered.status_code < 500, (body, answered.status_code)
        large = client.post(
            url, content=b" " * (2 << 20), headers={**known, "Content-Type": "application/json"}
        )
        assert large.status_code == 413


def test_http_of_its_own_serves_tools_and_nothing_else(tmp_path: Path) -> None:
    import subprocess

    import httpx

    make_graph(tmp_path / "people")
    command = [
        sys.executable,
        "-c",
        "from omnigraph.cli.main import run; run()",
        "mcp",
        str(tmp_path / "people"),
    ]
    refused = subprocess.run(
        [*command, "--http", "0.0.0.0:0"], capture_output=True, text=True, check=False, timeout=60
    )
    assert refused.returncode == 2 and "--token-file" in refused.stderr
    with subprocess.Popen(
        [*command, "--http", "127.0.0.1:0", "--read-only"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip().partition("=")[2]

            async def story() -> None:
                async with agent_by_http(f"http://{address}/graphs/people/mcp") as agent:
                    assert (await agent.call("of_age", age=36))["rows"]
                    assert "mutate" not in await agent.tools()
                    assert (await agent.fail("add_person", name="x"))["code"] == "read_only"

            act(story())
            for path in (
                "/graphs/people/branches",
                "/graphs/people/commits",
                "/lance/v1/namespace/x/list",
                "/",
            ):
                assert httpx.get(f"http://{address}{path}").status_code == 404, path
            said = {"query": 'query q() { insert Person { name: "x" } }'}
            assert httpx.post(f"http://{address}/graphs/people/mutate", json=said).status_code == 404
        finally:
            process.terminate()
