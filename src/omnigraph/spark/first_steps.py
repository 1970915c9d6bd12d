"""What users do first on Spark, on a small graph: Java then keeps the classes that this has loaded.

It is a program (`python -m omnigraph.spark.first_steps ARCHIVE`), as Java writes the archive when it ends.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph.pipeline import session as sessions
from omnigraph.spark import attach, session

_SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
_LINES = """{"type": "Person", "data": {"name": "ada", "age": 36}}
{"type": "Person", "data": {"name": "bob"}}
{"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": "2026-01-31"}}
"""
_QUERY = """query friends() {
  match { $p: Person  $p knows $f }
  return { $p.name, count($f) as friends }
  order { friends }
}"""
_SQL = "SELECT count(*), max(p.age) FROM og.main.Person p JOIN og.main.Knows k ON p.name = k.from"
_TIMEOUT_SECONDS = 300


def main(archive: str) -> None:
    """Start a session whose Java writes the archive, use it, and wait for the end of Java."""
    with tempfile.TemporaryDirectory(prefix="omnigraph-first-steps-") as folder:
        options = f"-XX:+UseSerialGC -XX:ArchiveClassesAtExit={archive}"
        spark = session("local[2]", config={"spark.driver.extraJavaOptions": options})
        _use(spark, Path(folder))
        java = sessions.started_java()
        spark.stop()
        if java is not None:
            java.stdin.close()  # Java ends by itself, and writes
            java.wait(timeout=_TIMEOUT_SECONDS)


def _use(spark: Any, folder: Path) -> None:
    lines = folder / "people.ndjson"
    lines.write_text(_LINES)
    uri = str(folder / "people")
    graph = og.init(uri, schema=_SCHEMA, actor="omnigraph:first-steps")
    graph.load(str(lines), mode="merge", engine="spark")
    graph.load(spark.createDataFrame([("cyd", 7)], "name string, age int"), mode="merge", type="Person")
    graph.query(_QUERY, engine="spark").to_arrow()
    graph.export(str(folder / "export"), format="parquet", engine="spark")
    people = spark.read.format("omnigraph").option("uri", uri).option("type", "Person").load()
    people.where("age > 7").groupBy("name").count().collect()
    attach(spark, uri, actor="omnigraph:first-steps")
    spark.sql(
        "SELECT count(*), max(p.age) FROM og.main.Person p JOIN og.main.Knows k ON p.name = k.from"
    ).collect()
    spark.sql("UPDATE og.main.Person SET age = 8 WHERE name = 'cyd'")


if __name__ == "__main__":
    main(sys.argv[1])
