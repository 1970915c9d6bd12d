"""What names mean at a place in a query: parameters, bound variables, and where problems go."""

from __future__ import annotations

from dataclasses import dataclass, field

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.compiler.catalog.model import Catalog, EdgeType, NodeType, PropertyType
from omnigraph.compiler.ir.pattern import Variable, VariableKind
from omnigraph.compiler.source import Source, Span

UNCODED = "type_error"
"""The code of rules that have no number."""
ANONYMOUS = "_"
"""The variable `$_`, new wherever it stands."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable that a clause has introduced; without a `variable` its introduction was faulty."""

    variable: Variable | None

    @property
    def kind(self) -> VariableKind | None:
        """What the variable holds, None when that is not known."""
        return self.variable.kind if self.variable else None


@dataclass(frozen=True)
class Check:
    """What the check of one query shares: the catalog, the text, and the problems found so far."""

    catalog: Catalog
    source: Source
    parameters: dict[str, PropertyType]
    variables: list[Variable] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    def report(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        """Note a problem and go on."""
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


@dataclass
class Scope:
    """The variables that are visible at a place; an inner block works on a copy."""

    bound: dict[str, Bound] = field(default_factory=dict)
    optional: bool = False

    def inner(self, optional: bool = False) -> Scope:
        """Return a copy for an inner block."""
        return Scope(dict(self.bound), self.optional or optional)
