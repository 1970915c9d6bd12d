"""The read side of the Lance REST Namespace: any snapshot of any graph as tables, without a copy.

The namespaces are graphs, and below each whatever stands for a commit: `people` has `main`, other branches,
tags and the ids of commits; the tables of those have their keys (`node:Person`) as names. What a client gets
is where the files lie and which manifest to read: it reads storage itself, with credentials of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from omnigraph.base.errors import BadInput, Conflict, NotFound, OmniError, PolicyDenied, Unauthorized
from omnigraph.base.errors import Unavailable as CannotReach
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.snapshot import Snapshot
from omnigraph.server.calls import Caller, KnownCaller, graphs_of
from omnigraph.server.graphs import ServedGraphs
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.json_answer import JsonAnswer
from omnigraph.server.requests.refusals import answer_of
from omnigraph.server.requests.route_terms import reads_only
from omnigraph.storage.objects.options import is_harmless_option

_UNSUPPORTED, _NO_NAMESPACE, _NO_TABLE, _NO_VERSION, _INVALID = 0, 1, 4, 11, 13
_CONFLICT, _DENIED, _UNKNOWN_CALLER, _UNAVAILABLE, _INTERNAL = 14, 15, 16, 17, 18
_NOT_ACCEPTABLE_STATUS = 406
_NAMESPACE_PARTS, _TABLE_PARTS = 2, 3


class LanceRoute(EngineRoute):
    """A route whose errors are told as clients of Lance read them: with a number, and our code beside it."""

    takes_any_parameter = True

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what handles a request."""
        handle = super().get_route_handler()

        async def work(request: Request) -> Response:
            try:
                return await handle(request)
            except OmniError as error:
                return _refuse(error, _number_of(error))
            except RequestValidationError as error:
                return _refuse(BadInput(str(error)), _INVALID)

        return work


router = APIRouter(prefix="/lance/v1", route_class=LanceRoute, tags=["lance"])


@dataclass(frozen=True, slots=True)
class LanceName:
    """The name of a graph, a snapshot of one or a table of that, and who asks for it."""

    parts: list[str]
    graphs: ServedGraphs
    caller: Caller

    def open_graph(self) -> Graph:
        """Return the graph that the name begins with."""
        return self.graphs.handle(self.parts[0], None, self.caller.actor)

    def find_snapshot(self) -> Snapshot:
        """Return the snapshot that the name is of."""
        if len(self.parts) != _NAMESPACE_PARTS:
            raise NotFound(
                f"{self.parts!r} is not a namespace: give a graph, and a branch, a tag or the id of a commit"
            )
        return self.open_graph().snapshot(commit=self.parts[1])

    def find_table(self) -> tuple[Snapshot, str]:
        """Return the table that the name is of, by its snapshot and its key there."""
        *namespace, key = self.parts or [""]
        if len(self.parts) != _TABLE_PARTS:
            raise NotFound(
                f"{self.parts!r} is not a table: give a graph, a branch or commit, and a name", table=""
            )
        snapshot = replace(self, parts=namespace).find_snapshot()
        if all(table.key != key for table in snapshot.tables):
            raise NotFound(f"there is no table {key!r} at commit {snapshot.commit_id}", table=key)
        return snapshot, key

    def describe(self) -> dict[str, str]:
        """Return which graph or snapshot a namespace is."""
        if not self.parts:
            return {}
        if len(self.parts) == 1:
            return {"graph": self.open_graph().id}
        snapshot = self.find_snapshot()
        return {
            "commit": snapshot.commit_id,
            "branch": snapshot.branch,
            "version": str(snapshot.version),
        }


async def read_name(
    request: Request,
    caller: KnownCaller,
    id: Annotated[
        str, Path(description="The parts of a name, joined by the delimiter.", examples=["people$main"])
    ],
    delimiter: Annotated[str, Query(min_length=1)] = "$",
) -> LanceName:
    """Return the name that an address holds; the delimiter alone names the root."""
    parts = [] if id == delimiter else [part for part in id.split(delimiter) if part]
    return LanceName(parts, graphs_of(request), caller)


NameDep = Annotated[LanceName, Depends(read_name)]
MostNames = Annotated[int | None, Query(ge=1)]
AskedOf = Annotated[dict[str, Any] | None, Body()]


@router.get("/namespace/{id:path}/table/list")
def list_tables(name: NameDep, limit: MostNames = None, page_token: str | None = None) -> dict[str, Any]:
    """Return the tables of a snapshot."""
    names = [table.key for table in name.find_snapshot().tables] if len(name.parts) > 1 else []
    return _page("tables", names, limit, page_token)


@router.get("/namespace/{id:path}/list")
def list_namespaces(name: NameDep, limit: MostNames = None, page_token: str | None = None) -> dict[str, Any]:
    """Return the graphs, or the branches and tags of one; commits are there by their ids as well."""
    names: list[str] = []
    if not name.parts:
        name.graphs.policies.check_list(name.caller.actor)
        names = name.graphs.names
    elif len(name.parts) == 1:
        graph = name.open_graph()
        names = list(dict.fromkeys([*graph.branches.list(), *(tag.name for tag in graph.tags.list())]))
    else:
        name.find_snapshot()
    return _page("namespaces", names, limit, page_token)


