"""`g.entities`: finding duplicates, which are one thing under several ids, and combining them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.choices import CombineValues
from omnigraph.base.errors import BadInput, NotFound
from omnigraph.base.notebook import html_facts
from omnigraph.graph.entity.stored import EntityAddress, find_entity
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.merge.answers.read_resolutions import list_members
from omnigraph.graph.merge.duplicates.rules import read_rules
from omnigraph.graph.merge.run import Merge, combine_nodes, options
from omnigraph.graph.snapshot import Snapshot as Pinned
from omnigraph.graph.write.integrity.uniqueness import tuple_texts


@dataclass(frozen=True, slots=True)
class CombinedNodes:
    """What became of nodes that are one now."""

    commit_id: str | None
    type: str
    kept: str
    gone: tuple[str, ...]
    edges_moved: int = 0
    edges_folded: int = 0
    """Edges that were there already, by their key: one of both is gone."""
    loops_removed: int = 0
    """Edges between the nodes that are one now."""

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        facts = [(name, getattr(self, name)) for name in ("commit_id", "kept", "edges_moved", "edges_folded")]
        return html_facts(f"{', '.join(self.gone)} went into {self.type} {self.kept}", facts)


class Entities:
    """The nodes of a graph, as far as several of them are taken together."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def find_same(
        self,
        type: str,
        on: str | Sequence[str],
        *,
        branch: str | None = None,
        snapshot: Pinned | str | None = None,
        limit: int | None = None,
    ) -> list[tuple[str, ...]]:
        """Return the ids of nodes that have the same values of some properties, group by group."""
        (rule,) = read_rules({"type": type, "on": on})
        seen = self._graph.internals.choose_snapshot(branch, snapshot)
        node = rule.table(seen.catalog)
        rows = seen.table(node.table_key).scan(["id", *rule.on])
        return list(islice(_group(tuple_texts(node, rows, rule.on), rows["id"]), limit))

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
        """Combine duplicates: make one node of several, and move the edges of the others to it.

        `values` says whose values it gets: `fill` takes those of the others where it has none, `keep` takes
        nothing, `newest` takes those of what was changed last; `properties` are set whatever it had. Edges
        that are the same then, by their key, become one, and edges between the nodes go. What breaks a rule
        of the schema is a `MergeConflicts` error, and `resolutions` answers it.
        """
        graph = self._graph
        gone = (drop,) if isinstance(drop, str) else tuple(dict.fromkeys(drop))
        if not gone or keep in gone:
            raise BadInput(f"drop is {drop!r}: name what goes, and {keep!r} stays", type=type)
        graph.internals.check_allowed("change", graph.internals.resolve_branch(branch))
        request = graph.internals.make_request(branch, message, False, idempotency_key, metadata)
        answers = _answers(type, keep, gone, values, properties)
        chosen = options(
            "entity",
            [*answers, *list_members(() if resolutions is None else resolutions)],
            graph.internals.make_access(),
        )
        named = ", ".join(f"node {type} {id_!r}" for id_ in gone[:3]) + (" …" if len(gone) > 3 else "")
        look, whole = self._look(type, (keep, *gone)), graph.internals.whole
        done = combine_nodes(whole, named, f"node {type} {keep!r}", request, chosen, look)
        return combination_of(done, type, keep, gone)

    def _look(self, type: str, ids: Sequence[str]) -> Callable[[CommitRecord], None]:
        """Return what refuses a commit at which the actor does not see one of the nodes."""
        core = self._graph.internals.core

        def look(record: CommitRecord) -> None:
            node = core.catalog_at(record).node(type)
            if node is None:
                raise NotFound(f"there is no node type {type!r}", type=type)
            for id_ in ids:
                if find_entity(core, record, EntityAddress(table_identity(node), id_)) is None:
                    raise NotFound(
                        f"there is no node {type} with the id {id_!r} at commit {record.commit}",
                        kind="node",
                        type=type,
                        id=id_,
                        commit=record.commit,
                    )

        return look


def combination_of(done: Merge, type: str, keep: str, gone: tuple[str, ...]) -> CombinedNodes:
    """Return what a commit that combines nodes has done."""
    return CombinedNodes(done.commit_id, type, keep, gone, *done.edges)


def _answers(
    type: str, keep: str, gone: Sequence[str], values: str, properties: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Return the answers that make the nodes one; the last one sets properties."""
    found: list[dict[str, Any]] = [
        {
            "entity_kind": "node",
            "type_name": type,
            "entity_id": id_,
            "take": "same",
            "same_as": keep,
            "values": values,
        }
        for id_ in gone
    ]
    if properties:
        found = [{**answer, "image": {"properties": dict(properties)}} for answer in found]
    return found


def _group(texts: pa.Array, ids: pa.ChunkedArray) -> Iterator[tuple[str, ...]]:
    """Yield the ids that have the same text, in their order."""
    rows = pa.table({"text": texts, "id": ids}).filter(pc.is_valid(texts))
    counted = rows.group_by("text").aggregate([("id", "list"), ("id", "count")])
    several = counted.filter(pc.greater(counted["id_count"], 1))
    yield from sorted(tuple(sorted(group)) for group in several["id_list"].to_pylist())
