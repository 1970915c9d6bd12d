"""What a graph commit costs: against the raw managed commit, in depth, beside branches, with many processes.

Everything is a ratio of two things measured in the same run. `docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import lance_namespace as ln
import obstore
import pyarrow as pa
from obstore.store import LocalStore, S3Store

import omnigraph as og
from _harness import S3, Report, Request, Workers, interleaved, is_quick, median, running_server, scratch
from support.row_changes import Append, RowChanges, Upsert

SCHEMA = """
node Person {
    name: String @key
    age: I64?
}
edge Knows: Person -> Person
"""
PERSON = pa.schema([pa.field("id", pa.string(), False), ("age", pa.int64()), ("name", pa.string())])
KNOWS = pa.schema([pa.field(name, pa.string(), False) for name in ("id", "src", "dst")])
TABLES = {"node:Person": PERSON, "edge:Knows": KNOWS}
JOIN_EVERY = 16


def one_row_each(name: str) -> dict[str, pa.Table]:
    """Return a person and a friendship: the one-row, two-table commit."""
    return {
        "node:Person": pa.table({"id": [name], "age": [1], "name": [name]}, schema=PERSON),
        "edge:Knows": pa.table({"id": [f"{name}-ada"], "src": [name], "dst": ["ada"]}, schema=KNOWS),
    }


def write(graph: Any, name: str, branch: str | None = None) -> None:
    """Commit one row to each of the two tables."""
    graph.commit_work(
        RowChanges([Upsert(key, data) for key, data in one_row_each(name).items()]), branch=branch
    )


# The floor: Lance's managed commit with nothing around it, as in the design's probe.


class RawNamespace(ln.LanceNamespace):  # type: ignore[misc]
    """The least that a write attempt needs: pins it started from, and those it staged."""

    def __init__(
        self, root: str, move: Callable[[str, str], None], pins: dict[str, Any], options: Any
    ) -> None:
        self.root, self.move, self.pins, self.options = root, move, pins, options
        self.staged: dict[str, dict[int, str]] = {}

    def namespace_id(self) -> str:
        return f"raw-{id(self)}"

    def _uri(self, key: str) -> str:
        return f"{self.root}/{key.replace(':', '/')}"

    def _versions(self, key: str) -> dict[int, str]:
        base = dict([self.pins[key]]) if key in self.pins else {}
        return {**base, **self.staged.get(key, {})}

    def declare_table(self, request: Any) -> Any:
        return ln.DeclareTableResponse(
            location=self._uri(request.id[0]), managed_versioning=True, storage_options=self.options
        )

    def describe_table(self, request: Any) -> Any:
        return ln.DescribeTableResponse(
            location=self._uri(request.id[0]), managed_versioning=True, storage_options=self.options
        )

    def list_table_versions(self, request: Any) -> Any:
        key = (request["id"] if isinstance(request, dict) else request.id)[0]
        found = sorted(self._versions(key).items(), reverse=True)
        return ln.ListTableVersionsResponse(
            versions=[ln.TableVersion(version=number, manifest_path=path) for number, path in found]
        )

    def describe_table_version(self, request: Any) -> Any:
        pins = self._versions(request["id"][0])
        if request["version"] not in pins:
            raise ln.TableVersionNotFoundError(str(request["version"]))
        return {"version": {"version": request["version"], "manifest_path": pins[request["version"]]}}

    def create_table_version(self, request: Any) -> Any:
        key, source = request["id"][0], request["manifest_path"]
        folder, _, staged = source.rpartition("/_versions/")
        name, unique = staged.split("-", 1)
        pin = f"{folder}/_pins/{unique}/{name}"
        self.move(source, pin)
        self.staged.setdefault(key, {})[request["version"]] = pin
        return {"version": {"version": request["version"], "manifest_path": pin}}

    def open(self, key: str) -> Any:
        return lance.dataset(namespace_client=self, table_id=[key])

    def newest(self) -> dict[str, tuple[int, str]]:
        return {key: max(pins.items()) for key, pins in self.staged.items()}


class RawGraph:
    """Two tables and a chain of records that hold their pins, written with put-if-absent."""

    def __init__(
        self, root: str, objects: Any, move: Callable[[str, str], None], options: Any = None
    ) -> None:
        self.root, self.objects, self.move, self.options = root, objects, move, options
        self.number, self.pins = 0, {}
        attempt = self._attempt()
        for key, schema in TABLES.items():
            lance.write_dataset(
                schema.empty_table(),
                namespace_client=attempt,
                table_id=[key],
                mode="create",
                enable_stable_row_ids=True,
                storage_options=options,
            )
        self._publish(attempt)

    @staticmethod
    def on_disk(root: str) -> RawGraph:
        os.makedirs(f"{root}/__manifest")

        def move(source: str, target: str) -> None:
            os.makedirs(os.path.dirname(f"/{target}"), exist_ok=True)
            os.rename(f"/{source}", f"/{target}")

        return RawGraph(root, LocalStore(f"{root}/__manifest"), move)

    @staticmethod
    def on_s3(server: S3) -> RawGraph:
        objects = S3Store(server.bucket, config=server.options, client_options={"allow_http": True})
        return RawGraph(server.uri, objects, lambda a, b: obstore.rename(objects, a, b), server.options)

    def write(self, name: str) -> None:
        self._probe()
        attempt = self._attempt()
        for key, data in one_row_each(name).items():
            _upsert(attempt.open(key), data)
        self._publish(attempt)

    def join(self) -> None:
        attempt = self._attempt()
        for key in TABLES:
            attempt.open(key).optimize.compact_files(num_threads=1)
        self._publish(attempt)

    def _attempt(self) -> RawNamespace:
        return RawNamespace(self.root, self.move, self.pins, self.options)

    def _probe(self) -> None:
        try:
            obstore.get(self.objects, f"{self.number + 1:020d}.json")
        except FileNotFoundError:
            return
        raise AssertionError("somebody else writes here")

    def _publish(self, attempt: RawNamespace) -> None:
        self.pins = {**self.pins, **attempt.newest()}
        self.number += 1
        obstore.put(self.objects, f"{self.number:020d}.json", json.dumps(self.pins).encode(), mode="create")


def _upsert(dataset: Any, data: pa.Table) -> None:
    changes = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    changes.execute(data)


# The measurements.


def against_the_floor(report: Report, folder: Path, quick: bool) -> None:
    """Compare our one-row, two-table commit with the raw managed one."""
    graph, floor = og.init(str(folder / "ours"), SCHEMA), RawGraph.on_disk(str(folder / "floor"))
    times = 20 if quick else 320

    def raw(number: int) -> None:
        floor.write(f"p{number}")

    for number in range(4):
        write(graph, f"warm{number}")
        floor.write(f"warm{number}")
    ours: list[float] = []
    raws: list[float] = []
    for begin in range(0, times, JOIN_EVERY):
        some = interleaved(
            JOIN_EVERY, lambda n, b=begin: write(graph, f"p{b + n}"), lambda n, b=begin: raw(b + n)
        )
        ours += some[0]
        raws += some[1]
        floor.join()  # untimed: ours joins fragments inside its commits
    facts = f"p50 {median(ours):.1f} ms, raw {median(raws):.1f} ms"
    report.at_most("commit / raw managed commit, p50", median(ours) / median(raws), 1.5, facts)
    mean = statistics.fmean
    facts = f"mean {mean(ours):.1f} ms with joining, raw {mean(raws):.1f} ms without"
    report.tell("commit / raw managed commit, mean", mean(ours) / mean(raws), facts)


def with_flushes(report: Report, folder: Path, quick: bool) -> None:
    """Compare commits that survive a power cut with commits that survive the process."""
    graphs = [og.init(str(folder / f"fsync-{on}"), SCHEMA, storage_options={"fsync": on}) for on in "10"]
    for number in range(4):
        for graph in graphs:
            write(graph, f"warm{number}")
    safe, quick_ones = interleaved(
        20 if quick else 320, lambda n: write(graphs[0], f"p{n}"), lambda n: write(graphs[1], f"p{n}")
    )
    facts = f"p50 {median(safe):.1f} ms flushed, {median(quick_ones):.1f} ms not"
    report.tell("commit with fsync / without, p50", median(safe) / median(quick_ones), facts)


def in_depth(report: Report, folder: Path, quick: bool) -> None:
    """Compare commits after 2,000 others with commits after 20."""
    deep, young = og.init(str(folder / "deep"), SCHEMA), og.init(str(folder / "young"), SCHEMA)
    depth = 60 if quick else 2000
    for number in range(depth - 20):
        write(deep, f"p{number}")
    for number in range(20):
        write(young, f"p{number}")
    late, early = interleaved(
        20 if quick else 100, lambda n: write(deep, f"q{n}"), lambda n: write(young, f"q{n}")
    )
    facts = f"p50 {median(late):.1f} ms at {depth}, {median(early):.1f} ms at 20"
    report.at_most(f"commit {depth} / commit 20, p50", median(late) / median(early), 1.5, facts)


def branch_creation(report: Report, folder: Path, quick: bool) -> None:
    """Compare creating branches of a small and a large graph, and beside few and many branches."""
    few, many = 1_000, 10_000 if quick else 1_000_000
    small, large = (_graph_of(folder / f"rows{count}", count) for count in (few, many))
    times = 30 if quick else 300
    taken = interleaved(
        times, lambda n: small.branches.create(f"b{n}"), lambda n: large.branches.create(f"b{n}")
    )
    facts = f"p50 {median(taken[1]):.2f} ms of {many:,} rows, {median(taken[0]):.2f} ms of {few:,}"
    report.at_most(f"branch of {many:,} rows / of {few:,}", median(taken[1]) / median(taken[0]), 1.2, facts)

    lonely, crowded = og.init(str(folder / "lonely"), SCHEMA), og.init(str(folder / "crowded"), SCHEMA)
    alive = 50 if quick else 1_000
    for number in range(alive):
        crowded.branches.create(f"old{number}")
    lonely.branches.create("old")
    taken = interleaved(
        20 if quick else 100,
        lambda n: lonely.branches.create(f"created{n}"),
        lambda n: crowded.branches.create(f"created{n}"),
    )
    facts = f"p50 {median(taken[1]):.2f} ms beside {alive:,}, {median(taken[0]):.2f} ms beside 1"
    report.at_most(f"branch beside {alive:,} / beside 1", median(taken[1]) / median(taken[0]), 1.2, facts)
    for graph in (lonely, crowded):
        write(graph, "warm", branch="created0")
    taken = interleaved(
        10 if quick else 60,
        lambda n: write(lonely, f"p{n}", branch="created0"),
        lambda n: write(crowded, f"p{n}", branch="created0"),
    )
    facts = f"p50 {median(taken[1]):.1f} ms beside {alive:,}, {median(taken[0]):.1f} ms beside 1"
    report.at_most(
        f"commit beside {alive:,} branches / beside 1", median(taken[1]) / median(taken[0]), 1.2, facts
    )


def _graph_of(where: Path, count: int) -> Any:
    graph = og.init(str(where), SCHEMA)
    names = pa.array([f"p{number}" for number in range(count)])
    people = pa.table({"id": names, "age": pa.array([1] * count, pa.int64()), "name": names}, schema=PERSON)
    graph.commit_work(RowChanges([Append("node:Person", people)]))
    return graph


def prepare_writer(uri: str, branch: str, me: str) -> Callable[[int], object]:
    """Open the graph in a worker process, warm it up and return its one-row commit."""
    graph = og.open(uri, branch=branch)
    write(graph, f"{me}-warm")
    return lambda number: write(graph, f"{me}-{number}")


def many_processes(report: Report, folder: Path, quick: bool) -> None:
    """Count commits per second of 1, 4 and 8 processes, on one branch and on a branch each."""
    rounds, seconds, sizes = (1, 0.3, (1, 2)) if quick else (3, 2.5, (1, 4, 8))
    workers = Workers(max(sizes))
    rates: dict[tuple[str, int], list[float]] = {}
    for number in range(rounds):
        for size in sizes:
            for kind in ("one branch", "a branch each"):
                uri = str(folder / f"many-{number}-{size}-{kind.replace(' ', '-')}")
                graph = og.init(uri, SCHEMA)
                branches = ["main"] * size
                if kind == "a branch each":
                    branches = [f"agent{place}" for place in range(size)]
                    for name in branches:
                        graph.branches.create(name)
                given = [(uri, branch, f"w{place}") for place, branch in enumerate(branches)]
                rate = workers.per_second(prepare_writer, given, seconds)
                rates.setdefault((kind, size), []).append(rate)
    workers.close()
    for kind in ("one branch", "a branch each"):
        alone = median(rates[kind, 1])
        for size in sizes[1:]:
            together = median(rates[kind, size])
            facts = f"{together:.0f} commits/s, {alone:.0f} of one process"
            report.at_least(f"{size} processes on {kind} / 1", together / alone, 1.0, facts)


def over_s3(report: Report, quick: bool) -> None:
    """Count the requests of one write beside those of the raw managed commit and of Lance alone."""
    with running_server() as server:
        ours = server.fresh()
        graph = og.init(f"{ours.uri}/graph", SCHEMA, storage_options=ours.options)
        bare = server.fresh()
        uris = {key: f"{bare.uri}/{key.replace(':', '-')}" for key in TABLES}
        for key, schema in TABLES.items():
            lance.write_dataset(schema.empty_table(), uris[key], storage_options=bare.options)
        raw_server = server.fresh()
        floor = RawGraph.on_s3(raw_server)
        times = 4 if quick else 12
        counts: dict[str, list[list[Request]]] = {"ours": [], "raw": [], "lance": []}
        for number in range(times):
            with ours.requests() as seen:
                write(graph, f"p{number}")
            counts["ours"].append(seen)
            with raw_server.requests() as seen:
                floor.write(f"p{number}")
            counts["raw"].append(seen)
            with bare.requests() as seen:
                for key, data in one_row_each(f"p{number}").items():
                    _upsert(lance.dataset(uris[key], storage_options=bare.options), data)
            counts["lance"].append(seen)
    publishing = [[item for item in seen if "__manifest/" in item.key] for seen in counts["ours"]]
    most = max(len(seen) for seen in publishing)
    listings = sum(item.is_listing for seen in publishing for item in seen)
    facts = f"at most {most} requests of the manifest in a write, {listings} listings"
    report.at_most("S3 requests of a publish / 3", most / 3 + listings, 1.0, facts)
    mine, raw, alone = (median([len(seen) for seen in counts[name]]) for name in ("ours", "raw", "lance"))
    report.tell("S3 requests of a write / Lance alone", mine / alone, f"{mine:g}, Lance by path {alone:g}")
    report.tell("S3 requests of a write / raw managed", mine / raw, f"{mine:g}, raw managed commit {raw:g}")


def main() -> None:
    """Run every measurement and print the table."""
    quick = is_quick(__doc__ or "")
    report = Report("one-row, two-table commits")
    with scratch() as folder:
        against_the_floor(report, folder, quick)
        with_flushes(report, folder, quick)
        in_depth(report, folder, quick)
        branch_creation(report, folder, quick)
        many_processes(report, folder, quick)
    over_s3(report, quick)
    report.show()


if __name__ == "__main__":
    main()
