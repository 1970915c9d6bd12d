"""What a bulk load costs, every rule checked, beside parsing and writing the same rows with nothing checked.

Everything is a ratio of two things measured in the same run. `docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb
import lance
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import omnigraph as og
from _harness import Report, interleaved, median, scratch
from omnigraph import spark
from omnigraph.pipeline.class_archive import ARCHIVE_VARIABLE, archive_path

SCHEMA = """
node Person {
    name: String @key
    age: I64?
    @range(age, 0..200)
}
edge Knows: Person -> Person { since: I64?  note: String? }
"""
COLUMNS = (
    "{type: 'varchar', edge: 'varchar', \"from\": 'varchar', \"to\": 'varchar', "
    "data: 'struct(name varchar, age bigint, since bigint, note varchar)'}"
)
MIB = 2**20
_SPAWN = multiprocessing.get_context("spawn")


def write_lines(path: Path, nodes: int, edges: int) -> Path:
    """Write a graph as NDJSON records."""
    with path.open("w") as file:
        for i in range(nodes):
            file.write(f'{{"type":"Person","data":{{"name":"p{i}","age":{i % 90}}}}}\n')
        for i in range(edges):
            ends = f'"from":"p{i % nodes}","to":"p{i * 7919 % nodes}"'
            file.write(f'{{"edge":"Knows",{ends},"data":{{"since":{i % 2000},"note":"hello {i}"}}}}\n')
    return path


def write_columns(folder: Path, nodes: int, edges: int) -> tuple[Path, Path]:
    """Write the same graph as two Parquet files."""
    people, knows = folder / "people.parquet", folder / "knows.parquet"
    names = pa.array([f"p{i}" for i in range(nodes)])
    number = np.arange(edges)
    pq.write_table(pa.table({"name": names, "age": np.arange(nodes) % 90}), people, row_group_size=250_000)
    columns = {
        "from": names.take(pa.array(number % nodes)),
        "to": names.take(pa.array(number * 7919 % nodes)),
        "since": number % 2000,
        "note": pa.array([f"hello {i}" for i in range(edges)]),
    }
    pq.write_table(pa.table(columns), knows, row_group_size=250_000)
    return people, knows


def floor_of_lines(path: Path, target: Path) -> None:
    """Parse NDJSON with DuckDB and write two Lance tables; nothing is checked."""
    con = duckdb.connect()
    con.execute(
        f"create view r as select * from read_json('{path}', format='newline_delimited', columns={COLUMNS})"
    )
    people = "select data.name as id, data.age as age from r where type is not null"
    knows = (
        'select uuid()::varchar as id, "from" as src, "to" as dst, data.since as since, data.note as note '
        "from r where edge is not null"
    )
    _write(con, {"people": people, "knows": knows}, target)


def floor_of_columns(people: Path, knows: Path, target: Path) -> None:
    """Read Parquet with DuckDB and write two Lance tables; nothing is checked."""
    con = duckdb.connect()
    ends = 'uuid()::varchar as id, "from" as src, "to" as dst, since, note'
    queries = {
        "people": f"select name as id, age from '{people}'",
        "knows": f"select {ends} from '{knows}'",
    }
    _write(con, queries, target)


def _write(con: Any, queries: dict[str, str], target: Path) -> None:
    for name, query in queries.items():
        lance.write_dataset(con.sql(query).to_arrow_table(), str(target / name))
    shutil.rmtree(target)


def lines_on_spark(report: Report, folder: Path, path: Path, times: int) -> None:
    """Compare a load of NDJSON on a warm session with the floor, and a cold start with a warm load."""
    graph = og.init(folder / "lines", SCHEMA)
    begun = time.perf_counter()
    spark.session("local[2]")
    _load_lines(graph, path, "cold")
    cold = time.perf_counter() - begun
    _load_lines(graph, path, "warm")
    mine, floor = interleaved(
        times,
        lambda number: _load_lines(graph, path, f"b{number}"),
        lambda number: floor_of_lines(path, folder / f"floor-{number}"),
    )
    size = path.stat().st_size / MIB
    ours, theirs = median(mine) / 1000, median(floor) / 1000
    report.at_most(
        "NDJSON on Spark, warm / DuckDB + Lance unchecked",
        ours / theirs,
        2.0,
        f"{ours:.2f} vs {theirs:.2f} s, {size:.0f} MiB",
    )
    report.tell("cold start (Java, workers, first load) / warm load", cold / ours, f"{cold:.1f} s")


_FIRST_JOB = "from omnigraph.spark import session; session('local[2]').range(10).count()"


def start(report: Report, archive: Path, times: int) -> None:
    """Compare the first job of a process that finds an archive of Spark's classes with one that does not."""
    with_archive = {**os.environ, ARCHIVE_VARIABLE: str(archive)}
    if not archive.is_file():
        _run("from omnigraph.spark import prepare; prepare()", with_archive)
    prepared, not_prepared = interleaved(
        times,
        lambda _: _run(_FIRST_JOB, with_archive),
        lambda _: _run(_FIRST_JOB, {**os.environ, ARCHIVE_VARIABLE: "0"}),
    )
    report.at_most(
        "first job of a process: Spark prepared / not",
        median(prepared) / median(not_prepared),
        0.8,
        f"{median(prepared) / 1000:.1f} vs {median(not_prepared) / 1000:.1f} s",
    )


