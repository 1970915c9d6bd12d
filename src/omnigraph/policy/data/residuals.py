"""What partial evaluation leaves of a policy, as conditions about rows.

In Cedar an expression is true, false or an error, and a policy with an error is left out. So each expression
becomes two conditions: what makes it true, and what makes it false. A row for which neither holds is one for
which it is an error. Whatever is not known here is an error, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.ir.conditions import Comparator, Compare, IsNull, ListContains, Not, TextMatches
from omnigraph.compiler.ir.values import BOOL, I64, STRING, Constant, PlainValue, Value
from omnigraph.policy.data.attributes import (
    TYPE,
    CedarKind,
    attribute,
    end_of,
    groups_of,
    kind_of,
    read,
    row_id,
)
from omnigraph.policy.data.logic import KnownCondition, all_of, any_of

_LEAST_LONG, _GREATEST_LONG = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class EitherWay:
    """When an expression is true, and when it is false; otherwise it is an error."""

    yes: KnownCondition = False
    no: KnownCondition = False

    def negate(self) -> EitherWay:
        """Return the verdict of the opposite."""
        return EitherWay(self.no, self.yes)


ERROR = EitherWay()
TRUE, FALSE = EitherWay(yes=True), EitherWay(no=True)


@dataclass(frozen=True)
class Operand:
    """A value of one kind: a constant, or a column of the row; an entity has the type of all its values."""

    kind: CedarKind
    value: Value
    entity_type: str = ""
    is_list: bool = False

    @property
    def is_there(self) -> KnownCondition:
        """Whether it is not missing."""
        return Not(IsNull(self.value)) if self.value.type.nullable else True


_SIMPLE = {int: CedarKind.LONG, str: CedarKind.STRING, bool: CedarKind.BOOL}
_TYPES = {
    CedarKind.LONG: I64,
    CedarKind.STRING: STRING,
    CedarKind.BOOL: BOOL,
    CedarKind.MOMENT: I64,
    CedarKind.ENTITY: STRING,
}
_COMPARATORS = {
    "==": (Comparator.EQ, Comparator.NE),
    "!=": (Comparator.NE, Comparator.EQ),
    "<": (Comparator.LT, Comparator.GE),
    "<=": (Comparator.LE, Comparator.GT),
    ">": (Comparator.GT, Comparator.LE),
    ">=": (Comparator.GE, Comparator.LT),
}
_ORDERED = frozenset({CedarKind.LONG, CedarKind.MOMENT})


def judge_policy(residual: Mapping[str, Any], table: TableType) -> EitherWay:
    """Return when a policy, as partial evaluation leaves it, applies to a row of a type."""
    scopes = [residual.get(name, {}).get("op") for name in ("principal", "action", "resource")]
    if scopes != ["All"] * 3:
        return ERROR
    found = TRUE
    for condition in residual.get("conditions", ()):
        verdict = judge(condition.get("body"), table)
        if condition.get("kind") == "unless":
            verdict = verdict.negate()
        elif condition.get("kind") != "when":
            return ERROR
        found = _and(found, verdict)
    return found


def judge(node: Any, table: TableType) -> EitherWay:
    """Return when an expression is true, and when it is false."""
    if not isinstance(node, dict) or len(node) != 1:
        return ERROR
    ((name, said),) = node.items()
    try:
        known = _JUDGES.get(name)
        if known is not None:
            return known(said, table)
        if name in _COMPARATORS:
            return _compare(name, said, table)
        operand = _operand(node, table)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ERROR
    if operand is None or operand.kind is not CedarKind.BOOL or operand.is_list:
        return ERROR
    if isinstance(operand.value, Constant):
        return TRUE if operand.value.value else FALSE
    yes, no = (
        Compare(Comparator.EQ, operand.value, _constant(item, CedarKind.BOOL)) for item in (True, False)
    )
    return EitherWay(yes, no)


def _and(left: EitherWay, right: EitherWay) -> EitherWay:
    return EitherWay(all_of(left.yes, right.yes), any_of(left.no, all_of(left.yes, right.no)))


def _both(said: Any, table: TableType) -> EitherWay:
    return _and(judge(said["left"], table), judge(said["right"], table))


def _either(said: Any, table: TableType) -> EitherWay:
    return _and(judge(said["left"], table).negate(), judge(said["right"], table).negate()).negate()


def _not(said: Any, table: TableType) -> EitherWay:
    return judge(said["arg"], table).negate()


def _choose(said: Any, table: TableType) -> EitherWay:
    when, then, otherwise = (judge(said[name], table) for name in ("if", "then", "else"))
    return EitherWay(
        any_of(all_of(when.yes, then.yes), all_of(when.no, otherwise.yes)),
        any_of(all_of(when.yes, then.no), all_of(when.no, otherwise.no)),
    )


def _has(said: Any, table: TableType) -> EitherWay:
    if not _is_resource(said["left"]) or not isinstance(said["attr"], str):
        return ERROR
    name = said["attr"]
    if end_of(table, name) is not None:
        return TRUE
    declared = attribute(table, name)
    if declared is None:
        return FALSE
    missing = IsNull(read(declared))
    return EitherWay(Not(missing), missing) if declared.type.nullable else TRUE


def _is(said: Any, table: TableType) -> EitherWay:
    operand = _operand(said["left"], table)
    if operand is None or operand.kind is not CedarKind.ENTITY:
        return ERROR
    if operand.entity_type != said["entity_type"]:
        return FALSE
    return _in({"left": said["left"], "right": said["in"]}, table) if said.get("in") is not None else TRUE


def _in(said: Any, table: TableType) -> EitherWay:
    left = _operand(said["left"], table)
    among = _members(said["right"])
    if left is None or left.kind is not CedarKind.ENTITY or among is None:
        return ERROR
    if any(item.kind is not CedarKind.ENTITY for item in among) or not _is_resource(said["left"]):
        return ERROR  # of what other entities are in, nothing is known here
    inside = [item for item in among if item.entity_type == TYPE]
    if any(_plain(item) in groups_of(table) for item in inside):
        return TRUE
    equal = [_equal(left, item) for item in among]
    return EitherWay(any_of(*(item.yes for item in equal)), all_of(*(item.no for item in equal)))


def _contains(said: Any, table: TableType) -> EitherWay:
    return _contains_some(said["left"], [_operand(said["right"], table)], table, every=True)


def _contains_all(said: Any, table: TableType) -> EitherWay:
    return _contains_some(said["left"], _members(said["right"]), table, every=True)


def _contains_any(said: Any, table: TableType) -> EitherWay:
    return _contains_some(said["left"], _members(said["right"]), table, every=False)


def _contains_some(
    holder: Any, items: list[Operand | None] | list[Operand] | None, table: TableType, every: bool
) -> EitherWay:
    if items is None or any(item is None or item.is_list for item in items):
        return ERROR
    known = [item for item in items if item is not None]
    among = _members(holder)
    if among is not None:
        each = [_is_one_of(item, among) for item in known]
    else:
        lists = _operand(holder, table)
        if lists is None or not lists.is_list:
            return ERROR
        each = [_list_has(lists, item) for item in known]
        if not each:
            each = [EitherWay(lists.is_there) if every else EitherWay(no=lists.is_there)]
    if every:
        return EitherWay(all_of(*(item.yes for item in each)), any_of(*(item.no for item in each)))
    return EitherWay(any_of(*(item.yes for item in each)), all_of(*(item.no for item in each)))


def _is_one_of(item: Operand, among: list[Operand]) -> EitherWay:
    each = [_equal(item, member) for member in among]
    return EitherWay(
        any_of(*(verdict.yes for verdict in each)),
        all_of(item.is_there, *(verdict.no for verdict in each)),
    )


def _list_has(lists: Operand, item: Operand) -> EitherWay:
    if not isinstance(item.value, Constant):
        return ERROR
    if item.kind is not lists.kind:
        return EitherWay(no=lists.is_there)
    within = ListContains(lists.value, item.value)
    return EitherWay(within, Not(within))


def _like(said: Any, table: TableType) -> EitherWay:
    operand = _operand(said["left"], table)
    if operand is None or operand.kind is not CedarKind.STRING or operand.is_list:
        return ERROR
    parts = []
    for part in said["pattern"]:
        parts.append(".*" if part == "Wildcard" else _escape(part["Literal"]))
    pattern = rf"(?s)\A{''.join(parts)}\z"
    if isinstance(operand.value, Constant):
        return ERROR  # Cedar would have matched it
    matches = TextMatches(operand.value, Constant(pattern, STRING))
    return EitherWay(matches, Not(matches))


def _escape(text: str) -> str:
    return "".join(
        letter if letter.isalnum() or letter == "_" else f"\\x{{{ord(letter):x}}}" for letter in text
    )


_JUDGES: dict[str, Callable[[Any, TableType], EitherWay]] = {
    "&&": _both,
    "||": _either,
    "!": _not,
    "if-then-else": _choose,
    "has": _has,
    "is": _is,
    "in": _in,
    "contains": _contains,
    "containsAll": _contains_all,
    "containsAny": _contains_any,
    "like": _like,
}


def _compare(name: str, said: Any, table: TableType) -> EitherWay:
    left, right = _operand(said["left"], table), _operand(said["right"], table)
    if left is None or right is None or left.is_list or right.is_list:
        return ERROR
    if name in ("==", "!="):
        equal = _equal(left, right)
        return equal if name == "==" else equal.negate()
    if left.kind is not right.kind or left.kind not in _ORDERED:
        return ERROR
    return _by_value(name, left, right)


def _equal(left: Operand, right: Operand) -> EitherWay:
    if left.is_list or right.is_list:
        return ERROR
    if left.kind is not right.kind or left.entity_type != right.entity_type:
        return EitherWay(no=all_of(left.is_there, right.is_there))
    return _by_value("==", left, right)


def _by_value(name: str, left: Operand, right: Operand) -> EitherWay:
    yes, no = (Compare(item, left.value, right.value) for item in _COMPARATORS[name])
    if isinstance(left.value, Constant) and isinstance(right.value, Constant):
        return ERROR  # Cedar would have compared them
    return EitherWay(yes, no)


def _is_resource(node: Any) -> bool:
    return node in ({"unknown": [{"Value": "resource"}]}, {"Var": "resource"})


def _operand(node: Any, table: TableType) -> Operand | None:
    """Return what an expression stands for; None when it is not known here."""
    if not isinstance(node, dict) or len(node) != 1:
        return None
    if _is_resource(node):
        return Operand(CedarKind.ENTITY, row_id(), table.name)
    ((name, said),) = node.items()
    if name == "Value":
        return _literal(said)
    if name == "datetime":
        return _moment(said[0]["Value"])
    if name != "." or not _is_resource(said["left"]):
        return None
    end = end_of(table, said["attr"])
    if end is not None:
        return Operand(CedarKind.ENTITY, end[1], end[0])
    declared = attribute(table, said["attr"])
    kind = None if declared is None else kind_of(declared)
    if declared is None or kind is None:
        return None
    return Operand(kind, read(declared), is_list=declared.type.is_list)


def _members(node: Any) -> list[Operand] | None:
    """Return the members of a set of constants, or a single entity; None for anything else."""
    if not isinstance(node, dict) or len(node) != 1:
        return None
    ((name, said),) = node.items()
    if name == "Set":
        found = [_literal(item["Value"]) if set(item) == {"Value"} else None for item in said]
    elif name == "Value":
        found = [_literal(item) for item in said] if isinstance(said, list) else [_literal(said)]
        if not isinstance(said, list) and not (found[0] and found[0].kind is CedarKind.ENTITY):
            return None
    else:
        return None
    return None if any(item is None for item in found) else [item for item in found if item is not None]


def _literal(said: Any) -> Operand | None:
    kind = _SIMPLE.get(type(said))
    if kind is not None:
        within = kind is not CedarKind.LONG or _LEAST_LONG <= said <= _GREATEST_LONG
        return Operand(kind, _constant(said, kind)) if within else None
    if isinstance(said, dict) and set(said) == {"__entity"}:
        named = said["__entity"]
        return Operand(CedarKind.ENTITY, _constant(named["id"], CedarKind.ENTITY), named["type"])
    if isinstance(said, dict) and set(said) == {"__extn"} and said["__extn"]["fn"] == "datetime":
        return _moment(said["__extn"]["arg"])
    return None


def _moment(text: Any) -> Operand | None:
    if not isinstance(text, str):
        return None
    at = datetime.fromisoformat(text)
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return Operand(CedarKind.MOMENT, _constant(since // timedelta(milliseconds=1), CedarKind.MOMENT))


def _constant(value: PlainValue, kind: CedarKind) -> Constant:
    # Never NULL, unlike what BOOL says of results.
    type_ = _TYPES[kind]
    return Constant(value, replace(type_, nullable=False))


def _plain(operand: Operand) -> Any:
    return operand.value.value if isinstance(operand.value, Constant) else None