@router.post("/namespace/{id:path}/describe")
@reads_only
def describe_namespace(name: NameDep, asked: AskedOf = None) -> dict[str, Any]:
    """Return which commit a namespace is of."""
    return {"properties": name.describe()}


@router.post("/namespace/{id:path}/exists")
@reads_only
def check_namespace(name: NameDep, asked: AskedOf = None) -> dict[str, Any]:
    """Say nothing when a namespace exists."""
    name.describe()
    return {}


@router.post("/table/{id:path}/version/list")
@reads_only
def list_versions(name: NameDep, asked: AskedOf = None) -> dict[str, Any]:
    """Return the one version that a snapshot has of a table."""
    snapshot, key = name.find_table()
    versions: dict[str, Any] = snapshot.namespace.list_table_versions({"id": [key]})
    return versions


@router.post("/table/{id:path}/version/describe")
@reads_only
def describe_version(name: NameDep, asked: AskedOf = None) -> dict[str, Any]:
    """Return where the manifest of a table's version lies."""
    snapshot, key = name.find_table()
    wanted = (asked or {}).get("version")
    found: list[dict[str, Any]] = snapshot.namespace.list_table_versions({"id": [key]})["versions"]
    for item in found:
        if wanted in (None, item["version"]):
            return {"version": item}
    raise _NoVersion(f"commit {snapshot.commit_id} has no version {wanted!r} of {key}", table=key)


@router.post("/table/{id:path}/describe")
@reads_only
def describe_table(name: NameDep, asked: AskedOf = None) -> dict[str, Any]:
    """Return where a table lies; its versions are managed here."""
    snapshot, key = name.find_table()
    found = snapshot.namespace.describe_table({"id": [key]})
    options = found.storage_options or {}
    (version,) = snapshot.namespace.list_table_versions({"id": [key]})["versions"]
    return {
        "table": key,
        "namespace": name.parts[:-1],
        "version": version["version"],
        "location": found.location,
        "table_uri": found.location,
        "storage_options": {
            option: value for option, value in options.items() if is_harmless_option(option, str(value))
        },
        "properties": {"commit": snapshot.commit_id, "branch": snapshot.branch},
        "managed_versioning": True,
    }


@router.post("/table/{id:path}/exists")
@reads_only
def check_table(name: NameDep, asked: AskedOf = None) -> dict[str, Any]:
    """Say nothing when a table exists."""
    name.find_table()
    return {}


@router.post("/table/{id:path}/count_rows")
@reads_only
def count_rows(name: NameDep, asked: AskedOf = None) -> Response:
    """Return how many rows a table has."""
    if (asked or {}).get("predicate"):
        raise _Unsupported("rows are counted without a predicate: read the table, or ask the graph")
    snapshot, key = name.find_table()
    return JsonAnswer(next(table.rows for table in snapshot.tables if table.key == key))


@router.api_route("/{rest:path}", methods=["GET", "POST", "PUT", "DELETE"], include_in_schema=False)
def refuse_others(request: Request, caller: KnownCaller, rest: str) -> dict[str, Any]:
    """Refuse what changes tables, and what clients can do themselves."""
    raise _Unsupported(
        f"{request.method} /{rest} is not here: tables of a graph are read through this address, and written "
        "through the graph, by its queries, loads and merges"
    )


class _NoVersion(NotFound):
    """A version of a table that a snapshot does not have."""


class _Unsupported(BadInput):
    """An operation of Lance that is not offered."""


def _number_of(error: OmniError) -> int:
    """Return the number by which clients of Lance know an error."""
    known: list[tuple[type[OmniError], int]] = [
        (_Unsupported, _UNSUPPORTED),
        (_NoVersion, _NO_VERSION),
        (NotFound, _NO_TABLE if "table" in error.details else _NO_NAMESPACE),
        (BadInput, _INVALID),
        (Conflict, _CONFLICT),
        (PolicyDenied, _DENIED),
        (Unauthorized, _UNKNOWN_CALLER),
        (CannotReach, _UNAVAILABLE),
    ]
    return next((number for kind, number in known if isinstance(error, kind)), _INTERNAL)


def _refuse(error: OmniError, number: int) -> Response:
    answer = answer_of(error)
    body = {"error": error.message, "code": number, "detail": error.code, "instance": ""}
    status = _NOT_ACCEPTABLE_STATUS if number == _UNSUPPORTED else answer.status_code
    headers = {
        name: answer.headers[name] for name in ("retry-after", "www-authenticate") if name in answer.headers
    }
    return JsonAnswer(body, status, headers)


def _page(member: str, names: list[str], limit: int | None, token: str | None) -> dict[str, Any]:
    """Return some names in order; the token is the last name of the page before."""
    rest = [name for name in sorted(names) if token is None or name > token]
    some = rest[:limit]
    return {member: some, "page_token": some[-1] if len(some) < len(rest) else None}
