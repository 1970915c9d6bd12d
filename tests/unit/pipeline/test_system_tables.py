"""Facts about a graph as tables: those of a commit are of that commit."""

from __future__ import annotations

from pathlib import Path

import omnigraph as og
from omnigraph.graph.snapshot import Snapshot
from omnigraph.pipeline.options import open_from_options
from omnigraph.pipeline.sql.system_tables import system_rows, system_schema


def test_the_commits_of_a_version_or_tag_are_what_it_comes_from(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node T { name: String @key }")
    schema = system_schema("commits")
    assert schema is not None

    def insert(name: str, branch: str) -> None:
        graph.mutate("query q($name: String) { insert T { name: $name } }", {"name": name}, branch=branch)

    def listed(snapshot: Snapshot) -> list[tuple[str, int]]:
        rows = system_rows("commits", opened, snapshot, schema).to_pylist()
        return [(row["branch"], row["version"]) for row in rows]

    insert("a", "main")
    graph.branches.create("dev")
    insert("b", "dev")
    graph.tags.create("v1", branch="dev")
    insert("c", "main")
    graph.branches.merge("dev", "main")
    graph.branches.delete("dev")
    opened = open_from_options({"graph": graph.uri}, read_only=True)
    before = [("main", 2), ("main", 1)]
    assert listed(opened.snapshot()) == [("main", 4), ("main", 3), ("dev", 3), *before]
    assert listed(opened.snapshot(version=2)) == before
    assert listed(opened.snapshot(tag="v1")) == [("dev", 3), *before]
