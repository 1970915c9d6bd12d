"""Literals and expressions to typed values, search functions included."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from omnigraph.compiler.ir.computed import ListOf
from omnigraph.compiler.ir.pattern import VariableKind
from omnigraph.compiler.ir.reading import values_read
from omnigraph.compiler.ir.values import (
    I64,
    Constant,
    EdgeEnd,
    End,
    EntityId,
    Now,
    Parameter,
    PathLength,
    PlainValue,
    PropertyValue,
    RankFusion,
    StageValue,
    TextMatch,
    TextScore,
    Value,
    VectorDistance,
)
from omnigraph.compiler.query import ast
from omnigraph.compiler.source import suggest
from omnigraph.compiler.typecheck.common_type import as_vector
from omnigraph.compiler.typecheck.patterns.entities import check_entity_call
from omnigraph.compiler.typecheck.patterns.paths import PATH_HINT
from omnigraph.compiler.typecheck.patterns.united import describe_kind, describe_types, find_shared_property
from omnigraph.compiler.typecheck.rows import check_row_value
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext, Scope
from omnigraph.compiler.typecheck.types import are_alike
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.dates import parse_date, parse_datetime

LITERALS = (
    ast.StringLiteral,
    ast.IntLiteral,
    ast.FloatLiteral,
    ast.BoolLiteral,
    ast.NullLiteral,
    ast.DateLiteral,
    ast.DateTimeLiteral,
    ast.ListLiteral,
)
NULL = Constant(None, PropertyType(Scalar.STRING, nullable=True))
_TYPES = {
    ast.StringLiteral: PropertyType(Scalar.STRING),
    ast.IntLiteral: PropertyType(Scalar.I64),
    ast.FloatLiteral: PropertyType(Scalar.F64),
    ast.BoolLiteral: PropertyType(Scalar.BOOL),
}
DEFAULT_MAX_EDITS = Constant(2, I64)
DEFAULT_RRF_K = Constant(60, I64)


def check_expression(check: CheckContext, scope: Scope, node: ast.Expression) -> Value | None:
    """Return the typed value of an expression, or None after reporting a problem."""
    if isinstance(node, LITERALS):
        return check_literal(check, node)
    if isinstance(node, ast.VariableReference):
        return check_variable(check, scope, node)
    if isinstance(node, ast.PropertyAccess):
        return check_property(check, scope, node)
    if isinstance(node, ast.BareProperty):
        return check_row_value(check, scope, node)
    if isinstance(node, ast.NowCall):
        return Now()
    if isinstance(node, ast.EntityCall):
        return check_entity_call(check, scope, node, _names(check, scope, node.variable.name))
    if isinstance(node, ast.ComputedExpression):
        return check.check_computed(check, scope, node)
    return _check_call(check, scope, node)


def _check_call(check: CheckContext, scope: Scope, node: ast.Expression) -> Value | None:
    if isinstance(node, ast.TextCall):
        return check_text_call(check, scope, node)
    if isinstance(node, ast.Nearest):
        return check_nearest(check, scope, node)
    if isinstance(node, ast.Bm25):
        return _check_bm25(check, scope, node)
    if isinstance(node, ast.Rrf):
        return _check_rrf(check, scope, node)
    if scope.groups is not None and isinstance(node, ast.AggregateCall):
        return scope.groups.aggregate(node)
    if scope.groups is not None and scope.names_columns and isinstance(node, ast.AliasReference):
        return scope.groups.column(node)
    if isinstance(node, ast.AliasReference):
        hint = f"write ${node.name}" if scope.get(node.name) or node.name in check.parameters else None
        hint = hint or f'a string needs quotes: "{node.name}"'
        check.report(
            UNCODED, f"unsupported expression: no value is called {node.name!r} here", node.span, hint
        )
    elif isinstance(node, ast.AggregateCall):
        message = f"unsupported expression: the aggregate {node.function} cannot be nested in another value"
        check.report(UNCODED, message, node.span)
    return None


def check_variable(check: CheckContext, scope: Scope, node: ast.VariableReference) -> Value | None:
    """Return the value of a bare variable: a parameter first, else a node's id or a path length."""
    declared = check.parameters.get(node.name)
    if declared is not None:
        if declared.scalar is Scalar.BLOB:
            check.report("T24", f"the Blob parameter ${node.name} cannot be read as a value", node.span)
            return None
        return Parameter(node.name, declared)
    found = scope.get(node.name)
    if found is None:
        hint = _names(check, scope, node.name)
        check.report(scope.unbound, f"variable ${node.name} is not bound", node.span, hint)
        return None
    variable = found.variable
    if variable is None:
        return found.value
    if variable.kind is VariableKind.EDGE:
        message = f"edge variable ${node.name} cannot be used bare"
        check.report("T23", message, node.span, f"read one of its values, for example ${node.name}.id")
        return None
    if variable.kind is VariableKind.LENGTH:
        return PathLength(variable.slot, variable.optional)
    if variable.value_type is not None:
        return StageValue(variable.slot, variable.value_type)
    if variable.kind is VariableKind.PATH:
        check.report("T26", f"path ${node.name} cannot be used bare", node.span, PATH_HINT)
        return None
    return EntityId(variable.slot, variable.optional)


