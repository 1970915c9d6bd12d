"""The tables of a graph for other tools that read Lance."""

from __future__ import annotations

from pathlib import Path

import lance
import lance_namespace
import pytest

import omnigraph as og


def test_other_tools_read_a_branch_through_its_namespace_and_write_nothing(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node Person { name: String @key  age: I32? }")
    graph.load([{"type": "Person", "data": {"name": "ada", "age": 36}}], mode="append")
    namespace = graph.namespace()
    assert isinstance(namespace, lance_namespace.LanceNamespace)
    (table,) = namespace.list_tables(lance_namespace.ListTablesRequest()).tables
    graph.load([{"type": "Person", "data": {"name": "bob"}}], mode="append")
    opened = lance.dataset(namespace_client=namespace, table_id=[table])
    assert opened.to_table(["name", "age"]).to_pylist() == [{"name": "ada", "age": 36}], "as it was then"
    with pytest.raises(Exception, match="Commit result for version 3 is unknown"):
        opened.delete("age = 36")
    assert graph.query("query q() { match { $p: Person } return { count($p) as n } }").rows == [{"n": 2}]
