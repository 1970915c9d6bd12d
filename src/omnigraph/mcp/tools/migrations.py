"""Tools that change what a graph may hold: plan a change of the schema, and make it."""

from __future__ import annotations

from typing import Any

from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import BRANCH, FLAG, LIST, MADE, WHY, choice, flag, objects, text
from omnigraph.sdk.schema_text import SchemaText
from omnigraph.wire.values import encode

_SCHEMA = text("The text of the schema, such as `node City { name: String @key }`.")
_MODE = choice(
    ("extend", "replace"),
    "extend (unless given) adds what the text declares to what is there; replace makes the text the whole "
    "schema, and drops what it leaves out.",
)


def migration_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    return [
        Tool(
            "plan_schema",
            "Plan a schema change",
            "Say which steps would lead from the schema of a branch to another one, and whether they can "
            "be made; nothing is changed.",
            ("read",),
            _plan,
            {"schema": _SCHEMA, "mode": _MODE, "branch": BRANCH},
            ("schema",),
            {"supported": FLAG, "steps": objects(), "warnings": LIST},
        ),
        Tool(
            "apply_schema",
            "Change the schema",
            "Change the schema of a branch, and its rows with it, as one commit. Look at the plan first "
            "(plan_schema), and work on a branch of your own.",
            ("schema_apply",),
            _apply,
            {
                "schema": _SCHEMA,
                "mode": _MODE,
                "branch": BRANCH,
                "allow_drop": flag("Drop types and properties that the schema leaves out; history has them."),
                "allow_broken_queries": flag("Also where stored queries would not run any more."),
                **WHY,
            },
            ("schema",),
            {"applied": FLAG, "commit": MADE, "steps": objects(), "warnings": LIST},
            writes=True,
            destroys=True,
            is_idempotent=True,
        ),
    ]


def _plan(call: ToolCall) -> dict[str, Any]:
    plan = call.open(call.get("branch")).schema.plan(_read(call), mode=call.get("mode", "extend"))
    return {
        "supported": plan.supported,
        "steps": [encode(step.to_json()) for step in plan.steps],
        "warnings": list(plan.warnings),
    }


def _apply(call: ToolCall) -> dict[str, Any]:
    done = call.open(call.get("branch")).schema.apply(
        _read(call),
        mode=call.get("mode", "extend"),
        idempotency_key=call.key,
        **call.given("allow_drop", "allow_broken_queries"),
        **call.said,
    )
    return {
        "applied": done.applied,
        "commit": done.commit_id,
        "steps": encode(done.steps),
        "warnings": list(done.warnings),
    }


def _read(call: ToolCall) -> SchemaText:
    """Return the schema as a text: never as the path of a file of this machine."""
    return SchemaText(call.arguments["schema"])
