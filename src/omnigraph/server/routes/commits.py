"""History: commits, what they changed, differences."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import Depends, Query

from omnigraph.base.choices import ChangeOp, EntityKind, refuse_branch_and_start
from omnigraph.server.bodies import PickBody, UndoBody
from omnigraph.server.calls import GraphDep, WriteDep
from omnigraph.server.loads import read_object
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.paging import name_rest, read_rest
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["history"])

_MOST_COMMITS = 1_000
PageSize = Annotated[int | None, Query(ge=1)]


@dataclass(frozen=True, slots=True)
class WantedChanges:
    """Which changes are asked for; all of them where nothing is said."""

    kinds: Annotated[list[EntityKind] | None, Query()] = None
    types: Annotated[list[str] | None, Query()] = None
    ops: Annotated[list[ChangeOp] | None, Query()] = None


WantedDep = Annotated[WantedChanges, Depends()]


@router.get("/commits")
def list_commits(
    call: GraphDep,
    branch: str | None = None,
    actor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_COMMITS)] = 100,
    start: str | None = None,
    where: Annotated[str | None, Query(description="Metadata that they have, as a JSON object.")] = None,
    page_token: str | None = None,
) -> dict[str, Any]:
    """Return the commits that a branch's head, or `start`, can reach, newest first, a page at a time.

    All pages are of the head that the first one saw.
    """
    graph = call.open()
    refuse_branch_and_start(branch, start)
    if page_token is None:
        head = graph.snapshot(branch).commit_id if start is None else graph.commits.show(start).id
        passed = 0
    else:
        head, passed = read_rest(page_token)
    found = graph.commits.list(
        limit=passed + limit + 1, actor=actor, start=head, where=read_object("where", where)
    )[passed:]
    token = name_rest(head, passed + limit) if len(found) > limit else None
    return {"commits": encode(found[:limit]), "next_page_token": token}


@router.get("/commits/{commit}")
def show_commit(call: GraphDep, commit: str) -> dict[str, Any]:
    """Return one commit, of any branch."""
    found: dict[str, Any] = encode(call.open().commits.show(commit))
    return found


@router.get("/commits/{commit}/changes")
def show_changes(
    call: GraphDep,
    commit: str,
    wanted: WantedDep,
    limit: PageSize = None,
    max_bytes: PageSize = None,
    page_token: str | None = None,
) -> dict[str, Any]:
    """Return what a commit made different from its first parent, a page at a time."""
    found = call.open().commits.changes(
        commit, **asdict(wanted), limit=limit, max_bytes=max_bytes, page_token=page_token
    )
    version = found.changes[0].version if found.changes else None
    return {**encode(found.to_json()), "version": version}


@router.post("/commits/revert")
def revert_actor(call: GraphDep, headers: WriteDep, body: UndoBody) -> dict[str, Any]:
    """Take back from a branch what an actor has done."""
    found: dict[str, Any] = encode(call.open(headers=headers).commits.revert(**body.model_dump()))
    return found


@router.post("/commits/{commit}/revert")
def revert_commit(call: GraphDep, headers: WriteDep, commit: str, body: PickBody) -> dict[str, Any]:
    """Take the change of one commit back from a branch."""
    found: dict[str, Any] = encode(call.open(headers=headers).commits.revert(commit, **body.model_dump()))
    return found


@router.post("/commits/{commit}/cherry-pick")
def pick_commit(call: GraphDep, headers: WriteDep, commit: str, body: PickBody) -> dict[str, Any]:
    """Bring the change of one commit to a branch."""
    given = body.model_dump(exclude={"branch"})
    found: dict[str, Any] = encode(
        call.open(headers=headers).commits.cherry_pick(commit, body.branch, **given)
    )
    return found


@router.get("/diff")
def show_diff(
    call: GraphDep,
    from_: Annotated[str, Query(alias="from")],
    to: str,
    wanted: WantedDep,
    images: bool = True,
    limit: PageSize = None,
    max_bytes: PageSize = None,
    page_token: str | None = None,
) -> dict[str, Any]:
    """Return the changes from one branch or commit to another, a page at a time."""
    found = call.open().diff(from_, to, **asdict(wanted), images=images)
    page = found.page(limit, page_token, max_bytes)
    return {"from": found.from_commit, "to": found.to_commit, **encode(page.to_json())}


@router.get("/diff/summary")
def sum_diff(
    call: GraphDep,
    from_: Annotated[str, Query(alias="from")],
    to: str,
    wanted: WantedDep,
    counts: Annotated[bool, Query(description="Whether changes are counted, which reads tables.")] = True,
) -> dict[str, Any]:
    """Return how many changes there are by table, and how schema and stored queries differ."""
    graph = call.open()
    found = graph.diff(from_, to, **asdict(wanted), images=False)
    schema, queries = found.schema, found.queries
    return {
        "from": found.from_commit,
        "to": found.to_commit,
        "version": graph.snapshot(commit=found.to_commit).version,
        "schema": None if schema is None else encode(schema.to_json()),
        "queries": None if queries is None else queries.to_json(),
        "counts": encode(found.counts) if counts else None,
    }
