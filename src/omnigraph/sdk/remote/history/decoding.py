"""Changes as the contract writes them, read back into the values that they are in process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.base.plain import from_plain
from omnigraph.graph.changes.commit import CommitChanges
from omnigraph.graph.changes.model import Cause, Change, ChangeBlock, QueriesChange, SchemaChange
from omnigraph.graph.proposals.model import ProposalEvent
from omnigraph.sdk.proposals.events import PROPOSALS, ChangePage
from omnigraph.wire.values import decode

Json = Mapping[str, Any]


def read_change(data: Json, version: int) -> Change:
    """Return a change."""
    return Change(
        data["kind"],
        data["type"]["id"],
        data["type"]["name"],
        data["id"],
        data["op"],
        version,
        data.get("before"),
        data.get("after"),
    )


def read_schema_change(data: Json | None) -> SchemaChange | None:
    """Return a change of the schema, if there is one."""
    return None if data is None else from_plain(SchemaChange, data)


def read_queries_change(data: Json | None) -> QueriesChange | None:
    """Return a change of the stored queries, if there is one."""
    return None if data is None else from_plain(QueriesChange, data)


def read_commit_changes(data: Json) -> CommitChanges:
    """Return a page of a commit's changes."""
    version = data["version"] or 0
    return CommitChanges(
        _read_cause(data["cause"]),
        read_schema_change(data.get("schema")),
        tuple(read_change(item, version) for item in data["changes"]),
        data.get("next_page_token"),
        read_queries_change(data.get("queries")),
    )


def read_feed_page(data: Json) -> ChangePage:
    """Return what a poll gave."""
    blocks = tuple(_read_block(item) for item in data["blocks"])
    told = data.get(PROPOSALS)
    return ChangePage(
        blocks,
        data.get("cursor"),
        data.get("page_token"),
        data["caught_up"],
        data["version"],
        None if told is None else tuple(decode(ProposalEvent, item) for item in told),
    )


def _read_block(data: Json) -> ChangeBlock:
    return ChangeBlock(
        _read_cause(data["cause"]),
        read_schema_change(data.get("schema")),
        tuple(read_change(item, data["version"]) for item in data["changes"]),
        data["offset"],
        data["complete"],
        data["version"],
        read_queries_change(data.get("queries")),
    )


def _read_cause(data: Json) -> Cause:
    return Cause(
        commit_id=data["graph_commit_id"],
        parent_commit_id=data.get("parent_commit_id"),
        merged_parent_commit_id=data.get("merged_parent_commit_id"),
        branch=data["authored_branch"],
        actor=data.get("actor_id"),
        authored_at=data["authored_at"],
        operation=data["operation"],
        message=data.get("message"),
        metadata=data.get("metadata", {}),
    )
