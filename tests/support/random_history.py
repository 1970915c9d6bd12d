"""Random histories on several branches: mutations, loads, schema changes and compaction between them."""

from __future__ import annotations

import random
from typing import Any

from omnigraph.sdk.graph import Graph
from support.compaction import Compaction

FLAGS = ("extra", "level", "area", "town", "scoreless", "visited", "wide", "remark")
"""Schema changes; each can be made once on a branch, in any order."""


def schema_text(flags: frozenset[str], new: str | None = None) -> str:
    """Return the schema after some changes; `new` is the one that is being made."""
    renamed = {
        "area": '@rename_from("size")' if new == "area" else "",
        "town": '@rename_from("City")' if new == "town" else "",
        "remark": '@rename_from("note")' if new == "remark" else "",
    }
    city = "Town" if "town" in flags else "City"
    size = f"area: I64? {renamed['area']}" if "area" in flags else "size: I64?"
    note = f"remark: String? {renamed['remark']}" if "remark" in flags else "note: String?"
    return f"""
node Person {{ name: String @key
  age: {"I64?" if "wide" in flags else "I32?"}
  tags: [String]?
  {"" if "scoreless" in flags else "score: F64?"}
  born: Date?
  seen: DateTime?
  photo: Blob?
  {"extra: String?" if "extra" in flags else ""}
  {"level: I32? @default(3)" if "level" in flags else ""}
  vec: Vector(3)? }}
node {city} {renamed["town"] if "town" in flags else ""} {{ name: String @key
  {size} }}
edge Knows: Person -> Person {{ since: Date?
  {note} }}
edge LivesIn: Person -> {city}
{"edge Visited: Person -> " + city + " { times: I32? }" if "visited" in flags else ""}
"""


SCHEMA = schema_text(frozenset())


class RandomHistory:
    """Makes changes that are random but always valid, from one seed."""

    def __init__(self, graph: Graph, seed: int, schema_changes: bool = True, blobs: bool = True) -> None:
        self.graph = graph
        self.random = random.Random(seed)
        self._blobs = blobs
        self._schema_changes = schema_changes

    def step(self, branch: str) -> None:
        """Make one change on a branch."""
        acts = [
            self._merge_people,
            self._merge_people,
            self._edges,
            self._overwrite_edges,
            self._delete,
            self._update,
            self._compact,
        ]
        if self._schema_changes and self.random.random() < 0.15:
            acts = [self._change_schema]
        self.random.choice(acts)(branch)

    def _names(self) -> list[str]:
        return [f"p{self.random.randrange(30)}" for _ in range(self.random.randrange(1, 8))]

    def _type(self, branch: str, *names: str) -> Any:
        catalog = self.graph.snapshot(branch).catalog
        return next(item for item in catalog.tables if item.name in names)

    def _values(self, branch: str, name: str) -> dict[str, Any]:
        choose = self.random
        values: dict[str, Any] = {
            "age": choose.choice([None, 0, choose.randrange(90)]),
            "tags": choose.choice([None, [], ["a, b"], ["a", "b"], ["", "ü"]]),
            "score": choose.choice([None, 0.5, choose.random()]),
            "born": choose.choice([None, "2001-02-03"]),
            "seen": choose.choice([None, "2026-01-31T12:00:00.123Z"]),
            "vec": choose.choice([None, [1.0, 2.0, choose.random()]]),
            "photo": choose.choice([None, "base64:", "base64:aGVsbG8=", "base64:aGVsbGE="]),
            "extra": choose.choice([None, "", "x"]),
            "level": choose.choice([None, 3, 4]),
        }
        if not self._blobs:
            values.pop("photo")
        known = self._type(branch, "Person").by_name
        return {"name": name, **{key: value for key, value in values.items() if key in known}}

    def _merge_people(self, branch: str) -> None:
        records: list[dict[str, Any]] = [
            {"type": "Person", "data": self._values(branch, name)} for name in sorted(set(self._names()))
        ]
        city = self._type(branch, "City", "Town")
        size = "size" if "size" in city.by_name else "area"
        records.append({"type": city.name, "data": {"name": "c1", size: self.random.randrange(5)}})
        self.graph.load(records, mode="merge", branch=branch)

    def _stored(self, branch: str) -> list[str]:
        return sorted(self.graph.snapshot(branch).table("node:Person").scan(["id"])["id"].to_pylist())

    def _edges(self, branch: str) -> None:
        stored = self._stored(branch)
        if not stored:
            return
        choose = self.random
        ends = [(choose.choice(stored), choose.choice(stored)) for _ in range(choose.randrange(1, 5))]
        self.graph.load(
            [{"edge": "Knows", "from": one, "to": two, "data": {"since": "2020-01-01"}} for one, two in ends],
            mode="append",
            branch=branch,
        )

    def _overwrite_edges(self, branch: str) -> None:
        stored = self._stored(branch)
        if stored:
            ends = [(self.random.choice(stored), self.random.choice(stored)) for _ in range(3)]
            self.graph.load(
                [
                    {"edge": "Knows", "from": one, "to": two, "data": {"id": f"k{number}"}}
                    for number, (one, two) in enumerate(ends)
                ],
                mode="overwrite",
                branch=branch,
            )

    def _delete(self, branch: str) -> None:
        for name in self._names()[:2]:
            self.graph.mutate(
                "query q($n: String) { delete Person where name = $n }", {"n": name}, branch=branch
            )

    def _update(self, branch: str) -> None:
        self.graph.mutate(
            "query q($n: String, $a: I32) { update Person set { age: $a } where name = $n }",
            {"n": self._names()[0], "a": self.random.randrange(90)},
            branch=branch,
        )

    def _compact(self, branch: str) -> None:
        self.graph.commit_work(Compaction(), branch=branch)

    def _change_schema(self, branch: str) -> None:
        catalog = self.graph.snapshot(branch).catalog
        person = self._type(branch, "Person").by_name
        knows = self._type(branch, "Knows").by_name
        city = self._type(branch, "City", "Town")
        made = {
            "extra": "extra" in person,
            "level": "level" in person,
            "area": "area" in city.by_name,
            "town": city.name == "Town",
            "scoreless": "score" not in person,
            "visited": catalog.edge("Visited") is not None,
            "wide": person["age"].type.scalar.value == "I64",
            "remark": "remark" in knows,
        }
        missing = [flag for flag in FLAGS if not made[flag]]
        if missing:
            new = self.random.choice(missing)
            flags = frozenset(flag for flag in FLAGS if made[flag]) | {new}
            type(self.graph)(self.graph.internals.core, branch).schema.apply(
                schema_text(flags, new), allow_drop=True
            )