def _run(code: str, environment: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def _load_lines(graph: og.Graph, path: Path, branch: str, engine: str = "spark") -> None:
    graph.branches.create(branch)
    graph.load(path, mode="append", engine=engine, branch=branch)


def columns_on_spark(report: Report, folder: Path, files: tuple[Path, Path], times: int) -> None:
    """Compare a load of Parquet with the floor."""
    graph = og.init(folder / "columns", SCHEMA)
    _load_columns(graph, files, "warm", "spark")
    mine, floor = interleaved(
        times,
        lambda number: _load_columns(graph, files, f"b{number}", "spark"),
        lambda number: floor_of_columns(*files, folder / f"floor-{number}"),
    )
    ours, theirs = median(mine) / 1000, median(floor) / 1000
    report.at_most(
        "Parquet on Spark, warm / DuckDB + Lance unchecked",
        ours / theirs,
        2.0,
        f"{ours:.2f} vs {theirs:.2f} s",
    )


def _load_columns(graph: og.Graph, files: tuple[Path, Path], branch: str, engine: str) -> None:
    graph.branches.create(branch)
    for file, name in zip(files, ("Person", "Knows"), strict=True):
        graph.load(file, mode="append", type=name, engine=engine, branch=branch)


def memory(report: Report, folder: Path, small: Path, large: Path) -> None:
    """Compare the peak memory of driver, Java and workers for one and four times the input."""
    _, little = _apart(folder, small, 2, 1)
    _, much = _apart(folder, large, 2, 1)
    report.at_most(
        "peak memory at 4x the input / 1x",
        much / little,
        1.3,
        f"{much / MIB:.0f} vs {little / MIB:.0f} MiB, all processes",
    )
    report.at_most("peak memory at 4x / 6 GiB", much / (6 * 2**30), 1.0, f"{much / MIB:.0f} MiB")


def cores(report: Report, folder: Path, path: Path, times: int) -> None:
    """Compare a warm load on one core with one on two."""
    one, _ = _apart(folder, path, 1, times)
    two, _ = _apart(folder, path, 2, times)
    report.at_least("1 core / 2 cores, time", one / two, 1.5, f"{one:.2f} vs {two:.2f} s")


@functools.cache
def _apart(folder: Path, path: Path, cores: int, times: int) -> tuple[float, int]:
    """Load in a process of its own; return the seconds of a warm load and the highest memory of all."""
    mine, theirs = _SPAWN.Pipe()
    target = str(folder / f"{path.stem}-{cores}-{times}")
    process = _SPAWN.Process(target=_load_apart, args=(target, str(path), cores, times, theirs))
    process.start()
    peak = _Peak(process.pid or 0)
    seconds: float = mine.recv()
    highest = peak.stop()
    process.join()
    return seconds, highest


def _load_apart(folder: str, path: str, cores: int, times: int, line: Connection[Any, Any]) -> None:
    spark.session(f"local[{cores}]")
    graph = og.init(folder, SCHEMA)
    _load_lines(graph, Path(path), "warm")
    taken = interleaved(times, lambda number: _load_lines(graph, Path(path), f"b{number}"))[0]
    line.send(median(taken) / 1000)


class _Peak:
    """Watches how much memory a process and all its children hold together."""

    def __init__(self, pid: int) -> None:
        self._root, self._highest, self._over = psutil.Process(pid), 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """Return the highest sum of what was seen, shared pages counted once."""
        self._over.set()
        self._thread.join()
        return self._highest

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            held = 0
            for process in (self._root, *_children(self._root)):
                try:
                    info = process.memory_info()
                except psutil.Error:
                    continue
                held += info.rss - info.shared
            self._highest = max(self._highest, held)


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.Error:
        return []


def against_copy(report: Report, folder: Path, nodes: int, edges: int, times: int) -> None:
    """Compare a load of Parquet in process with COPY in Kuzu and LadybugDB, which check less."""
    (folder / "copy").mkdir()
    files = write_columns(folder / "copy", nodes, edges)
    graph = og.init(folder / "copied", SCHEMA)
    taken: dict[str, list[float]] = {"ours": [], "kuzu": [], "ladybug": []}
    for number in range(times):
        taken["ours"] += interleaved(1, lambda _: _load_columns(graph, files, f"b{number}", "local"))[0]  # noqa: B023
        for module in ("kuzu", "ladybug"):
            taken[module].append(1000 * _copy(module, files, folder / f"{module}-{number}"))
    ours = median(taken["ours"]) / 1000
    size = f"{nodes:,} nodes and {edges:,} edges"
    for module, name in (("kuzu", "Kuzu"), ("ladybug", "LadybugDB")):
        theirs = median(taken[module]) / 1000
        report.at_most(
            f"Parquet in process / COPY in {name}",
            ours / theirs,
            1.0,
            f"{ours:.2f} vs {theirs:.2f} s, {size}",
        )


def _copy(module: str, files: tuple[Path, Path], target: Path) -> float:
    """Copy the files into a new database, in a process of its own: the two cannot share one."""
    mine, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_copy_apart, args=(module, files, str(target), theirs))
    process.start()
    seconds: float = mine.recv()
    process.join()
    return seconds


