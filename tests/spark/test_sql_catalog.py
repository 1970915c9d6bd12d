"""A graph as a catalog of Spark SQL: what is read is what the plain data source reads."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException

import omnigraph as og
from omnigraph.spark import attach, graph_error

SCHEMA = """
node Person { name: String @key  age: I32?  city: String?  born: Date?  score: F64?  seen: DateTime? }
node City { name: String @key  people: U32? }
edge Knows: Person -> Person { since: Date? }
"""


def _person(name: str, age: int | None = None, city: str | None = None) -> dict[str, Any]:
    told = {"age": age, "city": city, "score": age and age * 1.5}
    return {"type": "Person", "data": {"name": name, **{key: value for key, value in told.items() if value}}}


class Catalog:
    """A graph and its catalog in the session."""

    def __init__(self, session: Any, folder: Path, name: str) -> None:
        self.session, self.name = session, name
        self.graph = og.init(folder / "graph", SCHEMA)
        people = [_person("ada", 36, "London"), _person("bob", 41, "Paris"), _person("cyd", 55, "Paris")]
        self.graph.load(people, mode="append")  # version 2
        self.graph.load(
            [
                {"type": "City", "data": {"name": "London", "people": 9}},
                {"type": "City", "data": {"name": "Paris", "people": 2}},
                {"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": "2020-01-01"}},
                {"edge": "Knows", "from": "bob", "to": "cyd"},
            ],
            mode="append",
        )  # version 3
        self.graph.load([_person("dan", 70, "Rome"), _person("eve")], mode="append")  # version 4
        attach(session, self.graph.uri, name)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, in which `og` stands for the catalog."""
        rows = self.session.sql(text.replace("og.", f"{self.name}.")).collect()
        return sorted((tuple(row) for row in rows), key=str)

    def plan(self, text: str) -> str:
        """Return the plan of a statement."""
        return str(self.session.sql("EXPLAIN " + text.replace("og.", f"{self.name}.")).collect()[0][0])

    def error(self, text: str) -> og.OmniError:
        """Return the error of the graph with which a statement ends."""
        with pytest.raises(PySparkException) as caught:
            self.sql(text)
        found = graph_error(caught.value)
        assert found is not None, caught.value
        return found


