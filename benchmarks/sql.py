"""What Spark pays to read a graph through the SQL catalog, beside Parquet with the same rows.

Everything is a ratio of two things measured in the same run. `docs/benchmarks.md` says what each means.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import omnigraph as og
from _harness import Report, interleaved, is_quick, median, scratch
from omnigraph import spark

SCHEMA = """
node Person { name: String @key }
edge Knows: Person -> Person { since: I64?  note: String? }
"""


def make(folder: Path, nodes: int, edges: int) -> tuple[og.Graph, Path]:
    """Make a graph, and a Parquet file with its edges."""
    names = pa.array([f"p{number}" for number in range(nodes)])
    at = np.arange(edges)
    rows = pa.table(
        {
            "from": names.take(pa.array(at % nodes)),
            "to": names.take(pa.array(at * 7919 % nodes)),
            "since": pa.array(at % 2000),
            "note": pa.array([f"hello {number}" for number in range(edges)]),
        }
    )
    graph = og.init(folder / "graph", SCHEMA)
    graph.load(pa.table({"name": names}), type="Person", mode="append", engine="local")
    graph.load(rows, type="Knows", mode="append", engine="local")
    pq.write_table(rows, folder / "knows.parquet")
    return graph, folder / "knows.parquet"


def main() -> None:
    """Measure, and print the table."""
    quick = is_quick(__doc__)
    nodes, edges, times = (2_000, 20_000, 2) if quick else (200_000, 2_000_000, 7)
    report = Report(f"SQL of Spark over {edges:,} edges, and over Parquet")
    with scratch() as folder:
        graph, file = make(folder, nodes, edges)
        session = spark.session("local[2]", config={"spark.sql.shuffle.partitions": "2"})
        spark.attach(session, graph.uri)
        session.read.parquet(str(file)).createOrReplaceTempView("knows")
        for name, text, aim in (
            ("sum of one column", "SELECT sum(since) AS n FROM {}", 2.0),
            ("sum where a column has a value", "SELECT sum(since) AS n FROM {} WHERE since = 77", None),
            ("number of groups", "SELECT count(*) AS n FROM (SELECT since FROM {} GROUP BY since)", None),
        ):
            ours, theirs = run(session, text.format("og.main.Knows")), run(session, text.format("knows"))
            assert ours(0) == theirs(0)
            taken = [median(some) for some in interleaved(times, ours, theirs)]
            facts = f"{taken[0]:.0f} ms, {taken[1]:.0f} ms"
            ratio, measure = taken[0] / taken[1], f"{name} / Parquet"
            if aim is None:
                report.tell(measure, ratio, facts)
            else:
                report.at_most(measure, ratio, aim, facts)
        spark.stop()
    report.show()


def run(session: Any, text: str) -> Callable[[int], Any]:
    """Return what runs a statement and gives its number."""
    return lambda _: session.sql(text).collect()[0].n


if __name__ == "__main__":
    main()
