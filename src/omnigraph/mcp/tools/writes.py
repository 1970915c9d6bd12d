"""Tools that change rows: mutations, and loads of a few records."""

from __future__ import annotations

from typing import Any

from omnigraph.base.errors import ResourceLimit
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import BRANCH, LIST, MADE, NUMBER, OBJECT, PARAMS, WHY, choice, text

CHANGED = {"commit": MADE, "affected_nodes": NUMBER, "affected_edges": NUMBER, "warnings": LIST}


def write_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    return [
        Tool(
            "mutate",
            "Mutate",
            "Run a mutation (insert, upsert, update, delete) as one commit on a branch: all of it, or "
            "nothing. Work on a "
            "branch of your own and propose it, unless you were told otherwise.",
            ("change",),
            _mutate,
            {
                "query": text(
                    "The text of a mutation, such as `query q($n: String) { insert Person { name: $n } }`."
                ),
                "params": PARAMS,
                "name": text("Which query of the text, if it has several."),
                "branch": BRANCH,
                "if_commit": text(
                    "The commit that must still be the branch's head; otherwise nothing happens."
                ),
                **WHY,
            },
            ("query",),
            CHANGED,
            writes=True,
            destroys=True,
        ),
        Tool(
            "load",
            "Load records",
            f"Load at most {limits.records} nodes and edges as one commit: all of them, or nothing. "
            f"append refuses ids that "
            "are there, merge replaces them, patch changes only the properties that are given.",
            ("change",),
            _load,
            {
                "records": {
                    "type": "array",
                    "items": {"type": "object"},
                    "minItems": 1,
                    "description": 'Nodes are {"type": "Person", "data": {…}}, edges '
                    '{"edge": "Knows", "from": "ada", "to": "bob", "data": {…}}.',
                },
                "mode": choice(("append", "merge", "patch"), "What happens to what is there already."),
                "branch": BRANCH,
                **WHY,
            },
            ("records", "mode"),
            {"commit": MADE, "nodes": OBJECT, "edges": OBJECT, "warnings": LIST},
            writes=True,
            destroys=True,
        ),
    ]


def answer_change(done: Any) -> dict[str, Any]:
    """Return what a mutation did."""
    return {
        "commit": done.commit_id,
        "affected_nodes": done.affected_nodes,
        "affected_edges": done.affected_edges,
        "warnings": list(done.warnings),
    }


def _mutate(call: ToolCall) -> dict[str, Any]:
    given = call.given("name", "branch", "if_commit")
    done = call.open().mutate(
        call.arguments["query"], call.get("params"), idempotency_key=call.key, **given, **call.said
    )
    return answer_change(done)


def _load(call: ToolCall) -> dict[str, Any]:
    records = call.arguments["records"]
    if len(records) > call.limits.records:
        raise ResourceLimit(
            f"there are {len(records)} records, a call may load {call.limits.records}: load them in "
            f"several calls, or "
            "a file with `omnigraph load`",
            resource="mcp_records",
            limit=call.limits.records,
            actual=len(records),
        )
    done = call.open().load(
        records,
        mode=call.arguments["mode"],
        engine="local",
        idempotency_key=call.key,
        **call.given("branch"),
        **call.said,
    )
    return {
        "commit": done.commit_id,
        "nodes": dict(done.nodes),
        "edges": dict(done.edges),
        "warnings": list(done.warnings),
    }
