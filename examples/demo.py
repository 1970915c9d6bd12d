"""The product's story so far, told on real data: `make demo`."""

from __future__ import annotations

import multiprocessing
import shutil
import time
from pathlib import Path

import pyarrow as pa

import omnigraph as og
from omnigraph.graph.write.rows import Append, Delete, RowChanges

ROOT = Path(__file__).resolve().parent.parent / "demo-graph"
SCHEMA = Path(__file__).with_name("social.pg")
PEOPLE, FRIENDS = 20_000, 60_000
WRITERS, COMMITS = 4, 10


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m")


def people(names: list[str]) -> pa.Table:
    ages = pa.array([20 + index % 60 for index in range(len(names))], pa.int32())
    return pa.table({"id": names, "age": ages, "name": names}, schema=_schema("node:Person"))


def friendships(pairs: list[tuple[str, str]]) -> pa.Table:
    ids = [f"{source}-{target}" for source, target in pairs]
    columns = {
        "id": ids,
        "src": [s for s, _ in pairs],
        "dst": [t for _, t in pairs],
        "since": [None] * len(ids),
    }
    return pa.table(columns, schema=_schema("edge:Knows"))


def _schema(key: str) -> pa.Schema:
    return og.open(ROOT, read_only=True).snapshot().table(key).schema


def writer(number: int) -> int:
    graph = og.open(ROOT, actor=f"agent-{number}")
    for turn in range(COMMITS):
        name = f"agent{number}-{turn}"
        graph._commit(
            RowChanges(
                [Append("node:Person", people([name])), Append("edge:Knows", friendships([(name, "p0")]))]
            ),
            message=f"{name} joins",
        )
    return COMMITS


def show(title: str, snapshot: og.Snapshot) -> None:
    rows = ", ".join(f"{table.key} {table.rows:,}" for table in snapshot.tables)
    print(f"  {title}: version {snapshot.version}, {rows}")


def main() -> None:
    shutil.rmtree(ROOT, ignore_errors=True)
    say("A schema, and a graph of it")
    print(SCHEMA.read_text().strip())
    graph = og.init(ROOT, SCHEMA, actor="act-ada")
    show("main", graph.snapshot())

    say(f"One commit across two tables: {PEOPLE:,} people and {FRIENDS:,} friendships")
    names = [f"p{index}" for index in range(PEOPLE)]
    pairs = [(names[i % PEOPLE], names[(i * 7919 + 1 + i // PEOPLE) % PEOPLE]) for i in range(FRIENDS)]
    started = time.perf_counter()
    graph._commit(
        RowChanges([Append("node:Person", people(names)), Append("edge:Knows", friendships(pairs))]),
        message="everyone",
        durable=True,
    )
    print(f"  {1e3 * (time.perf_counter() - started):.0f} ms")
    show("main", graph.snapshot())

    say(f"{WRITERS} processes commit to main at once: no lock, no server, one history")
    with multiprocessing.get_context("spawn").Pool(WRITERS) as pool:
        landed = sum(pool.map(writer, range(WRITERS)))
    versions = [commit.version for commit in graph.commits.list()]
    print(f"  {landed} commits landed; history has {len(versions)} versions, none twice, none missing")
    show("main", graph.snapshot())

    say("A branch: nothing is copied; main does not see what happens there")
    started = time.perf_counter()
    graph.branches.create("review")
    print(f"  created in {1e3 * (time.perf_counter() - started):.1f} ms")
    review = og.open(ROOT, branch="review", actor="act-bob")
    review._commit(RowChanges([Delete("edge:Knows", ["agent0-0-p0"])]), message="not friends after all")
    show("review", review.snapshot())
    show("main  ", graph.snapshot())

    say("Time travel, and who did what")
    show("main at version 2", graph.snapshot(version=2))
    for commit in review.commits.list(limit=3):
        print(f"  {commit.version:>3}  {commit.id}  {commit.actor:<10} {commit.message}")

    say("Mistakes are caught before anything runs")
    try:
        og.init(ROOT.with_name("never-made"), "node Person { name: Strin @key }")
    except og.ParseError as error:
        print(f"  {error}".replace("\n", "\n  "))
    print(
        f"\nThe graph is in {ROOT.name}/: try `.venv/bin/omnigraph commit list --uri {ROOT.name} --limit 5`."
    )


if __name__ == "__main__":
    main()
