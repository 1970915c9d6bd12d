"""Compile the constraints of one type: marks on properties and constraints of the body alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.compiler.catalog import model
from omnigraph.compiler.catalog.properties import DeclaredProperty
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import PropertyType, Scalar


@dataclass
class Constraints:
    """The constraints of one type, gathered."""

    key: tuple[str, ...] | None = None
    uniques: set[tuple[str, ...]] = field(default_factory=set)
    indexes: set[tuple[str, ...]] = field(default_factory=set)
    ranges: set[model.Range] = field(default_factory=set)
    checks: set[model.Check] = field(default_factory=set)

    def sort_ranges(self) -> tuple[model.Range, ...]:
        """Return the ranges in an order that does not depend on the text."""
        return tuple(sorted(self.ranges, key=lambda item: (item.property, repr(item.low), repr(item.high))))

    def sort_checks(self) -> tuple[model.Check, ...]:
        """Return the checks in an order that does not depend on the text."""
        return tuple(sorted(self.checks, key=lambda item: (item.property, item.pattern)))


def compile_constraints(
    declaration: ast.Node | ast.Edge, declared: Mapping[str, DeclaredProperty], problems: SchemaProblems
) -> Constraints:
    """Gather and check the constraints of a node or edge type."""
    compiler = _Compiler(declaration, declared, problems)
    compiler.marks()
    for member in declaration.members:
        if isinstance(member, ast.Constraint):
            compiler.constraint(member)
    compiler.defaults()
    return compiler.result


class _Compiler:
    def __init__(
        self,
        declaration: ast.Node | ast.Edge,
        declared: Mapping[str, DeclaredProperty],
        problems: SchemaProblems,
    ) -> None:
        self.result = Constraints()
        self._is_edge = isinstance(declaration, ast.Edge)
        self._owner = declaration.name.text
        self._header = declaration.name.span
        self._declared = declared
        self._problems = problems

    def marks(self) -> None:
        """Add the constraints marked on properties, those of interfaces included."""
        for name in sorted(self._declared):
            item = self._declared[name]
            injected = item.property.from_interface is not None
            span = self._header if injected else item.span
            if "key" in item.marks and not self._is_edge:
                self._set_key((name,), span)
            if "unique" in item.marks:
                self.result.uniques.add((name,))
            if "index" in item.marks:
                self.result.indexes.add((name,))

    def constraint(self, constraint: ast.Constraint) -> None:
        """Add one constraint of the body."""
        if self._is_edge and constraint.kind in ("range", "check"):
            self._problems.add(
                Code.EDGE_LEVEL,
                f"@{constraint.kind} is not supported on edges, found on edge {self._owner}",
                constraint.span,
            )
        elif constraint.kind == "range":
            self._range(constraint)
        elif constraint.kind == "check":
            self._check(constraint)
        else:
            self._columns(constraint)

    def defaults(self) -> None:
        """Check the defaults of the type against its ranges."""
        for bounds in self.result.sort_ranges():
            item = self._declared[bounds.property]
            value = item.property.default.value if item.property.default else None
            if (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and not _is_within(value, bounds)
            ):
                self._problems.add(
                    Code.DEFAULT,
                    f"@default on {self._owner}.{bounds.property}: {value} is outside the @range",
                    item.span,
                )

    def _columns(self, constraint: ast.Constraint) -> None:
        names: list[str] = []
        for argument in constraint.arguments:
            name = self._property_name(constraint, argument)
            if name is None:
                continue
            if self._is_edge and constraint.kind in ("unique", "key") and name in model.EDGE_ENDS:
                names.append(name)
            elif (found := self._type_of(constraint, name, argument.span)) is not None:
                self._check_column(constraint, name, found)
                names.append(name)
        columns = tuple(sorted(set(names)))
        if not columns:
            return
        if constraint.kind == "key":
            if self._has_both_ends(columns, constraint.span):
                self._set_key(columns, constraint.span)
        elif constraint.kind == "unique":
            self.result.uniques.add(columns)
        else:
            self.result.indexes.add(columns)

    def _check_column(self, constraint: ast.Constraint, name: str, found: PropertyType) -> None:
        target, kind, span = f"{self._owner}.{name}", constraint.kind, constraint.span
        if found.scalar is Scalar.BLOB:
            self._problems.add(Code.ON_BLOB, f"@{kind} is not supported on blob property {target}", span)
        elif kind != "key":
            return
        elif found.is_list:
            self._problems.add(Code.ON_LIST, f"@key is not supported on list property {target}", span)
        elif found.is_vector:
            self._problems.add(Code.ON_VECTOR, f"@key is not supported on vector property {target}", span)
        elif found.nullable:
            self._problems.add(Code.NULLABLE_KEY, f"@key property {target} cannot be nullable", span)

    def _has_both_ends(self, columns: tuple[str, ...], span: Span) -> bool:
        """Return whether a key may be that of its type: the key of an edge names both of its ends."""
        if not self._is_edge or set(model.EDGE_ENDS) <= set(columns):
            return True
        written = ", ".join(columns)
        others = ", ".join(["src", "dst", *(name for name in columns if name not in model.EDGE_ENDS)])
        self._problems.add(
            Code.EDGE_LEVEL,
            f"@key({written}) is not supported on edges without both ends, found on edge {self._owner}",
            span,
            f"write @key({others}), or @unique({written})",
        )
        return False

    def _set_key(self, columns: tuple[str, ...], span: Span) -> None:
        if self.result.key is not None:
            self._problems.add(
                Code.MULTIPLE_KEYS,
                f"{'edge' if self._is_edge else 'node'} {self._owner} has multiple @key constraints",
                span,
                "for a key of several properties write one @key(a, b)",
            )
            return
        self.result.key = columns
        if not self._is_edge:  # the ends of edges always have their indexes
            self.result.indexes.add(columns)

    def _range(self, constraint: ast.Constraint) -> None:
        name = self._property_name(constraint, constraint.arguments[0])
        bounds = constraint.arguments[1] if len(constraint.arguments) == 2 else None
        if not isinstance(bounds, ast.RangeBounds):
            self._problems.add(
                Code.CONSTRAINT_ARGUMENT,
                f"@range on {self._owner}: expected a property and bounds, such as @range(p, 0..10)",
                constraint.span,
            )
            return
        found = self._type_of(constraint, name, constraint.arguments[0].span) if name else None
        if name is None or found is None:
            return
        if not found.scalar.is_numeric or found.is_vector:
            self._problems.add(
                Code.RANGE_TYPE,
                f"@range needs a numeric type; {self._owner}.{name} is {found}",
                constraint.span,
            )
            return
        self.result.ranges.add(model.Range(name, _number(bounds.low), _number(bounds.high)))

    def _check(self, constraint: ast.Constraint) -> None:
        name = self._property_name(constraint, constraint.arguments[0])
        pattern = constraint.arguments[1] if len(constraint.arguments) == 2 else None
        if not isinstance(pattern, ast.Literal) or not isinstance(pattern.value, str):
            self._problems.add(
                Code.CONSTRAINT_ARGUMENT,
                f'@check on {self._owner}: expected a property and a string, such as @check(p, "^[a-z]+$")',
                constraint.span,
            )
            return
        found = self._type_of(constraint, name, constraint.arguments[0].span) if name else None
        if name is None or found is None:
            return
        if found.scalar is not Scalar.STRING:
            self._problems.add(
                Code.CHECK_TYPE,
                f"@check needs a String type; {self._owner}.{name} is {found}",
                constraint.span,
            )
            return
        self.result.checks.add(model.Check(name, pattern.value))

    def _property_name(
        self, constraint: ast.Constraint, argument: ast.Scalar | ast.RangeBounds
    ) -> str | None:
        if isinstance(argument, ast.Word):
            return argument.text
        self._problems.add(
            Code.CONSTRAINT_ARGUMENT,
            f"@{constraint.kind} on {self._owner}: expected a property name",
            argument.span,
            "write property names without quotes",
        )
        return None

    def _type_of(self, constraint: ast.Constraint, name: str, span: Span) -> PropertyType | None:
        item = self._declared.get(name)
        if item is None:
            self._problems.add(
                Code.UNKNOWN_PROPERTY,
                f"@{constraint.kind} on {self._owner} names unknown property '{name}'",
                span,
                self._problems.suggest(name, self._list_usable_names(constraint)),
            )
            return None
        return item.property.type

    def _list_usable_names(self, constraint: ast.Constraint) -> list[str]:
        """Return the names that the constraint may use."""
        ends = model.EDGE_ENDS if self._is_edge and constraint.kind == "unique" else ()
        return [*self._declared, *ends]


def _number(literal: ast.Literal | None) -> int | float | None:
    if literal is None or isinstance(literal.value, str | bool):
        return None
    return literal.value


def _is_within(value: int | float, bounds: model.Range) -> bool:
    return (bounds.low is None or value >= bounds.low) and (bounds.high is None or value <= bounds.high)
