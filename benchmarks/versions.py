"""What writing costs in this checkout, against another one: `versions.py --other FOLDER`.

Each checkout works in a process of its own, with the same dependencies. Operations are taken in turn, so that
noise hits both, and of each the time is told that one in ten stays below, as others disturb that least.
`docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _harness import Report, scratch

HERE = Path(__file__).parents[1]
SCHEMA = """
node Sample { name: String @key  age: I64? }
node Person { name: String @key  age: I64? }
edge Knows: Person -> Person { since: I64?  note: String? }
"""
INSERT = """query one($n: String) {
    insert Person { name: $n, age: 1 }
    insert Knows { from: $n, to: "ada", since: 1, note: "x" }
}"""
SAMPLES, NODES, EDGES = 1_000, 30_000, 70_000
OPERATIONS = {"commit": (4, 60), "insert": (4, 60), "update": (2, 60), "load": (1, 30)}
"""How often an operation is done at a time, and how often it is the turn of each checkout."""
WARM = 3


class Work:
    """The graphs of one checkout and the operations on them, in the process of that checkout."""

    def __init__(self, folder: Path) -> None:
        import commit
        import omnigraph as og

        self._folder, self._write, self._count = folder, commit.write, 0
        self._small = og.init(str(folder / "small"), commit.SCHEMA)
        self._graph = og.init(str(folder / "graph"), SCHEMA)
        self._graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
        samples = [{"type": "Sample", "data": {"name": f"p{i}", "age": 1}} for i in range(SAMPLES)]
        self._graph.load(samples, mode="append")
        with (folder / "lines.jsonl").open("w") as file:
            for i in range(NODES):
                record: dict[str, Any] = {"type": "Person", "data": {"name": f"q{i}", "age": i % 90}}
                file.write(json.dumps(record) + "\n")
            for i in range(EDGES):
                record = {"edge": "Knows", "from": f"q{i % NODES}", "to": f"q{(i * 7919) % NODES}"}
                file.write(json.dumps({**record, "data": {"since": i % 2000, "note": f"hello {i}"}}) + "\n")

    def commit(self) -> Callable[[], object]:
        return lambda: self._write(self._small, f"p{self._count}")

    def insert(self) -> Callable[[], object]:
        return lambda: self._graph.mutate(INSERT, {"n": f"m{self._count}"})

    def update(self) -> Callable[[], object]:
        change = f"query all() {{ update Sample set {{ age: {self._count % 100} }} where age >= 0 }}"
        return lambda: self._graph.mutate(change)

    def load(self) -> Callable[[], object]:
        branch = f"b{self._count}"
        self._graph.branches.create(branch)
        lines = self._folder / "lines.jsonl"
        return lambda: self._graph.load(lines, mode="append", branch=branch, engine="local")

    def measure(self, operation: str, times: int) -> list[tuple[float, float]]:
        """Return the milliseconds of processor time and of time that an operation takes each time."""
        taken = []
        for _ in range(times):
            self._count += 1
            step = getattr(self, operation)()
            worked, begun = time.process_time(), time.perf_counter()
            step()
            spent = time.process_time() - worked, time.perf_counter() - begun
            taken.append((1000 * spent[0], 1000 * spent[1]))
        return taken


def serve(folder: Path) -> None:
    """Measure what is asked for, line by line."""
    work = Work(folder)
    for line in sys.stdin:
        operation, times = line.split()
        print(json.dumps(work.measure(operation, int(times))), flush=True)


class Checkout:
    """A checkout at work."""

    def __init__(self, root: Path, folder: Path) -> None:
        folder.mkdir()
        paths = [str(root / name) for name in ("src", "benchmarks", "tests")]
        program = f"import sys; sys.path[:0] = {[*paths, str(HERE / 'benchmarks')]!r}; import versions; "
        program += f"versions.serve(versions.Path({str(folder)!r}))"
        command = [sys.executable, "-c", program]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
        )

    def measure(self, operation: str, times: int) -> list[list[float]]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(operation, times, file=self._process.stdin, flush=True)
        found: list[list[float]] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        self._process.communicate()


def compare(report: Report, checkouts: list[Checkout], operation: str, times: int, turns: int) -> None:
    """Add the ratios of one operation."""
    for checkout in checkouts:
        checkout.measure(operation, WARM)
    taken: list[list[list[float]]] = [[] for _ in checkouts]
    for turn in range(turns):
        for place in (0, 1) if turn % 2 else (1, 0):
            taken[place] += checkouts[place].measure(operation, times)
    for kind, name in enumerate(("processor time", "time")):
        mine, other = (_lowest_tenth([each[kind] for each in side]) for side in taken)
        report.tell(f"{operation}, {name}", mine / other, f"{mine:.2f} ms, {other:.2f} ms there")


def _lowest_tenth(values: list[float]) -> float:
    return sorted(values)[len(values) // 10]


def main() -> None:
    parser = argparse.ArgumentParser(description="What writing costs here against another checkout.")
    parser.add_argument("--other", type=Path, default=HERE, help="the folder of the other checkout")
    parser.add_argument("--quick", action="store_true", help="a short run; its numbers mean nothing")
    given = parser.parse_args()
    report = Report("Writing, here and there")
    with scratch() as folder:
        both = [Checkout(HERE, folder / "here"), Checkout(given.other.resolve(), folder / "there")]
        for operation, (times, turns) in OPERATIONS.items():
            compare(report, both, operation, 1 if given.quick else times, 2 if given.quick else turns)
        for checkout in both:
            checkout.close()
    report.show()


if __name__ == "__main__":
    main()
