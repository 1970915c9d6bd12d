"""Syntax tree to canonical text; parsing the text gives the same tree, comments included."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from omnigraph.compiler.schema import ast
from omnigraph.compiler.strings import quote

_INDENT = "  "


def print_schema(tree: ast.SchemaFile) -> str:
    """Return the canonical text of a schema."""
    blocks = ["\n".join(_declaration(declaration)) for declaration in tree.declarations]
    if tree.closing:
        blocks.append("\n".join(tree.closing))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _declaration(declaration: ast.Declaration) -> list[str]:
    header = _header(declaration)
    trailing = declaration.comments.trailing
    body = declaration.body_comments
    lines = list(declaration.comments.leading)
    if not declaration.members and not body.opening and not body.closing:
        closed = header if isinstance(declaration, ast.Edge) else f"{header} {{}}"
        return [*lines, _append_comments(closed, trailing)]
    lines.append(_append_comments(f"{header} {{", body.opening))
    for member in declaration.members:
        lines += _indent(member.comments.leading)
        lines.append(_INDENT + _append_comments(_member(member), member.comments.trailing))
    lines += _indent(body.closing)
    return [*lines, _append_comments("}", trailing)]


def _header(declaration: ast.Declaration) -> str:
    if isinstance(declaration, ast.Interface):
        return f"interface {declaration.name.text}"
    annotations = [print_annotation(annotation) for annotation in declaration.annotations]
    if isinstance(declaration, ast.Node):
        parts = ["node", declaration.name.text, *annotations]
        if declaration.implements:
            parts += ["implements", ", ".join(name.text for name in declaration.implements)]
        return " ".join(parts)
    ends = f"{declaration.source.text} -> {declaration.target.text}"
    card = [_card(declaration.card)] if declaration.card else []
    return " ".join([f"edge {declaration.name.text}: {ends}", *card, *annotations])


def _member(member: ast.Member) -> str:
    if isinstance(member, ast.Constraint):
        return f"@{member.kind}({', '.join(print_argument(argument) for argument in member.arguments)})"
    annotations = [print_annotation(annotation) for annotation in member.annotations]
    return " ".join([f"{member.name.text}: {print_type(member.type)}", *annotations])


def print_type(written: ast.TypeExpr) -> str:
    """Return a type as it is written in a schema."""
    if written.vector is not None:
        text = f"Vector({written.vector})"
    elif written.enum is not None:
        text = f"enum({', '.join(value.text for value in written.enum)})"
    else:
        text = f"[{written.base}]" if written.is_list else written.base
    return text + ("?" if written.nullable else "")


def print_annotation(annotation: ast.AnnotationExpr) -> str:
    """Return an annotation as it is written in a schema."""
    if annotation.argument is None:
        return f"@{annotation.name.text}"
    arguments = [print_argument(annotation.argument)]
    arguments += [f"{item.name.text}={print_argument(item.value)}" for item in annotation.keywords]
    return f"@{annotation.name.text}({', '.join(arguments)})"


def print_argument(argument: ast.Scalar | ast.ListArgument | ast.RangeBounds) -> str:
    """Return a literal, word, list or range as it is written in a schema."""
    if isinstance(argument, ast.Word):
        return argument.text
    if isinstance(argument, ast.ListArgument):
        return f"[{', '.join(print_argument(item) for item in argument.items)}]"
    if isinstance(argument, ast.RangeBounds):
        low = print_argument(argument.low) if argument.low else ""
        high = print_argument(argument.high) if argument.high else ""
        return f"{low}..{high}"
    return _literal(argument.value)


def _literal(value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(value)
    # The grammar has no exponents.
    text = format(Decimal(repr(value)), "f")
    return text if "." in text else f"{text}.0"


def _card(card: ast.Card) -> str:
    return f"@card({card.low}..{'' if card.high is None else card.high})"


def _append_comments(line: str, comments: Iterable[str]) -> str:
    return " ".join([line, *comments])


def _indent(comments: Iterable[str]) -> list[str]:
    return [_INDENT + comment if comment else "" for comment in comments]