def check_property(
    check: CheckContext, scope: Scope, node: ast.PropertyAccess, code: str = "T6", blobs: bool = False
) -> PropertyValue | EntityId | EdgeEnd | None:
    """Return the value of `$v.p`; a missing variable or property is reported with the given code.

    With `blobs` it may be a blob, of which only whether there is one is asked.
    """
    name, wanted = node.variable.name, node.property.text
    found = scope.get(name)
    if found is None:
        report_unbound(check, scope, node.variable, code)
        return None
    variable = found.variable
    if variable is None:
        if found.value is not None:
            check.report(code, f"${name} is a value and has no property {wanted!r}", node.property.span)
        return None
    owners = check.owners(variable)
    if not owners:
        what = describe_kind(variable)
        check.report(code, f"${name} is {what} and has no property {wanted!r}", node.property.span)
        return None
    if wanted == "id":
        return EntityId(variable.slot, variable.optional)
    if variable.kind is VariableKind.EDGE and wanted in ("from", "to"):
        end = End.SOURCE if wanted == "from" else End.TARGET
        return EdgeEnd(variable.slot, end, variable.optional)
    found_property = find_shared_property(check, owners, node.property, code)
    if found_property is None:
        return None
    if found_property.type.scalar is Scalar.BLOB and not blobs:
        message = f"the Blob property {owners[0].name}.{wanted} cannot be read as a value"
        check.report("T24", message, node.span, "ask whether it `is null`, and read its bytes with g.blob(…)")
        return None
    return PropertyValue(variable.slot, found_property, variable.optional)


def report_unbound(check: CheckContext, scope: Scope, node: ast.VariableReference, code: str) -> None:
    """Report a variable whose properties are read and that nothing has bound."""
    hint = _names(check, scope, node.name)
    if node.name in check.parameters:
        hint = f"${node.name} is a parameter; parameters have no properties"
    check.report(code, f"variable ${node.name} is not bound", node.span, hint)


def _is_united(
    check: CheckContext, field: PropertyValue, node: ast.Expression, code: str, function: str
) -> bool:
    """Report a search over a variable of several types, whose texts and vectors have no common index."""
    variable = check.variables[field.variable]
    if variable.more_types:
        what = f"{function} needs a variable of one type, ${variable.name} is a {describe_types(variable)}"
        check.report(code, what, node.span, f"bind it to one type, as ${variable.name}: {variable.type_name}")
    return bool(variable.more_types)


def _names(check: CheckContext, scope: Scope, name: str) -> str | None:
    if name in scope.left_behind:
        return f"list ${name} in with, so that what follows it sees it"
    return suggest(f"${name}", (f"${item}" for item in chain(check.parameters, scope.names())))


def check_text_call(check: CheckContext, scope: Scope, node: ast.TextCall) -> TextMatch | None:
    """Return a typed full-text predicate."""
    code = "T20" if node.function is ast.TextFunction.MATCH_TEXT else "T19"
    field = _text_field(check, scope, node.field, code, node.function.value)
    text = _text(check, scope, node.text, code, node.function.value)
    edits: Value | None = None
    if node.function is ast.TextFunction.FUZZY:
        edits = DEFAULT_MAX_EDITS
        if node.max_edits is not None:
            edits = _integer(check, scope, node.max_edits, code, "max_edits", 0)
            if edits is None:
                return None
    return TextMatch(field, text, edits) if field and text else None


def _check_bm25(check: CheckContext, scope: Scope, node: ast.Bm25) -> TextScore | None:
    field = _text_field(check, scope, node.field, "T20", "bm25")
    text = _text(check, scope, node.text, "T20", "bm25")
    return TextScore(field, text) if field and text else None


def check_nearest(check: CheckContext, scope: Scope, node: ast.Nearest) -> VectorDistance | None:
    """Return a typed vector distance."""
    if _is_edge(check, scope, node.field, "nearest"):
        return None
    before = len(check.problems)
    field = check_property(check, scope, node.field, "T15")
    query = check_expression(check, scope, node.query)
    if field is None or query is None or len(check.problems) > before:
        return None
    if isinstance(field, PropertyValue) and _is_united(check, field, node.field, "T15", "nearest"):
        return None
    if not isinstance(field, PropertyValue) or not field.type.is_vector:
        name = node.field.property.text
        check.report("T15", f"nearest needs a Vector property, {name!r} is {field.type}", node.field.span)
        return None
    wanted = field.type.vector
    query = as_vector(query)
    found = query.type
    if isinstance(query, ListOf) and any(values_read(query)):
        message = "the vector of nearest is one property, or a list of numbers that are given"
        check.report("T15", message, node.query.span)
        return None
    if found.is_vector and found.vector != wanted:
        message = f"nearest query has dimension {found.vector}, the property's dimension is {wanted}"
        check.report("T15", message, node.query.span)
        return None
    if not found.is_vector and (found.is_list or found.scalar is not Scalar.STRING):
        check.report(
            "T15", f"nearest query must be Vector({wanted}) or String, found {found}", node.query.span
        )
        return None
    if found.is_vector and isinstance(query, Constant):
        query = Constant(query.value, field.declared.type)
    return VectorDistance(field, query)