@pytest.fixture(scope="module")
def read(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A graph that is only read."""
    return Catalog(session, tmp_path_factory.mktemp("read"), "read_og")


_count = iter(range(1000))


@pytest.fixture
def written(session: Any, tmp_path: Path) -> Catalog:
    """A graph that a test may write to."""
    return Catalog(session, tmp_path, f"og{next(_count)}")


def test_branches_tags_and_types_are_listed(written: Catalog) -> None:
    written.graph.branches.create("review")
    assert written.sql("SELECT name FROM og.system.tags") == []
    written.graph.tags.create("v1")
    written.graph.tags.create("review")
    assert written.sql("SELECT name FROM og.system.tags") == [("review",), ("v1",)]
    assert written.sql(f"SHOW NAMESPACES IN {written.name}") == [
        ("`tag:review`",), ("main",), ("review",), ("system",), ("v1",)
    ]  # fmt: skip
    assert [row[1] for row in written.sql("SHOW TABLES IN og.main")] == ["City", "Knows", "Person"]
    assert [row[1] for row in written.sql("SHOW TABLES IN og.v1 LIKE 'p*'")] == ["Person"]
    written.graph.load([_person("fay", 99)], mode="append", branch="review")
    assert written.sql("SELECT count(*) FROM og.review.person") == [(6,)]
    assert written.sql("SELECT count(*) FROM og.`tag:review`.person") == [(5,)]
    described = written.sql("DESCRIBE og.main.person")
    assert sorted(row[0] for row in described) == ["age", "born", "city", "name", "score", "seen"]
    assert written.session.table(f"{written.name}.main.knows").columns == ["from", "to", "since"]
    assert written.session.table(f"{written.name}.main.person").columns[:3] == ["name", "age", "city"]


def test_storage_reads_only_the_columns_and_rows_of_a_query(read: Catalog) -> None:
    query = "SELECT name FROM og.main.Person WHERE age > 40 AND (city = 'Paris' OR city LIKE 'R%')"
    assert read.sql(query) == [("bob",), ("cyd",), ("dan",)]
    plan = read.plan(query)
    assert " Filter " not in plan and "[name] where" in plan, plan
    assert " Filter " in read.plan("SELECT name FROM og.main.Person WHERE length(city) = 5")
    assert read.sql("SELECT count(*) FROM og.main.person WHERE age IS NULL") == [(1,)]
    assert read.sql("SELECT count(*) FROM og.main.person") == [(5,)]
    assert read.sql("SELECT name FROM og.main.city WHERE people > -1 AND people < 5000000000") == [
        ("London",), ("Paris",)
    ]  # fmt: skip


def test_an_id_is_read_by_its_name_and_joins_edges_to_their_ends(read: Catalog) -> None:
    query = (
        "SELECT a.name, b.name FROM og.main.knows k JOIN og.main.person a ON a.id = k.`from` "
        "JOIN og.main.person b ON b.id = k.`to` WHERE b.age > 50"
    )
    assert read.sql(query) == [("bob", "cyd")]
    assert read.sql("SELECT p.id FROM og.main.person p WHERE id >= 'd'") == [("dan",), ("eve",)]
    assert "id" not in read.session.table("read_og.main.person").columns


def test_two_filters_of_one_frame_each_get_their_rows(read: Catalog) -> None:
    frame = read.session.table("read_og.main.person")
    both = frame.filter("age > 60").select("name").union(frame.filter("age < 40").select("name"))
    assert sorted(row.name for row in both.union(frame.select("name")).collect()) == [
        "ada", "ada", "bob", "cyd", "dan", "dan", "eve"
    ]  # fmt: skip


def test_the_planner_knows_how_many_rows_there_are(read: Catalog) -> None:
    read.session.conf.set("spark.sql.cbo.planStats.enabled", "true")
    try:
        assert "rowCount=5" in read.plan("COST SELECT name FROM og.main.person")
    finally:
        read.session.conf.unset("spark.sql.cbo.planStats.enabled")
    joined = "SELECT * FROM og.main.person p JOIN og.main.city c ON p.city = c.name"
    assert "BroadcastHashJoin" in read.plan(joined)


def test_history_is_read_by_version_tag_commit_and_moment(read: Catalog) -> None:
    commits = read.graph.commits.list()
    second, third = commits[2], commits[1]
    assert (second.version, third.version) == (2, 3)
    count = "SELECT count(*) FROM og.main.person"
    assert read.sql(f"{count} VERSION AS OF 2") == read.sql(f"{count} VERSION AS OF '{second.id}'") == [(3,)]
    assert read.sql(f"{count} VERSION AS OF 'main~2'") == [(3,)]
    assert read.sql(f"{count} TIMESTAMP AS OF '{second.created_at.isoformat()}'") == [(3,)]
    assert read.sql(f"{count} TIMESTAMP AS OF current_timestamp()") == [(5,)]
    assert read.session.read.option("versionAsOf", 2).table("read_og.main.person").count() == 3
    newer = (
        "SELECT n.name FROM og.main.person n LEFT ANTI JOIN og.main.person VERSION AS OF 2 o ON n.id = o.id"
    )
    assert read.sql(newer) == [("dan",), ("eve",)]
    assert read.graph.snapshot(timestamp=second.created_at).version == 2
    assert read.graph.snapshot(timestamp=datetime.now(UTC).isoformat()).version == 4


def test_what_is_not_there_is_told_in_the_words_of_spark_or_ours(read: Catalog) -> None:
    for unknown in (
        "SELECT * FROM og.main.persn",
        "SELECT * FROM og.nope.person",
        "SELECT nam FROM og.main.person",
    ):
        with pytest.raises(AnalysisException):
            read.sql(unknown)
    late = read.error("SELECT * FROM og.main.person VERSION AS OF 99")
    assert isinstance(late, og.NotFound) and late.version == 99
    assert "it is at version 4" in late.message
    early = read.error("SELECT * FROM og.main.person TIMESTAMP AS OF '2020-01-01'")
    assert isinstance(early, og.NotFound) and "nothing of branch" in early.message
    assert isinstance(read.error("SELECT * FROM og.main.person VERSION AS OF 'nope'"), og.NotFound)


def test_facts_about_the_graph_are_tables(read: Catalog) -> None:
    assert read.sql("SELECT version, operation FROM og.system.commits") == [
        (1, "init"), (2, "load"), (3, "load"), (4, "load")
    ]  # fmt: skip
    assert read.sql("SELECT max(version) FROM og.main.system.commits VERSION AS OF 2") == [(2,)]
    assert read.sql("SELECT name, version FROM og.system.branches") == [("main", 4)]
    assert read.sql("SELECT rows FROM og.system.tables WHERE table = 'node:Person'") == [(5,)]
    assert read.sql("SELECT sum(rows), count(*) FROM og.main.system.files WHERE table = 'node:Person'") == [
        (5, 2)
    ]
    assert read.sql("SELECT * FROM og.system.tags") == []


def test_a_frame_stays_at_the_commit_that_it_was_made_on(written: Catalog) -> None:
    frame = written.session.table(f"{written.name}.main.person")
    written.graph.load([_person("fay", 99)], mode="append")
    assert frame.count() == 5
    assert written.sql("SELECT count(*) FROM og.main.person") == [(6,)]


def test_a_catalog_that_did_not_work_is_tried_again(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)

    def fail(spark: Any, name: str) -> None:
        raise og.SparkFailed("no")

    with monkeypatch.context() as failing:
        failing.setattr("omnigraph.pipeline.sql.attach._try_out", fail)
        for _ in range(2):
            with pytest.raises(og.SparkFailed):
                attach(session, graph.uri, "tried")
    attach(session, graph.uri, "tried")
    assert session.sql("SELECT * FROM tried.main.City").collect() == []


def test_a_catalog_is_attached_once_under_a_name(read: Catalog, tmp_path: Path) -> None:
    attach(read.session, read.graph.uri, "read_og")
    other = og.init(tmp_path / "other", SCHEMA)
    with pytest.raises(og.BadInput, match="give another name"):
        attach(read.session, other.uri, "read_og")
    for wrong in ("a b", "", "spark_catalog", "a.b"):
        with pytest.raises(og.BadInput, match="is not a name"):
            attach(read.session, other.uri, wrong)
    with pytest.raises(og.NotAGraph):
        attach(read.session, tmp_path / "nothing", "nothing")
    assert read.session.conf.get("spark.sql.catalog.nothing", None) is None
