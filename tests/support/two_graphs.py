"""Two graphs that differ in what is hidden from an actor, and all that it learns from a call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph.base import clock
from support.seeded_clock import SeededClock

SCHEMA = """
node Person {
  name: String @key
  region: String
  mail: String? @unique
  tags: [String]?
  level: I64? @index
  salary: I64?
  bio: String? @index
  photo: Blob?
  @range(level, -1000..1000)
}
node City { name: String @key  region: String }
edge Knows: Person -> Person { weight: F64?  @unique(src, dst) }
edge Boss: Person -> Person @card(0..1) { @unique(src, dst) }
edge LivesIn: Person -> City
"""
POLICY = """
version: 1
groups: {staff: [ada], boss: [root]}
rules:
  - id: all
    allow:
      actors: {group: staff}
      actions: [read, export, change, branch_merge, propose, approve, admin, invoke_query]
  - {id: boss, allow: {actors: {group: boss}, actions: [read, export, change]}}
data:
  rows: |
    permit(principal in Group::"boss", action, resource);
    permit(principal, action, resource) when { resource has region && resource.region == "eu" };
    permit(principal, action, resource is Knows);
    permit(principal, action, resource is Boss);
    permit(principal, action, resource is LivesIn);
  hidden:
    - {properties: [Person.salary], except: [boss]}
"""
MARK = "hush"
"""Stands in everything that is hidden, and in nothing else."""
_PEOPLE = [
    {"name": "ann", "region": "eu", "mail": "ann@x", "tags": ["a", "b"], "level": 3, "bio": "a quiet fox"},
    {"name": "bob", "region": "eu", "mail": "bob@x", "tags": [], "level": 1, "bio": "the loud dog"},
    {"name": "cyd", "region": "eu", "tags": ["b"], "level": 2, "bio": "fox and dog", "photo": "base64:AAEC"},
    {"name": "dan", "region": "eu", "level": 5},
]
_HIDDEN = [
    {
        "name": f"{MARK}{at}",
        "region": "us",
        "mail": f"{MARK}{at}@x",
        "tags": ["a", f"{MARK}tag"],
        "level": level,
        "bio": f"fox fox {MARK}",
        "photo": "base64:AwQF",
    }
    for at, level in enumerate((900, -900, 2))
]
_EDGES = [
    {"edge": "Knows", "from": "ann", "to": "bob", "data": {"weight": 9.0}},
    {"edge": "Knows", "from": "bob", "to": "cyd", "data": {"weight": 9.0}},
    {"edge": "Knows", "from": "ann", "to": "cyd", "data": {"weight": 99.0}},
    {"edge": "LivesIn", "from": "ann", "to": "oslo"},
]
_HIDDEN_EDGES = [
    {"edge": "Knows", "from": "ann", "to": f"{MARK}0", "data": {"weight": 0.5}},
    {"edge": "Knows", "from": f"{MARK}0", "to": "cyd", "data": {"weight": 0.5}},
    {"edge": "Knows", "from": f"{MARK}1", "to": f"{MARK}2"},
    {"edge": "Boss", "from": f"{MARK}1", "to": "ann"},
    {"edge": "LivesIn", "from": "bob", "to": f"{MARK}ville"},
]


def make(uri: str, has_hidden: bool) -> None:
    """Make one of both graphs, with the same history of what is seen."""
    previous = clock.install(SeededClock(7))
    try:
        root = og.init(uri, SCHEMA, actor="root")
        people, edges = [{"type": "Person", "data": item} for item in _PEOPLE], [*_EDGES]
        people.append({"type": "City", "data": {"name": "oslo", "region": "eu"}})
        if has_hidden:
            people += [{"type": "Person", "data": {**item, "salary": 777}} for item in _HIDDEN]
            people[1]["data"] = {**_PEOPLE[1], "salary": 777}
            people.append({"type": "City", "data": {"name": f"{MARK}ville", "region": "us"}})
            edges += _HIDDEN_EDGES
        root.load([*people, *edges], mode="append", message="first")
        root.tags.create("v1")
        root.branches.create("side")
        root.branches.create("near")
        for branch, level in (("side", 12), ("near", 13), ("main", 11)):
            update: list[dict[str, Any]] = [{"type": "Person", "data": {"name": "bob", "level": level}}]
            if has_hidden and branch != "near":
                update += [
                    {"type": "Person", "data": {"name": f"{MARK}{at}", "level": level + at}} for at in (0, 2)
                ]
                update.append({"type": "Person", "data": {"name": "ann", "salary": level}})
                update.append({"type": "Person", "data": {"name": f"{MARK}9", "region": "us"}})
            root.load(update, mode="patch", branch=branch, message=f"on {branch}", idempotency_key="k")
        root.queries.apply({"all.gq": "query all_people() { match { $p: Person } return { $p.* } }"})
        root.proposals.create("side", title="of the side")
    finally:
        clock.install(previous)


def asked(match: str, returned: str = "$p.name", more: str = "") -> Callable[[og.Graph], Any]:
    """Return what asks a query."""
    text = f"query q() {{ match {{ {match} }} return {{ {returned} }} {more} }}"
    return lambda g: g.query(text).rows


def changed(body: str, **given: Any) -> Callable[[og.Graph], Any]:
    """Return what tries a mutation."""
    return lambda g: g.mutate(f"query q() {{ {body} }}", **given)


def opened(root: Path) -> og.Graph:
    """Open one of the graphs as who does not see all of it."""
    return og.open(str(root), actor="ada", policy=POLICY)


def answer(ask: Callable[[og.Graph], Any], graph: og.Graph) -> str:
    """Return all that somebody learns from a call, without ids and times, which differ by chance."""
    try:
        found = ask(graph)
    except og.OmniError as error:
        causes = [repr(item) + str(item) for item in (error.__cause__, error.__context__) if item is not None]
        told = [type(error).__name__, error.message, _plain(error.details), *causes]
    else:
        told = [_plain(found)]
    text = json.dumps(told, default=repr, sort_keys=True, ensure_ascii=False)
    return _without_chance(text.replace(str(graph.uri), "ROOT"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        found = [_plain(item) for item in value]
        return sorted(found, key=repr) if all(isinstance(item, dict) for item in found) else found
    with suppress(AttributeError, TypeError):
        return _plain(value.to_json())
    return value


def _without_chance(text: str) -> str:
    ids: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return ids.setdefault(found[0], f"ID{len(ids)}")

    text = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+00:00)?", "TIME", text)
    text = re.sub(r"datetime\.datetime\([^)]*\)", "TIME", text)
    text = re.sub(r"[0-9a-f]{32,64}", "DIGEST", text)
    text = re.sub(r"\d+\.\d+ ms|\"?(seconds|milliseconds|at|bytes)\"?[:=] ?[\d.]+", "MEASURE", text)
    return re.sub(r"[0-9A-HJKMNP-TV-Z]{26}", name, text)


def without_times(told: Any) -> Any:
    """Return what an explanation says, without how long it took."""
    if isinstance(told, dict):
        return {
            name: without_times(item)
            for name, item in told.items()
            if "ms" not in name and "seconds" not in name
        }
    return [without_times(item) for item in told] if isinstance(told, list) else told


def change_of(change: Any) -> list[Any]:
    """Return what a change says, without when it was made."""
    return [change.op, change.type_name, change.id, change.before, change.after]
