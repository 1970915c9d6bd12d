"""What reading costs: look-ups, traversals, analytics and search, against systems that hold the same data.

Everything is a ratio of two things measured in the same run. `docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# LanceDB's own hybrid search makes Lance warn at every query; LanceDB reads this when it is imported.
os.environ.setdefault("LANCEDB_LOG", "error")

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import omnigraph as og
from _harness import Report, median, scratch
from _peers import GraphPeer, LanceDb, duck, lance_by_key
from _social import WIDTH, WORDS, Social, generate, text_of

SCHEMA = f"""
node Person {{
    uid: I64 @key
    name: String
    age: I32
    city: String
    score: F64
    bio: String @index
    vec: Vector({WIDTH}) @index
}}
edge Follows: Person -> Person {{ weight: I64 @default(1) }}
"""
Params = dict[str, Any]
Step = Callable[[int], tuple[float, Any]]
"""Do it once; return the milliseconds and the answer."""


@dataclass(frozen=True)
class Question:
    """One question in our language and in Cypher, and what to ask with."""

    name: str
    ours: str
    theirs: str
    params: Callable[[np.random.Generator, int], Params] = lambda _random, _size: {}
    times: int = 15


def _one(random: np.random.Generator, size: int) -> Params:
    return {"i": int(random.integers(size))}


def _two(random: np.random.Generator, size: int) -> Params:
    return {"i": int(random.integers(size)), "j": int(random.integers(size))}


QUESTIONS = (
    Question(
        "1 hop",
        "query q($i: I64) { match { $a: Person { uid: $i }  $a follows $b } return { $b.uid } }",
        "MATCH (a:Person {uid: $i})-[:Follows]->(b:Person) RETURN b.uid",
        _one,
        200,
    ),
    Question(
        "2 hops",
        "query q($i: I64) { match { $a: Person { uid: $i }  $a follows $x  $x follows $b } "
        "return { count(distinct $b.uid) as n } }",
        "MATCH (a:Person {uid: $i})-[:Follows]->(:Person)-[:Follows]->(b:Person) "
        "RETURN count(DISTINCT b.uid)",
        _one,
        200,
    ),
    Question(
        "3 hops",
        "query q($i: I64) { match { $a: Person { uid: $i }  $a follows $x  $x follows $y  $y follows $b } "
        "return { count(distinct $b.uid) as n } }",
        "MATCH (a:Person {uid: $i})-[:Follows]->(:Person)-[:Follows]->(:Person)-[:Follows]->(b:Person) "
        "RETURN count(DISTINCT b.uid)",
        _one,
        100,
    ),
    Question(
        "within 3 hops",
        "query q($i: I64) { match { $a: Person { uid: $i }  $a follows{1,3} $b } return { count($b) as n } }",
        "MATCH (a:Person {uid: $i})-[:Follows* SHORTEST 1..3]->(b:Person) WHERE b.uid <> $i RETURN count(*)",
        _one,
        60,
    ),
    Question(
        "shortest path length",
        "query q($i: I64, $j: I64) { match { $a: Person { uid: $i }  $b: Person { uid: $j } "
        "$a follows{1,6} $b as $n } return { $n } }",
        "MATCH p = (a:Person {uid: $i})-[:Follows* SHORTEST 1..6]->(b:Person {uid: $j}) RETURN length(p)",
        _two,
        40,
    ),
    Question(
        "shortest path, its nodes",
        "query q($i: I64, $j: I64) { match { $a: Person { uid: $i }  $b: Person { uid: $j } "
        "$a follows{1,6} $b as path $w } return { size(nodes($w)) as n } }",
        "MATCH p = (a:Person {uid: $i})-[:Follows* SHORTEST 1..6]->(b:Person {uid: $j}) "
        "RETURN size(nodes(p))",
        _two,
        40,
    ),
    Question(
        "cheapest path",
        "query q($i: I64, $j: I64) { match { $a: Person { uid: $i }  $b: Person { uid: $j } "
        "$a follows{1,30} $b shortest by weight as path $w } return { cost($w) as cost } }",
        "MATCH p = (a:Person {uid: $i})-[e:Follows* WSHORTEST(weight) 1..30]->(b:Person {uid: $j}) "
        "RETURN cost(e)",
        _two,
        12,
    ),
    Question(
        "two-hop paths of the graph",
        "query q() { match { $a: Person  $a follows $b  $b follows $c } return { count($a) as n } }",
        "MATCH (a:Person)-[:Follows]->(b:Person)-[:Follows]->(c:Person) RETURN count(*)",
    ),
    Question(
        "ten most followed",
        "query q() { match { $f: Person  $f follows $p } return { $p.uid, count($f) as n } "
        "order { n desc, $p.uid } limit 10 }",
        "MATCH (f:Person)-[:Follows]->(p:Person) RETURN p.uid, count(f) AS n ORDER BY n DESC, p.uid LIMIT 10",
    ),
    Question(
        "triangles",
        "query q() { match { $a: Person  $a follows $b  $b follows $c  $a follows $c } "
        "return { count($a) as n } }",
        "MATCH (a:Person)-[:Follows]->(b:Person)-[:Follows]->(c:Person), (a)-[:Follows]->(c) RETURN count(*)",
        times=5,
    ),
)


@dataclass
class Run:
    """What all measures share."""

    report: Report
    graph: og.Graph
    data: Social
    folder: Path
    quick: bool
    seconds: float = 40.0
    """How long one measure may go on beyond its third round."""

    def rounds(self, times: int, *steps: Step) -> tuple[list[float], list[list[Any]]]:
        """Take the steps in turn, so that noise hits all alike; return the median times and the answers.

        Each step goes several times before the next one: what is warm in a loop is warm here.
        """
        taken: list[list[float]] = [[] for _ in steps]
        answers: list[list[Any]] = [[] for _ in steps]
        begun, times = time.perf_counter(), 3 if self.quick else times
        for start in range(0, times, max(1, times // 10)):
            for place, step in enumerate(steps):
                step(start)  # only warms up
                for number in range(start, min(start + max(1, times // 10), times)):
                    spent, answer = step(number)
                    taken[place].append(spent)
                    answers[place].append(answer)
            if start >= 2 and time.perf_counter() - begun > self.seconds:
                break
        return [median(some) for some in taken], answers

    def prepared(self, gq: str, params: Callable[[int], Params]) -> Step:
        """Return the step that runs a prepared query of ours and reads its rows."""
        ask = self.graph.prepare(gq)
        return timed(lambda number: ask(params(number)).rows)


def timed(what: Callable[[int], Any]) -> Step:
    """Return a step that is timed here."""

    def step(number: int) -> tuple[float, Any]:
        begun = time.perf_counter()
        answer = what(number)
        return 1000 * (time.perf_counter() - begun), answer

    return step


def look_up(run: Run) -> None:
    """Compare reading one node by its key with Lance's own indexed look-up."""
    table = lance_by_key(run.folder, run.data)
    keys = np.random.default_rng(1).integers(0, run.data.size, 1000)
    gq = "query q($i: I64) { match { $p: Person { uid: $i } } return { $p.uid, $p.name, $p.age } }"

    def lance_rows(number: int) -> list[dict[str, Any]]:
        wanted = pc.field("uid") == int(keys[number])
        found: list[dict[str, Any]] = table.to_table(
            columns=["uid", "name", "age"], filter=wanted
        ).to_pylist()
        return found

    (mine, theirs), answers = run.rounds(
        300, run.prepared(gq, lambda number: {"i": int(keys[number])}), timed(lance_rows)
    )
    _same([_plain(rows) for rows in answers[0]], [_plain(rows) for rows in answers[1]])
    run.report.at_most("key look-up / Lance by its index", mine / theirs, 3.0, _facts(mine, theirs))


