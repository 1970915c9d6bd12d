"""Edges of nodes that go into others: they get the ends that stay, are folded into others, or go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.keys import id_of_key
from omnigraph.compiler.catalog.model import EDGE_ENDS, EdgeType
from omnigraph.graph.merge.answers.resolutions import KeptValues
from omnigraph.graph.merge.choices import Choices
from omnigraph.graph.merge.classify import Row
from omnigraph.graph.merge.duplicates.values import combine_rows
from omnigraph.graph.merge.tables import Choice, ThreeWayRow
from omnigraph.graph.write.integrity.delta import Deltas
from omnigraph.graph.write.integrity.stored import StoredData

ChangedAt = Callable[[str, str], int]
"""From the identity of a table and an id to when that was changed last."""
_NOWHERE = ThreeWayRow(None, None, None)


class EdgeMover:
    """Moves the edges of nodes that are combined, and counts what became of them."""

    def __init__(
        self,
        choices: Choices,
        stored: StoredData,
        deltas: Deltas,
        changed_at: ChangedAt,
        into: Mapping[str, str],
        values: Mapping[str, KeptValues],
    ) -> None:
        self._choices, self._stored, self._deltas, self._changed_at = choices, stored, deltas, changed_at
        self._into, self._values = into, values
        """By the id of each node that goes: that of the node it goes into, and whose values that gets."""
        self.moved = 0
        """How many edges have other ends."""
        self.folded = 0
        """How many were there already, by their key."""
        self.loops = 0
        """How many were between nodes that are one now, and are gone."""

    def move(self, edge: EdgeType, ends: Sequence[str]) -> None:
        """Give the edges of one type the ends that stay; `ends` are those at which the nodes may be."""
        identity = self._choices.identities[edge.table_key]
        rows = self._choices.look_up(identity, self._find_edges(edge, identity, ends))
        for id_ in sorted(rows):
            row = rows[id_].row
            if row is None:
                continue
            moved = {**row, **{end: self._into.get(row[end], row[end]) for end in ends}}
            if moved != row:
                self._move_one(edge, identity, id_, rows[id_], row, moved, ends)

    def _move_one(
        self,
        edge: EdgeType,
        identity: str,
        id_: str,
        choice: Choice,
        row: Row,
        moved: dict[str, Any],
        ends: Sequence[str],
    ) -> None:
        if len(ends) == len(EDGE_ENDS) and moved["src"] == moved["dst"] and row["src"] != row["dst"]:
            self._choices.put(identity, id_, choice.images, None)
            self.loops += 1
            return
        new_id = id_of_key(edge, moved) if edge.key else id_
        if new_id == id_:
            self._choices.put(identity, id_, choice.images, moved)
            self.moved += 1
            return
        self._choices.put(identity, id_, choice.images, None)
        there = self._choices.look_up(identity, (new_id,)).get(new_id, Choice(_NOWHERE, None))
        if there.row is None:
            self._choices.put(identity, new_id, there.images, moved)
            self.moved += 1
            return
        how = next(self._values[row[end]] for end in ends if row[end] in self._values)
        is_newer = how is KeptValues.NEWEST and self._changed_at(identity, id_) > self._changed_at(
            identity, new_id
        )
        both = combine_rows(edge, there.row, moved, how, is_newer, frozenset())
        self._choices.put(identity, new_id, there.images, both)
        self.folded += 1

    def _find_edges(self, edge: EdgeType, identity: str, ends: Sequence[str]) -> set[str]:
        """Return the ids of edges that may end at what goes: stored, changed, or settled already."""
        wanted = pa.array(sorted(self._into), pa.string())
        found = {
            id_
            for id_, choice in self._choices.of(identity).items()
            if choice.row is not None and any(choice.row[end] in self._into for end in ends)
        }
        delta = self._deltas.get(edge.table_key)
        for end in ends:
            stored = self._stored.rows_where(edge.table_key, end, wanted, ("id",))
            found.update(stored["id"].to_pylist())
            if delta is not None and delta.rows.num_rows:
                at = pc.is_in(delta.rows[end], value_set=wanted)
                found.update(delta.rows["id"].filter(at).to_pylist())
        return found
