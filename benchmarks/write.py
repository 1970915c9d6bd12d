"""What writing through the languages costs: mutations and loads against Lance alone, nothing checked there.

Everything is a ratio of two things measured in the same run. `docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

import omnigraph as og
from _harness import Report, interleaved, is_quick, median, scratch
from commit import JOIN_EVERY, RawGraph

SCHEMA = """
node Person {
    name: String @key
    age: I64?
    @range(age, 0..200)
}
edge Knows: Person -> Person { since: I64?  note: String? }
"""
ADD = """
query add($name: String, $friend: String) {
    insert Person { name: $name, age: 30 }
    insert Knows { from: $name, to: $friend }
}
"""
RECORD = pa.schema(
    [
        ("type", pa.string()),
        ("edge", pa.string()),
        ("from", pa.string()),
        ("to", pa.string()),
        (
            "data",
            pa.struct(
                [("name", pa.string()), ("age", pa.int64()), ("since", pa.int64()), ("note", pa.string())]
            ),
        ),
    ]
)


def one_row_mutations(report: Report, folder: Path, quick: bool) -> None:
    """Compare a keyed insert of a node and an edge, all rules checked, with the raw managed commit."""
    graph, floor = og.init(folder / "ours", SCHEMA), RawGraph.on_disk(str(folder / "floor"))
    graph.mutate('query first() { insert Person { name: "ada" } }')
    names = iter(range(10**9))

    def ours(_: int) -> None:
        graph.mutate(ADD, {"name": f"p{next(names)}", "friend": "ada"})

    def raw(_: int) -> None:
        floor.write(f"p{next(names)}")

    for depth in (20, 40 if quick else 2000):
        while graph.snapshot().version < depth:
            ours(0)
        samples: list[list[float]] = [[], []]
        for _ in range(1 if quick else 10):
            some = interleaved(JOIN_EVERY, ours, raw)
            samples = [[*old, *new] for old, new in zip(samples, some, strict=True)]
            floor.join()
        mine, raws = median(samples[0]), median(samples[1])
        report.at_most(
            f"one-row mutate at depth {depth} / raw commit", mine / raws, 2.5, f"{mine:.1f} vs {raws:.1f} ms"
        )


def thousand_row_mutation(report: Report, folder: Path, quick: bool) -> None:
    """Compare an update of 1,000 rows with parsing and upserting the same rows with Lance."""
    rows = 1_000
    graph = og.init(folder / "thousand", SCHEMA)
    records = [{"type": "Person", "data": {"name": f"p{i}", "age": i % 2}} for i in range(rows)]
    graph.load(records, mode="append")
    lines = folder / "thousand.jsonl"
    lines.write_text(
        "".join(json.dumps({"id": f"p{i}", "name": f"p{i}", "age": 1}) + "\n" for i in range(rows))
    )
    plain = lance.write_dataset(pj.read_json(lines), str(folder / "plain"), enable_stable_row_ids=True)

    def ours(number: int) -> None:
        graph.mutate(f"query all() {{ update Person set {{ age: {number % 100} }} where age >= 0 }}")

    def floor(_: int) -> None:
        upsert = plain.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        upsert.execute(pj.read_json(lines))

    mine, theirs = (median(taken) for taken in interleaved(3 if quick else 25, ours, floor))
    report.at_most("1,000-row mutate / parse + Lance", mine / theirs, 2.0, f"{mine:.1f} vs {theirs:.1f} ms")


def large_load(report: Report, folder: Path, quick: bool) -> None:
    """Compare a load of NDJSON with parsing it with Arrow and writing the same rows with Lance."""
    nodes, edges = (300, 700) if quick else (30_000, 70_000)
    lines = folder / "graph.jsonl"
    with lines.open("w") as file:
        for i in range(nodes):
            record: dict[str, Any] = {"type": "Person", "data": {"name": f"p{i}", "age": i % 90}}
            file.write(json.dumps(record) + "\n")
        for i in range(edges):
            ends = {"from": f"p{i % nodes}", "to": f"p{(i * 7919) % nodes}"}
            record = {"edge": "Knows", **ends, "data": {"since": i % 2000, "note": f"hello {i}"}}
            file.write(json.dumps(record) + "\n")
    graph = og.init(folder / "load", SCHEMA)

    def ours(number: int) -> None:
        graph.branches.create(f"b{number}")
        graph.load(lines, mode="append", branch=f"b{number}")

    def floor(number: int) -> None:
        _parse_and_write(lines, folder / f"floor-{number}")

    mine, theirs = (median(taken) for taken in interleaved(1 if quick else 9, ours, floor))
    facts = f"{mine:.0f} vs {theirs:.0f} ms"
    report.at_most(f"load of {nodes + edges:,} records / Arrow + Lance", mine / theirs, 2.0, facts)


def _parse_and_write(lines: Path, target: Path) -> None:
    parsed = pj.read_json(lines, parse_options=pj.ParseOptions(explicit_schema=RECORD))
    people = parsed.filter(pc.is_valid(parsed["type"]))
    knows = parsed.filter(pc.is_valid(parsed["edge"]))
    _write(target / "p", people, ("name", "age"), {"id": pc.struct_field(people["data"], "name")})
    _write(target / "k", knows, ("since", "note"), {"src": knows["from"], "dst": knows["to"]})
    shutil.rmtree(target)


def _write(target: Path, rows: pa.Table, names: tuple[str, ...], columns: dict[str, Any]) -> None:
    data = rows["data"]
    table = pa.table({**columns, **{name: pc.struct_field(data, name) for name in names}})
    lance.write_dataset(table, str(target))


def main() -> None:
    quick = is_quick("What writing costs, as ratios.")
    report = Report("Writing")
    with scratch() as folder:
        thousand_row_mutation(report, folder, quick)
        large_load(report, folder, quick)
        one_row_mutations(report, folder, quick)
    report.show()


if __name__ == "__main__":
    main()
