"""Tools about tags: names of commits, which stay readable as long as they have one."""

from __future__ import annotations

from typing import Any

from omnigraph.base.errors import AlreadyExists
from omnigraph.graph.branches.names import normalise
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import KEY, NEXT_CURSOR, OBJECT, TEXT, objects, page_options, text
from omnigraph.wire.values import encode


def tag_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    return [
        Tool(
            "tags",
            "Tags",
            "The names that commits have, sorted, with the commit of each, who named it and when.",
            ("read",),
            _list,
            page_options(limits, "tags"),
            returns={"tags": objects(), "next_cursor": NEXT_CURSOR},
        ),
        Tool(
            "create_tag",
            "Name a commit",
            "Name a commit, so that every read can be asked for it (snapshot), and no cleanup removes it.",
            ("branch_create",),
            _create,
            {
                "name": text("The name."),
                "commit": text("The commit; the head of the branch unless given."),
                "branch": text("The branch whose head is named; the default one unless given."),
                "idempotency_key": KEY,
            },
            ("name",),
            {"tag": OBJECT},
            writes=True,
        ),
        Tool(
            "delete_tag",
            "Delete a tag",
            "Take a name from a commit; a later cleanup may remove a commit that nothing else holds.",
            ("branch_delete",),
            _delete,
            {"name": text("The tag.")},
            ("name",),
            {"deleted": TEXT},
            writes=True,
            destroys=True,
        ),
    ]


def _list(call: ToolCall) -> dict[str, Any]:
    page = call.page_after(call.open().tags.list(), lambda tag: str(tag.name))
    return {"tags": page.items, "next_cursor": page.next_cursor}


def _create(call: ToolCall) -> dict[str, Any]:
    graph, given = call.open(), call.given("commit", "branch")
    try:
        made = graph.tags.create(call.arguments["name"], **given)
    except AlreadyExists:
        made = _find_own(call, graph)
        if call.key is None or made is None:
            raise
    return {"tag": encode(made)}


def _find_own(call: ToolCall, graph: Any) -> Any:
    """Return the tag that this very call has made before: the caller's, of the same commit."""
    actor, name = call.caller.actor, normalise(call.arguments["name"])
    if actor is None:
        return None
    wanted = graph.snapshot(call.get("branch"), call.get("commit"))
    for tag in graph.tags.list():
        if tag.name == name and tag.commit == wanted.commit_id and tag.actor == actor:
            return tag
    return None


def _delete(call: ToolCall) -> dict[str, Any]:
    call.open().tags.delete(call.arguments["name"])
    return {"deleted": call.arguments["name"]}
