"""What the benchmarks share: interleaved timing, worker processes, the S3 server, a table of ratios."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.s3 import S3, Request, running_server

__all__ = [
    "S3",
    "Report",
    "Request",
    "Workers",
    "interleaved",
    "is_quick",
    "median",
    "running_server",
    "scratch",
]

median = statistics.median

# What is compared with does not flush either; what a flush costs is a measurement of its own.
os.environ["OMNIGRAPH_FSYNC"] = "0"


def is_quick(description: str) -> bool:
    """Read the command line: `--quick` makes a run of seconds that proves only that the benchmark works."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a short run; its numbers mean nothing")
    return bool(parser.parse_args().quick)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Give an empty folder, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="og-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def interleaved(times: int, *steps: Callable[[int], object]) -> list[list[float]]:
    """Run the steps in turn, so that noise hits all alike; return the milliseconds of each."""
    taken: list[list[float]] = [[] for _ in steps]
    for number in range(times):
        for place, step in enumerate(steps):
            begun = time.perf_counter()
            step(number)
            taken[place].append(1000 * (time.perf_counter() - begun))
    return taken


class Workers:
    """Processes that begin at the same moment and count what they finish in a given time."""

    def __init__(self, size: int) -> None:
        # Lance is not fork-safe.
        self._pool = ProcessPoolExecutor(size, multiprocessing.get_context("spawn"))
        self.per_second(_nothing, [()] * size, 0.1)

    def per_second(
        self,
        prepare: Callable[..., Callable[[int], object]],
        arguments: Sequence[tuple[Any, ...]],
        seconds: float,
    ) -> float:
        """Return how often per second all processes together carry out the step that `prepare` returns."""
        start = time.time() + 1.0
        begun = [self._pool.submit(_count, prepare, given, start, seconds) for given in arguments]
        return sum(item.result() for item in begun)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()


def _count(
    prepare: Callable[..., Callable[[int], object]], given: tuple[Any, ...], start: float, seconds: float
) -> float:
    step = prepare(*given)
    time.sleep(max(0.0, start - time.time()))
    begun, done = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        step(done)
        done += 1
    return done / (time.perf_counter() - begun)


def _nothing() -> Callable[[int], object]:
    return lambda _: time.sleep(0.01)


@dataclass
class Report:
    """Ratios with their aims, printed as one table, and for `make bench` written as a line of JSON."""

    title: str
    _lines: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    _rows: list[dict[str, object]] = field(default_factory=list)

    def at_most(self, name: str, ratio: float, aim: float, facts: str) -> None:
        """Add a ratio that should be small."""
        self._add(name, ratio, f"<= {aim:g}", ratio <= aim, facts)

    def at_least(self, name: str, ratio: float, aim: float, facts: str) -> None:
        """Add a ratio that should be large."""
        self._add(name, ratio, f">= {aim:g}", ratio >= aim, facts)

    def tell(self, name: str, ratio: float, facts: str) -> None:
        """Add a ratio that has no aim."""
        self._rows.append({"name": name, "ratio": ratio, "aim": "", "facts": facts})
        self._lines.append((name, f"{ratio:.2f}x", "", "", facts))

    def show(self) -> None:
        """Print the table."""
        if path := os.environ.get("OMNIGRAPH_BENCH_REPORT"):
            with open(path, "a") as file:
                file.write(json.dumps({"title": self.title, "rows": self._rows}) + "\n")
        print(f"{self.title} ({os.cpu_count()} cores)")
        head = ("measure", "ratio", "aim", "verdict", "measured")
        lines = [head, *self._lines]
        widths = [max(len(line[place]) for line in lines) for place in range(4)]
        for line in lines:
            cells = [text.ljust(width) for text, width in zip(line[:4], widths, strict=True)]
            print("  ".join([*cells, line[4]]).rstrip())

    def _add(self, name: str, ratio: float, aim: str, is_met: bool, facts: str) -> None:
        self._rows.append({"name": name, "ratio": ratio, "aim": aim, "facts": facts})
        self._lines.append((name, f"{ratio:.2f}x", aim, "met" if is_met else "MISSED", facts))
