"""One node or edge of a served graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from omnigraph.base.errors import BadInput, NotFound, ReadOnly
from omnigraph.graph.entity.history import EntityChange
from omnigraph.graph.history import Commit
from omnigraph.sdk.entities.entity import ENDS, EdgeDirection, Entity
from omnigraph.sdk.remote.requests.transport import Transport, given, with_params
from omnigraph.wire.values import decode

_ITEMS_PER_PAGE = 1_000


class RemoteEntity(Entity):
    """A node or edge of one commit. What is asked about its past goes back from there."""

    stands_for = Entity

    def __init__(
        self, transport: Transport, type: str, id: str, where: Mapping[str, Any], can_write: bool
    ) -> None:
        """Find it; it may not be there."""
        if not isinstance(id, str):
            raise BadInput(f"id is {id!r}: it must be a string, as the id of a node or edge is")
        self.id = id
        self._transport, self._where, self._can_write = transport, where, can_write
        self._absence: NotFound | None = None
        try:
            told = transport.ask("/entity", type=type, id=id, **given(where))
        except NotFound as error:
            if error.details.get("id") != id:
                raise
            self._absence, told = error, error.details
        self._kind, self._type, self._commit = told["kind"], told["type"], told["commit"]
        self._properties, self._ends = told.get("properties"), told.get("ends")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to find the same entity in another process."""
        where = {"snapshot": self._commit} if not self._can_write else self._where
        return RemoteEntity, (self._transport, self._key_of_type, self.id, where, self._can_write)

    @property
    def kind(self) -> str:
        """Whether it is a node or an edge."""
        return str(self._kind)

    @property
    def type(self) -> str:
        """The name of its type."""
        return str(self._type)

    @property
    def commit_id(self) -> str:
        """The commit that it is looked at at."""
        return str(self._commit)

    @property
    def exists(self) -> bool:
        """Whether it is there."""
        return self._absence is None

    @property
    def properties(self) -> dict[str, Any]:
        """All its properties, in the form of a load; None where it has no value."""
        self._require()
        return dict(self._properties)

    @property
    def ends(self) -> tuple[str, str] | None:
        """The ids of the nodes that an edge leads from and to; None for a node."""
        self._require()
        return None if self._ends is None else tuple(self._ends)

    def edges(
        self, types: Sequence[str] | None = None, direction: EdgeDirection = "both", limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the edges of a node as records of a load, by type; a loop is there once."""
        if self.kind != "node":
            raise BadInput(f"{self!r} is an edge: its nodes are `ends`")
        if direction not in ENDS:
            raise BadInput(f"direction is {direction!r}: use out, in or both")
        self._require()

        def ask(skip: int) -> list[Any]:
            page: list[Any] = self._ask("/edges", skip, types=types, direction=direction)["edges"]
            return page

        return list(islice(_pages(ask), limit))

    def history(self, limit: int | None = None, *, earlier: bool = False) -> Iterator[EntityChange]:
        """Yield the commits that changed it, newest first, merged branches included, with before and after.

        It ends where it was inserted. With `earlier`, or when it is not there, what had the same id
        before is looked for as well: that takes a look at every older version of its type.
        """

        def ask(skip: int) -> list[Any]:
            page: list[Any] = self._ask("/history", skip, earlier=earlier)["changes"]
            return page

        return (decode(EntityChange, item) for item in islice(_pages(ask), limit))

    def blame(self) -> dict[str, Commit]:
        """Return for each property the commit that gave it the value that it has."""
        self._require()
        told = self._transport.ask("/entity/blame", **self._address)["properties"]
        return {name: decode(Commit, item) for name, item in told.items()}

    def reset(
        self, revision: str, *, message: str | None = None, metadata: Mapping[str, str] | None = None
    ) -> str | None:
        """Make it what it was at another commit, as one new commit; where it was not there, it is deleted.

        Returns the commit, None when nothing changed. The edges that were deleted with a node do not come
        back with it.
        """
        if not self._can_write:
            raise ReadOnly("this is of a snapshot, which never changes: call g.entity(…) without one")
        body = {
            "revision": revision,
            "message": message,
            "metadata": None if metadata is None else dict(metadata),
        }
        address = {"type": self._key_of_type, "id": self.id, **given(self._where)}
        commit: str | None = self._transport.write(with_params("/entity/reset", address), body)["commit"]
        return commit

    @property
    def _key_of_type(self) -> str:
        return f"{self._kind}:{self._type}"

    @property
    def _address(self) -> dict[str, Any]:
        return {"type": self._key_of_type, "id": self.id, "snapshot": self._commit}

    def _ask(self, path: str, skip: int, **more: Any) -> Any:
        return self._transport.ask(
            f"/entity{path}", **self._address, **more, skip=skip, limit=_ITEMS_PER_PAGE
        )

    def _require(self) -> Any:
        if self._absence is not None:
            raise self._absence


def _pages(ask: Callable[[int], list[Any]]) -> Iterator[Any]:
    """Yield all items; each page is asked for when it is needed."""
    skip = 0
    while True:
        page = ask(skip)
        yield from page
        skip += len(page)
        if len(page) < _ITEMS_PER_PAGE:
            return
