"""Values of expressions over a frame, as Arrow arrays or as ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.cancellation import checkpoint
from omnigraph.base.errors import BadInput
from omnigraph.compiler.ir.computed import EntityMap
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import (
    Computed,
    Constant,
    EdgeEnd,
    EntityId,
    EntityKey,
    EntityType,
    PathLength,
    PathPart,
    PathValue,
    PropertyValue,
    RankFusion,
    StageValue,
    TextMatch,
    TextScore,
    Value,
    VectorDistance,
)
from omnigraph.execution.conditions import value_array
from omnigraph.execution.local.cache.ranks import Ranks, rank, rank_entities
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.cache.table_view import TableView
from omnigraph.execution.local.cache.united_tables import StoredValue, UnitedTables, column_of
from omnigraph.execution.local.frame import NULL, Frame, Positions
from omnigraph.execution.local.paths.found import FoundPaths
from omnigraph.execution.local.sizes import column_bytes, constant_bytes
from omnigraph.execution.search.text import Scores, match_words
from omnigraph.execution.search.vectors import Vectors
from omnigraph.graph.model.arrow_values import to_arrow
from omnigraph.graph.model.columns import arrow_type

_MAX_UNSIZED_ROWS = 256
"""Rows up to which no whole column is read to know a size: an index may have found them."""
_TABLE_ROWS_PER_RANKED_ROW = 4
"""A whole column is ranked if a frame has at least one row for so many of the table."""
_BYTES_PER_PATH_ID = 32
"""The assumed bytes of an id in a list."""
_PIECE_ROWS = 1 << 10
"""Rows between two checkpoints in searches where each row has its own text or vector."""


class Values:
    """Computes expressions of one query on one snapshot."""

    def __init__(self, query: ReadQuery, views: Views, before: Mapping[int, pa.Array] | None = None) -> None:
        """Take a bound query; `before` has the values of earlier stages, by variable."""
        self._before = before or {}
        self._query = query
        self.views = views
        self._views_by_slot: dict[int, TableView] = {}
        self._ahead: tuple[Sequence[Value], Frame] | None = None
        """Values that are about to be computed, and their rows."""
        self.fused: dict[RankFusion, Scored] = {}
        """The scores of rank fusions, once they are known."""
        self.paths: dict[int, FoundPaths] = {}
        """The paths of each path variable, once a search has begun."""

    def over(self, frame: Frame) -> FrameColumns:
        """Return the columns of a frame, for conditions."""
        return FrameColumns(self, frame)

    def array(self, value: Value, frame: Frame) -> pa.Array:
        """Return the value of an expression for every row."""
        match value:
            case Constant():
                return to_arrow([value.value] * frame.rows, value.type)
            case PropertyValue() | EntityId() | EdgeEnd() | EntityType() | EntityKey():
                return self._take(value, frame)
            case PathLength():
                lengths = frame.columns[value.variable]
                return pa.array(lengths, pa.int64(), mask=lengths == NULL)
            case StageValue(slot):
                return self._before[slot].take(pa.array(frame.columns[slot]))
            case PathValue():
                found = self.paths.get(value.variable)
                if found is None:
                    return pa.nulls(frame.rows, arrow_type(value.type))
                return found.array(value, frame.columns[value.variable])
            case TextMatch():
                return self._text_match(value, frame)
            case TextScore():
                return self._text_score(value, frame)
            case VectorDistance():
                return self._distance(value, frame)
            case RankFusion():
                return self.fused[value].of(frame.columns[value.rankings[0].field.variable])
            case Computed():
                return value_array(value, self.over(frame))
        raise AssertionError(f"a bound query has no {type(value).__name__}")

    def read_ahead(self, values: Sequence[Value], frame: Frame) -> None:
        """Read the columns that some values need together, as a scan for each would take longer.

        Nothing is done before the first of them is needed that is not in memory.
        """
        self._ahead = (values, frame) if len(values) > 1 else None

    def _read_expected(self) -> None:
        """Read the columns of the values that are about to be computed."""
        if self._ahead is None:
            return
        (values, frame), self._ahead = self._ahead, None
        wanted: dict[int, list[str]] = {}
        for value in values:
            if isinstance(value, PropertyValue | EntityId | EdgeEnd) and not self._is_united(value.variable):
                slot, column = _column(value)
                wanted.setdefault(slot, []).append(column)
        for slot, columns in wanted.items():
            if len(columns) > 1 and not self._query.variables[slot].optional:
                self.view(slot).read_ahead(list(dict.fromkeys(columns)), frame.columns[slot])

    def size(self, value: Value, frame: Frame) -> int:
        """Return the approximate bytes of an expression for all rows, without computing it."""
        match value:
            case Constant():
                return constant_bytes(value, frame.rows)
            case PropertyValue() | EntityId() | EdgeEnd() if frame.rows > _MAX_UNSIZED_ROWS:
                slot, column = _column(value)
                self._read_expected()
                if self._is_united(slot):
                    return sum(
                        column_bytes(*held)
                        for view, stored, positions in self.united_tables(slot).parts_with(
                            value, frame.columns[slot]
                        )
                        for held in view.arrays_with(stored, positions)
                    )
                return sum(
                    column_bytes(*held) for held in self.view(slot).arrays_with(column, frame.columns[slot])
                )
            case StageValue(slot):
                column = self._before[slot]
                return int(column.nbytes) * frame.rows // max(len(column), 1)
            case PathValue(slot, PathPart.NODES | PathPart.EDGES) if slot in self.paths:
                lengths = self.paths[slot].lengths(frame.columns[slot])
                return _BYTES_PER_PATH_ID * int(lengths.sum() + frame.rows)
            case EntityMap():
                return sum(self.size(item, frame) for item in (*value.fixed, *value.properties))
        return 8 * frame.rows

    def ranks(self, value: Value, frame: Frame) -> Ranks:
        """Return the ranks of an expression; a whole column is ranked if that is worth it."""
        match value:
            case Constant():
                return Ranks(np.full(frame.rows, NULL if value.value is None else 0, dtype=np.int64), 1)
            case PropertyValue() | EntityId() | EdgeEnd() if not self._is_united(value.variable):
                slot, column = _column(value)
                view = self.view(slot)
                if view.has_ranks(column) or frame.rows * _TABLE_ROWS_PER_RANKED_ROW >= view.rows:
                    return view.ranks(column).take(frame.columns[slot])
            case EntityMap():
                return rank_entities(self.array(value.type_name, frame), self.array(value.id, frame))
        return rank(self.array(value, frame))

    def plain(self, value: Value, frame: Frame) -> list[Any]:
        """Return the value of an expression for every row, as plain values."""
        if isinstance(value, Constant):
            return [value.value] * frame.rows
        found: list[Any] = self.array(value, frame).to_pylist()
        return found

    def view(self, slot: int) -> TableView:
        """Return the table of a variable of one type."""
        found = self._views_by_slot.get(slot)
        if found is None:
            variable = self._query.variables[slot]
            assert not variable.more_types, "a variable over several types has several tables"
            found = self.views.table(f"{variable.kind.value}:{variable.type_name}")
            self._views_by_slot[slot] = found
        return found

    def _is_united(self, slot: int) -> bool:
        """Return whether a variable is over several types."""
        return bool(self._query.variables[slot].more_types)

    def united_tables(self, slot: int) -> UnitedTables:
        """Return the tables of a variable, one after the other."""
        return self.views.united_tables(self._query.variables[slot])

    def rows(self, slot: int) -> int:
        """Return how many positions a variable has."""
        return self.united_tables(slot).rows if self._is_united(slot) else self.view(slot).rows

    def _take(self, value: StoredValue, frame: Frame) -> pa.Array:
        slot = value.variable
        positions, optional = frame.columns[slot], self._query.variables[slot].optional
        if self._query.variables[slot].more_types or isinstance(value, EntityType | EntityKey):
            return self.united_tables(slot).take(value, positions)
        view, column = self.view(slot), _column(value)[1]
        if self._ahead is not None and not view.has_read(column):
            self._read_expected()
        return view.take(column, positions, optional)

    def _text_match(self, value: TextMatch, frame: Frame) -> pa.Array:
        edits, slot = _edits(value), value.field.variable
        if isinstance(value.text, Constant):
            present = self._take(value.field, frame).is_valid()
            if value.text.value is None:
                return pa.nulls(frame.rows, pa.bool_())
            matching = (
                self.view(slot).texts(value.field.declared.name).contains_word(str(value.text.value), edits)
            )
            found = matching[frame.columns[slot]] if len(matching) else np.zeros(frame.rows, dtype=bool)
            return pa.array(found, mask=~np.asarray(present.to_numpy(zero_copy_only=False)))
        verdicts: list[bool | None] = []
        for _, some in _pieces(frame):
            verdicts += match_words(self.array(value.field, some), self.array(value.text, some), edits)
        return pa.array(verdicts, pa.bool_())

    def text_scores(self, value: TextScore, text: object) -> Scored:
        """Return the scores of all nodes that contain a word of a text."""
        index = self.view(value.field.variable).texts(value.field.declared.name)
        return Scored(*index.scores(text if isinstance(text, str) else ""))

    def _text_score(self, value: TextScore, frame: Frame) -> pa.Array:
        nodes = frame.columns[value.field.variable]
        if isinstance(value.text, Constant):
            return self.text_scores(value, value.text.value).of(nodes)
        index = self.view(value.field.variable).texts(value.field.declared.name)
        found = np.full(frame.rows, np.nan)
        for start, some in _pieces(frame):
            beside = slice(start, start + some.rows)
            found[beside] = index.scores_of(nodes[beside], self.array(value.text, some))
        return pa.array(found, mask=np.isnan(found))

    def _distance(self, value: VectorDistance, frame: Frame) -> pa.Array:
        slot = value.field.variable
        nodes = frame.columns[slot]
        view, name = self.view(slot), value.field.declared.name
        if isinstance(value.query, Constant):
            query = value.query.value
            if query is None or frame.rows == 0:
                return pa.nulls(frame.rows, pa.float64())
            found = view.distances(name, nodes, _vector(query))
        else:
            found = np.full(frame.rows, np.nan)
            for start, some in _pieces(frame):
                queries = Vectors(self.array(value.query, some))
                distances = view.distances(name, some.columns[slot], queries.matrix)
                found[start : start + some.rows] = np.where(queries.present, distances, np.nan)
        return pa.array(found, pa.float64(), mask=np.isnan(found) | (nodes == NULL))


class FrameColumns:
    """`Columns` of a frame."""

    def __init__(self, values: Values, frame: Frame) -> None:
        self._values = values
        self._frame = frame
        self.num_rows = frame.rows

    def column(self, value: Value) -> pa.Array | None:
        """Return a value's column, or None for a constant."""
        return None if isinstance(value, Constant) else self._values.array(value, self._frame)


