"""Values of expressions over a frame, as Arrow arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import (
    Constant,
    EdgeEnd,
    End,
    EntityId,
    PathLength,
    PropertyValue,
    RankFusion,
    TextMatch,
    TextScore,
    Value,
    VectorDistance,
)
from omnigraph.execution.local.frame import NULL, Frame
from omnigraph.execution.local.views import Positions, Views
from omnigraph.execution.search.text import match_text, score_text
from omnigraph.execution.search.vectors import cosine_distances
from omnigraph.graph.plain import to_arrow

Scores = Mapping[int, "np.ndarray[tuple[int], np.dtype[np.float64]]"]


class Values:
    """Computes expressions of one query on one snapshot."""

    def __init__(self, query: ReadQuery, views: Views) -> None:
        self._query = query
        self._views = views
        self.fused: dict[RankFusion, pa.Array] = {}
        """The scores of rank fusions by node position, once they are known."""

    def over(self, frame: Frame) -> FrameColumns:
        """Return the columns of a frame, for conditions."""
        return FrameColumns(self, frame)

    def array(self, value: Value, frame: Frame) -> pa.Array:
        """Return the value of an expression for every row."""
        match value:
            case Constant():
                return to_arrow([value.value] * frame.rows, value.type)
            case PropertyValue():
                return self._taken(value.variable, value.declared.name, frame)
            case EntityId():
                return self._taken(value.variable, "id", frame)
            case EdgeEnd():
                return self._taken(value.variable, "src" if value.end is End.SOURCE else "dst", frame)
            case PathLength():
                lengths = frame.columns[value.variable]
                return pa.array(lengths, pa.int64(), mask=lengths == NULL)
            case TextMatch():
                return match_text(
                    self.array(value.field, frame), self.plain(value.text, frame), _edits(value)
                )
            case TextScore():
                return self._text_score(value, frame)
            case VectorDistance():
                return cosine_distances(self.array(value.field, frame), self.plain(value.query, frame))
            case RankFusion():
                scores = self.fused[value]
                return scores.take(_indices(frame.columns[value.rankings[0].field.variable]))
        raise AssertionError(f"a bound query has no {type(value).__name__}")

    def plain(self, value: Value, frame: Frame) -> list[Any]:
        """Return the value of an expression for every row, as plain values."""
        if isinstance(value, Constant):
            return [value.value] * frame.rows
        found: list[Any] = self.array(value, frame).to_pylist()
        return found

    def _taken(self, slot: int, column: str, frame: Frame) -> pa.Array:
        variable = self._query.variables[slot]
        view = self._views.table(f"{variable.kind.value}:{variable.type_name}")
        return view.column(column).take(_indices(frame.columns[slot]))

    def _text_score(self, value: TextScore, frame: Frame) -> pa.Array:
        slot = value.field.variable
        variable = self._query.variables[slot]
        view = self._views.table(f"{variable.kind.value}:{variable.type_name}")
        whole = view.column(value.field.declared.name)
        texts = self.plain(value.text, frame)
        if isinstance(value.text, Constant):
            return score_text(whole, value.text.value).take(_indices(frame.columns[slot]))
        nodes = frame.columns[slot]
        each = [
            score_text(whole, text)[int(node)].as_py() if node != NULL else None
            for node, text in zip(nodes, texts, strict=True)
        ]
        return pa.array(each, pa.float64())


class FrameColumns:
    """The rows of a frame as conditions look at them."""

    def __init__(self, values: Values, frame: Frame) -> None:
        self._values = values
        self._frame = frame
        self.num_rows = frame.rows

    def column(self, value: Value) -> pa.Array | None:
        """Return a value's column, or None for a constant."""
        return None if isinstance(value, Constant) else self._values.array(value, self._frame)


def _indices(positions: Positions) -> pa.Array:
    return pa.array(positions, pa.int64(), mask=positions == NULL)


def _edits(value: TextMatch) -> int:
    if value.max_edits is None:
        return 0
    assert isinstance(value.max_edits, Constant)
    return int(value.max_edits.value) if isinstance(value.max_edits.value, int) else 0
