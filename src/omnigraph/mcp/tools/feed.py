"""The tool that follows a branch: what was committed since the last look, and said about its proposals."""

from __future__ import annotations

from typing import Any

from omnigraph.base.errors import BadInput, ResourceLimit
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.pages import cut_down, size_of
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import BRANCH, FLAG, OPS, TEXT, TYPES, choice, flag, objects, text
from omnigraph.wire.values import encode

_PAGE, _CURSOR = "p", "c"
_MOST_COMMITS = 100


def feed_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    return [
        Tool(
            "changes",
            "What is new",
            "What was committed on a branch since the last look, commit by commit with its changes, and "
            "what happened to the proposals from it or into it: comments, approvals, merges. Keep resume, "
            "and send it as since the next time.",
            ("read",),
            _poll,
            {
                "branch": BRANCH,
                "since": text("resume of an earlier answer."),
                "start": choice(
                    ("now", "beginning"),
                    "Where to begin without since: now (unless given) tells nothing but resume.",
                ),
                "types": TYPES,
                "ops": OPS,
                "commits_only": flag("Nothing about proposals; the same in every call with one resume."),
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": limits.most_rows,
                    "description": f"At most so many changes, and events; {limits.rows} unless given.",
                },
            },
            returns={
                "commits": objects("Each with its changes; what is not complete goes on next time."),
                "events": objects("What happened to proposals, in the order of each."),
                "resume": TEXT,
                "caught_up": {**FLAG, "description": "Whether there is nothing more by now."},
            },
        ),
    ]


def _poll(call: ToolCall) -> dict[str, Any]:
    rows = call.rows
    answer = _ask(call, rows)
    while size_of(answer) > call.limits.bytes and rows > 1:
        # What is cut from a list would be lost: resume is behind it.
        rows = max(rows // 4, 1)
        answer = _ask(call, rows)
    return {
        **answer,
        "commits": [cut_down(item, call.limits.bytes // 4) for item in answer["commits"]],
        "events": [cut_down(item, call.limits.bytes // 4) for item in answer["events"]],
    }


def _ask(call: ToolCall, rows: int) -> dict[str, Any]:
    page = call.open().changes.poll(
        **call.given("branch", "types", "ops"),
        **_place(call),
        limit=rows,
        commits=min(rows, _MOST_COMMITS),
        max_bytes=call.limits.bytes // 4,
        events=None if call.get("commits_only", False) else ("commits", "proposals"),
    )
    resume = f"{_CURSOR}{page.cursor}" if page.page_token is None else f"{_PAGE}{page.page_token}"
    if len(resume) > call.limits.bytes // 4:
        raise ResourceLimit(
            f"resume would have {len(resume)} characters, of so many proposals: ask with commits_only",
            resource="mcp_bytes",
            limit=call.limits.bytes // 4,
            actual=len(resume),
        )
    return {
        "commits": [_tell(encode(block.to_json())) for block in page.blocks],
        "events": encode(page.proposals or ()),
        "resume": resume,
        "caught_up": page.caught_up,
    }


def _place(call: ToolCall) -> dict[str, str]:
    since = call.get("since")
    if since is None:
        return {"start": call.get("start", "now")}
    if call.get("start") is not None:
        raise BadInput("give since or start, not both")
    kind, token = since[:1], since[1:]
    if kind not in (_PAGE, _CURSOR) or not token:
        raise BadInput("since cannot be used: it is not one that an answer has had as resume")
    return {"cursor" if kind == _CURSOR else "page_token": token}


def _tell(block: dict[str, Any]) -> dict[str, Any]:
    cause = block.pop("cause")
    return {"commit": cause, **block}
