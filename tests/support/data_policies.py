"""Random graphs and Cedar policies about their rows, and who sees what when Cedar is asked row by row."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import cedarpy
import yaml

from omnigraph.policy.bundle import Bundle
from omnigraph.policy.gate import Gate
from omnigraph.policy.read_bundle import read_bundle

SCHEMA = """
interface Named { name: String }
node Person implements Named {
  name: String @key
  region: String?
  level: I64?
  small: I32?
  big: U64?
  flag: Bool?
  tags: [String]?
  at: DateTime?
  day: Date?
  score: F64?
  bio: String? @index
  vec: Vector(2)? @index
  photo: Blob?
}
node City implements Named { name: String @key  region: String?  nothing: I64? }
edge Knows: Person -> Person { weight: I64? }
edge LivesIn: Person -> City
"""
ENDS = {"Knows": ("Person", "Person"), "LivesIn": ("Person", "City")}
_VALUES: dict[str, tuple[Any, ...]] = {
    "region": ("eu", "us", "", "a*b\n", "e\\u"),
    "level": (0, 1, 2, -1, 2**63 - 1),
    "small": (0, 1, 2, -(2**31)),
    "big": (0, 1, 2, 2**63, 2**64 - 1),
    "flag": (True, False),
    "tags": ((), ("x",), ("x", "eu"), ("y", "z")),
    "at": ("2024-02-29T12:00:00.000Z", "1969-12-31T23:59:59.999Z"),
    "day": ("2024-02-29", "1969-12-31"),
    "score": (0.0, 1.0),
    "bio": ("the quick brown fox", "a dog runs", "fox and dog"),
    "weight": (0, 1, 2),
    "vec": ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5)),
    "photo": ("base64:AAEC", "base64:Aw=="),
}
_PROPERTIES = {
    "Person": (
        "region",
        "level",
        "small",
        "big",
        "flag",
        "tags",
        "at",
        "day",
        "score",
        "bio",
        "vec",
        "photo",
    ),
    "City": ("region",),
    "Knows": ("weight",),
    "LivesIn": (),
}
ACTORS: list[dict[str, Any]] = [
    {
        "uid": {"type": "Actor", "id": "act-ada"},
        "attrs": {
            "region": "eu",
            "level": 1,
            "tags": ["x", "y"],
            "flag": True,
            "home": {"__entity": {"type": "City", "id": "c1"}},
            "since": {"__extn": {"fn": "datetime", "arg": "2024-01-01"}},
        },
        "parents": [{"type": "Group", "id": "readers"}],
    },
    {"uid": {"type": "Group", "id": "readers"}, "attrs": {}, "parents": []},
    {"uid": {"type": "Group", "id": "others"}, "attrs": {}, "parents": []},
]
_RULES = {
    "version": 1,
    "groups": {"readers": ["act-ada"], "others": ["act-bob"]},
    "rules": [
        {
            "id": "all",
            "allow": {
                "actors": {"group": "readers"},
                "actions": ["read", "export", "change", "invoke_query"],
            },
        },
    ],
}


def bundle_of(text: str, hidden: Sequence[str] = ()) -> Bundle:
    """Return a policy whose rules about rows are a text, and whose actor has attributes of all kinds."""
    attributes = {"act-ada": ACTORS[0]["attrs"]}
    data: dict[str, Any] = {"rows": text}
    if hidden:
        data["hidden"] = [{"properties": [*hidden]}]
    return replace(read_bundle(_RULES, "graph"), actors=attributes, data=data)


def policy_text(text: str, hidden: Sequence[str] = ()) -> str:
    """Return such a policy as the text of a file; attributes that only Cedar can write are left out."""
    attributes = {name: item for name, item in ACTORS[0]["attrs"].items() if not isinstance(item, dict)}
    data: dict[str, Any] = {"rows": text}
    if hidden:
        data["hidden"] = [{"properties": [*hidden]}]
    told = {**_RULES, "actors": {"act-ada": attributes}, "data": data}
    return yaml.safe_dump(told)


def gate_of(text: str, hidden: Sequence[str] = ()) -> Gate:
    """Return the gate of such a policy."""
    return Gate(bundle_of(text, hidden))


def random_hidden(rng: random.Random) -> list[str]:
    """Return properties that are hidden, mostly none."""
    names = [f"{kind}.{name}" for kind, found in _PROPERTIES.items() for name in found]
    return sorted(rng.sample(names, k=rng.choice((0, 0, 0, 1, 2, 4))))


def schema_without(hidden: Sequence[str]) -> str:
    """Return the schema that lacks some properties."""
    kind, lines = "", []
    for declared in SCHEMA.splitlines():
        line = declared
        found = re.match(r"(node|edge) (\w+)", line)
        kind = found[2] if found else kind
        for name in (item.partition(".")[2] for item in hidden if item.startswith(f"{kind}.")):
            line = re.sub(rf"(?<=[ {{]){name}: [^ ]+( @index)?", "", line)
        lines.append(line)
    return "\n".join(lines)


@dataclass(frozen=True)
class Row:
    """A node or edge: its type, its id, its properties, and the ends of an edge."""

    type: str
    id: str
    properties: Mapping[str, Any]
    ends: tuple[str, str] | None = None

    def without(self, hidden: Sequence[str]) -> Row:
        """Return the row without some properties."""
        kept = {name: item for name, item in self.properties.items() if f"{self.type}.{name}" not in hidden}
        return replace(self, properties=kept)

    def record(self) -> dict[str, Any]:
        """Return the row as a record of a load."""
        if self.ends is None:
            return {"type": self.type, "data": {"name": self.id, **self.properties}}
        source, target = self.ends
        data = {"id": self.id, **self.properties}
        return {"edge": self.type, "from": source, "to": target, "data": data}


def random_graph(rng: random.Random) -> list[Row]:
    """Return nodes and edges with many missing values."""
    people = [Row("Person", f"p{n}", random_values(rng, "Person")) for n in range(rng.randint(3, 10))]
    cities = [Row("City", f"c{n}", random_values(rng, "City")) for n in range(3)]
    edges = []
    for kind, (_, target) in ENDS.items():
        for n in range(rng.randint(2, 12)):
            ends = rng.choice(people).id, rng.choice(people if target == "Person" else cities).id
            edges.append(Row(kind, f"{kind}-{n}", random_values(rng, kind), ends))
    return [*people, *cities, *edges]


def random_values(rng: random.Random, kind: str) -> dict[str, Any]:
    """Return values of some properties of a type."""
    found = {name: rng.choice(_VALUES[name]) for name in _PROPERTIES[kind] if rng.random() < 0.7}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def random_rows_text(rng: random.Random) -> str:
    """Return a few Cedar policies about rows, some of them of no use."""
    policies = [_policy(rng, "permit") for _ in range(rng.randint(1, 3))]
    policies += [_policy(rng, "forbid") for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    if rng.random() < 0.6:
        kinds = rng.sample(sorted(_PROPERTIES), k=2)
        policies += [f"permit(principal, action, resource is {kind});" for kind in kinds]
    if rng.random() < 0.2:
        policies.append("permit(principal, action, resource);")
    rng.shuffle(policies)
    return "\n".join(policies)


def _policy(rng: random.Random, effect: str) -> str:
    who = rng.choice(("principal",) * 4 + ('principal in Group::"readers"', 'principal in Group::"others"'))
    what = rng.choice(
        ("action",) * 4 + ('action == Action::"read"', 'action in [Action::"read", Action::"change"]')
    )
    which = rng.choice(
        ("resource",) * 3
        + ("resource is Person", "resource is City", "resource is Knows", 'resource == Person::"p1"')
        + ('resource in Type::"Named"', 'resource is Person in Type::"Person"')
    )
    clause = rng.choice(("when", "when", "unless"))
    return f"{effect}({who}, {what}, {which}) {clause} {{ {_expression(rng, rng.randint(0, 3))} }};"


def _expression(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return _test(rng)
    one, other = _expression(rng, depth - 1), _expression(rng, depth - 1)
    return rng.choice(
        (
            f"({one} && {other})",
            f"({one} || {other})",
            f"!({one})",
            f"(if {one} then {other} else {_test(rng)})",
        )
    )


def _test(rng: random.Random) -> str:
    attribute = rng.choice(
        ("region", "level", "small", "big", "flag", "weight", "at", "day", "score", "nothing", "name")
    )
    other = rng.choice(("region", "level", "small", "name", "weight"))
    return rng.choice(
        (
            "resource.region == principal.region",
            f"resource has {attribute}",
            f"resource has {attribute} && resource.{attribute} == resource.{other}",
            f"resource.{attribute} == resource.{other}",
            f"resource.{attribute} != {_literal(rng)}",
            f"resource.{attribute} == {_literal(rng)}",
            f"resource.{attribute} {rng.choice(('<', '<=', '>', '>='))} {_number(rng)}",
            f"resource.level {rng.choice(('<', '<=', '>', '>='))} {_number(rng)}",
            f"resource.big {rng.choice(('<', '>='))} {_number(rng)}",
            "resource.flag",
            'resource.region like "a\\*b*"',
            'resource.name like "*1"',
            'resource.region like "e*"',
            "resource.tags.contains(principal.region)",
            'resource.tags.containsAny(["x", "z"])',
            'resource.tags.containsAll(["x", "eu"])',
            "principal.tags.contains(resource.region)",
            "[0, 1, 2].contains(resource.level)",
            f'[0, "eu"].contains(resource.{attribute})',
            "resource.at > principal.since",
            'resource.day == datetime("2024-02-29")',
            'resource.at <= datetime("1969-12-31T23:59:59.999Z")',
            "resource is Person",
            'resource in [Person::"p1", Type::"City"]',
            'resource == Person::"p2"',
            'resource.from == Person::"p1"',
            "resource.to == principal.home",
            "resource.to is City",
            "principal.missing == 1",
            "resource.level + 1 == 2",
            "resource.tags.isEmpty()",
            'context.branch == "main"',
            "context.protected",
            "true",
        )
    )


def _literal(rng: random.Random) -> str:
    return rng.choice(
        ('"eu"', '"p1"', "1", "0", "true", 'datetime("2024-02-29")', 'Person::"p1"', "principal.level")
    )


def _number(rng: random.Random) -> str:
    return rng.choice(("0", "1", "2", "9223372036854775807", "principal.level", '"eu"'))


UNKNOWN_TO_ROWS = ("resource.level + 1 == 2", "resource.tags.isEmpty()")
"""Expressions that Cedar knows and rules about data do not: what needs them is an error there."""


class Oracle:
    """Asks Cedar about each row with all that it knows of it."""

    def __init__(self, text: str) -> None:
        # A policy with an expression that rules do not know is one that fails where it is needed.
        for expression in UNKNOWN_TO_ROWS:
            text = text.replace(expression, "resource.nothing == 1")
        told = json.loads(cedarpy.policies_to_json_str(text))["staticPolicies"]
        self._forbids = {name for name, policy in told.items() if policy["effect"] == "forbid"}
        self._policies = cedarpy.PolicySet.from_str(text)

    def allows(self, row: Row, action: str = "read", branch: str = "main") -> bool:
        """Return whether a row is there for the actor: permitted, and no forbid applies or fails."""
        found = cedarpy.is_authorized(
            {
                "principal": 'Actor::"act-ada"',
                "action": f'Action::"{action}"',
                "resource": f'{row.type}::"{row.id}"',
                "context": {"branch": branch, "protected": False},
            },
            self._policies,
            [*ACTORS, _entity(row)],
        )
        failed = any(f"`{name}`" in error for name in self._forbids for error in found.diagnostics.errors)
        return bool(found.allowed) and not failed

    def visible(
        self, rows: list[Row], action: str = "read", branches: Sequence[str] = ("main",)
    ) -> list[Row]:
        """Return the rows that are there by the rules of each branch: an edge only with both its nodes."""
        allowed = [row for row in rows if all(self.allows(row, action, branch) for branch in branches)]
        nodes = {(row.type, row.id) for row in allowed if row.ends is None}
        return [row for row in allowed if row.ends is None or nodes.issuperset(_ends(row))]


def _ends(row: Row) -> set[tuple[str, str]]:
    assert row.ends is not None
    return set(zip(ENDS[row.type], row.ends, strict=True))


def _entity(row: Row) -> dict[str, Any]:
    attributes = {name: _attribute(name, value) for name, value in row.properties.items()}
    attributes = {name: value for name, value in attributes.items() if value is not None}
    parents = [row.type]
    if row.ends is None:
        attributes["name"] = row.id
        parents.append("Named")
    else:
        for name, (kind, id_) in zip(("from", "to"), zip(ENDS[row.type], row.ends, strict=True), strict=True):
            attributes[name] = {"__entity": {"type": kind, "id": id_}}
    return {
        "uid": {"type": row.type, "id": row.id},
        "attrs": attributes,
        "parents": [{"type": "Type", "id": name} for name in parents],
    }


def _attribute(name: str, value: Any) -> Any:
    """Return a property as Cedar has it; None where it has nothing like it."""
    if isinstance(value, float) or (type(value) is int and value >= 2**63) or name in ("vec", "photo"):
        return None
    if name in ("at", "day"):
        moment = datetime.fromisoformat(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return {"__extn": {"fn": "datetime", "arg": moment.isoformat(timespec="milliseconds")[:23] + "Z"}}
    return value
