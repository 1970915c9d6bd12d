"""What calling the command line costs: processor time of whole processes, from start to end.

Everything is a ratio, of two processes or of a process and the time that it may take. `docs/benchmarks.md`
says what each means.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import omnigraph as og
from _harness import Report, is_quick, median, scratch

MOST_HELP = 0.15
"""Seconds that help may take, beyond a Python that does nothing."""
MOST_QUERY = 1.0
SCHEMA = "node Person { name: String @key  age: I32 }"
ONE_ROW = 'query q() { match { $p: Person { name: "ada" } } return { $p.age } }'
_OTHERS = {
    "python": "python -c pass",
    "typer": "python -c 'import typer'",
    "drawing": "python -c 'import typer.rich_utils'",
}
PROGRAM = str(Path(sys.executable).with_name("omnigraph"))


def main() -> None:
    """Print the table."""
    times = 3 if is_quick(__doc__ or "") else 15
    with scratch() as folder:
        graph = og.init(folder / "graph", SCHEMA)
        graph.load([{"type": "Person", "data": {"name": "ada", "age": 36}}], mode="append")
        taken = _measured(
            times,
            {
                "python": [sys.executable, "-c", "pass"],
                "typer": [sys.executable, "-c", "import typer"],
                "drawing": [sys.executable, "-c", "import typer.rich_utils"],
                "lance": [sys.executable, "-c", "import lance"],
                "--help": [PROGRAM, "--help"],
                "branch --help": [PROGRAM, "branch", "--help"],
                "version": [PROGRAM, "version"],
                "completion": [PROGRAM],
                "query": [PROGRAM, "query", "--uri", graph.uri, "-e", ONE_ROW],
            },
        )
    report = Report("Starting the command line: processor time")
    for name in ("--help", "branch --help", "version", "completion"):
        facts = f"{_shown(taken[name])} and {_shown(taken['python'])}"
        report.at_most(
            f"{name} beyond python -c pass / 0.15 s", (taken[name] - taken["python"]) / MOST_HELP, 1, facts
        )
    for name, others in (("--help", ("python", "typer", "drawing")), ("version", ("python", "typer"))):
        for other in others:
            facts = f"{_shown(taken[name])}, {_shown(taken[other])}"
            report.tell(f"{name} / {_OTHERS[other]}", taken[name] / taken[other], facts)
    report.at_most("one-row query / 1 s", taken["query"] / MOST_QUERY, 1, _shown(taken["query"]))
    report.tell(
        "one-row query / python -c 'import lance'",
        taken["query"] / taken["lance"],
        f"{_shown(taken['query'])}, {_shown(taken['lance'])}",
    )
    report.show()


def _measured(times: int, calls: dict[str, list[str]]) -> dict[str, float]:
    """Return the median of the seconds of processor time that each call takes; they are made in turn."""
    asked = {"_OMNIGRAPH_COMPLETE": "complete_bash", "COMP_WORDS": "omnigraph br", "COMP_CWORD": "1"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(times + 1):
        for name, words in calls.items():
            more = asked if name == "completion" else {}
            seconds = _processor_seconds(words, {**environment, **more})
            if number:  # the first run may compile
                taken[name].append(seconds)
    return {name: median(each) for name, each in taken.items()}


def _processor_seconds(words: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _shown(seconds: float) -> str:
    return f"{seconds:.3f} s"


if __name__ == "__main__":
    main()
