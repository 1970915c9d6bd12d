"""Tools about one node or edge: what it is, what became of it, who did that, and putting it back."""

from __future__ import annotations

from typing import Any

from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.history import describe_commit
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import (
    BRANCH,
    COMMIT,
    FLAG,
    LIST,
    MADE,
    MAYBE_OBJECT,
    NEXT_CURSOR,
    OBJECT,
    TEXT,
    TYPES,
    WHERE,
    WHY,
    choice,
    flag,
    objects,
    or_null,
    page_options,
    text,
)

_ADDRESS = {
    "type": text("The type of a node or edge; `edge:Knows` where both have the name."),
    "id": text("Its id: of a node with a key, the key."),
}


def entity_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    return [
        Tool(
            "entity",
            "Entity",
            "One node or edge by its id: its properties, and a page of the edges of a node.",
            ("read",),
            _show,
            {
                **_ADDRESS,
                **WHERE,
                "edge_types": TYPES,
                "direction": choice(("out", "in", "both"), "Which edges; both unless given."),
                **page_options(limits, "edges"),
            },
            ("type", "id"),
            {
                "commit": COMMIT,
                "exists": FLAG,
                "kind": TEXT,
                "type": TEXT,
                "id": TEXT,
                "properties": MAYBE_OBJECT,
                "ends": or_null(LIST),
                "edges": objects(),
                "next_cursor": NEXT_CURSOR,
            },
        ),
        Tool(
            "entity_history",
            "History of an entity",
            "Every commit that changed a node or edge, newest first: who, why, and what was before and "
            "after.",
            ("read",),
            _show_history,
            {
                **_ADDRESS,
                **WHERE,
                "earlier": flag("Also look for what had the same id before it was inserted."),
                **page_options(limits, "changes"),
            },
            ("type", "id"),
            {"commit": COMMIT, "changes": objects(), "next_cursor": NEXT_CURSOR},
        ),
        Tool(
            "entity_blame",
            "Blame of an entity",
            "Each property of a node or edge with the commit that gave it its value: who and why.",
            ("read",),
            _blame,
            {**_ADDRESS, **WHERE},
            ("type", "id"),
            {"commit": COMMIT, "properties": OBJECT},
        ),
        Tool(
            "reset_entity",
            "Put an entity back",
            "Make one node or edge what it was at another commit, as one new commit; where it was not "
            "there, it is "
            "deleted. Everything else stays.",
            ("change",),
            _reset,
            {
                **_ADDRESS,
                "revision": text("What it should be as at: a commit, a tag, `HEAD~1`."),
                "branch": BRANCH,
                **WHY,
            },
            ("type", "id", "revision"),
            {"commit": MADE},
            writes=True,
            destroys=True,
            is_idempotent=True,
        ),
    ]


def _find(call: ToolCall) -> Any:
    return call.open().entity(call.arguments["type"], call.arguments["id"], **call.place)


def _show(call: ToolCall) -> dict[str, Any]:
    found = _find(call)
    told = {
        "commit": found.commit_id,
        "exists": found.exists,
        "kind": found.kind,
        "type": found.type,
        "id": found.id,
    }
    if not found.exists:
        return {**told, "properties": None, "ends": None, "edges": [], "next_cursor": None}
    edges: list[Any] = []
    if found.kind == "node":
        wanted = call.cursor.offset + call.rows + 1
        edges = found.edges(call.get("edge_types"), call.get("direction", "both"), wanted)
    page = call.page(edges, found.commit_id)
    ends = None if found.ends is None else list(found.ends)
    return {
        **told,
        "properties": found.properties,
        "ends": ends,
        "edges": page.items,
        "next_cursor": page.next_cursor,
    }


def _show_history(call: ToolCall) -> dict[str, Any]:
    found = _find(call)
    wanted = call.cursor.offset + call.rows + 1
    steps = found.history(wanted, earlier=call.get("earlier", False))
    page = call.page(map(_describe_change, steps), found.commit_id)
    return {"commit": found.commit_id, "changes": page.items, "next_cursor": page.next_cursor}


def _describe_change(change: Any) -> dict[str, Any]:
    return {
        "commit": describe_commit(change.commit),
        "op": change.op,
        "changed": change.changed,
        "before": change.before,
        "after": change.after,
        "came_by_merge": change.came_by_merge,
    }


def _blame(call: ToolCall) -> dict[str, Any]:
    found = _find(call)
    told = {name: describe_commit(commit) for name, commit in found.blame().items()}
    return {"commit": found.commit_id, "properties": told}


def _reset(call: ToolCall) -> dict[str, Any]:
    found = call.open().entity(call.arguments["type"], call.arguments["id"], **call.given("branch"))
    return {"commit": found.reset(call.arguments["revision"], **call.said)}
