"""What a fresh process costs: import, open, and the first look-up and hops in a large graph.

Every process is started anew, ours and LadybugDB's in turn, and the best of several counts: what is on disk
is in the system's memory then. `docs/benchmarks.md` says what each ratio means.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import omnigraph as og
from _harness import Report, scratch
from _social import make_follows

SCHEMA = "node Person { uid: I64 @key  name: String  age: I32 }  edge Follows: Person -> Person"
MOST_OPENING = 400.0
MOST_QUERY = 20.0
"""Milliseconds that import and open, and each first query, may take."""
STEPS = ("import and open", "first look-up", "first 1 hop", "first 2 hops", "second 2 hops")
_CLOCKS = """
import json, sys, time
taken, answers = [], []
def done(answer):
    global wall, processor
    taken.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)))
    answers.append(answer)
    wall, processor = time.perf_counter(), time.process_time()
address, one, two, three, four = sys.argv[1], *map(int, sys.argv[2:6])
wall, processor = time.perf_counter(), time.process_time()
"""
_OURS = """
import omnigraph as og
graph = og.open(address, read_only=True)
done(None)
look = "query q($i: I64) { match { $a: Person { uid: $i } } return { $a.age } }"
done(graph.query(look, {"i": one}).rows[0]["a.age"])
hop = "query q($i: I64) { match { $a: Person { uid: $i }  $a follows $b } return { $b.uid } }"
done(sorted(row["b.uid"] for row in graph.query(hop, {"i": two})))
hops = ("query q($i: I64) { match { $a: Person { uid: $i }  $a follows $x  $x follows $b } "
        "return { count(distinct $b.uid) as n } }")
done(graph.query(hops, {"i": three}).rows[0]["n"])
done(graph.query(hops, {"i": four}).rows[0]["n"])
"""
_THEIRS = """
import ladybug
connection = ladybug.Connection(ladybug.Database(address, read_only=True))
done(None)
ask = lambda text, number: connection.execute(text, {"i": number}).get_all()
done(ask("MATCH (a:Person {uid: $i}) RETURN a.age", one)[0][0])
done(sorted(row[0] for row in ask("MATCH (a:Person {uid: $i})-[:Follows]->(b:Person) RETURN b.uid", two)))
hops = ("MATCH (a:Person {uid: $i})-[:Follows]->(:Person)-[:Follows]->(b:Person) "
        "RETURN count(DISTINCT b.uid)")
done(ask(hops, three)[0][0])
done(ask(hops, four)[0][0])
"""
_END = "print(json.dumps([taken, answers]))"


@dataclass(frozen=True)
class Taken:
    """The milliseconds of each step, by the wall clock and of the processor; the best of several runs."""

    wall: list[float]
    processor: list[float]

    def of(self, step: int) -> str:
        return f"{self.wall[step]:.3g} ms ({self.processor[step]:.3g} of the processor)"


def measure(times: int, scripts: dict[str, tuple[str, str]], keys: list[int]) -> dict[str, Taken]:
    """Run each script in processes of its own, in turn; all must give the same answers."""
    found: dict[str, list[list[list[float]]]] = {name: [] for name in scripts}
    answers = []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for number in range(times + 1):
        for name, (script, address) in scripts.items():
            words = [sys.executable, "-c", _CLOCKS + script + _END, address, *map(str, keys)]
            taken, answer = json.loads(_run(words, environment))
            answers.append(answer)
            if number:  # the first run may compile, and read from disk
                found[name].append(taken)
    if any(answer != answers[0] for answer in answers):
        raise AssertionError(f"answers differ: {answers[: len(scripts)]}")

    def best(runs: list[list[list[float]]], clock: int) -> list[float]:
        return [min(run[step][clock] for run in runs) for step in range(len(STEPS))]

    return {name: Taken(best(runs, 0), best(runs, 1)) for name, runs in found.items()}


def _run(words: list[str], environment: dict[str, str]) -> bytes:
    return subprocess.run(words, check=True, capture_output=True, env=environment).stdout


def store_ours(folder: Path, people: pa.Table, follows: pa.Table) -> og.Graph:
    graph = og.init(folder / "ours", SCHEMA)
    graph.load(people, type="Person", mode="append")
    ends = {"from": pc.cast(follows["src"], pa.string()), "to": pc.cast(follows["dst"], pa.string())}
    graph.load(pa.table(ends), type="Follows", mode="append")
    return graph


def store_theirs(folder: Path, people: pa.Table, follows: pa.Table) -> str:
    pq.write_table(people, folder / "people.parquet")
    pq.write_table(follows, folder / "follows.parquet")
    script = f"""
import ladybug
connection = ladybug.Connection(ladybug.Database({str(folder / "ladybug.db")!r}))
connection.execute("CREATE NODE TABLE Person(uid INT64, name STRING, age INT32, PRIMARY KEY(uid))")
connection.execute("CREATE REL TABLE Follows(FROM Person TO Person)")
connection.execute("COPY Person FROM '{folder}/people.parquet'")
connection.execute("COPY Follows FROM '{folder}/follows.parquet'")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    return str(folder / "ladybug.db")


def report_on(report: Report, state: str, ours: Taken, theirs: Taken) -> None:
    for step, name in enumerate(STEPS):
        most = MOST_OPENING if step == 0 else MOST_QUERY
        facts = f"{ours.of(step)}, LadybugDB {theirs.of(step)}"
        report.at_most(f"{name}, {state} / {most:g} ms", ours.wall[step] / most, 1.0, facts)
    report.tell(f"all, {state} / LadybugDB", sum(ours.wall) / sum(theirs.wall), "")


def _people(size: int) -> pa.Table:
    random = np.random.default_rng(7)
    columns: dict[str, Any] = {
        "uid": np.arange(size),
        "name": [f"person-{uid}" for uid in range(size)],
        "age": random.integers(18, 90, size).astype(np.int32),
    }
    return pa.table(columns)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run; its numbers mean nothing")
    parser.add_argument("--nodes", type=int, default=1_000_000, help="people")
    parser.add_argument("--edges", type=int, default=6_000_000, help="follows")
    parser.add_argument("--keep", type=Path, help="a folder to make the graphs in, or to find them in")
    given = parser.parse_args()
    nodes, edges = (2_000, 12_000) if given.quick else (given.nodes, given.edges)
    times = 1 if given.quick else 5
    with scratch() as place:
        folder = given.keep or place
        folder.mkdir(exist_ok=True)
        if (folder / "ours").exists():
            graph, peer = og.open(folder / "ours"), str(folder / "ladybug.db")
        else:
            follows = make_follows(np.random.default_rng(8), nodes, edges)
            graph = store_ours(folder, _people(nodes), follows)
            peer = store_theirs(folder, _people(nodes), follows)
        if "indexed" not in graph.branches.list():
            graph.branches.create("indexed")
            graph.optimize("indexed")
        keys = [int(key) for key in np.random.default_rng(9).integers(0, nodes, 4)]
        scripts = {
            "as loaded": (_OURS, graph.uri),
            "optimized": (_OURS.replace("read_only=True", "branch='indexed', read_only=True"), graph.uri),
            "LadybugDB": (_THEIRS, peer),
        }
        taken = measure(times, scripts, keys)
    report = Report(f"A fresh process in a graph of {nodes:,} people and {edges:,} follows")
    for state in ("as loaded", "optimized"):
        report_on(report, state, taken[state], taken["LadybugDB"])
    report.show()


if __name__ == "__main__":
    main()
