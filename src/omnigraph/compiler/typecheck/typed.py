"""A checked query: typed, its variables numbered, still in the shape in which it was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from omnigraph.compiler.ir.conditions import Condition
from omnigraph.compiler.ir.pattern import Block, Variable
from omnigraph.compiler.ir.queries import Output, PageValue, Statement
from omnigraph.compiler.ir.values import Aggregate, Parameter, Value


@dataclass(frozen=True, slots=True)
class TypedProjection:
    """A returned column under its final name."""

    name: str
    value: Value | Aggregate
    on_groups: bool = False
    """Whether it is computed from other columns of a group."""
    hidden: bool = False
    """Whether other columns and conditions need it, and the result does not show it."""


@dataclass(frozen=True, slots=True)
class TypedOrdering:
    """A sort key: a value of the row, or a returned column where rows are groups or distinct."""

    value: Value | Output
    descending: bool


@dataclass(frozen=True, slots=True)
class TypedRead:
    """A checked read query."""

    name: str
    parameters: tuple[Parameter, ...]
    variables: tuple[Variable, ...]
    visible: tuple[Variable, ...]
    """Named variables of the top block, by name."""
    match: Block
    projections: tuple[TypedProjection, ...]
    grouped: bool
    distinct: bool
    orderings: tuple[TypedOrdering, ...]
    skip: PageValue | None
    limit: PageValue | None
    having: Condition | None = None
    """Over the columns of groups."""
    source: TypedSource | None = None


@dataclass(frozen=True, slots=True)
class TypedSource:
    """The checked reads whose rows another begins with, and the variables that hold their columns."""

    reads: tuple[TypedRead, ...]
    variables: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TypedWrite:
    """A checked mutation query; with `match` its statements are run for every row of it."""

    name: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    match: TypedRead | None = None


TypedQuery: TypeAlias = TypedRead | TypedWrite
