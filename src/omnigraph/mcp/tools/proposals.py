"""Tools about proposals: propose, look, talk, answer conflicts, approve, merge, close."""

from __future__ import annotations

from typing import Any

from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.history import MERGED, RESOLUTIONS, SAME_AS, STRATEGY, describe_merge
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import (
    KEY,
    MAYBE_OBJECT,
    MESSAGE,
    METADATA,
    NEXT_CURSOR,
    OBJECT,
    choice,
    flag,
    objects,
    page_options,
    text,
    texts,
)
from omnigraph.wire.values import encode

_ID = text("The proposal: its id, or at least 6 letters of its beginning.")
_SEEN = text("The commit that was looked at: if the source has moved since, nothing happens.")
_PROPOSAL = {"proposal": OBJECT}
_NEWEST_EVENTS = 20


def proposal_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    return [
        Tool(
            "proposals",
            "Proposals",
            "The proposals, newest first.",
            ("read",),
            _list,
            {
                "state": choice(("open", "merged", "closed"), "Only those in this state."),
                "source": text("Only those of this branch."),
                "into": text("Only those into this branch."),
                **page_options(limits, "proposals"),
            },
            returns={"proposals": objects(), "next_cursor": NEXT_CURSOR},
        ),
        Tool(
            "show_proposal",
            "Show a proposal",
            "One proposal: what was said, and whether it can be merged now; if not, why: missing "
            "approvals, conflicts with "
            "both sides and who made them, checks with their rows. What it changes: diff from "
            "base_commit to source_commit.",
            ("read",),
            _show,
            {"id": _ID, **page_options(limits, "conflicts")},
            ("id",),
            {**_PROPOSAL, "mergeable": MAYBE_OBJECT, "conflicts": objects(), "next_cursor": NEXT_CURSOR},
        ),
        Tool(
            "propose",
            "Propose a branch",
            "Ask others to look at a branch and merge it. Say in title and description what was done and "
            "why.",
            ("propose",),
            _propose,
            {
                "source": text("The branch that is proposed."),
                "into": text("The branch that it is proposed to; main unless given."),
                "title": text("What it is, in a line."),
                "description": text("Why, and what to look at."),
                "reviewers": texts("Actors who should look at it."),
                "checks": texts("Stored queries that must return no rows on the merged result."),
                "strategy": STRATEGY,
                "same_as": SAME_AS,
                "metadata": METADATA,
                "idempotency_key": KEY,
            },
            ("source",),
            _PROPOSAL,
            writes=True,
        ),
        Tool(
            "comment_proposal",
            "Comment on a proposal",
            "Say something about a proposal, or about a node, edge or property of it.",
            ("propose", "approve"),
            _comment,
            {
                "id": _ID,
                "text": text("What to say."),
                "entity": {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string"},
                        "id": {"type": "string"},
                        "property": {"type": "string"},
                    },
                    "required": ["type", "id"],
                    "additionalProperties": False,
                    "description": "What it is about.",
                },
                "idempotency_key": KEY,
            },
            ("id", "text"),
            _PROPOSAL,
            writes=True,
        ),
        Tool(
            "resolve_proposal",
            "Answer conflicts",
            "Save answers to some or all conflicts of a proposal; they are used when it is merged. "
            "Answers that were saved "
            "stay, unless replace is given.",
            ("propose",),
            _resolve,
            {"id": _ID, "resolutions": RESOLUTIONS, "replace": flag("Drop earlier answers.")},
            ("id", "resolutions"),
            _PROPOSAL,
            writes=True,
            is_idempotent=True,
        ),
        Tool(
            "approve_proposal",
            "Approve a proposal",
            "Approve a proposal as its source is now; a later change of it voids that. Nobody approves "
            "what they made.",
            ("approve",),
            _approve,
            {"id": _ID, "commit": _SEEN, "text": text("What to say.")},
            ("id",),
            _PROPOSAL,
            writes=True,
            is_idempotent=True,
        ),
        Tool(
            "request_changes",
            "Request changes",
            "Ask for changes of a proposal: it is not merged until its source changes, or you approve.",
            ("approve",),
            _request_changes,
            {"id": _ID, "text": text("What should change."), "commit": _SEEN},
            ("id", "text"),
            _PROPOSAL,
            writes=True,
            is_idempotent=True,
        ),
        Tool(
            "merge_proposal",
            "Merge a proposal",
            "Merge a proposal that meets what its target demands, as one commit that names it.",
            ("branch_merge",),
            _merge,
            {
                "id": _ID,
                "message": MESSAGE,
                "metadata": METADATA,
                "delete_branch": flag("Delete the source afterwards."),
            },
            ("id",),
            MERGED,
            writes=True,
            destroys=True,
            is_idempotent=True,
        ),
        Tool(
            "close_proposal",
            "Close a proposal",
            "Close a proposal without merging it; reopen opens it again.",
            ("propose",),
            _close,
            {"id": _ID, "text": text("Why."), "reopen": flag("Open it again instead.")},
            ("id",),
            _PROPOSAL,
            writes=True,
            is_idempotent=True,
        ),
    ]


