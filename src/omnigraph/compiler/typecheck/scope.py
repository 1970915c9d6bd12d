"""The names that are visible in a part of a query, and the problems found so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType
from omnigraph.compiler.ir.pattern import Variable, VariableKind
from omnigraph.compiler.source import SourceText, Span
from omnigraph.compiler.types import PropertyType

UNCODED = "type_error"
"""The code of rules that have no number."""
ANONYMOUS = "_"
"""The variable `$_`, a new one at each use."""


MAX_PROBLEMS = 100
"""How many problems of one query are reported."""


class TooManyProblems(Exception):
    """Raised when so many problems were found that the check ends."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable that a clause has introduced; without a `variable` its introduction was faulty."""

    variable: Variable | None

    @property
    def kind(self) -> VariableKind | None:
        """What the variable holds, None when that is not known."""
        return self.variable.kind if self.variable else None


@dataclass(frozen=True)
class CheckContext:
    """What the check of one query shares: the catalog, the text, and the problems found so far."""

    catalog: Catalog
    source: SourceText
    parameters: dict[str, PropertyType]
    variables: list[Variable] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    def report(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        """Record a problem; raise TooManyProblems after the last that is reported."""
        if len(self.problems) >= MAX_PROBLEMS:
            raise TooManyProblems
        self.problems.append(self.source.diagnostic(code, message, span, hint))

    def new_variable(self, name: str, kind: VariableKind, type_name: str, optional: bool) -> Variable:
        """Return a variable with the next number."""
        shown = None if name == ANONYMOUS else name
        variable = Variable(len(self.variables), shown, kind, type_name, optional)
        self.variables.append(variable)
        return variable

    def owner(self, variable: Variable) -> NodeType | EdgeType | None:
        """Return the type of the node or edge in a variable."""
        if variable.kind is VariableKind.NODE:
            return self.catalog.node(variable.type_name)
        return self.catalog.edge(variable.type_name) if variable.kind is VariableKind.EDGE else None


class Scope:
    """The visible variables; an inner block sees the outer ones and adds its own."""

    def __init__(self, outer: Scope | None = None, optional: bool = False) -> None:
        self.outer = outer
        self.optional = optional
        """Whether what is bound here may be NULL outside."""
        self.own: dict[str, Bound] = {}

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
