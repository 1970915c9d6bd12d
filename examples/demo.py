"""The product's story so far, told on real data: `make demo`."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import omnigraph as og

ROOT = Path(__file__).resolve().parent.parent / "demo-graph"
SCHEMA = Path(__file__).with_name("social.pg")
PEOPLE, FRIENDS = 50_000, 150_000
WRITERS, COMMITS = 4, 10
JOIN = """
query join($name: String, $friend: String) {
  insert Person { name: $name, age: 30 }
  insert Knows { from: $name, to: $friend, since: date("2026-11-15") }
}
"""


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m")


@contextmanager
def timed(what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(f"  {what} in {1e3 * (time.perf_counter() - started):,.0f} ms")


def write_records(path: Path) -> None:
    with path.open("w") as file:
        for i in range(PEOPLE):
            file.write(json.dumps({"type": "Person", "data": {"name": f"p{i}", "age": 20 + i % 60}}) + "\n")
        for i in range(FRIENDS):
            ends = {"from": f"p{i % PEOPLE}", "to": f"p{(i * 7919 + i // PEOPLE) % PEOPLE}"}
            file.write(json.dumps({"edge": "Knows", **ends}) + "\n")


def writer(number: int) -> int:
    graph = og.open(ROOT, actor=f"agent-{number}")
    for turn in range(COMMITS):
        graph.mutate(JOIN, {"name": f"agent{number}-{turn}", "friend": "p0"})
    return COMMITS


def show(title: str, snapshot: og.Snapshot) -> None:
    rows = ", ".join(f"{table.key} {table.rows:,}" for table in snapshot.tables)
    print(f"  {title}: version {snapshot.version}, {rows}")


def refused(graph: og.Graph, query: str) -> None:
    try:
        graph.mutate(query)
    except og.OmniError as error:
        print(f"  [{error.code}] {error}".replace("\n", "\n  "))


def main() -> None:
    shutil.rmtree(ROOT, ignore_errors=True)
    say("A schema, and a graph of it")
    print(SCHEMA.read_text().strip())
    graph = og.init(ROOT, SCHEMA, actor="act-ada")

    say(f"One load, one commit: {PEOPLE:,} people and {FRIENDS:,} friendships, every rule checked")
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder, "people.jsonl")
        write_records(records)
        with timed("loaded"):
            graph.load(records, mode="append", message="everyone")
    show("main", graph.snapshot())

    say(f"{WRITERS} processes write to main at once: no lock, no server, one history")
    with multiprocessing.get_context("spawn").Pool(WRITERS) as pool:
        landed = sum(pool.map(writer, range(WRITERS)))
    versions = {commit.version for commit in graph.commits.list()}
    print(f"  {landed} commits landed; history has {len(versions)} versions, none twice, none missing")
    show("main", graph.snapshot())

    say("A branch: nothing is copied; main does not see what happens there")
    with timed("created"):
        graph.branches.create("review")
    review = og.open(ROOT, branch="review", actor="act-bob")
    review.mutate('query q() { delete Person where name = "p0" }', message="p0 asked to be forgotten")
    show("review", review.snapshot())
    show("main  ", graph.snapshot())

    say("A schema change on the branch, with the data it rewrites, in one commit")
    with timed("applied"):
        wider = SCHEMA.read_text().replace(
            "age: I32?", 'age: I64?\n  mood: enum(calm, merry) @default("calm")'
        )
        done = review.schema.apply(wider, message="moods")
    print(f"  {', '.join(step['kind'] for step in done.steps)}")

    say("Time travel, and who did what")
    show("main at version 2", graph.snapshot(version=2))
    for commit in review.commits.list(limit=3):
        print(f"  {commit.version:>3}  {commit.id}  {commit.actor:<10} {commit.message}")

    say("Mistakes are caught, and nothing is written")
    refused(graph, 'query q() { insert Person { nam: "x" } }')
    refused(graph, 'query q() { insert Knows { from: "p1", to: "nobody" } }')
    refused(graph, 'query q() { insert Person { name: "x", age: 300 } }')
    print(
        f"\nThe graph is in {ROOT.name}/: try `.venv/bin/omnigraph commit list --uri {ROOT.name} --limit 5`."
    )


if __name__ == "__main__":
    main()
