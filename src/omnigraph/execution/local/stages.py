"""The rows of an earlier stage, or of the parts of a union, as those with which a read begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from omnigraph.compiler.ir.pattern import VariableKind
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.values import Aggregate, EntityId, EntityKey, GroupValue
from omnigraph.execution.local.frame import START, Frame, Positions
from omnigraph.execution.plan.used_variables import parts_of, slots_below, variables_of_result
from omnigraph.graph.model.columns import arrow_type


@dataclass(frozen=True)
class FirstRows:
    """The assignments with which a read begins, and the values that their numbers stand for."""

    frame: Frame = START
    values: Mapping[int, pa.Array] = field(default_factory=dict)
    """By variable; an assignment has the position of its value."""


def find_unread(query: ReadQuery, number: int) -> frozenset[int]:
    """Return the columns of one of the reads before a query that need not be read.

    Nodes and edges go on as positions, and only filters that went into the stage look at some values.
    """
    assert query.source is not None
    read = query.source.reads[number]
    used = slots_below(query.match) | variables_of_result(query)
    having = (read.having, tuple(item.value for item in read.projections if item.on_groups))
    computed_with = {item.projection for item in parts_of(having, GroupValue)}
    found = set()
    for at, slot in zip(shown_columns(read), query.source.variables, strict=True):
        item = read.projections[at]
        plain = not (item.on_groups or isinstance(item.value, Aggregate)) and at not in computed_with
        if plain and (_is_entity(query, slot) or slot not in used):
            found.add(at)
    return frozenset(found)


def shown_columns(read: ReadQuery) -> list[int]:
    """Return the projection of each column of a read."""
    last = {item.name: at for at, item in enumerate(read.projections) if not item.hidden}
    return [last[column.name] for column in read.columns]


def begin(query: ReadQuery, parts: Sequence[tuple[list[pa.Array], Frame]]) -> FirstRows:
    """Return the rows of the reads before a query, one after the other."""
    assert query.source is not None
    counts = [len(columns[0]) for columns, _ in parts]
    rows = sum(counts)
    numbers = np.arange(rows, dtype=np.int64)
    places = [shown_columns(read) for read in query.source.reads]
    frame: dict[int, Positions] = {}
    values: dict[int, pa.Array] = {}
    for column, slot in enumerate(query.source.variables):
        type_ = query.variables[slot].value_type
        if type_ is None:
            frame[slot] = np.concatenate(
                [
                    _positions(read, place[column], part[1], count)
                    for read, place, part, count in zip(
                        query.source.reads, places, parts, counts, strict=True
                    )
                ]
            )
            continue
        arrays = [
            part[0][place[column]].cast(arrow_type(type_), safe=False)
            for place, part in zip(places, parts, strict=True)
        ]
        frame[slot] = numbers
        values[slot] = arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
    return FirstRows(Frame(rows, frame), values)


def _positions(read: ReadQuery, at: int, frame: Frame, count: int) -> Positions:
    value = read.projections[at].value
    assert isinstance(value, EntityId | EntityKey), "a node or edge is listed by what identifies it"
    found = frame.columns[value.variable]
    assert len(found) == count
    return found


def _is_entity(query: ReadQuery, slot: int) -> bool:
    return query.variables[slot].kind in (VariableKind.NODE, VariableKind.EDGE)
