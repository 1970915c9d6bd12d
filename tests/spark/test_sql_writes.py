"""INSERT, UPDATE, MERGE INTO, DELETE, CREATE TABLE and CALL: each statement is one commit, or none."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.functions import udf

import omnigraph as og
from omnigraph.spark import attach, graph_error

SCHEMA = """
node Person { name: String @key  age: I32?  city: String? }
node City { name: String @key  people: U32? }
node Note { text: String }
edge Knows: Person -> Person { since: Date? }
"""
_count = iter(range(1000))


class Catalog:
    """A graph and its catalog in the session."""

    def __init__(self, session: Any, folder: Path) -> None:
        self.session, self.name = session, f"w{next(_count)}"
        self.graph = og.init(folder / "graph", SCHEMA)
        people = {"ada": (36, "London"), "bob": (41, "Paris"), "cyd": (55, "Paris"), "eve": (None, None)}
        nodes = [
            {"type": "Person", "data": {"name": name, "age": age, "city": city}}
            for name, (age, city) in people.items()
        ]
        edges = [{"edge": "Knows", "from": a, "to": b} for a, b in (("ada", "bob"), ("bob", "cyd"))]
        self.graph.load([*nodes, *edges], mode="append")
        attach(session, self.graph.uri, self.name)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, in which `og` stands for the catalog."""
        rows = self.session.sql(text.replace("og.", f"{self.name}.")).collect()
        return sorted((tuple(row) for row in rows), key=str)

    def error(self, text: str) -> og.OmniError:
        """Return the error of the graph with which a statement ends, having changed nothing."""
        before = self.graph.snapshot().commit_id
        with pytest.raises(PySparkException) as caught:
            self.sql(text)
        found = graph_error(caught.value)
        assert found is not None, caught.value
        assert self.graph.snapshot().commit_id == before
        return found

    def ages(self) -> dict[str, int | None]:
        """Return the ages of all people, as the graph has them."""
        rows = self.graph.query("query q() { match { $p: Person } return { $p.name, $p.age } }").rows
        return {row["p.name"]: row["p.age"] for row in rows}


@pytest.fixture
def catalog(session: Any, tmp_path: Path) -> Catalog:
    """A fresh graph."""
    return Catalog(session, tmp_path)


def test_rows_are_inserted_by_position_by_name_and_by_columns(catalog: Catalog) -> None:
    catalog.sql("INSERT INTO og.main.person VALUES ('gus', 44, 'Bern')")
    catalog.sql("INSERT INTO og.main.person BY NAME SELECT 45 AS age, 'hal' AS name")
    catalog.sql("INSERT INTO og.main.knows (`to`, `from`) VALUES ('gus', 'hal')")
    assert catalog.graph.snapshot().version == 5
    assert catalog.ages() == {"ada": 36, "bob": 41, "cyd": 55, "eve": None, "gus": 44, "hal": 45}
    assert catalog.sql("SELECT `to` FROM og.main.knows WHERE `from` = 'hal'") == [("gus",)]
    assert isinstance(catalog.error("INSERT INTO og.main.person (name) VALUES ('hal')"), og.KeyConflict)
    catalog.sql("INSERT INTO og.main.person WITH ('mode' = 'merge') (name, age) VALUES ('hal', 46)")
    assert catalog.ages()["hal"] == 46
    catalog.sql("INSERT OVERWRITE og.main.city VALUES ('Oslo', 3)")
    catalog.sql("INSERT OVERWRITE og.main.city VALUES ('Bern', 4)")
    assert catalog.sql("SELECT * FROM og.main.city") == [("Bern", 4)]


def test_update_and_merge_are_one_commit_each(catalog: Catalog) -> None:
    catalog.sql("UPDATE og.main.person SET age = age + 1 WHERE city = 'Paris'")
    assert catalog.ages() == {"ada": 36, "bob": 42, "cyd": 56, "eve": None}
    catalog.sql(
        "MERGE INTO og.main.person t USING (SELECT * FROM VALUES ('ada', 37), ('zoe', 20), ('eve', 0), "
        "('bob', 0) AS s(name, age)) s ON t.name = s.name WHEN MATCHED AND s.age = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET age = s.age "
        "WHEN NOT MATCHED THEN INSERT (name, age) VALUES (s.name, s.age)"
    )
    assert catalog.ages() == {"ada": 37, "cyd": 56, "zoe": 20}
    assert catalog.sql("SELECT * FROM og.main.knows") == []  # bob's edges went with him
    assert [commit.operation for commit in catalog.graph.commits.list()][:2] == ["merge", "update"]
    assert catalog.graph.snapshot().version == 4
    assert catalog.graph.commits.list(limit=1)[0].metadata == {
        "sql.inserted": "1",
        "sql.updated": "1",
        "sql.deleted": "2",
    }
    moved = catalog.error("UPDATE og.main.person SET name = 'x' WHERE name = 'ada'")
    assert isinstance(moved, og.BadInput) and "cannot be changed" in moved.message
    twice = catalog.error(
        "MERGE INTO og.main.person t USING (SELECT 'cyd' AS name) s ON false "
        "WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name)"
    )
    assert isinstance(twice, og.KeyConflict)


