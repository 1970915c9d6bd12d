"""Run the benchmarks for some minutes and write one report of them: `make bench`.

Every program is run once, then again as often as time is left, those with the fewest runs first. A ratio of
several runs is told with its spread. A program is ended when its time is up.
The report says what did not run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _plots import Bar, draw_bars

FOLDER = Path(__file__).parent
PROGRAMS: dict[str, tuple[str, ...]] = {
    "commit.py": (),
    "write.py": (),
    "query.py": ("--nodes", "100000"),
    "load.py": ("--scale", "0.1", "--part", "lines", "--part", "columns", "--part", "copy"),
    "indexes.py": (),
    "branch.py": (),
    "cli.py": (),
    "server.py": (),
    "sql.py": (),
}
"""What is run, and how large: so that a round takes a third of the time on two idle cores."""


@dataclass
class Measure:
    """One ratio, over all runs."""

    name: str
    aim: str
    ratios: list[float] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    @property
    def middle(self) -> float:
        return statistics.median(self.ratios)

    @property
    def verdict(self) -> str:
        """Whether the aim is met by the median."""
        if not self.aim:
            return ""
        way, bound = self.aim.split()
        met = self.middle <= float(bound) if way == "<=" else self.middle >= float(bound)
        return "met" if met else "missed"


@dataclass
class Outcome:
    """What became of one program."""

    program: str
    given: tuple[str, ...]
    titles: dict[str, dict[str, Measure]] = field(default_factory=dict)
    runs: int = 0
    seconds: float = 0.0
    error: str = ""

    def add(self, reports: Sequence[dict[str, Any]]) -> None:
        """Take in the reports of a run."""
        self.runs += 1
        for report in reports:
            measures = self.titles.setdefault(report["title"].split(", loaded in")[0], {})
            for row in report["rows"]:
                measure = measures.setdefault(row["name"], Measure(row["name"], row["aim"]))
                measure.ratios.append(row["ratio"])
                measure.facts.append(row["facts"])


def run_all(programs: dict[str, tuple[str, ...]], minutes: float, most_runs: int) -> list[Outcome]:
    """Run every program once, and then again while there is time."""
    ends = time.monotonic() + 60 * minutes
    outcomes = [Outcome(name, given) for name, given in programs.items()]
    while waiting := [each for each in outcomes if _goes_on(each, ends, most_runs)]:
        _run(min(waiting, key=lambda each: each.runs), ends)
    return outcomes


def _goes_on(outcome: Outcome, ends: float, most_runs: int) -> bool:
    return not outcome.error and outcome.runs < most_runs and time.monotonic() + 1.2 * outcome.seconds < ends


def _run(outcome: Outcome, ends: float) -> None:
    begun = time.monotonic()
    with tempfile.NamedTemporaryFile(suffix=".ndjson") as told:
        try:
            done = subprocess.run(
                [sys.executable, str(FOLDER / outcome.program), *outcome.given],
                env={**os.environ, "OMNIGRAPH_BENCH_REPORT": told.name},
                capture_output=True,
                text=True,
                check=False,
                timeout=max(1.0, ends - begun),
            )
        except subprocess.TimeoutExpired:
            outcome.error = "ended when the time was up" if not outcome.runs else ""
            outcome.seconds = float("inf")
            return
        if done.returncode:
            outcome.error = (done.stderr.strip().splitlines() or ["failed"])[-1]
            return
        outcome.add([json.loads(line) for line in Path(told.name).read_text().splitlines()])
    outcome.seconds = time.monotonic() - begun


def write_report(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Write the report and its plots, and return where."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "report.md"
    page.write_text("\n".join(_lines(outcomes, folder)) + "\n")
    return page


def _lines(outcomes: Sequence[Outcome], folder: Path) -> Iterator[str]:
    yield from ("# Benchmark report", "")
    yield from (
        "Ratios of two things that are measured in one run, in turn; times alone say more of the machine.",
        "`ratio` is the median of the runs, `spread` the smallest and the largest. What they compare:",
        "`docs/benchmarks.md`. In the plots the bar is the median, the line the spread, the stroke the aim.",
        "",
    )
    yield from ("| | |", "| --- | --- |", *(f"| {name} | {said} |" for name, said in describe_machine()), "")
    for outcome in outcomes:
        command = " ".join(["benchmarks/" + outcome.program, *outcome.given])
        if outcome.error or not outcome.runs:
            yield from (
                f"## {outcome.program}",
                "",
                f"Not measured: {outcome.error or 'no time was left'}.",
                "",
            )
            continue
        for number, (title, measures) in enumerate(outcome.titles.items()):
            yield from (f"## {title}", "")
            yield from (f"`{command}`, {outcome.runs} run{'s' if outcome.runs > 1 else ''}", "")
            plot = f"{outcome.program.removesuffix('.py')}-{number}.svg"
            (folder / plot).write_text(draw_bars(title, [_bar(each) for each in measures.values()]))
            yield from (f"![{title}]({plot})", "")
            yield from ("| measure | ratio | spread | aim | verdict | measured last |", "| --- " * 6 + "|")
            yield from (_row(each) for each in measures.values())
            yield ""


def _bar(measure: Measure) -> Bar:
    aim = float(measure.aim.split()[1]) if measure.aim else None
    return Bar(measure.name, measure.middle, min(measure.ratios), max(measure.ratios), aim, measure.verdict)


def _row(measure: Measure) -> str:
    few = len(measure.ratios) < 2
    spread = "one run" if few else f"{min(measure.ratios):.2f} – {max(measure.ratios):.2f}"
    cells = (measure.name, f"{measure.middle:.2f}", spread, measure.aim, measure.verdict, measure.facts[-1])
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def describe_machine() -> list[tuple[str, str]]:
    """Return what the numbers depend on."""
    cpu = [line for line in _read("/proc/cpuinfo").splitlines() if line.startswith("model name")]
    memory = [line for line in _read("/proc/meminfo").splitlines() if line.startswith("MemTotal")]
    load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=FOLDER, capture_output=True, text=True, check=False
    ).stdout.strip()
    return [
        ("when", datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("commit", commit or "not a repository"),
        (
            "processor",
            f"{os.cpu_count()} × {cpu[0].partition(':')[2].strip() if cpu else platform.machine()}",
        ),
        ("memory", f"{int(memory[0].split()[1]) / 2**20:.0f} GiB" if memory else "unknown"),
        ("system", f"{platform.system()} {platform.release()}"),
        (
            "load average",
            f"{load} at the end; more than the number of processors means that others worked, too",
        ),
        (
            "programs",
            ", ".join(f"{name} {version(name)}" for name in ("pylance", "pyarrow", "pyspark", "duckdb")),
        ),
        ("Python", platform.python_version()),
    ]


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


def main() -> int:
    """Measure, write the report, and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=19, help="how long it may take altogether")
    parser.add_argument("--runs", type=int, default=5, help="how often a program is run at most")
    parser.add_argument("--only", default="", help="programs, with commas")
    parser.add_argument("--quick", action="store_true", help="short runs; their numbers mean nothing")
    parser.add_argument("--out", type=Path, default=Path("dist/benchmarks"), help="a folder for the report")
    given = parser.parse_args()
    chosen = {name: PROGRAMS.get(name, ()) for name in given.only.split(",")} if given.only else PROGRAMS
    if given.quick:
        chosen = dict.fromkeys(chosen, ("--quick",))
    outcomes = run_all(chosen, given.minutes, given.runs)
    print(f"the report is in {write_report(outcomes, given.out)}")
    return int(not any(outcome.runs for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
