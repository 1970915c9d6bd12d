"""Which values a read carries besides the ids of its variables, and in which columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Protocol, TypeAlias

from omnigraph.compiler.catalog.model import Property
from omnigraph.compiler.ir.pattern import Block, Filter
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.ir.reading import values_read
from omnigraph.compiler.ir.values import (
    STRING,
    Aggregate,
    EdgeEnd,
    End,
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
from omnigraph.compiler.types import PropertyType
from omnigraph.execution.plan.nodes import (
    AntiJoinBlock,
    BlockPlan,
    CountJoinBlock,
    FilterRows,
    LeftJoinBlock,
    ReadPlan,
    ScanNodes,
)
from omnigraph.execution.plan.used_variables import counts_rows
from omnigraph.execution.search.text import TextIndex

Search: TypeAlias = TextMatch | TextScore | VectorDistance | RankFusion

ROW_COLUMN = "one"
"""A column of every frame, so that a frame without variables still has rows."""

WEIGHT_COLUMN = "weight"
"""The column with the number of assignments that a row represents; without it, one."""

TYPE_COLUMN = "type()"
"""What stands for the name of a type among stored columns, none of which can be called so."""


@dataclass(frozen=True)
class StoredColumn:
    """A column of a table, and its name in a frame."""

    stored: str
    column: str
    type: PropertyType


@dataclass(frozen=True)
class Attributes:
    """The values of each variable that are used after its scan."""

    stored: dict[int, dict[str, StoredColumn]]
    """By variable; a property by its name and type, anything else by the name of its column."""
    searches: dict[int, dict[Search, str]]
    united: frozenset[int] = frozenset()
    """The variables over several types; the column of their ids has `Type:id`."""
    texts: dict[TextScore, TextIndex] = field(default_factory=dict)
    """What scores are computed from whose texts other variables have."""

    def of(self, slot: int) -> list[StoredColumn]:
        """Return the columns to read from the table of a variable."""
        return list(self.stored.get(slot, {}).values())

    def columns(self, slot: int) -> list[str]:
        """Return the columns of a variable in a frame."""
        more = [item.column for item in self.of(slot)]
        return [id_column(slot), *more, *self.searches.get(slot, {}).values()]

    def column(self, value: Value) -> str:
        """Return the column that holds a value."""
        match value:
            case EntityId() if value.variable in self.united:
                return self.stored[value.variable]["id"].column
            case EntityType():
                return self.stored[value.variable][TYPE_COLUMN].column
            case EntityId() | EntityKey() | PathLength() | StageValue():
                return id_column(value.variable)
            case PathValue(slot, part):
                is_rank = part is PathPart.RANK
                return id_column(slot) if is_rank else self.stored[slot][part.value].column
            case PropertyValue():
                return self.stored[value.variable][_property_key(value.declared)].column
            case EdgeEnd():
                return self.stored[value.variable][_end(value)].column
            case TextMatch() | TextScore() | VectorDistance() | RankFusion():
                return self.searches[_field(value).variable][value]
        raise AssertionError(f"{type(value).__name__} has no column")


class ValueColumns(Protocol):
    """Says in which column of a frame a value is."""

    def column(self, value: Value) -> str:
        """Return the column that holds a value."""


def id_column(slot: int) -> str:
    """Return the column of a variable's id, of a path length, or of the rank of a path."""
    return f"s{slot}"


def attributes_of(query: ReadQuery, plan: ReadPlan) -> Attributes:
    """Return the values to carry: those that the result, and filters after a scan, use."""
    found = Attributes({}, {}, frozenset(item.slot for item in query.variables if item.more_types))
    for item in query.projections:
        if not (isinstance(item.value, Aggregate) and counts_rows(item.value)):
            _add(found, item.value)
    _add(found, (query.order, query.ties, query.ranking and query.ranking.score))
    for condition in _conditions_after_scan(plan.block, query.match):
        _add(found, condition)
    return found


def looks_elsewhere(value: Search) -> bool:
    """Return whether a search asks for a text or vector of another variable than the one it searches."""
    slot = _field(value).variable
    return any(getattr(read, "variable", slot) != slot for read in values_read(value))


def has_search(node: Any) -> bool:
    """Return whether there is a search below a node."""
    return any(isinstance(value, Search) for value in _values(node))


def _conditions_after_scan(plan: BlockPlan, block: Block) -> Iterator[Any]:
    """Yield the conditions that are evaluated after a scan."""
    for step in plan.steps:
        action = step.action
        match action:
            case FilterRows(number) | ScanNodes(join=int(number)):
                yield block.steps[number]
            case AntiJoinBlock(number, inner) | LeftJoinBlock(number, inner) | CountJoinBlock(number, inner):
                yield from _conditions_after_scan(inner, block.steps[number].block)  # type: ignore[union-attr]
        for number in getattr(action, "filters", ()):
            if has_search(block.steps[number]):
                yield block.steps[number]
        for more in getattr(action, "beyond", ()):
            yield from _conditions_of_count(more, block)


def _conditions_of_count(counting: Any, block: Block) -> Iterator[Filter]:
    for number in counting.filters:
        step = block.steps[number]
        if isinstance(step, Filter) and has_search(step):
            yield step
    for more in counting.beyond:
        yield from _conditions_of_count(more, block)


def _add(found: Attributes, node: Any) -> None:
    for value in _values(node):
        if isinstance(value, PropertyValue):
            key, declared = _property_key(value.declared), value.declared
            _store(found, value.variable, declared.name, declared.type, key)
        elif isinstance(value, EdgeEnd):
            _store(found, value.variable, _end(value), STRING)
        elif isinstance(value, PathValue):
            if value.part is not PathPart.RANK:
                _store(found, value.variable, value.part.value, value.type)
        elif isinstance(value, EntityType):
            _store(found, value.variable, TYPE_COLUMN, STRING)
        elif isinstance(value, EntityId):
            if value.variable in found.united:
                _store(found, value.variable, "id", STRING)
        else:
            slot = _field(value).variable
            searches = found.searches.setdefault(slot, {})
            searches.setdefault(value, f"s{slot}_x{len(searches)}")


def _store(found: Attributes, slot: int, name: str, type_: PropertyType, key: str | None = None) -> None:
    stored = found.stored.setdefault(slot, {})
    stored.setdefault(key or name, StoredColumn(name, f"s{slot}_p{len(stored)}", type_))


def _property_key(declared: Property) -> str:
    """Return what tells properties apart: those of several types may have one name and different types."""
    return f"{declared.name}: {replace(declared.type, nullable=False, enum=None)}"


def _values(node: Any) -> Iterator[PropertyValue | EntityId | EntityType | EdgeEnd | PathValue | Search]:
    """Yield the values below a node that are read from tables, of paths, and searches as a whole."""
    if isinstance(node, Search) and looks_elsewhere(node):
        yield from _values(tuple(getattr(node, item.name) for item in fields(node)))
    if isinstance(node, PropertyValue | EntityId | EntityType | EdgeEnd | PathValue | TextScore):
        yield node
    elif isinstance(node, Search):
        if not looks_elsewhere(node):
            yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from _values(item)
    elif is_dataclass(node) and type(node).__module__.startswith("omnigraph.compiler.ir"):
        for item in fields(node):
            yield from _values(getattr(node, item.name))


def _end(value: EdgeEnd) -> str:
    return "src" if value.end is End.SOURCE else "dst"


def _field(value: Search) -> PropertyValue:
    return value.rankings[0].field if isinstance(value, RankFusion) else value.field
