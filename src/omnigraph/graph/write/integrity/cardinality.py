"""`@card`: how many edges the sources of an edge type have, and which records are to blame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.graph.write.integrity.delta import Deltas, TableDelta
from omnigraph.graph.write.integrity.problems import Problem, show_value
from omnigraph.graph.write.integrity.stored import StoredData

_MAX_NAMED_RECORDS = 5
"""Further records that a message names; the others are counted."""
_MAX_NAMED_EDGES = 100
"""Stored edges of one source that a problem carries the ids of."""


def check_cardinality(catalog: Catalog, deltas: Deltas, stored: StoredData) -> Iterator[Problem]:
    """Yield the sources that the write touched and that have fewer or more edges than the type allows.

    A problem names the records that are to blame: those beyond the limit, later ones first, or those that
    leave a source with too few.
    """
    for edge in catalog.edges:
        delta = deltas.get(edge.table_key)
        if delta is None or edge.cardinality.is_default:
            continue
        image = _EdgeImage.of(edge, delta, stored)
        wrong = image.wrong_sources(deltas.get(f"node:{edge.source}"))
        if len(wrong):
            yield from image.problems(wrong)


@dataclass(frozen=True)
class _EdgeImage:
    """The edges of one type, by source, before and after a write."""

    edge: EdgeType
    delta: TableDelta
    before: pa.Table
    """Id and source of the stored edges that the write changes or removes."""
    kept: pa.Table
    """Id and source of the stored edges that stay as they are."""

    @staticmethod
    def of(edge: EdgeType, delta: TableDelta, stored: StoredData) -> _EdgeImage:
        """Ask for what is stored; all of it where the write replaces the table."""
        key, columns = edge.table_key, ("id", "src")
        if delta.replaces:
            before = stored.all_rows(key, columns)
            return _EdgeImage(edge, delta, before, before.slice(0, 0))
        before = stored.rows_where(key, "id", delta.touched, columns)
        touched = pc.unique(_join(_sources(delta.rows), _sources(before)))
        rows = stored.rows_where(key, "src", touched, columns)
        rows = rows.filter(pc.invert(pc.is_in(rows["id"], delta.touched)))
        return _EdgeImage(edge, delta, before, rows)

    def wrong_sources(self, nodes: TableDelta | None) -> pa.Array:
        """Return the sources with too few or too many edges; nodes that go away are none."""
        new = _sources(self.delta.rows)
        touched = pc.unique(_join(new, _sources(self.before)))
        counted = pc.value_counts(_join(new, _sources(self.kept)))
        at = pc.index_in(touched, counted.field("values"))
        counts = pc.fill_null(counted.field("counts").take(at), 0)
        low, high = self.edge.cardinality.low, self.edge.cardinality.high
        is_wrong = pc.less(counts, low)
        if high is not None:
            is_wrong = pc.or_(is_wrong, pc.greater(counts, high))
        wrong = touched.filter(is_wrong)
        if nodes is None or len(wrong) == 0:
            return wrong
        if nodes.replaces:
            return wrong.filter(pc.is_in(wrong, nodes.ids))
        return wrong.filter(pc.invert(pc.is_in(wrong, pa.array(nodes.removed, pa.string()))))

    def problems(self, wrong: pa.Array) -> Iterator[Problem]:
        """Yield what is wrong with each of these sources, in their order."""
        new, ids = _sources(self.delta.rows), self.delta.ids
        theirs: dict[str, list[int]] = {}
        for row in pc.indices_nonzero(pc.is_in(new, wrong)).to_pylist():
            theirs.setdefault(new[row].as_py(), []).append(row)
        kept: dict[str, list[str]] = {}
        for item in self.kept.filter(pc.is_in(self.kept["src"], wrong)).to_pylist():
            kept.setdefault(item["src"], []).append(item["id"])
        was = self.before.filter(pc.is_in(self.before["src"], wrong))
        source_of = dict(zip(was["id"].to_pylist(), was["src"].to_pylist(), strict=True))
        moved: dict[str, list[int]] = {}
        changed: set[int] = set()
        for row in pc.indices_nonzero(pc.is_in(ids, was["id"].combine_chunks())).to_pylist():
            source = source_of[ids[row].as_py()]
            if new[row].as_py() == source:
                changed.add(row)
            else:
                moved.setdefault(source, []).append(row)
        for source in sorted(wrong.to_pylist()):
            rows, stored = theirs.get(source, []), kept.get(source, [])
            count = len(stored) + len(rows)
            if count < self.edge.cardinality.low:
                problem = self._too_few(source, count, rows, moved.get(source, []))
                gone = sorted(id_ for id_, of in source_of.items() if of == source)
                yield replace(problem, stored=tuple(id_ for id_ in gone if id_ not in problem.list_places()))
            else:
                # An edge that has this source already takes no place of another.
                order = sorted(rows, key=lambda row: (row not in changed, row))
                problem = self._too_many(source, count, len(stored), order)
                yield replace(problem, stored=tuple(sorted(stored)[:_MAX_NAMED_EDGES]))

    def _too_many(self, source: str, count: int, kept: int, rows: Sequence[int]) -> Problem:
        high = self.edge.cardinality.high
        assert high is not None
        beyond = sorted(rows[max(0, high - kept) :])
        why = f"of these {kept} stored already" if kept else ""
        return self._problem(source, count, beyond, "is beyond the limit", "are beyond the limit", why)

    def _too_few(self, source: str, count: int, rows: Sequence[int], moved: Sequence[int]) -> Problem:
        lacking = self.edge.cardinality.low - count
        why = f"{self.edge.source} '{show_value(source)}' lacks {lacking}"
        if moved:
            return self._problem(source, count, moved, "takes an edge away", "take edges away", why)
        if not rows:
            why = f"{why}, because edges that it had go away"
        return self._problem(source, count, rows, "is not enough", "are not enough", why)

    def _problem(
        self, source: str, count: int, blamed: Sequence[int], one: str, several: str, why: str
    ) -> Problem:
        low, high = self.edge.cardinality.low, self.edge.cardinality.high
        span = f"{low}..{'' if high is None else high}"
        message = (
            f"@card violation on edge {self.edge.name}: source '{show_value(source)}' of {self.edge.source} "
            f"has {count}, allowed are {span}"
        )
        if why:
            message = f"{message}; {why}"
        places = [place for row in blamed if (place := self.delta.place(row)) is not None]
        if not places:
            return Problem("card", self.edge.name, message, "src", source)
        named = ", ".join(str(place) for place in places[1 : 1 + _MAX_NAMED_RECORDS])
        more = (
            f" and {len(places) - 1 - _MAX_NAMED_RECORDS} more"
            if len(places) > 1 + _MAX_NAMED_RECORDS
            else ""
        )
        told = f"this edge {one}" if len(places) == 1 else f"this edge and those at {named}{more} {several}"
        return Problem(
            "card", self.edge.name, f"{message}; {told}", "src", source, places[0], others=tuple(places[1:])
        )


def _sources(rows: pa.Table) -> pa.Array:
    return rows["src"].combine_chunks()


def _join(left: pa.Array, right: pa.Array) -> pa.Array:
    return pa.concat_arrays([left, right])
