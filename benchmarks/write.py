"""What writing through the languages costs: mutations and loads against Lance alone, nothing checked there.

Everything is a ratio of two things measured in the same run. `docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
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
node Sample {
    name: String @key
    age: I64?
    @range(age, 0..200)
}
"""
SAMPLES = 1_000
ADD = """
query add($name: String, $friend: String) {
    insert Person { name: $name, age: 30 }
    insert Knows { from: $name, to: $friend }
}
"""
DEEPER = ADD.replace("add($name", "deeper($sample: String, $name").replace(
    "insert Person", "update Sample set { age: 3 } where name = $sample\n    insert Person"
)
DUCK_RECORDS = """
    SELECT * FROM read_json('{}', format = 'newline_delimited', columns = {{
        type: 'VARCHAR', edge: 'VARCHAR', 'from': 'VARCHAR', 'to': 'VARCHAR',
        data: 'STRUCT(name VARCHAR, age BIGINT, since BIGINT, note VARCHAR)'
    }})
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


class Deep:
    """A graph that grows one small commit at a time; each touches the tables that are measured."""

    def __init__(self, folder: Path) -> None:
        self.graph = og.init(folder / "ours", SCHEMA)
        self.graph.mutate('query first() { insert Person { name: "ada" } }')
        records = [{"type": "Sample", "data": {"name": f"p{i}", "age": i % 2}} for i in range(SAMPLES)]
        self.graph.load(records, mode="append")
        self._names = iter(range(10**9))

    def add(self, _: int = 0) -> None:
        """Commit one node and one edge."""
        self.graph.mutate(ADD, {"name": f"p{next(self._names)}", "friend": "ada"})

    def to(self, depth: int) -> None:
        """Commit until the branch has so many versions."""
        while self.graph.snapshot().version < depth:
            number = next(self._names)
            given = {"name": f"p{number}", "friend": "ada", "sample": f"p{number % SAMPLES}"}
            self.graph.mutate(DEEPER, given)


def one_row_mutations(report: Report, deep: Deep, floor: RawGraph, depth: int, quick: bool) -> None:
    """Compare a keyed insert of a node and an edge, all rules checked, with the raw managed commit."""
    names = iter(range(10**9))

    def raw(_: int) -> None:
        floor.write(f"{depth}-{next(names)}")

    samples: list[list[float]] = [[], []]
    for _ in range(1 if quick else 10):
        some = interleaved(JOIN_EVERY, deep.add, raw)
        samples = [[*old, *new] for old, new in zip(samples, some, strict=True)]
        floor.join()
    mine, raws = median(samples[0]), median(samples[1])
    facts = f"{mine:.1f} vs {raws:.1f} ms"
    report.at_most(f"one-row mutate at depth {depth} / raw commit", mine / raws, 2.5, facts)


def thousand_row_mutation(report: Report, deep: Deep, folder: Path, depth: int, quick: bool) -> None:
    """Compare an update of 1,000 rows with parsing and upserting the same rows with Lance."""
    lines = folder / "thousand.jsonl"
    rows = [{"id": f"p{i}", "name": f"p{i}", "age": 1} for i in range(SAMPLES)]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = {
        name: lance.write_dataset(
            pj.read_json(lines), str(folder / f"{name}-{depth}"), enable_stable_row_ids=True
        )
        for name in ("arrow", "duckdb")
    }

    def ours(number: int) -> None:
        deep.graph.mutate(f"query all() {{ update Sample set {{ age: {number % 100} }} where age >= 0 }}")

    def upsert(name: str, parsed: pa.Table) -> None:
        joined = plain[name].merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        joined.execute(parsed)

    def arrow(_: int) -> None:
        upsert("arrow", pj.read_json(lines))

    def duck(_: int) -> None:
        upsert("duckdb", duckdb.read_json(str(lines), format="newline_delimited").to_arrow_table())

    taken = interleaved(3 if quick else 25, ours, arrow, duck)
    against_the_better(report, f"1,000-row mutate at depth {depth}", taken)


def large_load(report: Report, deep: Deep, folder: Path, depth: int, quick: bool) -> None:
    """Compare a load of NDJSON with parsing it and writing the same rows with Lance."""
    nodes, edges = (300, 700) if quick else (30_000, 70_000)
    lines = folder / "graph.jsonl"
    with lines.open("w") as file:
        for i in range(nodes):
            record: dict[str, Any] = {"type": "Person", "data": {"name": f"q{i}", "age": i % 90}}
            file.write(json.dumps(record) + "\n")
        for i in range(edges):
            ends = {"from": f"q{i % nodes}", "to": f"q{(i * 7919) % nodes}"}
            record = {"edge": "Knows", **ends, "data": {"since": i % 2000, "note": f"hello {i}"}}
            file.write(json.dumps(record) + "\n")

    def ours(number: int) -> None:
        branch = f"b{depth}-{number}"
        deep.graph.branches.create(branch)
        deep.graph.load(lines, mode="append", branch=branch, engine="local")

    def arrow(number: int) -> None:
        parsed = pj.read_json(lines, parse_options=pj.ParseOptions(explicit_schema=RECORD))
        _write(folder / f"arrow-{number}", parsed)

    def duck(number: int) -> None:
        _write(folder / f"duckdb-{number}", duckdb.sql(DUCK_RECORDS.format(lines)).to_arrow_table())

    taken = interleaved(1 if quick else 9, ours, arrow, duck)
    against_the_better(report, f"load of {nodes + edges:,} records at depth {depth}", taken)


def against_the_better(report: Report, name: str, taken: list[list[float]]) -> None:
    """Add the ratio to the faster of two ways to parse, with what each took."""
    mine, arrow, duck = (median(times) for times in taken)
    facts = f"{mine:.1f} ms; Arrow + Lance {arrow:.1f}, DuckDB + Lance {duck:.1f}"
    report.at_most(f"{name} / parse + Lance", mine / min(arrow, duck), 2.0, facts)


def _write(target: Path, parsed: pa.Table) -> None:
    people = parsed.filter(pc.is_valid(parsed["type"]))
    knows = parsed.filter(pc.is_valid(parsed["edge"]))
    _write_table(target / "p", people, ("name", "age"), {"id": pc.struct_field(people["data"], "name")})
    _write_table(target / "k", knows, ("since", "note"), {"src": knows["from"], "dst": knows["to"]})
    shutil.rmtree(target)


def _write_table(target: Path, rows: pa.Table, names: tuple[str, ...], columns: dict[str, Any]) -> None:
    data = rows["data"]
    table = pa.table({**columns, **{name: pc.struct_field(data, name) for name in names}})
    lance.write_dataset(table, str(target))


def main() -> None:
    quick = is_quick("What writing costs, as ratios.")
    report = Report("Writing")
    with scratch() as folder:
        deep, floor = Deep(folder), RawGraph.on_disk(str(folder / "floor"))
        for depth in (20, 40 if quick else 2000):
            deep.to(depth)
            one_row_mutations(report, deep, floor, depth, quick)
            thousand_row_mutation(report, deep, folder, depth, quick)
            large_load(report, deep, folder, depth, quick)
    report.show()


if __name__ == "__main__":
    main()
