"""What indexes find, and what they cost: recall against exact search, folding, writing beside them.

Everything is a ratio of two things measured in the same run. `docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import omnigraph as og
from _harness import Report, interleaved, is_quick, median, scratch
from omnigraph.base import clock
from omnigraph.storage.rows import search

WIDTH, K, QUERIES = 64, 10, 30
SCHEMA = f"""
node Doc {{ slug: String @key  title: String @index  n: I64? @index  vec: Vector({WIDTH})? @index }}
"""
DOC = "node:Doc"

Floats = Any


def vectors(kind: str, count: int, chance: np.random.Generator) -> Floats:
    """Return noise, or points around 500 centres."""
    found = chance.normal(size=(count, WIDTH))
    if kind == "clusters":
        found = chance.normal(size=(500, WIDTH))[chance.integers(0, 500, count)] + 0.6 * found
    return found.astype(np.float32)


def graph_of(folder: Path, stored: Floats, chance: np.random.Generator) -> og.Graph:
    """Return a graph that holds these vectors, each with a title."""
    count = len(stored)
    words = np.array([f"word{number}" for number in range(5_000)])
    titles = [" ".join(row) for row in words[chance.integers(0, len(words), (count, 8))]]
    graph = og.init(folder, SCHEMA)
    table = {
        "slug": [f"d{number}" for number in range(count)],
        "title": titles,
        "n": np.arange(count),
        "vec": pa.FixedSizeListArray.from_arrays(pa.array(stored.ravel()), WIDTH),
    }
    graph.load(pa.table(table), mode="append", type="Doc")
    return graph


def recall(report: Report, kind: str, graph: og.Graph, stored: Floats, chance: np.random.Generator) -> None:
    """Compare what is found with the nearest of all, with and without a filter."""
    table = graph.snapshot().table(DOC)
    unit = stored / np.linalg.norm(stored, axis=1, keepdims=True)
    asked = stored[chance.integers(0, len(stored), QUERIES)]
    asked = (asked + 0.3 * chance.normal(size=asked.shape)).astype(np.float32)
    for every in (1, 100, 1_000):
        ids = np.arange(0, len(stored), every, dtype=np.uint64)
        exact = [set(ids[np.argsort(-(unit[::every] @ query))[:K]].tolist()) for query in asked]
        only = None if every == 1 else ids
        found = [_ids(search.nearest(table, "vec", query, K, allowed=only)) for query in asked]
        share = sum(len(mine & best) for mine, best in zip(found, exact, strict=True)) / (K * QUERIES)
        which = "all rows" if every == 1 else f"1 row in {every:,}"
        report.at_least(f"recall@{K}, {kind}, {which}", share, 0.95, f"{len(stored):,} vectors of {WIDTH}")


def _ids(found: pa.Table | None) -> set[int]:
    assert found is not None
    return set(found[search.ROW_ID].to_pylist())


def care(report: Report, graph: og.Graph) -> None:
    """Compare building, folding a few rows, and having nothing to do."""
    built = _seconds(graph)
    graph.load([_doc(f"new{number}") for number in range(100)], mode="append")
    folded = _seconds(graph)
    idle = _seconds(graph)
    report.at_most("folding 100 rows / building all", folded / built, 1.0, f"{folded:.2f} s, {built:.2f} s")
    report.at_most("nothing to do / building all", idle / built, 0.1, f"{1e3 * idle:.1f} ms")


def _seconds(graph: og.Graph) -> float:
    now = clock.current()
    begun = now.monotonic()
    graph.optimize()
    return now.monotonic() - begun


def writes(report: Report, folder: Path, times: int) -> None:
    """Compare a one-row insert into an indexed table with the same into one that has no index."""
    graphs = [og.init(folder / name, SCHEMA) for name in ("indexed", "plain")]
    for graph in graphs:
        graph.load([_doc(f"d{number}") for number in range(1_000)], mode="append")
    graphs[0].optimize()
    with_indexes, without = (
        median(taken) for taken in interleaved(times, *(_insert(item) for item in graphs))
    )
    facts = f"{with_indexes:.1f} ms, {without:.1f} ms"
    report.at_most("insert beside indexes / without", with_indexes / without, 1.5, facts)


def _insert(graph: og.Graph) -> Any:
    query = 'query q($s: String) { insert Doc { slug: $s, title: "a title" } }'
    return lambda number: graph.mutate(query, {"s": f"n{number}"})


def _doc(slug: str) -> dict[str, Any]:
    return {"type": "Doc", "data": {"slug": slug, "title": "a few words", "vec": [1.0] * WIDTH}}


def main() -> None:
    quick = is_quick("What indexes find and cost, as ratios.")
    count = 20_000 if quick else 200_000
    report = Report("Indexes")
    with scratch() as folder:
        for kind in ("noise", "clusters"):
            chance = np.random.default_rng(1)
            stored = vectors(kind, count, chance)
            graph = graph_of(folder / kind, stored, chance)
            if kind == "noise":
                care(report, graph)
            else:
                graph.optimize()
            recall(report, kind, graph, stored, chance)
        writes(report, folder, 20 if quick else 100)
    report.show()


if __name__ == "__main__":
    main()