def _list(call: ToolCall) -> dict[str, Any]:
    given = call.given("state", "source", "into")
    found = call.open().proposals.list(limit=call.rows + 1, after=call.cursor.token, **given)
    page = call.page(map(_sum_up, found), skipped=True)
    last = page.items[-1]["id"] if page.next_cursor is not None else None
    return {"proposals": page.items, "next_cursor": call.continue_at(last)}


def _show(call: ToolCall) -> dict[str, Any]:
    proposals = call.open().proposals
    found = proposals.show(call.arguments["id"])
    if found.state != "open":
        return {"proposal": _describe(found), "mergeable": None, "conflicts": [], "next_cursor": None}
    judged = proposals.mergeable(found.id)
    page = call.page(item.to_json() for item in judged.conflicts)
    return {
        "proposal": _describe(found),
        "mergeable": {
            "mergeable": judged.mergeable,
            "reasons": encode(judged.reasons),
            "outcome": judged.outcome,
            "checks": encode(judged.checks),
            "approvals": encode(judged.approvals),
            "approvals_needed": judged.approvals_needed,
            "conflict_count": len(judged.conflicts),
        },
        "conflicts": page.items,
        "next_cursor": page.next_cursor,
    }


def _propose(call: ToolCall) -> dict[str, Any]:
    given = call.given("into", "title", "description", "reviewers", "checks", "strategy", "same_as")
    made = call.open().proposals.create(
        call.arguments["source"], metadata=call.metadata, idempotency_key=call.key, **given
    )
    return {"proposal": _describe(made)}


def _comment(call: ToolCall) -> dict[str, Any]:
    given = call.arguments["id"], call.arguments["text"]
    return {"proposal": _describe(call.open().proposals.comment(*given, entity=call.get("entity")))}


def _resolve(call: ToolCall) -> dict[str, Any]:
    done = call.open().proposals.resolve(
        call.arguments["id"], call.arguments["resolutions"], replace=call.get("replace", False)
    )
    return {"proposal": _describe(done)}


def _approve(call: ToolCall) -> dict[str, Any]:
    return {
        "proposal": _describe(
            call.open().proposals.approve(call.arguments["id"], **call.given("commit", "text"))
        )
    }


def _request_changes(call: ToolCall) -> dict[str, Any]:
    done = call.open().proposals.request_changes(
        call.arguments["id"], call.arguments["text"], **call.given("commit")
    )
    return {"proposal": _describe(done)}


def _merge(call: ToolCall) -> dict[str, Any]:
    given = call.given("message", "delete_branch")
    done = call.open().proposals.merge(call.arguments["id"], metadata=call.metadata, **given)
    return describe_merge(call, done)


def _close(call: ToolCall) -> dict[str, Any]:
    proposals = call.open().proposals
    turn = proposals.reopen if call.get("reopen", False) else proposals.close
    return {"proposal": _describe(turn(call.arguments["id"], call.get("text", "")))}


def _sum_up(found: Any) -> dict[str, Any]:
    """Return the line of a proposal in a list."""
    names = ("id", "state", "title", "author", "source", "into", "created_at", "updated_at", "merged_commit")
    return {name: encode(getattr(found, name)) for name in names}


def _describe(found: Any) -> dict[str, Any]:
    """Return a proposal with its newest events."""
    answer: dict[str, Any] = encode(found)
    return {**answer, "events": answer["events"][-_NEWEST_EVENTS:]}