def graph_questions(run: Run) -> None:
    """Compare traversals and whole-graph counts with Kuzu and LadybugDB."""
    peers = {
        "Kuzu": GraphPeer("kuzu", run.folder, run.data),
        "LadybugDB": GraphPeer("ladybug", run.folder, run.data),
    }
    for question in QUESTIONS:
        random = np.random.default_rng(3)
        asked = [question.params(random, run.data.size) for _ in range(question.times)]

        def params(number: int, asked: list[Params] = asked) -> Params:
            return asked[number]

        def theirs(peer: GraphPeer, question: Question = question, asked: list[Params] = asked) -> Step:
            return lambda number: peer.ask(question.theirs, asked[number])

        mine = run.prepared(question.ours, params)
        (own, *others), answers = run.rounds(question.times, mine, *map(theirs, peers.values()))
        for (name, _), spent, given in zip(peers.items(), others, answers[1:], strict=True):
            _same([_plain(rows) for rows in answers[0]], [sorted(map(tuple, rows)) for rows in given])
            run.report.at_most(f"{question.name} / {name}", own / spent, 1.0, _facts(own, spent))
    for peer in peers.values():
        peer.close()


def aggregation(run: Run) -> None:
    """Compare a filtered aggregation with DuckDB on the same Arrow table."""
    connection = duck(run.data)
    gq = """query q($low: I32, $high: I32, $least: F64) {
        match { $p: Person  $p.age >= $low  $p.age < $high  $p.score > $least }
        return { $p.city, count($p) as people, avg($p.score) as score, max($p.age) as oldest }
    }"""
    sql = """SELECT city, count(*), avg(score), max(age) FROM people
        WHERE age >= ? AND age < ? AND score > ? GROUP BY city"""

    def bounds(number: int) -> tuple[int, int, float]:
        return 20 + number % 20, 60 + number % 20, 0.25

    (mine, theirs), answers = run.rounds(
        50,
        run.prepared(gq, lambda number: dict(zip(("low", "high", "least"), bounds(number), strict=True))),
        timed(lambda number: connection.execute(sql, bounds(number)).fetchall()),
    )
    _same(
        [[_rounded(row) for row in _plain(rows)] for rows in answers[0]],
        [sorted(_rounded(row) for row in rows) for rows in answers[1]],
    )
    run.report.at_most("filtered aggregation / DuckDB", mine / theirs, 1.5, _facts(mine, theirs))


