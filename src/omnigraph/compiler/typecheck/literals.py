"""Literals to constants."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.compiler.ir.values import Constant, PlainValue
from omnigraph.compiler.query import ast
from omnigraph.compiler.typecheck.scope import UNCODED, CheckContext
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
        if isinstance(item, ast.ListLiteral | ast.NullLiteral):
            what = "nested lists" if isinstance(item, ast.ListLiteral) else "null"
            check.report(UNCODED, f"a list literal holds scalar values, not {what}", item.span)
            return None
        constant = check_literal(check, item)
        if constant is None:
            return None
        if type_ is not None and not are_alike(type_.scalar, constant.type.scalar):
            message = f"a list literal cannot mix {type_.scalar} and {constant.type.scalar}"
            check.report(UNCODED, message, item.span)
            return None
        if type_ is None or constant.type.scalar is Scalar.F64:
            type_ = constant.type
        values.append(constant.value)
    return Constant(tuple(values), replace(type_ or _TYPES[ast.StringLiteral], is_list=True))
