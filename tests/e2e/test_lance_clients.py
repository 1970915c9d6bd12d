"""Snapshots of a served graph, read by pylance's and LanceDB's own clients, without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import lance
import lance_namespace
import lancedb
import polars as pl
import pytest

import omnigraph as og
from support.served import TOKENS, Served, running_server

SCHEMA = "node Person { name: String @key  age: I64? }\nedge Knows: Person -> Person"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Served]:
    graph = og.init(folder / "people", SCHEMA)
    graph.load(
        [{"type": "Person", "data": {"name": name, "age": len(name)}} for name in ("a", "bb")], mode="append"
    )
    graph.tags.create("two")
    graph.branches.create("team/draft")
    graph.mutate('query q() { insert Person { name: "ccc", age: 3 } }')
    graph.mutate('query q() { delete Person where name = "a" }', branch="team/draft")
    with running_server(folder, str(folder / "people")) as server:
        yield server


def properties(server: Served) -> dict[str, str]:
    token = TOKENS["act-ada"]
    return {"uri": f"http://{server.address}/lance", "header.Authorization": f"Bearer {token}"}


@pytest.fixture
def namespace(server: Served) -> Any:
    return lance_namespace.connect("rest", properties(server))


def names(namespace: Any, *place: str) -> list[str]:
    dataset = lance.dataset(namespace_client=namespace, table_id=["people", *place])
    return sorted(dataset.to_table(columns=["name"])["name"].to_pylist())


def test_pylance_lists_and_reads_branches_tags_and_commits(namespace: Any, folder: Path) -> None:
    ask = lance_namespace
    assert namespace.list_namespaces(ask.ListNamespacesRequest(id=[])).namespaces == ["people"]
    found = namespace.list_namespaces(ask.ListNamespacesRequest(id=["people"])).namespaces
    assert found == ["main", "team/draft", "two"]
    tables = namespace.list_tables(ask.ListTablesRequest(id=["people", "main"])).tables
    assert tables == ["edge:Knows", "node:Person"]
    assert names(namespace, "main", "node:Person") == ["a", "bb", "ccc"]
    assert names(namespace, "two", "node:Person") == ["a", "bb"]
    assert names(namespace, "team/draft", "node:Person") == ["bb"]
    commit = og.open(folder / "people").commits.list()[1].id
    assert names(namespace, commit, "node:Person") == ["a", "bb"]
    table = lance.dataset(namespace_client=namespace, table_id=["people", "main", "node:Person"])
    assert (table.count_rows(), table.to_table(filter="age = 3")["name"].to_pylist()) == (3, ["ccc"])


def test_a_commit_stays_as_it_was_and_a_branch_moves(namespace: Any, folder: Path) -> None:
    graph = og.open(folder / "people")
    graph.branches.create("moving")
    pinned = graph.snapshot("moving").commit_id
    before = names(namespace, "moving", "node:Person")
    graph.mutate('query q() { insert Person { name: "later" } }', branch="moving")
    graph.optimize("moving")
    assert names(namespace, "moving", "node:Person") == sorted([*before, "later"])
    assert names(namespace, pinned, "node:Person") == before


def test_lancedb_opens_tables_and_searches_them(server: Served) -> None:
    db = lancedb.connect_namespace("rest", properties(server))
    assert db.table_names(namespace_path=["people", "main"]) == ["edge:Knows", "node:Person"]
    table = db.open_table("node:Person", namespace_path=["people", "two"])
    assert table.count_rows() == 2
    assert [row["name"] for row in table.search().where("age = 2").to_list()] == ["bb"]


def test_duckdb_and_polars_query_a_snapshot_through_what_pylance_opens(namespace: Any) -> None:
    people = lance.dataset(namespace_client=namespace, table_id=["people", "main", "node:Person"])
    asked = duckdb.sql("SELECT name, age * 2 AS twice FROM people WHERE age >= 2 ORDER BY name")
    assert asked.fetchall() == [("bb", 4), ("ccc", 6)]
    frame = pl.scan_pyarrow_dataset(people).filter(pl.col("age") >= 2).select("name").collect()
    assert sorted(frame["name"]) == ["bb", "ccc"]


def test_a_graph_on_the_server_gives_its_branch_as_a_namespace(server: Served) -> None:
    graph = og.open(server.url("people"), token=TOKENS["act-ada"])
    table = lance.dataset(namespace_client=graph.namespace("team/draft"), table_id=["node:Person"])
    assert table.count_rows() == 1


def test_writes_are_refused_clearly(server: Served, namespace: Any, folder: Path) -> None:
    before = og.open(folder / "people").snapshot().commit_id
    table = lance.dataset(namespace_client=namespace, table_id=["people", "main", "node:Person"])
    with pytest.raises(OSError, match="Commit result for version"):  # so pylance words that it was refused
        table.delete("true")
    with pytest.raises(Exception, match="written through the graph"):
        namespace.drop_table(lance_namespace.DropTableRequest(id=["people", "main", "node:Person"]))
    with pytest.raises(Exception, match="written through the graph"):
        namespace.create_namespace(lance_namespace.CreateNamespaceRequest(id=["people", "new"]))
    assert og.open(folder / "people").snapshot().commit_id == before
    assert og.open(folder / "people").repair().ok


def test_what_is_not_there_and_who_is_not_known(server: Served, namespace: Any) -> None:
    ask = lance_namespace
    for place in (
        ["people", "main", "node:Nobody"],
        ["people", "none", "node:Person"],
        ["other", "main", "x"],
    ):
        with pytest.raises(ask.LanceNamespaceError, match=r"there is no|does not name"):
            namespace.describe_table(ask.DescribeTableRequest(id=place))
    stranger = lance_namespace.connect("rest", {"uri": properties(server)["uri"]})
    with pytest.raises(ask.LanceNamespaceError, match="needs a token"):
        stranger.list_namespaces(ask.ListNamespacesRequest(id=[]))