def _copy_apart(module: str, files: tuple[Path, Path], target: str, line: Connection[Any, Any]) -> None:
    peer = importlib.import_module(module)
    connection = peer.Connection(peer.Database(target))
    connection.execute("CREATE NODE TABLE Person(name STRING, age INT64, PRIMARY KEY(name))")
    connection.execute("CREATE REL TABLE Knows(FROM Person TO Person, since INT64, note STRING)")
    begun = time.perf_counter()
    connection.execute(f"COPY Person FROM '{files[0]}'")
    connection.execute(f"COPY Knows FROM '{files[1]}'")
    line.send(time.perf_counter() - begun)


PARTS = ("start", "lines", "columns", "memory", "cores", "copy")


@dataclass(frozen=True)
class Asked:
    """What to measure, and with how much data."""

    parts: tuple[str, ...]
    nodes: int
    edges: int
    copy_nodes: int
    copy_edges: int
    times: int
    quick: bool


def asked() -> Asked:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="What a bulk load costs, as ratios.")
    parser.add_argument("--quick", action="store_true", help="a short run; its numbers mean nothing")
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="only this; may be given several times"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the data: 0.1 is a tenth")
    parser.add_argument("--times", type=int, default=5, help="how often each thing is measured")
    given = parser.parse_args()
    scale = 0.001 if given.quick else given.scale
    sizes = [max(500, int(size * scale)) for size in (500_000, 3_000_000, 1_000_000, 10_000_000)]
    return Asked(tuple(given.part or PARTS), *sizes, 1 if given.quick else given.times, given.quick)


def main() -> None:
    ask = asked()
    report = Report("Bulk loads")
    with scratch() as folder:
        if "start" in ask.parts:
            here = archive_path() if ask.quick else None  # making one takes as long as all else
            start(report, here or folder / "classes.jsa", min(ask.times, 3))
        if {"lines", "memory", "cores"} & set(ask.parts):
            lines = write_lines(folder / "graph.ndjson", ask.nodes, ask.edges)
        if "lines" in ask.parts:
            lines_on_spark(report, folder, lines, ask.times)
        if "columns" in ask.parts:
            spark.session("local[2]")
            columns_on_spark(report, folder, write_columns(folder, ask.nodes, ask.edges), ask.times)
        spark.stop()
        if "memory" in ask.parts:
            large = write_lines(folder / "large.ndjson", 4 * ask.nodes, 4 * ask.edges)
            memory(report, folder, lines, large)
        if "cores" in ask.parts:
            cores(report, folder, lines, min(ask.times, 3))
        if "copy" in ask.parts:
            against_copy(report, folder, ask.copy_nodes, ask.copy_edges, min(ask.times, 3))
    report.show()


if __name__ == "__main__":
    main()
