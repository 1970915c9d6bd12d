"""Every operation asks the one rule which engine runs it, and says the same; no test starts Java."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.settings import Settings
from omnigraph.execution.engine import Availability, Estimate
from omnigraph.execution.export.export import Export
from omnigraph.execution.load.sources.sources import open_source
from omnigraph.graph.maintenance.optimize.executor import LocalMaintenance
from omnigraph.pipeline import engine as engine_module
from omnigraph.pipeline import session as session_module
from omnigraph.pipeline.engine import SparkEngine, find_spark
from omnigraph.sdk import maintenance

SCHEMA = "node Person { name: String @key }"
PEOPLE = [{"type": "Person", "data": {"name": name}} for name in ("ada", "bob")]
ALL = "query q() { match { $p: Person } return { $p.name } }"
LIMITS = ("SPARK_QUERY_ROWS", "SPARK_LOAD_BYTES", "SPARK_OPTIMIZE_ROWS")


@pytest.fixture
def _no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no session of another test be found, and none be configured."""
    for module in (engine_module, session_module):
        monkeypatch.setattr(module, "active", lambda: None)
    for name in ("SPARK_REMOTE", "OMNIGRAPH_SPARK_MASTER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def no_java(_no_session: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A machine without Java, where every graph is large; return what is wrong with it."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    for name in LIMITS:
        monkeypatch.setenv(f"OMNIGRAPH_{name}", "1")
    return (
        f"engine 'spark' is not available here: Spark needs Java and JAVA_HOME is {tmp_path}, where there "
        "is no Java: install OpenJDK 17 or later, or set JAVA_HOME to one"
    )


def _graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "g", SCHEMA)
    graph.load(PEOPLE, mode="append", engine="local")
    return graph


Operation = Callable[[og.Graph, Path, str], Any]
OPERATIONS: dict[str, Operation] = {
    "query": lambda graph, _, engine: graph.query(ALL, engine=engine),
    "snapshot": lambda graph, _, engine: graph.snapshot().query(ALL, engine=engine),
    "load": lambda graph, _, engine: graph.load(PEOPLE, mode="merge", engine=engine),
    "export": lambda graph, path, engine: graph.export(path, engine=engine),
    "parquet": lambda graph, path, engine: graph.export(path, format="parquet", engine=engine),
    "optimize": lambda graph, _, engine: graph.optimize(engine=engine),
    "ensure_indices": lambda graph, _, engine: graph.ensure_indices(engine=engine),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_all_operations_take_the_same_words(name: str, tmp_path: Path, no_java: str) -> None:
    graph = _graph(tmp_path)
    with pytest.raises(og.BadInput) as wrong:
        OPERATIONS[name](graph, tmp_path / "out", "flink")
    assert str(wrong.value) == "engine 'flink' does not exist: use 'auto', 'local' or 'spark'"
    with pytest.raises(og.SparkMissing) as missing:
        OPERATIONS[name](graph, tmp_path / "out", "spark")
    assert str(missing.value) == no_java
    assert graph.snapshot().version == 2 and not (tmp_path / "out").exists()
    for word in ("auto", "local"):
        assert OPERATIONS[name](og.open(graph.uri), tmp_path / word, word).engine == "local"


def test_auto_runs_in_process_where_spark_cannot_and_says_why(tmp_path: Path, no_java: str) -> None:
    graph = _graph(tmp_path)
    lines = tmp_path / "people.ndjson"
    graph.export(lines)
    size = lines.stat().st_size
    loaded = graph.load(lines, mode="merge")
    assert (loaded.engine, loaded.engine_reason) == (
        "local",
        f"the source has {size} bytes, 1 or more, but {no_java}",
    )
    # A query and `optimize` do not start Java unasked, so whether there is one does not matter.
    absent = "no Spark session is running or configured"
    assert graph.explain(ALL).to_json()["engine"] == {
        "name": "local",
        "why": f"the largest step is expected to have 2 rows, 1 or more, but {absent}",
    }
    done = graph.optimize()
    assert (done.engine, done.engine_reason) == ("local", f"the tables have 2 rows, 1 or more, but {absent}")
    assert done.to_json()["engine_reason"] == done.engine_reason


def test_auto_exports_in_process_whatever_the_size(tmp_path: Path) -> None:
    done = _graph(tmp_path).export(tmp_path / "all.ndjson")
    assert isinstance(done, Export)
    assert (done.engine, done.engine_reason) == (
        "local",
        "Spark writes a folder of part files, and only when it is asked for",
    )


@pytest.mark.parametrize(("limit", "engine"), [("2", "spark"), ("3", "local")])
@pytest.mark.parametrize("run", [og.Graph.optimize, og.Graph.ensure_indices])
def test_auto_optimizes_large_graphs_on_a_spark_that_is_there(
    run: Callable[[og.Graph], Any], limit: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []

    def start(settings: object) -> LocalMaintenance:
        used.append("spark")
        return LocalMaintenance()

    monkeypatch.setattr(maintenance, "find_spark", lambda starts: Availability(not starts, "it runs"))
    monkeypatch.setattr(maintenance, "start_spark_maintenance", start)
    monkeypatch.setenv("OMNIGRAPH_SPARK_OPTIMIZE_ROWS", limit)
    done = run(og.open(_graph(tmp_path).uri))
    assert (done.engine, used) == (engine, ["spark"] if engine == "spark" else [])
    assert done.commit_id is not None


def test_a_load_is_as_large_as_its_files(tmp_path: Path) -> None:
    path = tmp_path / "lines.ndjson"
    path.write_text('{"type":"Person","data":{"name":"ada"}}\n')
    spark = SparkEngine(Settings(spark_load_bytes=10))
    assert spark.estimate(open_source(path)) == Estimate("the source has", 40, "byte", 10)
    records = spark.estimate(open_source(PEOPLE))
    assert records == Estimate("the source has", None, "byte", 10)


@pytest.mark.parametrize(
    ("environment", "starts", "available", "reason"),
    [
        ({}, False, False, "no Spark session is running or configured"),
        ({"JAVA_HOME": "java"}, False, False, "no Spark session is running or configured"),
        ({"JAVA_HOME": "java"}, True, True, "Spark can be started"),
        ({"JAVA_HOME": "none"}, True, False, "engine 'spark' is not available here: Spark needs Java and "),
        (
            {"JAVA_HOME": "java", "OMNIGRAPH_SPARK_MASTER": "local"},
            False,
            True,
            "OMNIGRAPH_SPARK_MASTER is set",
        ),
        (
            {"JAVA_HOME": "none", "OMNIGRAPH_SPARK_MASTER": "local"},
            False,
            False,
            "engine 'spark' is not avail",
        ),
        ({"JAVA_HOME": "none", "SPARK_REMOTE": "sc://host"}, False, True, "SPARK_REMOTE is set"),
        ({"JAVA_HOME": "none", "SPARK_REMOTE": "sc://host"}, True, True, "SPARK_REMOTE is set"),
    ],
)
def test_spark_is_there_when_it_runs_or_is_configured_or_may_be_started(
    environment: dict[str, str],
    starts: bool,
    available: bool,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    _no_session: None,
) -> None:
    (tmp_path / "java" / "bin").mkdir(parents=True)
    java = tmp_path / "java" / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.15\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    told = {**environment}
    if "JAVA_HOME" in told:
        told["JAVA_HOME"] = str(tmp_path / told["JAVA_HOME"])
    found = find_spark(starts, told)
    assert found.is_available is available
    assert found.reason.startswith(reason)
    monkeypatch.setattr(engine_module, "active", object)
    assert find_spark(starts, told) == Availability(True, "a session is running")
