"""Whether the rules of a schema can be satisfied: what would lock a type is refused before a graph has it.

Compiling alone does not ask this: patterns are judged by the engine that will run them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import Catalog, Check, NodeType
from omnigraph.compiler.functions.patterns import require_few_options
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.codes import Code
from omnigraph.compiler.schema.parser import read_schema
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.source import NOWHERE, SourceText, Span
from omnigraph.compiler.types import STORED_RANGES

_Found = tuple[Code, str, str]
"""A code, the property, and what is wrong."""


def check_usable(catalog: Catalog, text: str = "", file: str = "") -> None:
    """Refuse a schema with a `@check` or `@range` that no value, or not the property's default, can pass.

    `text` is what the catalog was compiled from: the problems are told where they stand in it.
    """
    problems = SchemaProblems(SourceText(text))
    spans = _spans(text) if text else {}
    for node in catalog.nodes:
        for code, name, message in (*_patterns(node), *_ranges(node)):
            if not text:
                raise BadInput(message, type=node.name, property=name)
            kind = "range" if code is Code.RANGE_BOUNDS else "check"
            problems.add(code, message, spans.get((node.name, kind, name), NOWHERE))
    problems.raise_if_any(file)


def find_unusable(catalog: Catalog) -> tuple[str, str, str] | None:
    """Return the first node type and property whose rules no value, or not its default, can pass, and why."""
    for node in catalog.nodes:
        for _, name, message in (*_patterns(node), *_ranges(node)):
            return node.name, name, message
    return None


def _patterns(node: NodeType) -> Iterator[_Found]:
    for check in node.checks:
        name = f"{node.name}.{check.property}"
        value = _default(node, check)
        require_few_options(check.pattern)
        try:
            fits = pc.match_substring_regex(pa.array([value or ""]), check.pattern)
        except pa.ArrowInvalid as error:
            reason = str(error).removeprefix("Invalid regular expression: ")
            message = f"@check on {name}: the regular expression cannot be used: {reason}"
            yield Code.PATTERN, check.property, message
            continue
        if value is not None and not fits[0].as_py():
            message = f"@default on {name}: {value!r} does not match its @check {check.pattern}"
            yield Code.DEFAULT, check.property, message


def _default(node: NodeType, check: Check) -> str | None:
    default = node.by_name[check.property].default
    return default.value if default is not None and isinstance(default.value, str) else None


def _ranges(node: NodeType) -> Iterator[_Found]:
    """Yield the properties of which all ranges together leave no value of the type."""
    for name in dict.fromkeys(limits.property for limits in node.ranges):
        type_ = node.by_name[name].type
        stored = STORED_RANGES.get(type_.scalar)
        found = [limits for limits in node.ranges if limits.property == name]
        lows = [limits.low for limits in found if limits.low is not None]
        highs = [limits.high for limits in found if limits.high is not None]
        if stored:
            lows, highs = [*map(ceil, lows), stored[0]], [*map(floor, highs), stored[1]]
        if not type_.is_list and lows and highs and max(lows) > min(highs):
            yield Code.RANGE_BOUNDS, name, f"@range on {node.name}.{name}: no {type_.scalar} satisfies it"


def _spans(text: str) -> dict[tuple[str, str, str], Span]:
    """Return where rules stand, by type, kind and property: the pattern or bounds of the last one."""
    found: dict[tuple[str, str, str], Span] = {}
    for declaration in read_schema(text, SchemaProblems(SourceText(text))).declarations:
        for member in declaration.members if isinstance(declaration, ast.Node) else ():
            if isinstance(member, ast.Constraint) and member.kind in ("check", "range"):
                name, argument = member.arguments
                if isinstance(name, ast.Word):
                    found[declaration.name.text, member.kind, name.text] = argument.span
    return found
