"""The duplicates of a served graph: found, and combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.base.choices import CombineValues
from omnigraph.graph.merge.answers.read_resolutions import list_members
from omnigraph.graph.merge.duplicates.rules import read_rules
from omnigraph.sdk.entities.entities import CombinedNodes, Entities
from omnigraph.sdk.remote.branches import merge_options
from omnigraph.sdk.remote.reads import where_of
from omnigraph.sdk.remote.requests.transport import Transport, given
from omnigraph.wire.values import decode, encode

_GROUPS_PER_PAGE = 1_000


class RemoteEntities:
    """The nodes of a served graph, as far as several of them are taken together."""

    stands_for = Entities

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def find_same(
        self,
        type: str,
        on: str | Sequence[str],
        *,
        branch: str | None = None,
        snapshot: Any = None,
        limit: int | None = None,
    ) -> list[tuple[str, ...]]:
        """Return the ids of nodes that have the same values of some properties, group by group."""
        (rule,) = read_rules({"type": type, "on": on})
        where = given(where_of(branch, snapshot))
        found: list[tuple[str, ...]] = []
        asked: dict[str, Any] = {"type": type, "on": list(rule.on), **where}
        token = None
        while limit is None or len(found) < limit:
            most = _GROUPS_PER_PAGE if limit is None else min(_GROUPS_PER_PAGE, limit - len(found))
            page = self._transport.ask("/entities/same", **asked, limit=most, **given({"page_token": token}))
            found += [tuple(group) for group in page["groups"]]
            token = page["next_page_token"]
            if token is None:
                break
        return found

    def combine(
        self,
        type: str,
        keep: str,
        drop: str | Sequence[str],
        *,
        values: CombineValues = "fill",
        properties: Mapping[str, Any] | None = None,
        resolutions: Any = None,
        branch: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> CombinedNodes:
        """Combine duplicates: make one node of several, and move the edges of the others to it."""
        answers = None if resolutions is None else list_members(resolutions)
        body = {
            "type": type,
            "keep": keep,
            "drop": [drop] if isinstance(drop, str) else list(drop),
            "values": values,
            "properties": None if properties is None else encode(dict(properties)),
            "resolutions": merge_options("entity", answers)["resolutions"],
            "branch": branch,
            "message": message,
            "metadata": None if metadata is None else dict(metadata),
        }
        done = self._transport.write("/entities/combine", body, idempotency_key)
        return decode(CombinedNodes, done)  # type: ignore[no-any-return]
