"""Tools about branches: list, create, delete, restore, merge, rebase."""

from __future__ import annotations

from typing import Any

from omnigraph.base.errors import AlreadyExists
from omnigraph.graph.branches.names import normalise
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.history import (
    DRY_RUN,
    MERGED,
    RESOLUTIONS,
    SAME_AS,
    STRATEGY,
    describe_merge,
    merge_terms,
    show_conflicts,
)
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import (
    COMMIT,
    KEY,
    MAYBE_OBJECT,
    NEXT_CURSOR,
    TEXT,
    WHY,
    flag,
    objects,
    page_options,
    text,
    texts,
)
from omnigraph.wire.values import encode


def branch_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    return [
        Tool(
            "branches",
            "Branches",
            "The names of the branches; with a name, where that branch is, how far ahead of another and "
            "behind it, who "
            "wrote last, and whether it is protected.",
            ("read",),
            _list,
            {
                "name": text("The branch that is described."),
                "compared_with": text("The branch that it is compared with; main unless given."),
                **page_options(limits, "names"),
            },
            returns={
                "branches": texts("Names."),
                "described": MAYBE_OBJECT,
                "next_cursor": NEXT_CURSOR,
            },
        ),
        Tool(
            "create_branch",
            "Create a branch",
            "Begin a branch of your own to work on; nothing is copied, and nobody else sees what you "
            "change there.",
            ("branch_create",),
            _create,
            {
                "name": text("Its name."),
                "from": text("The branch, commit or tag that it begins at; main unless given."),
                "idempotency_key": KEY,
            },
            ("name",),
            {"branch": TEXT, "commit": COMMIT},
            writes=True,
        ),
        Tool(
            "delete_branch",
            "Delete a branch",
            "Delete a branch. It can be brought back (restore_branch) until a cleanup removes its commits.",
            ("branch_delete",),
            _delete,
            {"name": text("The branch.")},
            ("name",),
            {"deleted": TEXT},
            writes=True,
            destroys=True,
        ),
        Tool(
            "restore_branch",
            "Restore a branch",
            "Bring a deleted branch back with its commits, if no cleanup has removed them.",
            ("branch_create",),
            _restore,
            {"name": text("The branch.")},
            ("name",),
            {"branch": TEXT, "commit": COMMIT},
            writes=True,
        ),
        Tool(
            "merge_branch",
            "Merge a branch",
            "Bring what a branch has done into another, as one commit. Disagreements are told one by one "
            "and change "
            "nothing. Where others review, use propose instead.",
            ("branch_merge",),
            _merge,
            {
                "source": text("The branch that is merged."),
                "into": text("The branch that it is merged into; main unless given."),
                "delete_branch": flag("Delete the source afterwards."),
                "strategy": STRATEGY,
                "resolutions": RESOLUTIONS,
                "same_as": SAME_AS,
                "dry_run": DRY_RUN,
                **WHY,
            },
            ("source",),
            MERGED,
            writes=True,
            destroys=True,
            is_idempotent=True,
        ),
        Tool(
            "rebase_branch",
            "Rebase a branch",
            "Make the commits of a branch again on top of another's head, so that it has what others have "
            "merged since; it changes as a whole or, with conflicts, not at all. Commits get new ids.",
            ("branch_merge",),
            _rebase,
            {
                "name": text("The branch."),
                "onto": text("The branch that it shall stand on; main unless given."),
                "strategy": STRATEGY,
                "resolutions": RESOLUTIONS,
                "dry_run": DRY_RUN,
            },
            ("name",),
            {"outcome": TEXT, "commit": COMMIT, "commits": texts("Ids."), "conflicts": objects()},
            writes=True,
            destroys=True,
            is_idempotent=True,
        ),
    ]


def _list(call: ToolCall) -> dict[str, Any]:
    graph = call.open()
    name = call.get("name")
    described = None
    if name is not None:
        described = encode(graph.branches.info(name, call.get("compared_with", "main")))
        return {"branches": [described["name"]], "described": described, "next_cursor": None}
    # main comes first.
    page = call.page_after(graph.branches.list(), lambda name: "" if name == "main" else str(name))
    return {"branches": page.items, "described": described, "next_cursor": page.next_cursor}


def _create(call: ToolCall) -> dict[str, Any]:
    graph, name, origin = call.open(), call.arguments["name"], call.get("from", "main")
    try:
        if origin in graph.branches.list():
            graph.branches.create(name, origin)
        else:
            graph.branches.create(name, commit=origin)
    except AlreadyExists:
        if call.key is None or not _is_own_and_untouched(call, graph, name):
            raise
    info = graph.branches.info(name)
    return {"branch": info.name, "commit": info.head}


def _is_own_and_untouched(call: ToolCall, graph: Any, name: str) -> bool:
    """Return whether this very call has made a branch before: the caller's, with nothing done on it."""
    info = graph.branches.info(name)
    return (
        call.caller.actor is not None
        and info.created_by == call.caller.actor
        and info.name == normalise(name)
        and info.head == info.fork
    )


def _delete(call: ToolCall) -> dict[str, Any]:
    call.open().branches.delete(call.arguments["name"])
    return {"deleted": call.arguments["name"]}


def _restore(call: ToolCall) -> dict[str, Any]:
    graph, name = call.open(), call.arguments["name"]
    graph.branches.restore(name)
    info = graph.branches.info(name)
    return {"branch": info.name, "commit": info.head}


def _rebase(call: ToolCall) -> dict[str, Any]:
    given = call.given("onto", "strategy", "resolutions", "dry_run")
    done = call.open().branches.rebase(call.arguments["name"], **given)
    return {
        "outcome": done.outcome,
        "commit": done.commit_id,
        "commits": list(done.commits)[-call.limits.rows :],
        "conflicts": show_conflicts(call, done.conflicts),
        "conflict_count": len(done.conflicts),
    }


def _merge(call: ToolCall) -> dict[str, Any]:
    done = call.open().branches.merge(
        call.arguments["source"],
        call.get("into", "main"),
        idempotency_key=call.key,
        **call.given("delete_branch", "same_as"),
        **merge_terms(call),
    )
    return describe_merge(call, done)
