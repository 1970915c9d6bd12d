"""Proposals: made, looked at, talked about, approved, merged."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query

from omnigraph.graph.proposals.feed import MOST_EVENTS
from omnigraph.server.bodies import (
    ApproveBody,
    ChangesRequestBody,
    CommentBody,
    ProposalBody,
    ProposalMergeBody,
    ProposalTextBody,
    ResolutionsBody,
)
from omnigraph.server.calls import GraphDep, WriteDep, WriteHeaders, refuse_precondition
from omnigraph.server.context import current_request
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["proposals"])
_MOST_PROPOSALS = 1_000


@router.post("/proposals", status_code=201)
def create_proposal(call: GraphDep, headers: WriteDep, body: ProposalBody) -> dict[str, Any]:
    """Propose to merge a branch into another."""
    refuse_precondition(headers)
    return _as_answer(call.open(headers=headers).proposals.create(**body.model_dump()))


@router.get("/proposals")
def list_proposals(
    call: GraphDep,
    state: Literal["open", "merged", "closed"] | None = None,
    source: str | None = None,
    into: str | None = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_PROPOSALS)] = 100,
    page_token: Annotated[str | None, Query(description="`next_page_token` of the page before.")] = None,
) -> dict[str, Any]:
    """Return proposals, newest first."""
    found = call.open().proposals.list(state, limit=limit + 1, after=page_token, source=source, into=into)
    token = found[limit - 1].id if len(found) > limit else None
    return {"proposals": encode(found[:limit]), "next_page_token": token}


@router.get("/proposals/events")
def poll_proposals(
    call: GraphDep,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = 1_000,
) -> dict[str, Any]:
    """Return what has happened to proposals after a cursor."""
    return _as_answer(call.open().proposals.poll(cursor, limit=limit))


@router.get("/proposals/{id}")
def show_proposal(call: GraphDep, id: str) -> dict[str, Any]:
    """Return a proposal with what has been said about it."""
    return _as_answer(call.open().proposals.show(id))


@router.get("/proposals/{id}/mergeable")
def judge_proposal(call: GraphDep, id: str) -> dict[str, Any]:
    """Return whether a proposal can be merged now, and if not, why."""
    return _as_answer(call.open().proposals.mergeable(id))


@router.post("/proposals/{id}/comments", status_code=201)
def comment_on_proposal(call: GraphDep, id: str, body: CommentBody) -> dict[str, Any]:
    """Say something about a proposal, or about an entity of it."""
    request = current_request()
    headers = WriteHeaders(None if request is None else request.idempotency_key, None)
    return _as_answer(call.open(headers=headers).proposals.comment(id, **body.model_dump()))


@router.post("/proposals/{id}/approve")
def approve_proposal(call: GraphDep, id: str, body: ApproveBody | None = None) -> dict[str, Any]:
    """Approve a proposal as its source is now."""
    given = (body or ApproveBody()).model_dump()
    return _as_answer(call.open().proposals.approve(id, **given))


@router.post("/proposals/{id}/request-changes")
def request_changes(call: GraphDep, id: str, body: ChangesRequestBody) -> dict[str, Any]:
    """Ask for changes: until then the proposal is not merged."""
    return _as_answer(call.open().proposals.request_changes(id, **body.model_dump()))


@router.put("/proposals/{id}/resolutions")
def resolve_proposal(call: GraphDep, id: str, body: ResolutionsBody) -> dict[str, Any]:
    """Save answers to conflicts, some or all."""
    return _as_answer(call.open().proposals.resolve(id, body.resolutions, replace=body.replace))


@router.post("/proposals/{id}/merge")
def merge_proposal(
    call: GraphDep, headers: WriteDep, id: str, body: ProposalMergeBody | None = None
) -> dict[str, Any]:
    """Merge a proposal; asked again it answers with the same commit, whatever the key."""
    refuse_precondition(headers)
    return _as_answer(
        call.open().proposals.merge(id, **(body or ProposalMergeBody.model_validate({})).model_dump())
    )


@router.post("/proposals/{id}/close")
def close_proposal(call: GraphDep, id: str, body: ProposalTextBody | None = None) -> dict[str, Any]:
    """Close a proposal without merging it."""
    return _as_answer(call.open().proposals.close(id, **(body or ProposalTextBody()).model_dump()))


@router.post("/proposals/{id}/reopen")
def reopen_proposal(call: GraphDep, id: str, body: ProposalTextBody | None = None) -> dict[str, Any]:
    """Open a closed proposal again."""
    return _as_answer(call.open().proposals.reopen(id, **(body or ProposalTextBody()).model_dump()))


def _as_answer(found: object) -> dict[str, Any]:
    answer: dict[str, Any] = encode(found)
    return answer