def test_rows_without_a_key_keep_their_ids(catalog: Catalog) -> None:
    catalog.sql("INSERT INTO og.main.note VALUES ('a'), ('b')")
    before = catalog.sql("SELECT text, id FROM og.main.note")
    catalog.sql("UPDATE og.main.note SET text = upper(text) WHERE text = 'a'")
    assert catalog.sql("SELECT lower(text), id FROM og.main.note") == before
    catalog.sql("UPDATE og.main.knows SET since = DATE'2021-01-01' WHERE `from` = 'ada'")
    assert [str(row[1]) for row in catalog.sql("SELECT `from`, since FROM og.main.knows")] == [
        "2021-01-01",
        "None",
    ]


def test_rows_are_deleted_by_storage_or_by_spark_with_their_edges(catalog: Catalog) -> None:
    catalog.sql("DELETE FROM og.main.person WHERE name = 'cyd'")
    assert catalog.graph.commits.list(limit=1)[0].metadata["sql.deleted"] == "1"
    assert catalog.sql("SELECT `from`, `to` FROM og.main.knows") == [("ada", "bob")]
    catalog.sql("DELETE FROM og.main.person WHERE name IN (SELECT `to` FROM og.main.knows)")
    assert sorted(catalog.ages()) == ["ada", "eve"] and catalog.sql("SELECT * FROM og.main.knows") == []
    version = catalog.graph.snapshot().version
    catalog.sql("DELETE FROM og.main.person WHERE age > 1000")
    assert catalog.graph.snapshot().version == version
    catalog.sql("TRUNCATE TABLE og.main.person")
    assert catalog.ages() == {}


def test_a_row_that_another_writer_changes_meanwhile_is_a_conflict(catalog: Catalog) -> None:
    uri = catalog.graph.uri

    def other_writer(name: str) -> str:
        og.open(uri).load([{"type": "Person", "data": {"name": name, "age": 99}}], mode="merge")
        return name

    catalog.session.udf.register("other_writer", udf(other_writer, "string").asNondeterministic())
    with pytest.raises(PySparkException) as caught:
        catalog.sql("UPDATE og.main.person SET city = other_writer('ada') WHERE name = 'ada'")
    lost = graph_error(caught.value)
    assert isinstance(lost, og.ExpectedVersionMismatch) and lost.id == "ada"
    assert catalog.ages()["ada"] == 99
    catalog.sql("UPDATE og.main.person SET city = other_writer('eve') WHERE name = 'ada'")
    assert catalog.ages() == {"ada": 99, "bob": 41, "cyd": 55, "eve": 99}
    assert catalog.sql("SELECT city FROM og.main.person WHERE name = 'ada'") == [("eve",)]


def test_an_update_goes_on_beside_cleanups(catalog: Catalog) -> None:
    uri = catalog.graph.uri

    def clean_up(name: str) -> str:
        import os

        os.environ["OMNIGRAPH_CLEANUP_GRACE_SECONDS"] = "0"
        try:
            other = og.open(uri)
            for number in range(3):
                other.load([{"type": "Person", "data": {"name": f"new {number}"}}], mode="merge")
                other.optimize()
                other.cleanup(keep=1)
        finally:
            del os.environ["OMNIGRAPH_CLEANUP_GRACE_SECONDS"]
        return name

    catalog.session.udf.register("clean_up", udf(clean_up, "string").asNondeterministic())
    catalog.sql("UPDATE og.main.person SET city = clean_up('there') WHERE name = 'ada'")
    assert catalog.sql("SELECT city FROM og.main.person WHERE name = 'ada'") == [("there",)]
    assert not [
        tag for tag in catalog.graph.internals.core.truth.tags.list() if tag.name.startswith("__write/")
    ]


def test_statements_are_noted_by_actor_message_and_metadata(catalog: Catalog, tmp_path: Path) -> None:
    attach(catalog.session, catalog.graph.uri, f"{catalog.name}by", actor="etl")
    rows = catalog.session.createDataFrame(
        [("gus", 1, "a"), (None, 2, "b")], "name string, age int, city string"
    )
    table, aside = f"{catalog.name}by.main.person", tmp_path / "gone"
    writer = rows.writeTo(table).option("metadata", '{"run": "7"}').option("message", "nightly")
    writer.option("on_error", "quarantine").option("rejected_to", str(aside)).append()
    (found,) = catalog.session.sql(
        f"SELECT actor, message, metadata FROM {catalog.name}by.system.commits ORDER BY version DESC LIMIT 1"
    ).collect()
    assert (found.actor, found.message, found.metadata["run"]) == ("etl", "nightly", "7")
    assert found.metadata["load.rejected"] == "1"
    assert '"age": 2' in aside.read_text()
    catalog.session.sql(f"DELETE FROM {table} WHERE name = 'gus'")
    assert catalog.graph.commits.list(limit=1)[0].actor == "etl"


