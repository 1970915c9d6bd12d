"""Conditions and values as text, for explain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from omnigraph.compiler.functions.registry import ITEM, NEGATIVE
from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.computed import Call, Case, ConditionTruth, EntityMap, ListOf, MemberTest
from omnigraph.compiler.ir.pattern import Direction, Traverse, Variable, VariableKind, Way
from omnigraph.compiler.ir.values import (
    EACH_ROW,
    Aggregate,
    Computed,
    Constant,
    EdgeEnd,
    End,
    EntityId,
    EntityKey,
    EntityType,
    GroupValue,
    IdOfEnd,
    ListMember,
    Now,
    Parameter,
    PathLength,
    PathValue,
    PlainValue,
    PropertyValue,
    RankFusion,
    RoundedToF32,
    StageValue,
    StoredAs,
    TextMatch,
    TextScore,
    Value,
    VectorDistance,
)
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.results import to_json

_MAX_CONSTANT_LENGTH = 40
_ARROWS = {Direction.FORWARD: ("-", "->"), Direction.BACKWARD: ("<-", "-"), Direction.BOTH: ("-", "-")}

Variables = tuple[Variable, ...]


def variable_text(slot: int, variables: Variables) -> str:
    """Return the name of a variable in a query."""
    variable = variables[slot]
    if variable.kind is VariableKind.LENGTH and variable.name is None:
        return "matches"  # only the pattern of an `exists` or `count` has such a number
    return f"${variable.name or '_'}"


def condition_text(condition: ir.Condition, variables: Variables) -> str:
    """Return a condition as a query would write it."""

    def of(value: Value) -> str:
        return value_text(value, variables)

    match condition:
        case ir.All(terms):
            return " and ".join(_parenthesise(term, variables) for term in terms)
        case ir.Any(terms):
            return " or ".join(_parenthesise(term, variables) for term in terms)
        case ir.Not(term):
            return f"not {_parenthesise(term, variables)}"
        case ir.IsNull(value):
            return f"{of(value)} is null"
        case ir.ListContains(
            Constant() | Parameter() | RoundedToF32() | IdOfEnd() | ListOf() as members, item
        ):
            return f"{of(item)} in {of(members)}"
        case ir.ListContains(list_, item):
            return f"{of(list_)} contains {of(item)}"
        case ir.TextContains(text, part):
            return f"{of(text)} contains {of(part)}"
        case ir.TextStartsWith(text, prefix):
            return f"{of(text)} starts_with {of(prefix)}"
        case ir.TextMatches(text, pattern):
            return f"matches({of(text)}, {of(pattern)})"
        case ir.Compare(ir.Comparator.EQ, TextMatch() as match, Constant(True)):
            return of(match)
        case ir.Compare(comparator, left, right):
            return f"{of(left)} {comparator.value} {of(right)}"


def value_text(value: Value | Aggregate, variables: Variables) -> str:
    """Return a value as a query would write it."""
    match value:
        case Constant(plain, type_):
            return _shorten(_constant(plain, type_))
        case Parameter(name) | ListMember(_, name):
            return f"${name}"
        case RoundedToF32(parameter) | IdOfEnd(parameter) | StoredAs(parameter):
            return f"${parameter.name}"
        case Now():
            return "now()"
        case PropertyValue(slot, declared):
            return f"{variable_text(slot, variables)}.{declared.name}"
        case EntityId() | EntityKey() | PathLength() | PathValue() | EntityType() | EdgeEnd() | StageValue():
            return _read_text(value, variables)
        case Aggregate(function, argument, distinct):
            if argument == EACH_ROW:
                return f"{function.value}(*)"
            return f"{function.value}({'distinct ' if distinct else ''}{value_text(argument, variables)})"
        case Computed():
            return _computed_text(value, variables)
        case _:
            assert not isinstance(value, GroupValue), "columns of groups are spelled out"
            called, arguments = _search(value)
            return f"{called}({', '.join(value_text(item, variables) for item in arguments)})"


def _read_text(
    value: EntityId | EntityKey | PathLength | PathValue | EntityType | EdgeEnd | StageValue,
    variables: Variables,
) -> str:
    name = variable_text(value.variable, variables)
    match value:
        case PathValue(part=part):
            return f"{part.value}({name})"
        case EntityType():
            return f"type({name})"
        case EdgeEnd(end=end):
            return f"{name}.{'from' if end is End.SOURCE else 'to'}"
    return name


def spell_out(node: Any, columns: Sequence[Value | Aggregate]) -> Any:
    """Return what is computed from the columns of groups with those columns in their places."""
    if isinstance(node, GroupValue):
        return spell_out(columns[node.projection], columns)
    if isinstance(node, tuple):
        return tuple(spell_out(item, columns) for item in node)
    if is_dataclass(node) and not isinstance(node, type) and type(node).__module__ in _WITH_PARTS:
        parts = {item.name: spell_out(getattr(node, item.name), columns) for item in fields(node)}
        return replace(node, **parts)
    return node


_WITH_PARTS = ("omnigraph.compiler.ir.computed", "omnigraph.compiler.ir.conditions")


def _computed_text(value: Computed, variables: Variables) -> str:
    match value:
        case EntityMap(type_name):
            return f"entity({variable_text(type_name.variable, variables)})"
        case ListOf(items):
            return f"[{', '.join(value_text(item, variables) for item in items)}]"
        case MemberTest(quantifier, members, member, condition):
            head = f"{quantifier.value}(${member.name} in {value_text(members, variables)}"
            return f"{head} where {condition_text(condition, variables)})"
        case ConditionTruth(condition):
            return f"({condition_text(condition, variables)})"
        case Call(function, arguments):
            return _call_text(function, [value_text(item, variables) for item in arguments])
        case Case(branches, otherwise):
            parts = [
                f"when {condition_text(item.condition, variables)} then {value_text(item.value, variables)}"
                for item in branches
            ]
            return f"case {' '.join(parts)} else {value_text(otherwise, variables)} end"
    raise AssertionError(f"a computed value of no kind: {type(value).__name__}")


def _call_text(function: str, arguments: list[str]) -> str:
    if function == NEGATIVE:
        return f"(-{arguments[0]})"
    if function == ITEM:
        return f"{arguments[0]}[{arguments[1]}]"
    if not function.isidentifier():
        return f"({arguments[0]} {function} {arguments[1]})"
    return f"{function}({', '.join(arguments)})"


def _search(value: TextMatch | TextScore | VectorDistance | RankFusion) -> tuple[str, tuple[Value, ...]]:
    match value:
        case TextMatch(field, text, None):
            return "search", (field, text)
        case TextMatch(field, text, edits):
            assert edits is not None
            return "fuzzy", (field, text, edits)
        case TextScore(field, text):
            return "bm25", (field, text)
        case VectorDistance(field, query):
            return "nearest", (field, query)
        case RankFusion(rankings, k):
            return "rrf", (*rankings, k)


def traverse_text(step: Traverse, variables: Variables, start: int | None = None) -> str:
    """Return a traversal as a query would write it, and from which end it is followed."""
    alike = len({way.direction for way in step.ways}) == 1
    edge = "|".join(way.edge_type if alike else _way_text(way) for way in step.ways)
    edge = edge if step.edge is None else f"{variable_text(step.edge, variables)}:{edge}"
    hops = "" if (step.low, step.high) == (1, 1) else f"{{{step.low},{step.high}}}"
    left, right = _ARROWS[step.direction if alike else Direction.BOTH]
    source, target = variable_text(step.source, variables), variable_text(step.target, variables)
    text = f"{source} {left}[{edge}{hops}]{right} {target}{_path_text(step, variables)}"
    return text if start is None else f"{text} from {variable_text(start, variables)}"


def _path_text(step: Traverse, variables: Variables) -> str:
    if step.path is None:
        return ""
    shortest = ""
    if step.shortest is not None:
        by = "" if step.shortest.weight is None else f" by {step.shortest.weight.name}"
        shortest = f" shortest {step.shortest.count}{by}"
    return f"{shortest} as path {variable_text(step.path, variables)}"


def _way_text(way: Way) -> str:
    """Return an edge of a traversal whose edges are followed in different directions."""
    return f"<{way.edge_type}" if way.direction is Direction.BACKWARD else f"{way.edge_type}>"


def _parenthesise(term: ir.Condition, variables: Variables) -> str:
    text = condition_text(term, variables)
    return f"({text})" if isinstance(term, ir.All | ir.Any) else text


def _constant(value: PlainValue, type_: PropertyType) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_constant(item, type_) for item in value)}]"
    if value is not None and type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return f'{type_.scalar.value.lower()}("{to_json(value, PropertyType(type_.scalar))}")'
    return json.dumps(value, ensure_ascii=False)


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_CONSTANT_LENGTH else f"{text[:_MAX_CONSTANT_LENGTH]}…"
