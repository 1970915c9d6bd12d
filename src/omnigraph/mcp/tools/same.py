"""Tools about duplicates: find the nodes that may be one thing, and combine them."""

from __future__ import annotations

from typing import Any

from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.history import RESOLUTIONS
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import (
    BRANCH,
    COMMIT,
    LIST,
    MADE,
    NEXT_CURSOR,
    NUMBER,
    TEXT,
    WHERE,
    WHY,
    choice,
    page_options,
    text,
    texts,
)

_TYPE = text("The type of the nodes.")


def same_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    return [
        Tool(
            "find_same",
            "Find duplicates",
            "Groups of nodes of one type that have the same values of some properties: perhaps one thing "
            "under several ids. Look at them (entity) before you combine them.",
            ("read",),
            _find,
            {
                "type": _TYPE,
                "on": texts("The properties whose values are the same."),
                **WHERE,
                **page_options(limits, "groups"),
            },
            ("type", "on"),
            {"commit": COMMIT, "groups": LIST, "next_cursor": NEXT_CURSOR},
        ),
        Tool(
            "combine",
            "Combine duplicates",
            "Make one node of several that are the same thing, and move the edges of the others to it, as "
            "one commit. What breaks a rule of the schema then is told as a conflict, and changes nothing.",
            ("change",),
            _combine,
            {
                "type": _TYPE,
                "keep": text("The id of the node that stays."),
                "drop": texts("The ids of the nodes that go into it."),
                "values": choice(
                    ("fill", "keep", "newest"),
                    "Whose values it gets: fill (unless given) takes those of the others where it has none, "
                    "keep takes nothing, newest takes those of what was changed last.",
                ),
                "properties": {"type": "object", "description": "Values that it gets in any case."},
                "resolutions": RESOLUTIONS,
                "branch": BRANCH,
                **WHY,
            },
            ("type", "keep", "drop"),
            {
                "commit": MADE,
                "kept": TEXT,
                "gone": texts("Ids."),
                "edges_moved": NUMBER,
                "edges_folded": NUMBER,
                "loops_removed": NUMBER,
            },
            writes=True,
            destroys=True,
        ),
    ]


def _find(call: ToolCall) -> dict[str, Any]:
    graph, place = call.open(), call.place
    commit = call.cursor.commit or graph.snapshot(place.get("branch"), place.get("snapshot")).commit_id
    wanted = call.cursor.offset + call.rows + 1
    found = graph.entities.find_same(
        call.arguments["type"], call.arguments["on"], snapshot=commit, limit=wanted
    )
    page = call.page(found, commit)
    return {"commit": commit, "groups": page.items, "next_cursor": page.next_cursor}


def _combine(call: ToolCall) -> dict[str, Any]:
    given = call.given("values", "properties", "resolutions", "branch")
    done = call.open().entities.combine(
        *(call.arguments[name] for name in ("type", "keep", "drop")),
        idempotency_key=call.key,
        **given,
        **call.said,
    )
    return {
        "commit": done.commit_id,
        "kept": done.kept,
        "gone": list(done.gone),
        "edges_moved": done.edges_moved,
        "edges_folded": done.edges_folded,
        "loops_removed": done.loops_removed,
    }
