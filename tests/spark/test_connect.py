"""A client of Spark Connect: everything runs on a server in another process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph as og
from support.spark_servers import start_server, wait_for

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person\n"
CLIENT = """
import sys
import omnigraph as og
from omnigraph.spark import attach, session, stop, ui_address

root, lines, out = sys.argv[1:]
spark = session()
assert type(spark).__module__.startswith("pyspark.sql.connect") and ui_address(spark) is None
graph = og.open(root)
done = graph.load(lines, mode="append", engine="spark")
print(done.engine, done.nodes, done.edges)
frame = spark.createDataFrame([("eve", 29), ("fay", None)], "name string, age int")
print(graph.load(frame, mode="merge", type="Person").nodes)
asked = "query q() { match { $p: Person  $p knows $q } return { $p.name, $q.age } order { $p.name } limit 2 }"
print(graph.query(asked, engine="spark").rows)
people = spark.read.format("omnigraph").option("graph", root).load("Person")
print(people.filter("age > 40").count())
people.limit(1).selectExpr("'gus' as name", "7 as age").write.format("omnigraph").mode("append").option(
    "graph", root).save("Person")
print(graph.export(out, engine="spark").files)
for wrong in ('{"type": "Person", "data": {"name": "p1"}}', '{"type": "Robot", "data": {}}'):
    with open(lines, "w") as file:
        file.write(wrong + "\\n")
    try:
        graph.load(lines, mode="append", engine="spark")
    except og.OmniError as error:
        print(error)
attach(spark, root)
spark.sql("UPDATE og.main.Person SET age = 100 WHERE name = 'gus'").collect()
spark.sql("INSERT INTO og.main.Knows (`from`, `to`) VALUES ('gus', 'eve')").collect()
old = "SELECT count(*) FROM og.main.Person p JOIN og.main.Knows k ON k.`from` = p.id WHERE age > 40"
first = "SELECT count(*) FROM og.main.Person VERSION AS OF 1"
print(spark.sql(old).collect()[0][0], spark.sql(first).collect()[0][0])
arriving = spark.readStream.schema("name string, age int").json(out + "-inbox")
sink = arriving.writeStream.format("omnigraph").option("graph", root).option("app_id", "hr")
sink = sink.option("on_error", "quarantine").option("rejected_to", out + "-aside")
stream = sink.option("checkpointLocation", out + "-at").trigger(availableNow=True).start("Person")
stream.awaitTermination()
print(stream.exception())
stop()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server with two cores."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path / "server.log"
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    process = start_server(
        log, "org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", "--driver-memory", "1g",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--conf", f"spark.driver.extraJavaOptions={java}", "--conf", "spark.ui.enabled=false",
        "--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.sql.shuffle.partitions=2",
        "--conf", f"spark.sql.warehouse.dir={tmp_path / 'warehouse'}",
        "--conf", "spark.driver.host=127.0.0.1", "spark-internal",
    )  # fmt: skip
    try:
        wait_for(log, "Spark Connect server started")
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_loads_queries_exports_and_the_data_source_run_on_the_server(server: str, tmp_path: Path) -> None:
    root, lines = tmp_path / "graph", tmp_path / "people.ndjson"
    graph = og.init(root, SCHEMA)
    people = [f'{{"type": "Person", "data": {{"name": "p{i}", "age": {i}}}}}\n' for i in range(50)]
    knows = [f'{{"edge": "Knows", "from": "p{i}", "to": "p{i + 1}"}}\n' for i in range(49)]
    lines.write_text("".join(people + knows))
    (tmp_path / "out-inbox").mkdir()
    (tmp_path / "out-aside").mkdir()
    (tmp_path / "out-inbox" / "1.json").write_text('{"name": "hal", "age": 52}\n{"age": 1}\n')
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(root), str(lines), str(tmp_path / "out")],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "SPARK_REMOTE": server, "OMNIGRAPH_SPARK_CONFIG": ""},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[:4] == [
        "spark {'Person': 50} {'Knows': 49}",
        "{'Person': 2}",
        "[{'p.name': 'p0', 'q.age': 1}, {'p.name': 'p1', 'q.age': 2}]",
        "9",
    ]
    assert said[5].startswith(f"{lines}:1: ") and said[6].startswith(f"{lines}:1: "), said
    assert said[7] == "9 0"
    count = "query q() { match { $p: Person } return { count($p) as n } }"
    assert said[8] == "None"
    assert graph.query(count).rows == [{"n": 54}]
    assert [path.name for path in (tmp_path / "out-aside").iterdir()] == ["hr-0.rejected"]
    copy = og.init(tmp_path / "copy", SCHEMA)
    copy.load(str(tmp_path / "out" / "**" / "*.ndjson"), mode="append")
    assert copy.query(count).rows == [{"n": 53}]
