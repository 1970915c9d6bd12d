"""What rules about data cost: the same questions with a policy and without one, on one graph.

Everything is a ratio of processor times, taken in turn. `docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import omnigraph as og
from _harness import Report, is_quick, median, scratch
from _social import WIDTH, WORDS, generate, text_of

SCHEMA = f"""
node Person {{
    uid: I64 @key
    name: String
    age: I32
    city: String
    score: F64 @default(0.0)
    bio: String @index
    vec: Vector({WIDTH}) @index
}}
edge Follows: Person -> Person
"""
POLICY = """
version: 1
groups: {staff: [act-ada]}
actors: {act-ada: {oldest: 50}}
rules:
  - {id: all, allow: {actors: {group: staff}, actions: [read, export, change]}}
data:
  rows: |
    permit(principal, action, resource);
    forbid(principal, action, resource is Person) when { resource.age > principal.oldest };
  hidden:
    - {properties: [Person.score]}
"""
ADDED = {"name": "x", "age": 1, "city": "x", "score": 0.0, "bio": "x"}
QUESTIONS = {
    "a node by its key": "query q($i: I64) { match { $a: Person { uid: $i } } return { $a.name } }",
    "1 hop": "query q($i: I64) { match { $a: Person { uid: $i }  $a follows $b } return { $b.uid } }",
    "2 hops": "query q($i: I64) { match { $a: Person { uid: $i }  $a follows $x  $x follows $b } "
    "return { count(distinct $b.uid) as n } }",
    "filter and average": "query q($i: I64) { match { $a: Person  $a.age < 40  $a.uid > $i } "
    "return { $a.city, avg($a.age) as m, count($a) as n } }",
    "all edges": "query q() { match { $a: Person  $a follows $b  $a.age > $b.age } "
    "return { count(*) as n } }",
}
SEARCHES = {
    "words": "query q($w: String) { match { $a: Person search($a.bio, $w) } "
    "return { $a.uid, bm25($a.bio, $w) as s } order { s desc, $a.uid } limit 10 }",
    "vectors": f"query q($v: Vector({WIDTH})) {{ match {{ $a: Person }} return {{ $a.uid }} "
    "order { nearest($a.vec, $v) } limit 10 }",
}
_AIM = 1.3


def main() -> None:
    """Print how many times longer each question takes with a policy."""
    quick = is_quick(__doc__ or "")
    size, times = (2_000, 5) if quick else (100_000, 40)
    report = Report(f"rules about data, {size} people")
    with scratch() as folder:
        whole = _fill(folder, size)
        seen = _open(folder)
        random = np.random.default_rng(7)
        first = [_spend(lambda: _open(folder, None).query(QUESTIONS["1 hop"], {"i": 1}))[0]]
        first += [_spend(lambda: _open(folder).query(QUESTIONS["1 hop"], {"i": 1}))[0]]
        report.tell("opening and 1 hop", first[1] / first[0], f"{first[1]:.0f} ms, {first[0]:.0f} ms without")
        for name, text in QUESTIONS.items():
            many = 1 if name == "all edges" else 5
            asks = [{"i": int(random.integers(size))} if "$i:" in text else {} for _ in range(times * many)]
            _compare(report, name, whole, seen, text, asks)
        words = [{"w": text_of([int(word) for word in random.integers(WORDS, size=2)])} for _ in range(times)]
        _compare(report, "search by words", whole, seen, SEARCHES["words"], words)
        vectors = [{"v": random.normal(size=WIDTH).tolist()} for _ in range(times)]
        _compare(report, "nearest vectors", whole, seen, SEARCHES["vectors"], vectors)
        _compare_exports(report, folder, whole, seen)
        _compare_writes(report, whole, seen, size, times)
    report.show()


def _fill(folder: Path, size: int) -> og.Graph:
    social = generate(size)
    graph = og.init(folder / "graph", SCHEMA)
    graph.load(social.people, type="Person", mode="append")
    follows = social.follows.select(["src", "dst"]).rename_columns(["from", "to"])
    graph.load(follows, type="Follows", mode="append")
    graph.optimize()
    return graph


def _open(folder: Path, policy: str | None = POLICY) -> og.Graph:
    return og.open(folder / "graph", actor="act-ada", policy=policy)


def _compare(
    report: Report, name: str, whole: og.Graph, seen: og.Graph, text: str, asks: list[dict[str, Any]]
) -> None:
    for graph in (whole, seen):
        graph.query(text, asks[0])
    taken: tuple[list[float], list[float]] = ([], [])
    for params in asks:
        for place, graph in enumerate((whole, seen)):
            taken[place].append(_spend(lambda: graph.query(text, params))[0])  # noqa: B023
    _tell(report, name, median(taken[0]), median(taken[1]))


def _compare_exports(report: Report, folder: Path, whole: og.Graph, seen: og.Graph) -> None:
    """What is exported is less than without a policy: it is compared with a graph that has no more, too."""
    seen.export(folder / "seen.ndjson")
    small = og.init(folder / "small", SCHEMA)
    small.load(folder / "seen.ndjson", mode="append")
    small.optimize()
    taken: dict[int, list[float]] = {}
    for _ in range(7):
        for place, graph in enumerate((whole, seen, small)):
            taken.setdefault(place, []).append(_spend(lambda: _count(graph))[0])  # noqa: B023
    all_, some, no_more = (median(times) for times in taken.values())
    _tell(report, "an export", all_, some)
    report.at_most(
        "an export of the same records", some / no_more, _AIM, f"{some:.1f} ms, {no_more:.1f} ms without"
    )


def _count(graph: og.Graph) -> int:
    records: Any = graph.export()
    return sum(1 for _ in records)


def _compare_writes(report: Report, whole: og.Graph, seen: og.Graph, size: int, times: int) -> None:
    """One row in a commit: what comes before and after is compared, which costs what the change is large."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(times):
        for place, graph in enumerate((whole, seen)):
            row = {**ADDED, "uid": size + 2 * number + place, "vec": [1.0] * WIDTH}
            row = row if place == 0 else {name: value for name, value in row.items() if name != "score"}
            record = [{"type": "Person", "data": row}]
            taken[place].append(_spend(lambda: graph.load(record, mode="append"))[0])  # noqa: B023
    report.tell("a commit of one row", median(taken[1]) / median(taken[0]), f"{median(taken[1]):.1f} ms")


def _tell(report: Report, name: str, without: float, with_: float) -> None:
    report.at_most(name, with_ / without, _AIM, f"{with_:.2f} ms, {without:.2f} ms without")


def _spend(step: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.process_time()
    found = step()
    return 1000 * (time.process_time() - begun), found


if __name__ == "__main__":
    main()