def _check_rrf(check: CheckContext, scope: Scope, node: ast.Rrf) -> RankFusion | None:
    rankings = [check_expression(check, scope, item) for item in node.rankings]
    k = DEFAULT_RRF_K if node.k is None else _integer(check, scope, node.k, "T21", "k", 1)
    scores = tuple(item for item in rankings if isinstance(item, TextScore | VectorDistance))
    if k is None or len(scores) < len(rankings):
        return None
    if len({item.field.variable for item in scores}) > 1:
        check.report("T21", "both rankings of rrf must rank the same variable", node.span)
        return None
    for item, ranking in zip(scores, node.rankings, strict=True):
        if any(getattr(read, "variable", None) != item.field.variable for read in values_read(item)):
            message = "a ranking of rrf is the same for every row, this one looks at another variable"
            check.report("T21", message, ranking.span)
            return None
    return RankFusion(scores, k)


def _is_edge(check: CheckContext, scope: Scope, node: ast.PropertyAccess, function: str) -> bool:
    found = scope.get(node.variable.name)
    if found is None or found.kind is not VariableKind.EDGE:
        return False
    message = f"{function} works on node properties, ${node.variable.name} is an edge variable"
    check.report("T23", message, node.span)
    return True


def _text_field(
    check: CheckContext, scope: Scope, node: ast.Expression, code: str, function: str
) -> PropertyValue | None:
    if isinstance(node, ast.PropertyAccess) and _is_edge(check, scope, node, function):
        return None
    field = check_expression(check, scope, node)
    if field is None:
        return None
    if not isinstance(field, PropertyValue) or not _is_text(field):
        check.report(code, f"{function} needs a scalar String property as its field", node.span)
        return None
    return None if _is_united(check, field, node, code, function) else field


def _text(check: CheckContext, scope: Scope, node: ast.Expression, code: str, function: str) -> Value | None:
    text = check_expression(check, scope, node)
    if text is not None and (isinstance(text, EntityId) or not _is_text(text)):
        check.report(code, f"{function} needs a scalar String as its text, found {text.type}", node.span)
        return None
    return text


def _is_text(value: Value) -> bool:
    return value.type.scalar is Scalar.STRING and value.type.is_plain


def _integer(
    check: CheckContext, scope: Scope, node: ast.Expression, code: str, name: str, least: int
) -> Value | None:
    value = check_expression(check, scope, node)
    if value is None:
        return None
    if value.type.is_list or not value.type.scalar.is_integer:
        check.report(code, f"{name} must be an integer, found {value.type}", node.span)
        return None
    if not isinstance(value, Constant | Parameter):
        check.report(code, f"{name} must be an integer literal or parameter", node.span)
        return None
    if isinstance(value, Constant) and isinstance(value.value, int) and value.value < least:
        check.report(code, f"{name} must be at least {least}, found {value.value}", node.span)
        return None
    return value


def check_literal(check: CheckContext, node: ast.Literal) -> Constant | None:
    """Return the value and type of a literal, or None after reporting a problem."""
    if isinstance(node, ast.ListLiteral):
        return _list(check, node)
    if isinstance(node, ast.NullLiteral):
        return NULL
    if isinstance(node, ast.DateLiteral | ast.DateTimeLiteral):
        return _check_date(check, node)
    return Constant(node.value, _TYPES[type(node)])


def _check_date(check: CheckContext, node: ast.DateLiteral | ast.DateTimeLiteral) -> Constant | None:
    date = isinstance(node, ast.DateLiteral)
    value = parse_date(node.text) if date else parse_datetime(node.text)
    if value is None:
        word, form = ("date", "2026-01-31") if date else ("datetime", "2026-01-31T12:00:00Z")
        check.report("T3", f"invalid {word} text {node.text[:40]!r}", node.span, f'write {word}("{form}")')
        return None
    return Constant(value, PropertyType(Scalar.DATE if date else Scalar.DATETIME))


def _list(check: CheckContext, node: ast.ListLiteral) -> Constant | None:
    values: list[PlainValue] = []
    type_: PropertyType | None = None
    for item in node.items:
        if isinstance(item, ast.ListLiteral):
            check.report(UNCODED, "a list literal holds scalar values, not nested lists", item.span)
            return None
        constant = check_literal(check, item)
        if constant is None:
            return None
        values.append(constant.value)
        if constant.value is None:
            continue
        if type_ is not None and not are_alike(type_.scalar, constant.type.scalar):
            message = f"a list literal cannot mix {type_.scalar} and {constant.type.scalar}"
            check.report(UNCODED, message, item.span)
            return None
        if type_ is None or constant.type.scalar is Scalar.F64:
            type_ = constant.type
    return Constant(tuple(values), replace(type_ or _TYPES[ast.StringLiteral], is_list=True))
