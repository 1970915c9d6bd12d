"""The difference of two commits of a served graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from omnigraph.base.choices import ChangeOp, EntityKind
from omnigraph.base.errors import BadInput
from omnigraph.graph.changes.diff import Diff, DiffPage
from omnigraph.graph.changes.model import Change, ChangeFilter, QueriesChange, SchemaChange
from omnigraph.sdk.remote.history.decoding import read_change, read_queries_change, read_schema_change
from omnigraph.sdk.remote.requests.transport import Transport

_CHANGES_PER_PAGE = 1_000


class RemoteDiff(Diff):
    """What leads from one commit to another. Iterating asks for a page at a time; nothing is asked before."""

    stands_for = Diff

    def __init__(self, transport: Transport, only: Mapping[str, Any], images: bool) -> None:
        told = transport.ask("/diff/summary", **only, counts=False)
        filled = {**only, "from": told["from"], "to": told["to"]}
        # The class above is frozen.
        self.__dict__.update(_transport=transport, _only=filled, _images=images, _told=told)

    @property
    def from_commit(self) -> str:
        """The commit that the difference starts from."""
        return str(self.__dict__["_told"]["from"])

    @property
    def to_commit(self) -> str:
        """The commit that it leads to."""
        return str(self.__dict__["_told"]["to"])

    @cached_property
    def schema(self) -> SchemaChange | None:
        """The change of the schema; None when both commits have the same."""
        return read_schema_change(self.__dict__["_told"]["schema"])

    @cached_property
    def queries(self) -> QueriesChange | None:
        """The change of the stored queries; None when both commits have the same."""
        return read_queries_change(self.__dict__["_told"]["queries"])

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many changes there are, by table key and by insert, update and delete; reads no images."""
        found: dict[str, dict[str, int]] = self._ask("/diff/summary")["counts"]
        return found

    def __iter__(self) -> Iterator[Change]:
        token = None
        while True:
            page = self.page(_CHANGES_PER_PAGE, token)
            yield from page.changes
            token = page.next_page_token
            if token is None:
                return

    def page(
        self, limit: int | None = None, page_token: str | None = None, max_bytes: int | None = None
    ) -> DiffPage:
        """Return the next part, of at most `limit` changes; the token of the part before continues it."""
        images = self.__dict__["_images"]
        data = self._ask("/diff", limit=limit, page_token=page_token, max_bytes=max_bytes, images=images)
        version = self.__dict__["_told"]["version"]
        changes = tuple(read_change(item, version) for item in data["changes"])
        return DiffPage(changes, data["next_page_token"])

    def _ask(self, path: str, **more: Any) -> Any:
        transport: Transport = self.__dict__["_transport"]
        return transport.ask(path, **self.__dict__["_only"], **more)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def ask_diff(
    transport: Transport,
    from_: Any,
    to: Any,
    kinds: Sequence[EntityKind] | None,
    types: Sequence[str] | None,
    ops: Sequence[ChangeOp] | None,
    images: bool,
) -> RemoteDiff:
    """Return the changes from one branch, commit or snapshot to another."""
    ChangeFilter.of(kinds, types, ops)
    only = {"from": _revision_of(from_), "to": _revision_of(to), "kinds": kinds, "types": types, "ops": ops}
    return RemoteDiff(transport, only, images)


def _revision_of(target: Any) -> str:
    """Return the commit of a snapshot, or the words that stand for one."""
    found = target if isinstance(target, str) else getattr(target, "commit_id", None)
    if not isinstance(found, str):
        raise BadInput(f"{target!r} is neither a snapshot nor the name of a branch or commit")
    return found