def test_all_tables_of_a_query_are_of_one_commit(catalog: Catalog) -> None:
    done = threading.Event()

    def write() -> None:
        at = 0
        while not done.is_set():
            both = [{"type": "Note", "data": {"text": "x"}}, {"type": "City", "data": {"name": f"c{at}"}}]
            catalog.graph.load(both, mode="append")
            at += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            query = "SELECT (SELECT count(*) FROM og.main.note), (SELECT count(*) FROM og.main.city)"
            ((notes, cities),) = catalog.sql(query)
            assert notes == cities
    finally:
        done.set()
        writer.join()


def test_columns_that_are_added_are_properties(catalog: Catalog) -> None:
    catalog.sql("ALTER TABLE og.main.person ADD COLUMNS (mail STRING, tall DOUBLE)")
    assert "mail: String?" in catalog.graph.schema.source
    catalog.sql("UPDATE og.main.person SET mail = 'a@x', tall = 1.5 WHERE name = 'ada'")
    assert catalog.sql("SELECT mail, tall FROM og.main.person WHERE mail IS NOT NULL") == [("a@x", 1.5)]
    for text in ("DROP COLUMN age", "RENAME COLUMN age TO old", "ADD COLUMN n INT NOT NULL"):
        with pytest.raises(PySparkException, match=r"schema\.apply"):
            catalog.sql(f"ALTER TABLE og.main.person {text}")
    assert {row[1] for row in catalog.sql(f"SHOW TABLES IN {catalog.name}")} >= {"Person", "Knows"}


def test_a_table_that_is_created_is_a_new_type(catalog: Catalog) -> None:
    catalog.sql(
        "CREATE TABLE og.main.Item (sku STRING PRIMARY KEY, price DOUBLE NOT NULL, tags ARRAY<STRING>)"
    )
    catalog.sql("INSERT INTO og.main.item VALUES ('a', 1.5, array('x'))")
    catalog.sql(
        "CREATE TABLE og.main.Buys (`from` STRING, `to` STRING, n INT) "
        "TBLPROPERTIES ('from' = 'Person', 'to' = 'Item')"
    )
    catalog.sql("INSERT INTO og.main.buys VALUES ('ada', 'a', 2)")
    catalog.sql(
        "CREATE TABLE og.main.Copy TBLPROPERTIES ('key' = 'name') AS SELECT name, age FROM og.main.person"
    )
    frame = catalog.session.range(2).selectExpr("concat('n', id) AS name", "id")
    wanted = frame.withColumnRenamed("id", "number")
    wanted.write.option("key", "name").saveAsTable(f"{catalog.name}.main.Saved")
    wanted.selectExpr("concat(name, 'x')", "number").write.mode("append").insertInto(
        f"{catalog.name}.main.Saved"
    )
    schema = catalog.graph.snapshot().catalog
    item, buys, copy = schema.node("Item"), schema.edge("Buys"), schema.node("Copy")
    assert item is not None and item.key == ("sku",) and not item.by_name["price"].type.nullable
    assert buys is not None and (buys.source, buys.target) == ("Person", "Item")
    assert copy is not None and copy.key == ("name",)
    assert catalog.sql("SELECT count(*) FROM og.main.copy") == [(4,)]
    assert catalog.sql("SELECT * FROM og.main.saved") == [("n0", 0), ("n0x", 0), ("n1", 1), ("n1x", 1)]
    catalog.sql("DROP TABLE og.main.Buys")
    assert catalog.graph.snapshot().catalog.edge("Buys") is None
    assert isinstance(catalog.error("CREATE TABLE og.main.Odd (a DECIMAL(5, 2))"), og.BadInput)


def test_branches_tags_and_care_are_statements(catalog: Catalog) -> None:
    catalog.sql("CREATE NAMESPACE og.dev")
    catalog.sql("INSERT INTO og.dev.person (name) VALUES ('fay')")
    catalog.sql("CALL og.system.merge_branch(source => 'dev')")
    assert "fay" in catalog.ages()
    catalog.sql("DROP NAMESPACE og.dev CASCADE")
    assert catalog.graph.branches.list() == ["main"]
    ((tag, commit),) = catalog.sql("CALL og.system.create_tag('v1', branch => 'main')")
    assert (tag, commit) == ("v1", catalog.graph.snapshot().commit_id)
    ((_, tables),) = catalog.sql("CALL og.system.optimize()")
    assert tables >= 1 and catalog.graph.commits.list()[0].operation == "optimize"
    ((dropped, _, _),) = catalog.sql("CALL og.system.cleanup(keep => 1, dry_run => true)")
    assert dropped >= 1
    missing = catalog.error("CALL og.system.merge_branch(source => 'nope')")
    assert isinstance(missing, og.NotFound)
    with pytest.raises(PySparkException, match="does not support"):
        catalog.sql("INSERT INTO og.v1.person (name) VALUES ('q')")