def _pieces(frame: Frame) -> Iterator[tuple[int, Frame]]:
    """Yield where each piece of a frame starts, and its rows, with a checkpoint before each."""
    for start in range(0, frame.rows, _PIECE_ROWS):
        checkpoint()
        yield start, frame.cut(start, min(start + _PIECE_ROWS, frame.rows))


def _column(value: PropertyValue | EntityId | EdgeEnd) -> tuple[int, str]:
    """Return the variable and the column that a value reads."""
    return value.variable, value.declared.name if isinstance(value, PropertyValue) else column_of(value)


@dataclass(frozen=True)
class Scored:
    """The nodes with a score, sorted, and their scores."""

    nodes: Positions
    scores: Scores

    def of(self, nodes: Positions) -> pa.Array:
        """Return the scores of some nodes, null for those without one."""
        if len(self.nodes) == 0:
            return pa.nulls(len(nodes), pa.float64())
        at = np.minimum(np.searchsorted(self.nodes, nodes), len(self.nodes) - 1)
        return pa.array(self.scores[at], pa.float64(), mask=self.nodes[at] != nodes)

    def among(self, nodes: Positions, rows: int) -> Scored:
        """Return the scores of the given nodes, of a table with `rows` rows."""
        if len(nodes) == rows:
            return self
        wanted = np.zeros(rows, dtype=bool)
        wanted[nodes] = True
        return Scored(self.nodes[wanted[self.nodes]], self.scores[wanted[self.nodes]])


def _vector(query: object) -> tuple[float, ...]:
    if isinstance(query, str):
        raise BadInput(
            "nearest() with a text needs an embedding provider; none is configured, so give a vector"
        )
    assert isinstance(query, tuple | list)
    return tuple(query)


def _edits(value: TextMatch) -> int:
    if value.max_edits is None:
        return 0
    assert isinstance(value.max_edits, Constant)
    return int(value.max_edits.value) if isinstance(value.max_edits.value, int) else 0
