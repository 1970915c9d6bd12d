"""Rules about data hold in tasks of Spark: what they read and write is what the graph in process gives."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

import omnigraph as og
from omnigraph import spark
from support.data_policies import SCHEMA, policy_text, random_graph, random_hidden, random_rows_text
from support.examples import examples

TYPES = ("Person", "City", "Knows", "LivesIn")
QUERIES = (
    "query q() { match { $p: Person } return { $p.name, $p.region } }",
    "query q() { match { $a: Person $a knows{1,3} $b } return { $a.name, $b.name } }",
    "query q() { match { $n: Named } return { count($n) as n } }",
    "query q() { match { $a: Person not { $a knows $b } } return { $a.name } }",
)
FEW = """
permit(principal, action, resource is City);
permit(principal, action, resource is Person) when { resource has region && resource.region == "eu" };
permit(principal, action, resource is Knows);
"""


def open_seen(folder: Path, text: str, hidden: list[str], seed: int) -> tuple[og.Graph, dict[str, str]]:
    """Return a graph as an actor sees it, and the options by which Spark sees the same."""
    whole = og.init(folder / "graph", SCHEMA)
    whole.load([row.record() for row in random_graph(random.Random(seed))], mode="append")
    policy = policy_text(text, hidden)
    seen = og.open(folder / "graph", actor="act-ada", policy=policy)
    return seen, {"graph": whole.uri, "actor": "act-ada", "policy": policy}


def in_order(rows: Any) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("seed", range(examples(2)))
def test_tasks_read_what_the_actor_sees(tmp_path: Path, session: Any, seed: int) -> None:
    rng = random.Random(seed)
    text, hidden = random_rows_text(rng) if seed else FEW, random_hidden(rng)
    hidden = [name for name in hidden if name != "Person.region"]
    seen, options = open_seen(tmp_path, text, hidden, seed)

    for query in QUERIES:
        assert in_order(seen.query(query, engine="spark")) == in_order(seen.query(query)), (text, query)
    records: Any = seen.export()
    exported = [*records]
    for name in TYPES:
        kind = "node" if name in ("Person", "City") else "edge"
        there = [row for row in exported if row.get("type", row.get("edge")) == name]
        frame = session.read.format("omnigraph").options(**options).load(f"{kind}:{name}")
        assert not {item.partition(".")[2] for item in hidden if item.startswith(f"{name}.")} & {
            *frame.columns
        }
        assert sorted(row["id"] for row in frame.collect()) == sorted(row["data"]["id"] for row in there), (
            text
        )
        assert frame.count() == len(there)
        pushed = frame.where("id >= 'p1'").count()
        assert pushed == sum(row["data"]["id"] >= "p1" for row in there), (text, name)
    feed = session.read.format("omnigraph").options(**options, changes="beginning").load()
    changes = [change for block in seen.changes.poll(start="beginning").blocks for change in block.changes]
    told = [row for row in feed.collect() if row["op"] != "schema"]
    assert sorted(row["id"] for row in told) == sorted(change.id for change in changes), text


def test_sql_and_writes_of_tasks_hold_to_the_rules(tmp_path: Path, session: Any) -> None:
    seen, options = open_seen(tmp_path, FEW, ["Person.level"], 1)
    spark.attach(session, options["graph"], name="seen", actor="act-ada", policy=options["policy"])
    rows = session.sql("SELECT * FROM seen.main.Person").collect()
    everybody = og.open(seen.uri).query(QUERIES[0]).rows
    assert 0 < len(rows) == len(seen.query(QUERIES[0]).rows) < len(everybody)
    assert {row["region"] for row in rows} == {"eu"} and "level" not in session.table(
        "seen.main.Person"
    ).columns
    for text in (
        "SELECT count(*) FROM {}",
        "SELECT sum(n) FROM (SELECT count(*) AS n FROM {} GROUP BY region)",
    ):
        assert session.sql(text.format("seen.main.Person")).collect()[0][0] == len(rows)
    before = og.open(seen.uri).commits.list()[0].id
    frame = session.createDataFrame([("out", "us")], "name string, region string")
    with pytest.raises(PySparkException, match="rules about data"):
        frame.write.format("omnigraph").options(**options, mode="append").mode("append").save("node:Person")
    with pytest.raises(PySparkException, match="rules about data"):
        session.sql("INSERT INTO seen.main.Person (name, region) VALUES ('out', 'us')")
    assert og.open(seen.uri).commits.list()[0].id == before
