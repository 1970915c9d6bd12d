"""What this process remembers of the rows that it has written is what everybody reads from their files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import telemetry
from omnigraph.storage.tables import written_rows
from support.another_process import as_another_process

SCHEMA = """
node Thing {
    name: String @key
    i: I32?  u: U64?  f: F32?  d: F64?  b: Bool?
    day: Date?  at: DateTime?
    kind: enum(a, b)?
    texts: [String]?  numbers: [I64]?  flags: [Bool]?
    vec: Vector(3)?
    data: Blob?
}
edge Near: Thing -> Thing { weight: F64? }
"""
STRINGS = ["", "a", "Ünder\0", "x" * 300]
FLOATS = [0.0, -0.0, 1.5, float("inf"), -1e300]


def _thing(chance: random.Random, name: str) -> dict[str, Any]:
    some = {
        "i": chance.randrange(-(2**31), 2**31),
        "u": chance.choice([0, 2**64 - 1]),
        "f": chance.choice([0.0, -0.0, 0.25]),
        "d": chance.choice(FLOATS[:3]),
        "b": chance.random() < 0.5,
        "day": "2026-11-19",
        "at": "2026-11-19T10:00:00.123Z",
        "kind": chance.choice(["a", "b"]),
        "texts": chance.choice([[], [""], STRINGS]),
        "numbers": [chance.randrange(-9, 9) for _ in range(chance.randrange(3))],
        "flags": chance.choice([[], [True, False]]),
        "vec": [chance.random(), -0.0, 1.0],
    }
    return {"name": name, **{key: value for key, value in some.items() if chance.random() < 0.7}}


@pytest.mark.parametrize("seed", range(6))
def test_remembered_rows_are_those_that_lance_reads(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load([{"type": "Thing", "data": _thing(chance, f"t{n}")} for n in range(9)], mode="append")
    graph.load([{"type": "Thing", "data": _thing(chance, f"t{n}")} for n in range(6, 12)], mode="merge")
    graph.mutate('query m() { update Thing set { d: 2.5, texts: ["z"] } where name = "t3" }')
    graph.mutate('query m() { insert Thing { name: "t90" }  insert Near { from: "t1", to: "t90" } }')
    graph.mutate('query m() { delete Thing where name = "t1" }')
    known = 0
    for key in ("node:Thing", "edge:Near"):
        here = graph.snapshot().table(key)
        with as_another_process():
            elsewhere = og.open(graph.uri).snapshot().table(key)
            assert here.fragments() == elsewhere.fragments()
            assert here.column_ids == elsewhere.column_ids
        for fragment in here.fragments():
            deleted = set(here.deleted_rows(fragment).tolist())
            live = [row for row in range(fragment.rows) if row not in deleted]
            for name in set(here.column_ids) - {"data"}:
                with telemetry.measure() as counts:
                    (found,) = here.stored_columns([name], fragment)
                known += counts["tables.columns"] == 0
                with as_another_process():
                    (wanted,) = elsewhere.stored_columns([name], fragment)
                assert found.type == wanted.type
                assert str(found.take(live)) == str(wanted.take(live)), (key, name)
    assert known > 20, "most rows were remembered"


def test_a_manifest_tells_what_lance_tells(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", SCHEMA)
    chance = random.Random(1)
    for start in range(0, 60, 5):
        rows = [{"type": "Thing", "data": _thing(chance, f"t{n}")} for n in range(start, start + 5)]
        graph.load(rows, mode="append")
    graph.mutate('query m() { delete Thing where name = "t3" }')
    graph.mutate("query m() { delete Thing where b = true }")
    graph.schema.apply(SCHEMA.replace("i: I32?", 'more: I64?  n: I32? @rename_from("i")'))
    for snapshot in (graph.snapshot(), graph.snapshot(version=3)):
        for key in ("node:Thing", "edge:Near"):
            table = snapshot.table(key)
            metadata = [item.metadata for item in table.dataset.get_fragments()]
            assert [item.number for item in table.fragments()] == [item.id for item in metadata]
            assert [item.rows for item in table.fragments()] == [item.physical_rows for item in metadata]
            assert [item.files for item in table.fragments()] == [
                tuple(file.path for file in item.files) for item in metadata
            ]
            told = [item.deletion_file for item in metadata]
            assert [item.deletion for item in table.fragments()] == [
                None if item is None else (item.read_version, item.id) for item in told
            ]
            fields = table.dataset.lance_schema.fields()
            assert table.column_ids == {item.name(): item.id() for item in fields}


def test_many_rows_are_not_remembered(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node Thing { name: String @key }")
    graph.load([{"type": "Thing", "data": {"name": "x" * 3000 + str(n)}} for n in range(50)], mode="append")
    graph.load([{"type": "Thing", "data": {"name": str(n)}} for n in range(65)], mode="append")
    table = graph.snapshot().table("node:Thing")
    numbers = list(table.column_ids.values())
    for fragment in table.fragments():
        assert written_rows.find_rows((_uri(graph), *fragment.files), numbers) is None


def _uri(graph: og.Graph) -> str:
    return graph.snapshot().namespace.table_uri("node:Thing")