def hybrid_search(run: Run, state: str, depth: int = 10) -> None:
    """Compare search by vector and text, fused, with exact search (recall) and with LanceDB (latency)."""
    data, other = run.data, LanceDb(run.folder / state, run.data)
    random = np.random.default_rng(5)
    near = data.vectors[random.integers(0, data.size, 200)] + 0.05 * random.normal(size=(200, WIDTH))
    vectors = near.astype(np.float32)
    words = [[int(word) for word in row] for row in (WORDS * random.random((200, 3)) ** 2).astype(int)]
    gq = f"""query q($v: Vector({WIDTH}), $t: String) {{
        match {{ $p: Person }}
        return {{ $p.uid }}
        order {{ rrf(nearest($p.vec, $v), bm25($p.bio, $t)) }}
        limit {depth}
    }}"""
    mine = run.prepared(gq, lambda n: {"v": vectors[n].tolist(), "t": text_of(words[n])})
    theirs = timed(lambda n: other.hybrid(vectors[n], text_of(words[n]), depth))
    (own, spent), (found, given) = run.rounds(100, mine, theirs)
    exact = [data.hybrid(vectors[n], words[n], depth) for n in range(len(found))]
    recall = _recall([[row["p.uid"] for row in rows] for rows in found], exact)
    beside = _recall(given, exact)
    run.report.at_least(f"hybrid recall@{depth}, {state}", recall, 0.95, f"LanceDB {beside:.2f}")
    run.report.at_most(f"hybrid search, {state} / LanceDB", own / spent, 1.0, _facts(own, spent))


