"""One node or edge over time: what it is, its edges, who changed it, and putting it back."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from omnigraph.sdk.entities.entity import EdgeDirection, Entity
from omnigraph.server.bodies import EntityResetBody
from omnigraph.server.calls import GraphDep, WriteDep
from omnigraph.server.requests.work import WorkRoute
from omnigraph.wire.values import encode

router = APIRouter(route_class=WorkRoute, tags=["entities"])
_MOST_CHANGES = 1_000


class EntityPlace:
    """Which node or edge an address names, and where it is looked at."""

    def __init__(self, type: str, id: str, branch: str | None = None, snapshot: str | None = None) -> None:
        self._given = {"type": type, "id": id, "branch": branch, "snapshot": snapshot}

    def find(self, call: GraphDep) -> Entity:
        """Return the node or edge; it is looked for when it is asked."""
        return call.open().entity(**self._given)  # type: ignore[arg-type]


PlaceDep = Annotated[EntityPlace, Depends(EntityPlace)]


@router.get("/entity")
def show_entity(call: GraphDep, place: PlaceDep) -> dict[str, Any]:
    """Return a node or edge with its properties, in the form of a load."""
    found = place.find(call)
    return {
        "kind": found.kind,
        "type": found.type,
        "id": found.id,
        "commit": found.commit_id,
        "properties": encode(found.properties),
        "ends": encode(found.ends),
    }


@router.get("/entity/edges")
def list_edges(
    call: GraphDep,
    place: PlaceDep,
    types: Annotated[list[str] | None, Query()] = None,
    direction: EdgeDirection = "both",
    limit: Annotated[int, Query(ge=1, le=_MOST_CHANGES)] = 100,
    skip: Annotated[int, Query(ge=0)] = 0,
) -> dict[str, Any]:
    """Return edges of a node, as records of a load."""
    found = place.find(call)
    return {"commit": found.commit_id, "edges": encode(found.edges(types, direction, skip + limit)[skip:])}


@router.get("/entity/history")
def show_history(
    call: GraphDep,
    place: PlaceDep,
    limit: Annotated[int, Query(ge=1, le=_MOST_CHANGES)] = 100,
    skip: Annotated[int, Query(ge=0)] = 0,
    earlier: Annotated[bool, Query(description="Whether what had the id before is looked for.")] = False,
) -> dict[str, Any]:
    """Return the commits that changed a node or edge, newest first, with what was before and after."""
    found = place.find(call)
    return {
        "commit": found.commit_id,
        "changes": encode(list(islice(found.history(skip + limit, earlier=earlier), skip, None))),
    }


@router.get("/entity/blame")
def show_blame(call: GraphDep, place: PlaceDep) -> dict[str, Any]:
    """Return for each property the commit that gave it the value that it has."""
    found = place.find(call)
    return {"commit": found.commit_id, "properties": encode(found.blame())}


@router.post("/entity/reset")
def reset_entity(
    call: GraphDep, headers: WriteDep, type: str, id: str, body: EntityResetBody, branch: str | None = None
) -> dict[str, Any]:
    """Make a node or edge what it was at another commit, as one new commit."""
    entity = call.open(headers=headers).entity(type, id, branch=branch)
    return {"commit": entity.reset(**body.model_dump())}
