"""Tools about one node or edge: what it is, what became of it, who did that, and putting it back."""

from __future__ import annotations

import base64
import codecs
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.pages import size_of
from omnigraph.mcp.tools.history import describe_commit
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import (
    BRANCH,
    COMMIT,
    CURSOR,
    FLAG,
    LIST,
    MADE,
    MAYBE_OBJECT,
    NEXT_CURSOR,
    NUMBER,
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
            "read_blob",
            "Read a blob",
            f"The bytes of a property of type Blob, at most {blob_bytes(limits)} at once, as base64, or as "
            "text that is UTF-8.",
            ("read",),
            _read_blob,
            {
                **_ADDRESS,
                "property": text("The property."),
                "form": choice(("base64", "text"), "How the bytes are told; base64 unless given."),
                **WHERE,
                "cursor": CURSOR,
            },
            ("type", "id", "property"),
            {
                "commit": COMMIT,
                "size": {**NUMBER, "description": "How many bytes the whole blob has."},
                "offset": NUMBER,
                "content": TEXT,
                "next_cursor": NEXT_CURSOR,
            },
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
    head = {
        "commit": found.commit_id,
        "exists": found.exists,
        "kind": found.kind,
        "type": found.type,
        "id": found.id,
    }
    if not found.exists:
        return {**head, "properties": None, "ends": None, "edges": [], "next_cursor": None}
    edges: list[Any] = []
    if found.kind == "node":
        wanted = call.cursor.offset + call.rows + 1
        edges = found.edges(call.get("edge_types"), call.get("direction", "both"), wanted)
    page = call.page(edges, found.commit_id)
    ends = None if found.ends is None else list(found.ends)
    return {
        **head,
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
    properties = {name: describe_commit(commit) for name, commit in found.blame().items()}
    return {"commit": found.commit_id, "properties": properties}


def _reset(call: ToolCall) -> dict[str, Any]:
    found = call.open().entity(call.arguments["type"], call.arguments["id"], **call.given("branch"))
    return {"commit": found.reset(call.arguments["revision"], **call.said)}


def blob_bytes(limits: ToolLimits) -> int:
    """Return how many bytes of a blob one answer has at most."""
    return limits.bytes // 2


def _read_blob(call: ToolCall) -> dict[str, Any]:
    wanted = {name: call.arguments[name] for name in ("type", "id")}
    # The address may say which kind it is, as for the other tools.
    seen = call.open().entity(*wanted.values(), **call.place)
    blob = call.open().blob(
        seen.kind, seen.type, seen.id, call.arguments["property"], snapshot=seen.commit_id
    )
    offset = call.cursor.offset
    data = blob.read(offset, blob_bytes(call.limits))
    content = base64.b64encode(data).decode()
    if call.get("form") == "text":
        content, data = _as_text(data, blob_bytes(call.limits))
    end = offset + len(data)
    return {
        "commit": blob.commit_id,
        "size": blob.size,
        "offset": offset,
        "content": content,
        "next_cursor": call.continue_after(end, blob.commit_id) if end < blob.size else None,
    }


def _as_text(data: bytes, most_bytes: int) -> tuple[str, bytes]:
    """Return the text that bytes are, as much as an answer holds, and the bytes of whole characters."""
    while True:
        try:
            said = codecs.getincrementaldecoder("utf-8")().decode(data)
        except UnicodeDecodeError as error:
            raise BadInput("these bytes are not a text in UTF-8: ask for them with form base64") from error
        if size_of(said) <= most_bytes * 3 // 2:
            return said, said.encode()
        data = data[: len(data) // 2]
