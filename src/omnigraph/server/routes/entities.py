"""One node or edge over time: what it is, its edges, who changed it, and putting it back."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import Depends, Query

from omnigraph.base.errors import BadInput
from omnigraph.sdk.entities.entity import EdgeDirection, Entity
from omnigraph.server.bodies import CombineBody, EntityResetBody
from omnigraph.server.calls import GraphCall, GraphDep, WriteDep
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.paging import NextPage, PageDep, name_rest, read_rest
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["entities"])
_MOST_CHANGES = 1_000


class EntityPlace:
    """Which node or edge an address names, and where it is looked at."""

    def __init__(self, type: str, id: str, branch: str | None = None, snapshot: str | None = None) -> None:
        self._given: dict[str, Any] = {"type": type, "id": id, "branch": branch, "snapshot": snapshot}

    def find(self, call: GraphDep) -> Entity:
        """Return the node or edge; it is looked for when it is asked."""
        return call.open().entity(**self._given)

    def find_page(self, call: GraphCall, token: str | None, skip: int) -> tuple[Entity, int]:
        """Return the node or edge as the first page saw it, and how much has been told of it."""
        if token is None:
            return self.find(call), skip
        if skip:
            raise BadInput("give page_token or skip, not both")
        commit, passed = read_rest(token)
        return call.open().entity(self._given["type"], self._given["id"], snapshot=commit), passed


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
    page_token: NextPage = None,
) -> dict[str, Any]:
    """Return edges of a node, as records of a load, a page at a time; all pages are of one commit."""
    found, skip = place.find_page(call, page_token, skip)
    edges = found.edges(types, direction, skip + limit + 1)[skip:]
    token = name_rest(found.commit_id, skip + limit) if len(edges) > limit else None
    return {"commit": found.commit_id, "edges": encode(edges[:limit]), "next_page_token": token}


@router.get("/entity/history")
def show_history(
    call: GraphDep,
    place: PlaceDep,
    limit: Annotated[int, Query(ge=1, le=_MOST_CHANGES)] = 100,
    skip: Annotated[int, Query(ge=0)] = 0,
    earlier: Annotated[bool, Query(description="Whether what had the id before is looked for.")] = False,
    page_token: NextPage = None,
) -> dict[str, Any]:
    """Return the commits that changed a node or edge, newest first, with what was before and after."""
    found, skip = place.find_page(call, page_token, skip)
    changes = list(islice(found.history(skip + limit + 1, earlier=earlier), skip, None))
    token = name_rest(found.commit_id, skip + limit) if len(changes) > limit else None
    return {"commit": found.commit_id, "changes": encode(changes[:limit]), "next_page_token": token}


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


@router.post("/entities/combine")
def combine_entities(call: GraphDep, headers: WriteDep, body: CombineBody) -> dict[str, Any]:
    """Combine duplicates: make one node of several, and move the edges of the others to it."""
    given = body.model_dump(exclude={"type", "keep", "drop"})
    found: dict[str, Any] = encode(
        call.open(headers=headers).entities.combine(body.type, body.keep, body.drop, **given)
    )
    return found


@router.get("/entities/same")
def find_same_entities(
    call: GraphDep,
    type: str,
    on: Annotated[list[str], Query()],
    page: PageDep,
    branch: str | None = None,
    snapshot: str | None = None,
) -> dict[str, Any]:
    """Return the ids of nodes that have the same values of some properties, group by group."""
    found = call.open().entities.find_same(type, on, branch=branch, snapshot=snapshot)
    return page.cut("groups", encode(found), lambda group: (group[0],))
