"""Conditions and values in words, for explanations."""

from __future__ import annotations

from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.pattern import Direction, Traverse, Variable
from omnigraph.compiler.ir.values import (
    Aggregate,
    Constant,
    EdgeEnd,
    EntityId,
    Parameter,
    PathLength,
    PropertyValue,
    RankFusion,
    TextMatch,
    TextScore,
    Value,
    VectorDistance,
)

_LONGEST = 40

Variables = tuple[Variable, ...]


def variable_text(slot: int, variables: Variables) -> str:
    """Return how a query calls a variable."""
    return f"${variables[slot].name or '_'}"


def condition_text(condition: ir.Condition, variables: Variables) -> str:
    """Return a condition as a query would write it."""

    def of(value: Value) -> str:
        return value_text(value, variables)

    match condition:
        case ir.All(terms):
            return " and ".join(_inside(term, variables) for term in terms)
        case ir.Any(terms):
            return " or ".join(_inside(term, variables) for term in terms)
        case ir.Not(term):
            return f"not {_inside(term, variables)}"
        case ir.IsNull(value):
            return f"{of(value)} is null"
        case ir.ListContains(list_, item):
            return f"{of(list_)} contains {of(item)}"
        case ir.TextContains(text, part):
            return f"{of(text)} contains {of(part)}"
        case ir.TextStartsWith(text, prefix):
            return f"{of(text)} starts_with {of(prefix)}"
        case ir.Compare(comparator, left, right):
            return f"{of(left)} {comparator.value} {of(right)}"


def value_text(value: Value | Aggregate, variables: Variables) -> str:
    """Return a value as a query would write it."""
    match value:
        case Constant():
            text = f'"{value.value}"' if isinstance(value.value, str) else str(value.value)
            return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        case Parameter(name):
            return f"${name}"
        case PropertyValue(slot, declared):
            return f"{variable_text(slot, variables)}.{declared.name}"
        case EntityId(slot) | PathLength(slot):
            return variable_text(slot, variables)
        case EdgeEnd(slot, end):
            return f"{end.value} of {variable_text(slot, variables)}"
        case TextMatch(field, text):
            return f"search({value_text(field, variables)}, {value_text(text, variables)})"
        case TextScore(field, text):
            return f"bm25({value_text(field, variables)}, {value_text(text, variables)})"
        case VectorDistance(field, query):
            return f"nearest({value_text(field, variables)}, {value_text(query, variables)})"
        case RankFusion(rankings):
            return f"rrf({', '.join(value_text(item, variables) for item in rankings)})"
        case Aggregate(function, argument, distinct):
            word = "distinct " if distinct else ""
            return f"{function.value}({word}{value_text(argument, variables)})"
    return type(value).__name__


def traverse_text(step: Traverse, variables: Variables, start: int | None = None) -> str:
    """Return a traversal as a query would write it, and from which end it is followed."""
    edge = step.edge_type if step.edge is None else f"{variable_text(step.edge, variables)}:{step.edge_type}"
    hops = "" if (step.low, step.high) == (1, 1) else f"{{{step.low},{step.high}}}"
    arrows = {Direction.FORWARD: ("-", "->"), Direction.BACKWARD: ("<-", "-"), Direction.BOTH: ("-", "-")}
    left, right = arrows[step.direction]
    source, target = variable_text(step.source, variables), variable_text(step.target, variables)
    text = f"{source} {left}[{edge}{hops}]{right} {target}"
    return text if start is None else f"{text} from {variable_text(start, variables)}"


def _inside(term: ir.Condition, variables: Variables) -> str:
    text = condition_text(term, variables)
    return f"({text})" if isinstance(term, ir.All | ir.Any) else text
