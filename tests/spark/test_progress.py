"""What is shown of Spark while it works, and what is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import omnigraph as og
from omnigraph import spark
from omnigraph.cli.main import app

SCHEMA = "node Person { name: String @key }\n"


def test_stages_are_told_while_they_run_and_nothing_without_spark(session: Any) -> None:
    told: list[tuple[str, int, int]] = []

    def slow(batches: Any) -> Any:
        from time import sleep

        sleep(0.5)
        yield from batches

    with spark.watched(lambda *stage: told.append(stage), seconds=0.02):
        session.range(0, 4, 1, 4).mapInArrow(slow, "id long").collect()
    assert {total for _, _, total in told} == {4}
    assert all(stage.startswith("stage ") and 0 <= done <= 4 for stage, done, _ in told)
    before = len(told)
    session.range(4).count()
    assert len(told) == before


def test_a_load_on_spark_tells_phases_and_rows(session: Any, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    told: list[str] = []
    people = session.range(0, 4000, 1, 8).selectExpr("concat('p', id) AS name")
    with spark.watched(lambda text, *_: told.append(text), seconds=0.005):
        graph.load(people, type="Person", mode="append")
    assert any(text.startswith("read") for text in told)
    assert any(text.startswith(("check: 4,000", "write: 4,000", "publish: 4,000")) for text in told), sorted(
        set(told)
    )


def test_wrong_rows_are_refused_also_while_somebody_watches(session: Any, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    people = session.range(0, 10, 1, 2).selectExpr(
        "CASE WHEN id = 7 THEN NULL ELSE concat('p', id) END AS name"
    )
    with spark.watched(lambda *_: None, seconds=0.005), pytest.raises(og.ValidationError, match="name"):
        graph.load(people, type="Person", mode="append")
    assert graph.query("query q() { match { $p: Person } return { $p.name } }").rows == []


def test_whoever_watches_leaves_the_import_of_spark_alone() -> None:
    script = "import omnigraph.spark as s\nwith s.watched(print, seconds=0.001):\n    import pyspark.sql\n"
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_commands_run_on_spark_and_say_nothing_more_where_nobody_watches(
    session: Any, tmp_path: Path
) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    lines = tmp_path / "people.ndjson"
    lines.write_text("".join(f'{{"type": "Person", "data": {{"name": "p{i}"}}}}\n' for i in range(9)))
    run = CliRunner().invoke
    words = ["--data", str(lines), "--mode", "append", "--engine", "spark"]
    done = run(app, ["load", graph.uri, *words])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("loaded Person 9 in ") and " rows/s): commit " in done.stdout
    assert done.stderr.strip() == f"writing to {graph.uri}"
    text = "query q() { match { $p: Person } return { count($p) as n } }"
    done = run(app, ["query", "-e", text, "--uri", graph.uri, "--engine", "spark", "--spark-ui"])
    assert done.stdout.split() == ["n", "9"], done.output
    assert "this Spark has no web page here" in done.stderr.splitlines()
