"""A real cluster on this machine: a master, two workers as processes of their own, and one that dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import clock
from omnigraph.storage.indexes.indexes import list_indexes
from support.spark_cluster import Cluster, running_cluster

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
ROWS = 400
DRIVER = """
import os, sys, time
from pyspark import cloudpickle
import omnigraph as og
from omnigraph.pipeline.jobs import load
from omnigraph.pipeline.workers.read import ReadTask
from omnigraph.spark import session

class SlowTask(ReadTask):
    def __call__(self, batches):
        from pathlib import Path
        told = list(ReadTask.__call__(self, batches))
        Path({folder!r}, f"running-{{os.getppid()}}-{{os.getpid()}}").touch()
        time.sleep({seconds})
        yield from told

load.ReadTask = SlowTask
session({master!r}, config={{"spark.driver.memory": "512m", "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1", "spark.executor.cores": "1", "spark.cores.max": "2"}})
done = og.open({root!r}).load({lines!r}, mode="append", engine="spark")
print(done.engine, done.nodes, done.edges)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers, one of which the last test kills."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


USER = """
import json, os
from pyspark import cloudpickle
import omnigraph as og
from omnigraph.pipeline.jobs import optimize
from omnigraph.pipeline.workers.maintenance_tasks import MaintenanceTask
from omnigraph.spark import attach, session

class ToldTask(MaintenanceTask):
    def _outcome(self, number):
        from pathlib import Path
        Path({marks!r}, f"{{type(self.steps[number]).__name__}}-{{number}}-{{os.getppid()}}").touch()
        return MaintenanceTask._outcome(self, number)

optimize.MaintenanceTask = ToldTask
spark = session({master!r}, config={{"spark.driver.memory": "512m", "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1", "spark.executor.cores": "1", "spark.cores.max": "2",
    "spark.sql.shuffle.partitions": "2"}})
graph = og.open({root!r})

def source(path=None, **options):
    return spark.read.format("omnigraph").options(graph=graph.uri, **options).load(path)

def parents(batches):
    import pyarrow as pa
    for batch in batches:
        yield pa.RecordBatch.from_pydict({{"parent": [os.getppid()], "rows": [batch.num_rows]}})

tasks = source("node:Person", rows_per_task="100").mapInArrow(parents, "parent long, rows long").collect()
old = source("node:Person", where='[["age", ">", 300]]', columns="name")
read = {{
    "query": graph.query({query!r}, engine="spark").rows,
    "rows": [task.rows for task in tasks],
    "here": os.getpid() in [task.parent for task in tasks],
    "old": old.count(),
    "changes": source(changes="beginning").filter("op = 'insert'").count(),
}}
built = graph.ensure_indices(engine="spark")
for name in ("q0", "q1"):
    graph.load([{{"type": "Person", "data": {{"name": name}}}}], mode="append")
done = graph.optimize(engine="spark")
kept = {{
    "built": sum(len(table.built) for table in built.tables),
    "removed": sum(table.fragments_removed for table in done.tables),
}}
attach(spark, graph.uri)
people = spark.range(0, 200, 1, 4).selectExpr("concat('q', id) AS name", "cast(id AS int) AS age")
people.writeTo("og.side.Person").option("mode", "merge").append()
spark.sql("UPDATE og.side.Person SET age = age + 1000 WHERE age % 2 = 0 AND name LIKE 'q%'")
wrong = people.selectExpr("if(age % 50 = 0, NULL, concat('r', name)) AS name", "age").write
wrong = wrong.format("omnigraph").mode("append").option("graph", graph.uri).option("branch", "side")
wrong.option("on_error", "quarantine").option("rejected_to", {rejected!r}).save("Person")
ours = "age < 2000 AND (name LIKE 'q%' OR name LIKE 'r%')"
asked = "SELECT count(*), sum(age) FROM og.side.Person WHERE " + ours
print(json.dumps([read, kept, list(spark.sql(asked).collect()[0])]))
"""
QUERY = "query q() { match { $p: Person $p knows $q $q.age > 200 } return { count($q) as n } }"


@dataclass(frozen=True)
class Used:
    """A graph that a driver of the cluster has read and optimized, and what it told."""

    graph: og.Graph
    commits: int
    """Before it."""
    expected: list[dict[str, object]]
    read: dict[str, object]
    kept: dict[str, int]
    steps: set[str]
    written: list[int]
    """The rows, and the sum of the ages, of those that SQL and the data source have written."""
    rejected: int


