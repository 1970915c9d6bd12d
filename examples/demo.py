"""The product's story so far, told on real data: `make demo`."""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import omnigraph as og
from omnigraph import spark

HERE = Path(__file__).parent
ROOT = HERE.resolve().parent / "demo-graph"
SCHEMA = HERE / "social.pg"
QUERIES = (HERE / "social.gq").read_text()
PEOPLE, FRIENDS, NOTES = 50_000, 150_000, 5_000
WRITERS, COMMITS = 4, 10
JOIN = """
query join($name: String, $friend: String) {
  insert Person { name: $name, age: 30 }
  insert Knows { from: $name, to: $friend, since: date("2026-11-15") }
}
"""
AGE = "query age($name: String, $age: I32) { update Person set { age: $age } where name = $name }"


def say(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m")


@contextmanager
def timed(what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(f"  {what} in {1e3 * (time.perf_counter() - started):,.1f} ms")


def records() -> Iterator[dict[str, object]]:
    chance = random.Random(7)
    for i in range(PEOPLE):
        yield {"type": "Person", "data": {"name": f"p{i}", "age": 20 + i % 60}}
    for i in range(FRIENDS):
        known = int(PEOPLE * chance.random() ** 2)  # some are better known than others
        yield {"edge": "Knows", "from": f"p{i % PEOPLE}", "to": f"p{known}"}
    things = ("red kettle", "blue whale", "old map", "green bicycle", "broken clock")
    places = ("harbour", "library", "market", "garden")
    for i in range(NOTES):
        body = f"I saw a {things[i % 5]} in the {places[i % 4]} on day {i}"
        yield {"type": "Note", "data": {"slug": f"n{i}", "body": body}}
        yield {"edge": "Wrote", "from": f"p{i * PEOPLE // NOTES}", "to": f"n{i}"}


def writer(number: int) -> int:
    graph = og.open(ROOT, actor=f"agent-{number}")
    for turn in range(COMMITS):
        graph.mutate(JOIN, {"name": f"agent{number}-{turn}", "friend": "p0"})
    return COMMITS


def show(title: str, snapshot: og.Snapshot) -> None:
    rows = ", ".join(f"{table.key} {table.rows:,}" for table in snapshot.tables)
    print(f"  {title}: version {snapshot.version}, {rows}")


def ask(graph: og.Graph, query: str, /, **params: object) -> None:
    with timed(f"query {query}"):
        rows = graph.query(QUERIES, params, name=query).rows
    for row in rows:
        print("    " + ", ".join(f"{column} {value}" for column, value in row.items()))


def refused(graph: og.Graph, query: str) -> None:
    try:
        graph.mutate(query)
    except og.OmniError as error:
        print(f"  [{error.code}] {error}".replace("\n", "\n  "))


def load(graph: og.Graph) -> None:
    try:
        with timed("Spark started, embedded,"):
            spark.session("local[2]")
        engine = "spark"
    except og.OmniError as error:
        print(f"  [{error.code}] {error}\n  Loading in process instead.")
        engine = "local"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "people.jsonl")
        path.write_text("".join(json.dumps(record) + "\n" for record in records()))
        with timed(f"engine {engine}: loaded"):
            graph.load(path, mode="append", message="everyone", engine=engine)
    if engine == "spark":
        spark.stop()


def review_and_merge(graph: og.Graph) -> None:
    say("A branch: nothing is copied; main does not see what happens there")
    with timed("created"):
        graph.branches.create("review")
    review = og.open(ROOT, branch="review", actor="agent-7", embedding="mock")
    review.mutate('query forget() { delete Person where name = "p0" }', message="p0 asked to be forgotten")
    review.mutate(AGE, {"name": "p1", "age": 41})
    wider = SCHEMA.read_text().replace("age: I32?", 'age: I32?\n  mood: enum(calm, merry) @default("calm")')
    with timed("a schema change and the rows that it rewrites: one commit,"):
        review.schema.apply(wider, message="moods")
    show("review", review.snapshot())
    show("main  ", graph.snapshot())

    say("Review: exactly what changed, at the cost of the change")
    with timed("compared"):
        changed = graph.diff("main", "review").counts
    for table, counts in changed.items():
        print(f"  {table}: " + ", ".join(f"{number} {op}" for op, number in counts.items() if number))

    say("Meanwhile main has moved, too: the merge reports every conflict and changes nothing")
    graph.mutate(AGE, {"name": "p1", "age": 42})
    try:
        graph.branches.merge("review")
    except og.MergeConflicts as error:
        conflict = error.conflicts[0]
        base, ours, theirs = (
            image["properties"]["age"] for image in (conflict.base, conflict.ours, conflict.theirs)
        )
        print(f"  {conflict.kind} {conflict.entity_id}: base {base}, ours {ours}, theirs {theirs}")

    say("Answered, merged, checked as a whole")
    answer = {"type_name": "Person", "entity_id": "p1", "take": "theirs"}
    with timed("merged"):
        done = graph.branches.merge("review", resolutions=[answer], message="reviewed", delete_branch=True)
    show(f"{done.outcome}: main", graph.snapshot())


def main() -> None:
    shutil.rmtree(ROOT, ignore_errors=True)
    say("A schema, and a graph of it")
    print(SCHEMA.read_text().strip())
    graph = og.init(ROOT, SCHEMA, actor="act-ada", embedding="mock")

    say(
        f"One load through Spark, one commit: {PEOPLE:,} people, {FRIENDS:,} friendships, {NOTES:,} notes "
        "with their vectors, every rule checked"
    )
    load(graph)
    show("main", graph.snapshot())

    say("Queries: traversal, aggregation, vector and text search")
    ask(graph, "reach", name="p7")
    ask(graph, "popular")
    ask(graph, "context", name="p7", about="a whale in the harbour")
    print("  and again, now that what it needs is in memory")
    ask(graph, "context", name="p8", about="a whale in the harbour")

    say(f"{WRITERS} processes write to main at once: no lock, no server, one history")
    with multiprocessing.get_context("spawn").Pool(WRITERS) as pool:
        landed = sum(pool.map(writer, range(WRITERS)))
    versions = {commit.version for commit in graph.commits.list()}
    print(f"  {landed} commits landed; history has {len(versions)} versions, none twice, none missing")

    review_and_merge(graph)

    say("Time travel, and who did what")
    show("version 2", graph.snapshot(version=2))
    for commit in graph.commits.list(limit=3):
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
