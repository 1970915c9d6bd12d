"""Lineage of `df.write` and SQL: the Python processes of Spark get their settings when Java starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

WRITE = """
import sys
import omnigraph as og
from omnigraph import spark

graph = og.init(sys.argv[1], "node Person { nr: I64 @key  name: String? }")
session = spark.session("local[1]")
frame = session.createDataFrame([(1, "ada"), (2, "bob")], "nr long, name string").coalesce(1)
write = frame.write.format("omnigraph").mode("append").option("graph", graph.uri)
write.save("Person")
try:
    write.save("Person")
except Exception as error:
    assert isinstance(spark.graph_error(error), og.KeyConflict), error
else:
    raise AssertionError("the second write was not refused")
spark.attach(session, graph.uri)
session.sql("UPDATE og.main.Person SET name = 'eve' WHERE nr = 1").collect()
session.sql("DELETE FROM og.main.Person WHERE nr = 2").collect()
spark.stop()
"""


def test_a_written_frame_is_a_run_and_so_are_one_that_is_refused_and_changes_in_sql(tmp_path: Path) -> None:
    told, root = tmp_path / "lineage.ndjson", tmp_path / "people"
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(root)],
        env={**os.environ, "OMNIGRAPH_OPENLINEAGE": str(told)},
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in told.read_text().splitlines()]
    assert [event["eventType"] for event in events] == ["START", "COMPLETE", "START", "FAIL"] + [
        "START",
        "COMPLETE",
    ] * 2
    assert len({event["run"]["runId"] for event in events}) == 4
    assert [event["job"]["name"].partition(".")[0] for event in events[1::2]] == [
        *("load", "load", "update", "delete")
    ]
    for event, rows in ((events[5], 1), (events[7], 0)):
        (output,) = event["outputs"]
        assert output["name"] == f"{root}/node:Person"
        assert output["outputFacets"]["outputStatistics"]["rowCount"] == rows
    (output,) = events[1]["outputs"]
    assert output["name"] == f"{root}/node:Person"
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert events[0]["eventTime"] < events[1]["eventTime"]
    assert "[key_conflict]" in events[3]["run"]["facets"]["errorMessage"]["message"]