def write_and_read(run: Run) -> None:
    """Compare a two-hop query right after a small write with the same query on a warm handle.

    Ratios are of processor time, the best of several: what is beside on the machine changes it less.
    """
    graph, hops = run.graph, run.graph.prepare(QUESTIONS[1].ours)
    keys = [int(key) for key in np.random.default_rng(9).integers(0, run.data.size, 1000)]
    fresh = iter(range(run.data.size, 2 * run.data.size))

    def connect(number: int, branch: str = "main") -> None:
        ends = {"a": str(keys[number]), "b": str(keys[number + 1])}
        graph.mutate(
            "query q($a: String, $b: String) { insert Follows { from: $a, to: $b } }", ends, branch=branch
        )

    def update(number: int) -> None:
        graph.mutate("query q($i: I64) { update Person set { age: 1 } where uid = $i }", {"i": keys[number]})

    def insert(_: int) -> None:
        graph.mutate(
            'query q($i: I64, $v: Vector(64)) { insert Person { uid: $i, name: "n", age: 1, city: "c", '
            'score: 0.5, bio: "b", vec: $v } }',
            {"i": next(fresh), "v": [1.0] * WIDTH},
        )

    def merge(number: int) -> None:
        graph.branches.create("small")
        connect(number, "small")
        connect(number + 500)
        graph.branches.merge("small")
        graph.branches.delete("small")

    def ask(number: int) -> tuple[float, float]:
        wall, processor = time.perf_counter(), time.process_time()
        hops({"i": keys[number]})
        return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)

    for number in range(10):
        ask(number)  # the first ones may leave the edges in storage
    for write, name in (
        (connect, "an edge"),
        (update, "an update of the node"),
        (insert, "a new node"),
        (merge, "a merge of a small branch"),
    ):
        taken: list[tuple[float, float, tuple[float, float], tuple[float, float]]] = []
        for number in range(3 if run.quick else 15):
            begun = time.perf_counter()
            write(number)
            writing = 1000 * (time.perf_counter() - begun)
            taken.append((number, writing, ask(number), ask(number)))
        after, warm = (min(item[place][1] for item in taken) for place in (2, 3))
        facts = f"{after:.3g} vs {warm:.3g} ms of the processor, first {taken[0][2][0]:.3g} ms"
        run.report.at_most(f"2 hops after {name} / warm", after / warm, 3.0, facts)
        if write is connect:
            writing = median([item[1] for item in taken])
            whole = writing + median([item[2][0] for item in taken])
            run.report.tell("write and 2 hops / write", whole / writing, _facts(whole, writing))


def load(graph: og.Graph, data: Social) -> float:
    """Load people and follows; return the seconds."""
    ends = {name: pc.cast(data.follows[column], pa.string()) for name, column in _ENDS.items()}
    ends["weight"] = data.follows["weight"]
    begun = time.perf_counter()
    graph.load(data.people, type="Person", mode="append")
    graph.load(pa.table(ends), type="Follows", mode="append")
    return time.perf_counter() - begun


_ENDS = {"from": "src", "to": "dst"}


def _facts(mine: float, theirs: float) -> str:
    return f"{mine:.3g} vs {theirs:.3g} ms"


def _plain(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in rows)


def _rounded(row: Any) -> tuple[Any, ...]:
    return tuple(round(cell, 9) if isinstance(cell, float) else cell for cell in row)


def _same(mine: Any, theirs: Any) -> None:
    """Stop when two systems disagree: then the times say nothing."""
    for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        if one != other:
            raise AssertionError(f"answer {number} differs: {str(one)[:300]} and {str(other)[:300]}")


def _recall(found: list[list[int]], exact: list[list[int]]) -> float:
    shares = [len({*some} & {*all_}) / len(all_) for some, all_ in zip(found, exact, strict=True)]
    return sum(shares) / len(shares)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What reading costs, as ratios.")
    parser.add_argument("--quick", action="store_true", help="a short run; its numbers mean nothing")
    parser.add_argument("--nodes", type=int, default=500_000, help="people; edges are six times as many")
    parser.add_argument("--only", default="", help="measures, by the names of their functions, with commas")
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    data = generate(2_000 if given.quick else given.nodes)
    with scratch() as folder:
        graph = og.init(folder / "ours", SCHEMA)
        loaded = load(graph, data)
        report = Report(
            f"Reading {data.size:,} people and {data.follows.num_rows:,} follows, loaded in {loaded:.1f} s"
        )
        run = Run(report, graph, data, folder, given.quick)
        try:
            for measure in (look_up, graph_questions, aggregation, write_and_read, searching):
                if not given.only or measure.__name__ in given.only.split(","):
                    measure(run)
        finally:
            report.show()


def searching(run: Run) -> None:
    """Search without indexes, then with them."""
    hybrid_search(run, "no index")
    run.graph.ensure_indices()
    hybrid_search(run, "indexed")


if __name__ == "__main__":
    main()
