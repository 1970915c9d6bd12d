"""What branch work costs: merges and diffs against the size of tables, of history, and beside other branches.

Everything is a ratio of two things measured in the same run. `docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import omnigraph as og
from _harness import Report, interleaved, is_quick, median, scratch

SCHEMA = "node Person { name: String @key  age: I64?  note: String? }"
TABLES = 8
CHANGES = 1_000


def people(numbers: range, age: int) -> pa.Table:
    """Return persons with these numbers."""
    names = [f"p{number:09d}" for number in numbers]
    return pa.table({"name": names, "age": pa.array([age] * len(names)), "note": ["x" * 24] * len(names)})


def made(folder: Path, name: str, rows: int) -> og.Graph:
    """Return a graph with so many persons, indexed."""
    graph = og.init(folder / name, SCHEMA)
    graph.load(people(range(rows), 0), mode="append", type="Person")
    graph.optimize()
    return graph


def used(folder: str) -> int:
    """Return the bytes under a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def fast_forward(report: Report, folder: Path, quick: bool) -> None:
    """Count the bytes that a fast-forward of many changed rows writes."""
    rows = 10_000 if quick else 1_000_000
    graph = made(folder, "forward", rows)
    graph.branches.create("work")
    graph.load(people(range(rows), 1), mode="merge", type="Person", branch="work")
    before = used(graph.uri)
    assert graph.branches.merge("work").outcome == "fast_forward"
    written = used(graph.uri) - before
    facts = f"{written:,} bytes for {rows:,} changed rows"
    report.at_most("bytes of a fast-forward / 100 KB", written / 100_000, 1.0, facts)