@pytest.fixture(scope="module")
def used(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Used:
    folder = tmp_path_factory.mktemp("used")
    graph = og.init(folder / "graph", SCHEMA)
    for part in range(4):
        people = range(part * 100, part * 100 + 100)
        graph.load([{"type": "Person", "data": {"name": f"p{i}", "age": i}} for i in people], mode="append")
        knows = [{"edge": "Knows", "from": f"p{i}", "to": f"p{i * 7 % (part * 100 + 100)}"} for i in people]
        graph.load(knows, mode="append")
    expected = graph.query(QUERY, engine="local").rows
    commits = len(graph.commits.list())
    marks = folder / "marks"
    marks.mkdir()
    graph.branches.create("side")
    told = {
        "marks": str(marks),
        "master": cluster.master,
        "root": graph.uri,
        "query": QUERY,
        "rejected": str(folder / "aside"),
    }
    driver = subprocess.run(
        [sys.executable, "-c", USER.format(**told)],
        capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, "OMNIGRAPH_SPARK_INDEX_ROWS": "100"},
    )  # fmt: skip
    assert driver.returncode == 0, driver.stderr[-3000:]
    read, kept, written = json.loads(driver.stdout)
    steps = {mark.name.split("-")[0] for mark in marks.iterdir()}
    rejected = len((folder / "aside").read_text().splitlines())
    return Used(graph, commits, expected, read, kept, steps, written, rejected)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_queries_and_the_data_source_are_read_by_the_workers(used: Used) -> None:
    assert used.read == {
        "query": used.expected,
        "rows": [100] * 4,
        "here": False,
        "old": 99,
        "changes": 2 * ROWS,
    }


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_fragments_are_joined_and_indexes_built_by_the_workers(used: Used) -> None:
    assert used.kept == {"built": 6, "removed": 10}
    assert used.steps == {"BuildPart", "JoinParts", "FoldIndex", "JoinFragments"}
    assert len(used.graph.commits.list()) == used.commits + 4
    for key, rows in (("node:Person", ROWS + 2), ("edge:Knows", ROWS)):
        table = used.graph.snapshot().table(key)
        assert (len(table.fragments()), table.count()) == (1, rows)
        assert all(index.rows_uncovered == 0 for index in list_indexes(table.dataset))


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_rows_are_written_and_changed_by_the_workers(used: Used) -> None:
    ages = range(200)
    updated = [age + 1000 if age % 2 == 0 else age for age in ages]
    kept = [age for age in ages if age % 50]
    # q0 and q1 were loaded on main alone, so the branch has only what was written here
    assert used.written == [len(updated) + len(kept), sum(updated) + sum(kept)]
    assert used.rejected == 4


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_a_load_lands_once_although_a_worker_is_killed_in_it(cluster: Cluster, tmp_path: Path) -> None:
    lines = tmp_path / "graph.ndjson"
    people = [f'{{"type":"Person","data":{{"name":"p{i}"}}}}' for i in range(ROWS)]
    knows = [f'{{"edge":"Knows","from":"p{i}","to":"p{(i * 7) % ROWS}"}}' for i in range(ROWS)]
    lines.write_text("\n".join([*knows, *people]))
    marks = tmp_path / "marks"
    marks.mkdir()
    og.init(tmp_path / "graph", SCHEMA)
    told = {"folder": str(marks), "seconds": 3, "master": cluster.master,
            "root": str(tmp_path / "graph"), "lines": str(lines)}  # fmt: skip
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER.format(**told)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMNIGRAPH_SPARK_SPLIT_BYTES": "6000"},
    )  # fmt: skip
    wall = clock.Clock()
    deadline = wall.monotonic() + 600
    while len({mark.name.split("-")[1] for mark in marks.iterdir()}) < 2 and driver.poll() is None:
        assert wall.monotonic() < deadline, "no two executors have begun"
        wall.sleep(0.05)
    cluster.kill_worker(0)
    said, errors = driver.communicate(timeout=600)
    assert driver.returncode == 0, errors[-3000:]
    assert said.strip() == f"spark {{'Person': {ROWS}}} {{'Knows': {ROWS}}}"

    graph = og.open(tmp_path / "graph")
    assert len(graph.commits.list()) == 2
    names = graph.snapshot().table("node:Person").scan(["name"])["name"].to_pylist()
    assert sorted(names) == sorted(f"p{i}" for i in range(ROWS))
    assert graph.snapshot().table("edge:Knows").count() == ROWS
