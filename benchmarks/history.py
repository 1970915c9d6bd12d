"""What a long history with many branches costs: the same work in a large and in a small graph.

Everything is a ratio of two things measured in the same run; times are those of the processor, because the
disk goes on for a while with the writing that made the large graph. `docs/benchmarks.md` says what is what.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import omnigraph as og
from _harness import Report, is_quick, median, scratch
from omnigraph.base import telemetry
from omnigraph.base.ids import new_ulid
from support.large_history import large_history

Work = Callable[[og.Graph], object]


@dataclass(frozen=True)
class Sizes:
    """Commits and branches of the two graphs."""

    small: tuple[int, int]
    large: tuple[int, int]

    @property
    def commits(self) -> float:
        """How many times more commits the large one has."""
        return self.large[0] / self.small[0]


def measured(work: Callable[[], object]) -> tuple[float, int]:
    """Return the processor's milliseconds and the storage requests of a piece of work."""
    with telemetry.measure() as counts:
        begun = time.process_time()
        work()
        taken = 1000 * (time.process_time() - begun)
    return taken, counts.total("objects.")


def compare(report: Report, name: str, work: Work, graphs: tuple[og.Graph, og.Graph], times: int) -> None:
    """Do the same in both, in turn, and tell the ratios of time and of requests."""
    taken: tuple[list[float], list[float]] = ([], [])
    asked = [0, 0]
    for number in range(times + 1):
        for place, graph in enumerate(graphs):
            spent, asked[place] = measured(lambda graph=graph: work(graph))
            if number:
                taken[place].append(spent)
    small, large = median(taken[0]), median(taken[1])
    report.at_most(f"{name}: requests", asked[1] / asked[0], 1.2, f"{asked[1]:,}, {asked[0]:,}")
    report.at_most(f"{name}: processor", large / small, 1.5, f"{large:.2f} ms, {small:.2f} ms")


def compare_per_commit(
    report: Report, name: str, work: Work, graphs: tuple[og.Graph, og.Graph], sizes: Sizes
) -> None:
    """Do the same in both, and tell the ratio for each commit: work that looks at all of them."""
    found = []
    for graph in graphs:
        with telemetry.measure() as counts:
            spent, asked = measured(lambda graph=graph: work(og.open(graph.uri)))
        found.append((spent, asked, counts["tables.open"]))
    (small, few, _), (large, many, opened) = found
    facts = f"{large / 1000:.1f} s, {small / 1000:.2f} s; {opened:,} versions opened"
    report.at_most(f"{name}, a commit: processor", large / small / sizes.commits, 1.5, facts)
    report.at_most(f"{name}, a commit: requests", many / few / sizes.commits, 1.5, f"{many:,}, {few:,}")


def listing(graph: og.Graph) -> None:
    """List the newest commits as a process does that knows nothing."""
    assert len(og.open(graph.uri, read_only=True).commits.list(limit=10)) == 10


def unknown(graph: og.Graph) -> None:
    """Ask for a commit that is not there."""
    with contextlib.suppress(og.NotFound):
        graph.commits.show(new_ulid())
        raise AssertionError("it is there")


def merge(graph: og.Graph) -> None:
    """Fork two branches, write to both, merge one into the other."""
    names = [f"m-{new_ulid().lower()}" for _ in range(2)]
    for name in names:
        graph.branches.create(name)
        graph.load([{"type": "Person", "data": {"name": name}}], mode="append", branch=name)
    assert graph.branches.merge(names[0], into=names[1]).outcome == "merged"


def main() -> None:
    """Run every measurement and print the table."""
    quick = is_quick(__doc__ or "")
    sizes = Sizes((50, 5), (300, 30)) if quick else Sizes((200, 20), (20_000, 2_000))
    times = 3 if quick else 15
    (commits, branches), (few, fewer) = sizes.large, sizes.small
    report = Report(f"histories: {commits:,} commits and {branches:,} branches / {few:,} and {fewer:,}")
    with scratch() as folder:
        small = large_history(folder / "small", *sizes.small)
        graphs = small, large_history(folder / "large", *sizes.large)
        for graph in graphs:
            for number in range(3):
                graph.load([{"type": "Person", "data": {"name": f"last{number}"}}], mode="append")
        made: dict[str, list[str]] = {graph.uri: [] for graph in graphs}

        def create(graph: og.Graph) -> None:
            made[graph.uri].append(f"c-{new_ulid().lower()}")
            graph.branches.create(made[graph.uri][-1])

        def delete(graph: og.Graph) -> None:
            graph.branches.delete(made[graph.uri].pop())

        compare(report, "open and list 10 commits", listing, graphs, times)
        compare(report, "make a branch", create, graphs, times)
        compare(report, "delete a branch", delete, graphs, times)
        compare(report, "merge two branches", merge, graphs, times)
        compare(report, "an unknown commit", unknown, graphs, times)
        for graph in graphs:
            while (done := og.open(graph.uri).cleanup()).files or done.records_removed:
                pass
        compare_per_commit(report, "cleanup with nothing to do", lambda graph: graph.cleanup(), graphs, sizes)
        compare_per_commit(report, "repair with nothing to do", lambda graph: graph.repair(), graphs, sizes)
    report.show()


if __name__ == "__main__":
    main()
