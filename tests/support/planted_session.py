"""A driver of Spark that is given secrets in every way, and tells what Java holds; run as a program.

It reads from its standard input where to find a graph and by which options, so that neither its arguments nor
its environment have a secret. The folder that it is given gets the dump of Java's memory, and the environment
and arguments of all processes of the session.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

import omnigraph as og
from omnigraph.embedding.config import EmbeddingConfig
from omnigraph.spark import attach, session

SCHEMA = """
node Person { name: String @key  age: I32?  bio: String?  about: Vector(4)? @embed("bio") }
edge Knows: Person -> Person
"""


def main() -> None:
    """Use a graph on Spark in every way."""
    told = json.load(sys.stdin)
    folder, options = Path(told["folder"]), told["options"]
    spark = session(
        "local[2]",
        config={
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC --add-opens=jdk.management/"
            "com.sun.management.internal=ALL-UNNAMED",
            "spark.local.dir": str(folder / "local"),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": (folder / "events").as_uri(),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.sql.shuffle.partitions": "2",
        },
    )
    provider = EmbeddingConfig("openai", base_url=told["provider"], api_key=told["key"])
    graph = og.open(told["uri"], storage_options=options, embedding=provider)
    _use_handle(spark, graph, told["uri"], folder)
    _use_catalog(spark, told["uri"], options)
    _dump(spark, folder / "dump-of-handles")
    _use_source(spark, told["uri"], options, folder)
    _dump(spark, folder / "dump-of-sources")
    words = []
    for each in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # workers end when they like
            words.append([*each.cmdline(), *map(repr, each.environ().items())])
    (folder / "processes").write_text(json.dumps(words))


def _use_handle(spark: Any, graph: Any, uri: str, folder: Path) -> None:
    records = [{"type": "Person", "data": {"name": f"p{i}", "age": i, "bio": f"b{i}"}} for i in range(20)]
    edges = [{"edge": "Knows", "from": f"p{i}", "to": f"p{i + 1}"} for i in range(19)]
    graph.load([*records, *edges], mode="append", engine="spark")
    graph.load(f"{uri}-in/people.csv", type="Person", mode="merge", engine="spark")
    graph.load(spark.createDataFrame([("q", 1)], "name string, age int"), type="Person", mode="merge")
    graph.export(f"{uri}-out", engine="spark", format="parquet")
    graph.optimize(engine="spark")
    graph.query("query q() { match { $p: Person } return { $p.name } }", engine="spark")
    (folder / "in").mkdir()
    (folder / "in" / "one.json").write_text(json.dumps({"value": json.dumps(records[0])}))
    writer = graph.stream_writer(mode="merge", app_id="handle")
    lines = spark.readStream.schema("value string").json(str(folder / "in")).writeStream
    lines = lines.option("checkpointLocation", str(folder / "checkpoint-of-handle"))
    lines.foreachBatch(writer).trigger(availableNow=True).start().awaitTermination(120)


def _use_catalog(spark: Any, uri: str, options: dict[str, str]) -> None:
    attach(spark, uri, "og", storage_options=options)
    summed = "SELECT sum(age) FROM og.main.Person WHERE age > 3"
    assert "[sum(age)] where" in spark.sql(f"EXPLAIN {summed}").collect()[0][0]  # by the tasks of the catalog
    for text in (
        summed,
        "INSERT INTO og.main.Person (name, age) VALUES ('sql', 7)",
        "UPDATE og.main.Person SET age = age + 1 WHERE name = 'sql'",
        "MERGE INTO og.main.Person AS p USING (SELECT 'sql' AS name, 9 AS age) AS n ON p.name = n.name "
        "WHEN MATCHED THEN UPDATE SET age = n.age",
        "DELETE FROM og.main.Person WHERE name = 'sql'",
        "SELECT * FROM og.system.commits",
        "CREATE NAMESPACE og.draft",
        "SHOW CATALOGS",
        "SET",
    ):
        print(spark.sql(text).collect())


def _use_source(spark: Any, uri: str, options: dict[str, str], folder: Path) -> None:
    given = {"graph": uri, **{f"storage.{name}": value for name, value in options.items()}}

    def reader(**more: str) -> Any:
        return spark.read.format("omnigraph").options(**given, **more)

    people = reader().load("Person").select("name", "age")
    print(people.collect(), people._jdf.queryExecution().toString())
    reader(query="query q() { match { $p: Person } return { $p.name } }").load().collect()
    reader(changes="beginning").load().collect()
    people.limit(3).write.format("omnigraph").options(**given, path="Person", mode="merge").mode(
        "append"
    ).save()
    feed = spark.readStream.format("omnigraph").options(**given, changes="beginning").load()
    out = feed.writeStream.format("json").option("path", str(folder / "feed"))
    out = out.option("checkpointLocation", str(folder / "checkpoint-of-feed"))
    out.trigger(availableNow=True).start().awaitTermination(120)
    lines = spark.readStream.schema("value string").json(str(folder / "in")).writeStream
    lines = lines.format("omnigraph").options(**given, app_id="source")
    lines = lines.option("checkpointLocation", str(folder / "checkpoint-of-sink"))
    lines.trigger(availableNow=True).start().awaitTermination(120)


def _dump(spark: Any, path: Path) -> None:
    """Write all that Java has in memory, also what it has not collected yet."""
    jvm = spark.sparkContext._jvm
    kind = jvm.java.lang.Class.forName("com.sun.management.HotSpotDiagnosticMXBean")
    bean = jvm.java.lang.management.ManagementFactory.getPlatformMXBean(kind)
    bean.dumpHeap(str(path.with_suffix(".hprof")), False)


if __name__ == "__main__":
    os.umask(0o022)
    main()
