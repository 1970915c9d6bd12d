"""The names that are visible in a part of a query, and the problems found so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.compiler.ir.pattern import Step, Variable, VariableKind
from omnigraph.compiler.ir.values import ROW_VARIABLE, Value
from omnigraph.compiler.query.ast import AggregateCall, AliasReference, ComputedExpression
from omnigraph.compiler.source import SourceText, Span
from omnigraph.compiler.types import PropertyType

UNCODED = "type_error"
"""The code of rules that have no number."""
ANONYMOUS = "_"
"""The variable `$_`, a new one at each use."""


MAX_PROBLEMS_PER_QUERY = 100
"""How many problems of one query are reported."""


class TooManyProblems(Exception):
    """Raised when so many problems were found that the check ends."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable that a clause has introduced; without a `variable` its introduction was faulty."""

    variable: Variable | None
    is_own: bool = True
    """Whether the block introduces it; else it only has fewer types there."""
    value: Value | None = None
    """What the name stands for, if that is not a variable of the pattern."""

    @property
    def kind(self) -> VariableKind | None:
        """What the variable holds, None when that is not known."""
        return self.variable.kind if self.variable else None


ComputedCheck: TypeAlias = "Callable[[CheckContext, Scope, ComputedExpression], Value | None]"


@dataclass(frozen=True)
class CheckContext:
    """What the check of one query shares: the catalog, the text, and the problems found so far."""

    catalog: Catalog
    source: SourceText
    parameters: dict[str, PropertyType]
    check_computed: ComputedCheck
    """Checks what computes: expressions and conditions hold each other, and their modules cannot."""
    variables: list[Variable] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    costs: dict[int, PropertyType] = field(default_factory=dict)
    """The type of the cost of each path."""
    awaited: list[Step] = field(default_factory=list)
    """What the value under check needs of the block around it: steps that count matches of patterns."""

    def take_awaited(self) -> list[Step]:
        """Return the steps that the block around a value needs before it, and forget them."""
        found = list(self.awaited)
        self.awaited.clear()
        return found

    def report(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        """Record a problem; raise TooManyProblems after the last that is reported."""
        if len(self.problems) >= MAX_PROBLEMS_PER_QUERY:
            raise TooManyProblems
        self.problems.append(self.source.diagnostic(code, message, span, hint))

    def new_variable(self, name: str, kind: VariableKind, types: tuple[str, ...], optional: bool) -> Variable:
        """Return a variable with the next number."""
        shown = None if name == ANONYMOUS else name
        variable = Variable(len(self.variables), shown, kind, types[0], optional, types[1:])
        self.variables.append(variable)
        return variable

    def new_value(self, name: str, type_: PropertyType) -> Variable:
        """Return a variable with the next number for a value that is computed before."""
        variable = Variable(len(self.variables), name, VariableKind.VALUE, "", value_type=type_)
        self.variables.append(variable)
        return variable

    def narrow(self, variable: Variable, types: tuple[str, ...]) -> Variable:
        """Give a variable fewer types, in the whole query."""
        narrowed = replace(self.variables[variable.slot], type_name=types[0], more_types=types[1:])
        self.variables[variable.slot] = narrowed
        return narrowed

    def owners(self, variable: Variable) -> tuple[NodeType | EdgeType, ...]:
        """Return the types of the node or edge in a variable; none for a path and its length."""
        found: list[NodeType | EdgeType | None] = []
        if variable.kind is VariableKind.NODE:
            found = [self.catalog.node(name) for name in variable.types]
        elif variable.kind is VariableKind.EDGE:
            found = [self.catalog.edge(name) for name in variable.types]
        return tuple(owner for owner in found if owner is not None)


class GroupColumns(Protocol):
    """The columns of groups, in which an expression has its aggregates."""

    def aggregate(self, node: AggregateCall) -> Value | None:
        """Return the column of an aggregate, or None after reporting a problem."""

    def column(self, node: AliasReference) -> Value | None:
        """Return the column of a name, or None after reporting a problem."""


class Scope:
    """The visible variables; an inner block sees the outer ones and adds its own."""

    def __init__(
        self,
        outer: Scope | None = None,
        optional: bool = False,
        row: NodeType | EdgeType | None = None,
        unbound: str = UNCODED,
        groups: GroupColumns | None = None,
        names_columns: bool = False,
        row_variable: int = ROW_VARIABLE,
    ) -> None:
        self.outer = outer
        self.groups = groups
        """Where aggregates inside an expression are found; None where none may stand."""
        self.names_columns = names_columns
        """Whether a bare name is a column of the groups."""
        self.row = row
        """The type of the row of an update or delete, whose properties are written bare."""
        self.row_variable = row_variable
        self.unbound = unbound
        """The code of a variable that is not bound."""
        self.optional = optional
        """Whether what is bound here may be NULL outside."""
        self.own: dict[str, Bound] = {}
        self.left_behind: frozenset[str] = frozenset() if outer is None else outer.left_behind
        """What earlier stages have bound and no longer show."""

    def inner(self, optional: bool = False) -> Scope:
        """Return the scope of an inner block."""
        return Scope(self, self.optional or optional)

    def get(self, name: str) -> Bound | None:
        """Return what a name is bound to; `$_` never is."""
        scope: Scope | None = None if name == ANONYMOUS else self
        while scope is not None:
            if name in scope.own:
                return scope.own[name]
            scope = scope.outer
        return None

    def bind(self, name: str, bound: Bound) -> None:
        """Introduce a variable; `$_` is not kept."""
        if name != ANONYMOUS:
            self.own[name] = bound

    def names(self) -> Iterator[str]:
        """Yield the visible names, the innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.own
            scope = scope.outer
