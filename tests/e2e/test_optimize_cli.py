"""`omnigraph optimize` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import omnigraph as og
from support.command_line import run, run_json

SCHEMA = "node Person { name: String @key  face: Vector(2)? @index }\nedge Knows: Person -> Person"


@pytest.fixture
def uri(tmp_path: Path) -> str:
    graph = og.init(tmp_path / "graph", SCHEMA)
    for name in ("ada", "bob"):
        graph.load([{"type": "Person", "data": {"name": name, "face": [1.0, 0.0]}}], mode="append")
    return graph.uri


def test_optimize_reports_every_table_as_json_and_does_nothing_twice(uri: str) -> None:
    done = run_json("optimize", uri)
    assert done["branch"] == "main"
    assert done["engine"] == "local"
    assert done["engine_reason"] == "the tables have 2 rows, fewer than 100,000,000"
    assert done["commit"] == og.open(uri).snapshot().commit_id
    people = next(table for table in done["tables"] if table["type_key"] == "node:Person")
    assert (people["fragments_removed"], people["fragments_added"], people["committed"]) == (2, 1, True)
    assert {"property": "name", "kind": "text"} in people["built"]
    [pending] = done["pending_indexes"]
    assert (pending["type_key"], pending["property"]) == ("node:Person", "face")
    assert run_json("optimize", uri)["commit"] is None


def test_optimize_says_in_words_what_it_did_and_what_is_pending(uri: str) -> None:
    done = run("--as", "act-ada", "optimize", uri)
    assert done.exit_code == 0
    assert "node:Person\t2 -> 1\tid (btree), name (btree), name (text)\t-" in done.stdout
    assert "pending: node:Person face: 2 vectors are too few" in done.stderr
    assert og.open(uri).snapshot().commit.actor == "act-ada"
    assert run("optimize", uri).stdout.startswith("nothing to do")


def test_only_indices_leaves_fragments_alone_and_a_branch_can_be_named(uri: str) -> None:
    og.open(uri).branches.create("topic")
    done = run_json("optimize", uri, "--branch", "topic", "--only-indices")
    assert all(table["fragments_removed"] == 0 for table in done["tables"])
    graph = og.open(uri)
    assert graph.snapshot("topic").commit.operation == "ensure_indices"
    assert graph.snapshot().commit.operation == "load"


def test_a_graph_that_is_not_there_is_an_error_with_a_code(tmp_path: Path) -> None:
    done = run("optimize", str(tmp_path / "nowhere"), "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["code"] == "not_a_graph"
