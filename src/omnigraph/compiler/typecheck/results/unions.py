"""A union: parts with the same columns, and the order of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from omnigraph.compiler.ir.pattern import Block, Variable
from omnigraph.compiler.ir.queries import Output
from omnigraph.compiler.ir.values import Constant, Parameter, StageValue
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.results.pages import check_page
from omnigraph.compiler.typecheck.results.reads import check_read
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext
from omnigraph.compiler.typecheck.typed import TypedOrdering, TypedProjection, TypedRead, TypedSource
from omnigraph.compiler.typecheck.types import unite_types
from omnigraph.compiler.types import PropertyType, Scalar


def check_union(
    check: CheckContext, name: str, parameters: tuple[Parameter, ...], body: ast.Union
) -> TypedRead | None:
    """Return a read that begins with the rows of all parts, or None after reporting problems."""
    parts = [check_read(check, name, parameters, part) for part in body.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    columns = _unite_columns(check, known, body.parts)
    if columns is None:
        return None
    known = [_type_nulls(part, dict(columns)) for part in known]
    variables = [check.new_value(column, type_) for column, type_ in columns]
    orderings = _check_order(check, variables, body)
    skip = check_page(check, body.skip, "skip")
    limit = check_page(check, body.limit, "limit")
    if check.problems:
        return None
    return TypedRead(
        name,
        parameters,
        tuple(check.variables),
        tuple(variables),
        Block(()),
        tuple(TypedProjection(item.name or "", _value_of(item)) for item in variables),
        grouped=False,
        distinct=not body.keeps_equal,
        orderings=tuple(orderings),
        skip=skip,
        limit=limit,
        source=TypedSource(tuple(known), tuple(item.slot for item in variables)),
    )


def _type_nulls(part: TypedRead, types: Mapping[str, PropertyType]) -> TypedRead:
    """Return a part whose literal NULLs have the types of their columns."""
    projections = [_type_null(item, types) if _is_null(item) else item for item in part.projections]
    return replace(part, projections=tuple(projections))


def _type_null(item: TypedProjection, types: Mapping[str, PropertyType]) -> TypedProjection:
    return replace(item, value=Constant(None, replace(types[item.name], nullable=True)))


def _is_null(item: TypedProjection) -> bool:
    return not item.hidden and isinstance(item.value, Constant) and item.value.value is None


def _hint(name: str, columns: Iterable[str | None]) -> str | None:
    """Return how the column that is meant can be written: `p.name` is not a word, so it needs a name."""
    known = [column for column in columns if column is not None]
    if part := next((column for column in known if column.endswith(f".{name}")), None):
        return f"name the column in every part: ${part} as {name}"
    return suggest(name, [column for column in known if column.isidentifier()])


def _value_of(variable: Variable) -> StageValue:
    assert variable.value_type is not None
    return StageValue(variable.slot, variable.value_type)


def _unite_columns(
    check: CheckContext, parts: Sequence[TypedRead], nodes: Sequence[ast.Read]
) -> list[tuple[str, PropertyType]] | None:
    """Return the columns of the parts with their common types, or None after reporting a difference."""
    shown = [{item.name: item.value for item in part.projections if not item.hidden} for part in parts]
    names = list(shown[0])
    for columns, node in zip(shown[1:], nodes[1:], strict=True):
        if list(columns) != names:
            message = f"the parts of a union have the same columns: {_list(names)}, but here {_list(columns)}"
            hint = "give them the same names in the same sequence, with as"
            check.report(UNCODED, message, node.returns.span, hint)
            return None
    found: list[tuple[str, PropertyType]] = []
    for name in names:
        type_: PropertyType | None = None
        nullable = False
        for columns, node in zip(shown, nodes, strict=True):
            value = columns[name]
            if isinstance(value, Constant) and value.value is None:
                nullable = True
                continue
            together = value.type if type_ is None else unite_types(type_, value.type)
            if together is None:
                message = f"column {name!r} of a union is {_plain(type_)} and {_plain(value.type)}"
                hint = "convert one of them, for example with to_string(…)"
                if value.type.is_map and type_ is not None and type_.is_map:
                    message = f"column {name!r} of a union has whole nodes or edges of different types"
                    hint = "return an id, or properties that they share"
                check.report("T25", message, node.returns.span, hint)
                return None
            type_ = together
        type_ = type_ or PropertyType(Scalar.STRING)
        found.append((name, replace(type_, nullable=type_.nullable or nullable)))
    return found


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


def _plain(type_: PropertyType | None) -> str:
    return "" if type_ is None else str(replace(type_, nullable=False))


def _check_order(check: CheckContext, variables: Sequence[Variable], body: ast.Union) -> list[TypedOrdering]:
    """Return the sort keys of a union, which are columns."""
    names = {item.name: at for at, item in enumerate(variables)}
    found = []
    for item in body.order.items if body.order else ():
        node = item.expression
        if not isinstance(node, ast.AliasReference):
            hint = "order the rows of a part in a with: with { … } order { … }"
            check.report(UNCODED, "a union is ordered by its columns only", node.span, hint)
            continue
        at = names.get(node.name)
        if at is None:
            check.report(
                UNCODED,
                f"no column of this union is called {node.name!r}",
                node.span,
                _hint(node.name, names),
            )
            continue
        value = _value_of(variables[at])
        if not value.type.is_plain:
            check.report(UNCODED, f"cannot order by a value of type {value.type}", node.span)
            continue
        found.append(TypedOrdering(value if body.keeps_equal else Output(at), bool(item.descending)))
    return found
