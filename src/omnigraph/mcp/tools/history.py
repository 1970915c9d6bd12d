"""Tools about commits: the log, what differs, taking commits back, bringing one over."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from omnigraph.graph.history import Commit, without_measures
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import (
    BRANCH,
    COMMIT,
    MADE,
    MAYBE_OBJECT,
    NEXT_CURSOR,
    OBJECT,
    OPS,
    TEXT,
    TYPES,
    WHY,
    choice,
    flag,
    objects,
    page_options,
    text,
)
from omnigraph.wire.values import encode

MERGED = {"outcome": TEXT, "commit": MADE, "counts": OBJECT, "conflicts": objects()}
STRATEGY = choice(
    ("entity", "property", "ours", "theirs"),
    "How changes of both sides are combined: by whole entities (unless given), by properties, or one "
    "side wins.",
)
RESOLUTIONS = objects(
    "Answers to conflicts: each conflict as it was told, with `take` added: ours, theirs, base, or "
    "custom with an `image`."
)
SAME_AS = objects(
    'Rules that find duplicates, such as {"type": "Person", "on": ["mail"]}, or with "query" a '
    "stored query that returns pairs of ids: what they find is "
    "a conflict, answered with take same or different."
)
METADATA_FILTER = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "description": 'Only commits whose metadata has these values, such as {"task": "t-17"}.',
}
DRY_RUN = flag("Only say what would happen, conflicts included.")


def history_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    return [
        Tool(
            "commits",
            "History",
            "The commits of a branch, newest first: who made them, when, why, by which tool and for whom.",
            ("read",),
            _list_commits,
            {
                "branch": BRANCH,
                "start": text("Begin at this commit instead of a branch's head."),
                "actor": text("Only commits of this actor."),
                "where": METADATA_FILTER,
                **page_options(limits, "commits"),
            },
            returns={"commits": objects(), "next_cursor": NEXT_CURSOR},
        ),
        Tool(
            "diff",
            "Difference",
            "What leads from one branch or commit to another: nodes and edges with their properties "
            "before and after. "
            "A commit's own change is from `ID~1` to `ID`.",
            ("read",),
            _diff,
            {
                "from": text("A branch, commit, tag, or what stands for one."),
                "to": text("A branch, commit, tag, or what stands for one."),
                "types": TYPES,
                "ops": OPS,
                **page_options(limits, "changes"),
            },
            ("from", "to"),
            {
                "from": COMMIT,
                "to": COMMIT,
                "changes": objects(),
                "schema": MAYBE_OBJECT,
                "queries": MAYBE_OBJECT,
                "next_cursor": NEXT_CURSOR,
            },
        ),
        Tool(
            "revert",
            "Revert a commit",
            "Take the change of one commit back from a branch, as one new commit. What was changed since "
            "is a conflict.",
            ("change",),
            _revert,
            {
                "commit": text("The commit whose change is taken back."),
                "branch": BRANCH,
                "strategy": STRATEGY,
                "resolutions": RESOLUTIONS,
                "dry_run": DRY_RUN,
                **WHY,
            },
            ("commit",),
            MERGED,
            writes=True,
            destroys=True,
        ),
        Tool(
            "revert_actor",
            "Revert an actor",
            "Take back what one actor has done on a branch, as one commit, however many commits it was. "
            "What others have changed since stays; where both changed one property it is a conflict.",
            ("change",),
            _revert_actor,
            {
                "actor": text("Whose commits are taken back."),
                "since": text("Only what this commit, tag or branch has not; everything unless given."),
                "where": METADATA_FILTER,
                "branch": BRANCH,
                "strategy": STRATEGY,
                "resolutions": RESOLUTIONS,
                "dry_run": DRY_RUN,
                **WHY,
            },
            ("actor",),
            MERGED,
            writes=True,
            destroys=True,
        ),
        Tool(
            "cherry_pick",
            "Cherry-pick a commit",
            "Bring the change of one commit of any branch to another branch, as a new commit, which says "
            "whose it was.",
            ("change",),
            _cherry_pick,
            {
                "commit": text("The commit whose change is brought over."),
                "branch": text("The branch that it is brought to; the default one unless given."),
                "strategy": STRATEGY,
                "resolutions": RESOLUTIONS,
                "dry_run": DRY_RUN,
                **WHY,
            },
            ("commit",),
            MERGED,
            writes=True,
            destroys=True,
        ),
    ]


def describe_commit(commit: Commit) -> dict[str, Any]:
    """Return a commit as agents see it: who, when, why, and what it follows."""
    return {
        "id": commit.id,
        "parent": commit.parent,
        "merged_parent": commit.merged_parent,
        "branch": commit.branch,
        "version": commit.version,
        "actor": commit.actor,
        "author": commit.author,
        "at": encode(commit.created_at),
        "operation": commit.operation,
        "message": commit.message,
        "metadata": without_measures(commit.metadata),
    }


def describe_merge(call: ToolCall, done: Any) -> dict[str, Any]:
    """Return what a merge did, or would do, with a bounded number of conflicts."""
    return {
        "outcome": done.outcome,
        "commit": done.commit_id,
        "counts": encode(done.counts),
        "conflicts": show_conflicts(call, done.conflicts),
        "conflict_count": len(done.conflicts),
    }


def show_conflicts(call: ToolCall, conflicts: Sequence[Any]) -> list[Any]:
    """Return the first conflicts as agents see them."""
    return [item.to_json() for item in islice(conflicts, call.limits.rows)]


def merge_terms(call: ToolCall) -> dict[str, Any]:
    """Return how a merge, revert or cherry-pick is asked for."""
    return {**call.given("strategy", "resolutions", "dry_run"), **call.said}


def _list_commits(call: ToolCall) -> dict[str, Any]:
    cursor, graph = call.cursor, call.open()
    place: dict[str, Any] = call.given("branch", "start")
    if cursor.commit is not None:
        place = {"start": cursor.commit}
    wanted = cursor.offset + call.rows + 1
    found = graph.commits.list(limit=wanted, actor=call.get("actor"), where=call.get("where"), **place)
    # The next page counts from the commit that this one began at, whatever has come since.
    begins = place.get("start") or graph.snapshot(call.get("branch")).commit_id
    page = call.page(map(describe_commit, found), begins)
    return {"commits": page.items, "next_cursor": page.next_cursor}


def _diff(call: ToolCall) -> dict[str, Any]:
    cursor, graph = call.cursor, call.open()
    begin, end = call.arguments["from"], call.arguments["to"]
    if cursor.commit is not None:
        begin, _, end = cursor.commit.partition("..")
    found = graph.diff(begin, end, types=call.get("types"), ops=call.get("ops"))
    part = found.page(call.rows, cursor.token, call.limits.bytes // 2)
    shown = [call.cut(item.to_json()) for item in part.changes]
    is_first = cursor.token is None
    pair = f"{found.from_commit}..{found.to_commit}"
    return {
        "from": found.from_commit,
        "to": found.to_commit,
        "changes": shown,
        "schema": found.schema.to_json() if is_first and found.schema is not None else None,
        "queries": found.queries.to_json() if is_first and found.queries is not None else None,
        "next_cursor": call.continue_at(part.next_page_token, pair),
    }


def _revert(call: ToolCall) -> dict[str, Any]:
    done = call.open().commits.revert(call.arguments["commit"], call.get("branch"), **merge_terms(call))
    return describe_merge(call, done)


def _revert_actor(call: ToolCall) -> dict[str, Any]:
    given = call.given("since", "where", "branch")
    done = call.open().commits.revert(actor=call.arguments["actor"], **given, **merge_terms(call))
    return describe_merge(call, done)


def _cherry_pick(call: ToolCall) -> dict[str, Any]:
    done = call.open().commits.cherry_pick(call.arguments["commit"], call.get("branch"), **merge_terms(call))
    return describe_merge(call, done)