def two_sizes(report: Report, folder: Path, quick: bool) -> None:
    """Merge and diff the same number of changes in a small and in a large table."""
    sizes = (2_000, 20_000) if quick else (20_000, 2_000_000)
    changes = 100 if quick else CHANGES
    graphs = [made(folder, f"rows-{size}", size) for size in sizes]
    merging: list[list[float]] = [[], []]
    diffing: list[list[float]] = [[], []]
    for number in range(2 if quick else 7):
        branch = f"work-{number}"
        for place, (graph, size) in enumerate(zip(graphs, sizes, strict=True)):
            step = size // changes
            graph.branches.create(branch)
            theirs, ours = range(0, size, step), range(step // 2, size, step)
            graph.load(people(theirs, number + 1), mode="merge", type="Person", branch=branch)
            graph.load(people(ours, -number - 1), mode="merge", type="Person")

            def diff(_: int, graph: og.Graph = graph, branch: str = branch) -> None:
                assert sum(1 for _ in graph.diff("main", branch, images=False)) > 0

            def merge(_: int, graph: og.Graph = graph, branch: str = branch) -> None:
                assert graph.branches.merge(branch).outcome == "merged"

            diffing[place] += interleaved(1, diff)[0]
            merging[place] += interleaved(1, merge)[0]
    for word, taken in (("merge", merging), ("diff", diffing)):
        small, large = (median(item[1:]) for item in taken)
        name = f"{word} of {changes:,} + {changes:,} changes, {sizes[1]:,} rows / {sizes[0]:,}"
        report.at_most(name, large / small, 2.0, f"{large:.0f} ms, {small:.0f} ms")


class Eight:
    """A graph with eight tables, of which both branches of every merge change all."""

    def __init__(self, folder: Path, rows: int) -> None:
        schema = "\n".join(
            f"node T{n} {{ name: String @key  age: I64?  note: String? }}" for n in range(TABLES)
        )
        self.graph = og.init(folder / "eight", schema)
        for number in range(TABLES):
            self.graph.load(people(range(rows), 0), mode="append", type=f"T{number}")
        self.graph.optimize()
        self._ages = iter(range(1, 10_000))

    def merge(self, changes: int) -> float:
        """Change so many rows of every table on two branches, merge, and return how long the merge took."""
        age = next(self._ages)
        branch = f"b{age}"
        self.graph.branches.create(branch)
        self._change(branch, range(changes), age)
        self._change("main", range(changes, 2 * changes), age)
        return interleaved(1, _merge(self.graph, branch))[0][0]

    def grow(self, commits: int) -> None:
        """Make so many commits of one row."""
        for number in range(commits):
            row = {"name": f"q{number:09d}", "age": 1, "note": "z"}
            self.graph.load([{"type": f"T{number % TABLES}", "data": row}], mode="append")

    def _change(self, branch: str, numbers: range, age: int) -> None:
        names = people(numbers, age)["name"].to_pylist()
        records = [
            {"type": f"T{n}", "data": {"name": name, "age": age, "note": "y"}}
            for n in range(TABLES)
            for name in names
        ]
        self.graph.load(records, mode="merge", branch=branch)


def eight_tables(report: Report, folder: Path, quick: bool) -> None:
    """Merge few changes in each of several tables, early and late in a graph's life."""
    rows, commits, times = (1_000, 60, 2) if quick else (100_000, 3_500, 15)
    young, old = Eight(folder / "young", rows), Eight(folder / "old", rows)
    old.grow(commits)
    early, late = {}, {}
    for changes in (1, 50):
        taken = [(young.merge(changes), old.merge(changes)) for _ in range(times)][1:]
        early[changes], late[changes] = (median(item) for item in zip(*taken, strict=True))
    facts = f"{early[50]:.0f} ms, {early[1]:.0f} ms; the original reports 130 and 79 ms on its own machine"
    report.tell(f"merge of {TABLES} tables with 50 changed rows each / with 1", early[50] / early[1], facts)
    for changes in (1, 50):
        name = f"merge with {changes} changed rows after {commits:,} commits / before"
        facts = f"{late[changes]:.0f} ms, {early[changes]:.0f} ms"
        report.at_most(name, late[changes] / early[changes], 1.1, facts)


def _merge(graph: og.Graph, branch: str) -> Callable[[int], None]:
    def merge(_: int) -> None:
        assert graph.branches.merge(branch).outcome == "merged"

    return merge


def dolt(report: Report, folder: Path, quick: bool) -> bool:
    """Merge the same changes here and in DoltLite, where it is installed; say whether it is."""
    rows, times = (1_000, 2) if quick else (100_000, 8)
    found = False
    for changes in (1, 50):
        place = folder / f"dolt-{changes}"
        place.mkdir()
        command = [sys.executable, str(Path(__file__).with_name("_dolt.py")), str(place / "d.db")]
        said = subprocess.run(
            [*command, str(rows), str(changes), str(times)], capture_output=True, text=True, check=True
        ).stdout
        if not said:
            return False
        found, theirs = True, median(json.loads(said)[1:])
        eight = Eight(place, rows)
        ours = median([eight.merge(changes) for _ in range(times)][1:])
        name = f"merge of {TABLES} tables with {changes} changed rows each / DoltLite"
        report.tell(name, ours / theirs, f"{ours:.0f} ms, {theirs:.1f} ms")
    return found


def many_branches(report: Report, folder: Path, quick: bool) -> None:
    """Commit and read where one branch lives and where many do."""
    alive, times = (10, 5) if quick else (100, 200)
    graphs = [made(folder, f"alive-{count}", 1_000) for count in (1, alive)]
    for graph, count in zip(graphs, (1, alive), strict=True):
        for number in range(count):
            graph.branches.create(f"b{number}")
            graph.load(people(range(number, number + 1), 7), mode="merge", type="Person", branch=f"b{number}")
    gq = 'query q() { match { $p: Person { name: "p000000001" } } return { $p.age } }'

    def commits(graph: og.Graph) -> Callable[[int], object]:
        return lambda number: graph.mutate(
            "query q($n: String) { insert Person { name: $n } }", {"n": f"n{number}"}, branch="b0"
        )

    def reads(graph: og.Graph) -> Callable[[int], object]:
        return lambda _: graph.query(gq, branch="b0").rows

    for word, step in (("commit", commits), ("read", reads)):
        few, many = (median(item) for item in interleaved(times, *(step(graph) for graph in graphs)))
        name = f"{word} beside {alive} branches / beside 1"
        report.at_most(name, many / few, 1.2, f"{many:.2f} ms, {few:.2f} ms")


def main() -> None:
    """Run every measurement and print the table."""
    quick = is_quick(__doc__ or "")
    report = Report("branches")
    for measure in (fast_forward, two_sizes, eight_tables, many_branches):
        with scratch() as folder:
            measure(report, folder, quick)
    with scratch() as folder:
        with_dolt = dolt(report, folder, quick)
    report.show()
    if not with_dolt:
        print("the same merge in DoltLite: not run (it is not installed)")
    print("the same merge in Nessie with Iceberg: not run")


if __name__ == "__main__":
    main()
