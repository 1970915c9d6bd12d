"""Make a graph with whatever release of OmniGraph is first on the path, and say what it answers there.

    git worktree add --detach ../then COMMIT
    PYTHONPATH=../then/src python tests/golden/stored/make.py format-3-COMMIT

writes `format-3-COMMIT.tar.gz` and `.json` beside this file; `tests/e2e/test_upgrade.py` reads them with the
code of today.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import omnigraph as og

SCHEMA = """
node Person {
  name: String @key
  age: I32? @index
  tier: enum(basic, gold) @default(basic)
  tags: [String]?
  seen: DateTime?
  face: Vector(3)?
  photo: Blob?
}
node City { name: String @key  size: I64? }
edge Knows: Person -> Person { since: Date? }
edge LivesIn: Person -> City @card(0..1)
"""
QUESTIONS = {
    "people": """query q() {
      match { $p: Person } return { $p.name, $p.age, $p.tier, $p.tags, $p.seen } order { $p.name }
    }""",
    "knows": """query q() {
      match { $p: Person  $p $k:knows $q }
      return { $p.name, $q.name as other, $k.since }
      order { $p.name, other }
    }""",
    "reach": """query q() {
      match { $p: Person { name: "p0" }  $p knows{1,4} $q as $n } return { $q.name, $n } order { $q.name }
    }""",
    "near": """query q() {
      match { $p: Person } return { $p.name } order { nearest($p.face, [0.0, 1.0, 0.5]) } limit 3
    }""",
    "homes": """query q() {
      match { $p: Person  $p livesIn $c } return { $c.name, count($p) as n } order { $c.name }
    }""",
}


def make(root: str) -> None:
    """Write a history of every kind of commit."""
    graph = og.init(root, SCHEMA, actor="act-then")
    people: list[dict[str, Any]] = [
        {
            "type": "Person",
            "data": {"name": f"p{n}", "age": 20 + n, "tags": ["a", f"t{n}"], "face": [n / 7, 1.0, 0.5]},
        }
        for n in range(12)
    ]
    cities = [{"type": "City", "data": {"name": name, "size": 2**40}} for name in ("Oslo", "Bern")]
    knows = [
        {"edge": "Knows", "from": f"p{n}", "to": f"p{n + 1}", "data": {"since": f"2026-01-{n + 1:02}"}}
        for n in range(11)
    ]
    homes = [{"edge": "LivesIn", "from": f"p{n}", "to": "Oslo" if n % 2 else "Bern"} for n in range(6)]
    graph.load([*people, *cities, *knows, *homes], mode="append", message="the beginning")
    graph.mutate(
        'query q() { update Person set { tier: "gold", seen: now() } where age > 28 }', message="gold"
    )
    graph.tags.create("v1")
    graph.branches.create("review")
    graph.mutate('query q() { insert Person { name: "new", age: 7 } }', branch="review")
    graph.mutate('query q() { delete Person where name = "p11" }', message="gone")
    graph.branches.merge("review", message="reviewed")
    graph.mutate(
        'query q() { update Person set { age: 70 } where name = "p3" }', branch="review", message="only there"
    )
    graph.branches.create("dropped")
    graph.branches.delete("dropped")
    graph.schema.apply(SCHEMA.replace("size: I64?", "size: I64?  motto: String?"))
    graph.optimize()
    graph.mutate('query q() { update City set { motto: "on the fjord" } where name = "Oslo" }')


def answers(graph: Any) -> dict[str, Any]:
    """Return what the graph says, at every commit and on every branch."""
    return {
        "branches": graph.branches.list(),
        "tags": [tag.name for tag in graph.tags.list()],
        "commits": [
            [each.id, each.version, each.actor, each.operation, each.message] for each in graph.commits.list()
        ],
        "queries": {
            place: {name: graph.query(text, snapshot=place).rows for name, text in QUESTIONS.items()}
            for place in ("v1", "main", "review")
        },
        "rows": {
            each.id: {table.key: table.rows for table in graph.snapshot(commit=each.id).tables}
            for each in graph.commits.list()
        },
        "records": sorted(json.dumps(record, sort_keys=True) for record in graph.export()),
    }


if __name__ == "__main__":
    name = Path(__file__).with_name(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        make(f"{folder}/graph")
        said = answers(og.open(f"{folder}/graph"))
        with tarfile.open(f"{name}.tar.gz", "w:gz") as archive:
            archive.add(f"{folder}/graph", "graph")
    Path(f"{name}.json").write_text(json.dumps(said, indent=1) + "\n")
