"""Handles in pickles: the other process opens the same graph again, and no secret is in the bytes."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = "node Person { name: String @key  photo: Blob? }\nedge Knows: Person -> Person"
COUNT = "query q() { match { $p: Person } return { count($p) as n } }"
SECRET = "hush-hush"


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA, actor="act-ada")
    graph.load([{"type": "Person", "data": {"name": "ada", "photo": "base64:eHl6"}}], mode="append")
    return graph


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def test_a_handle_and_what_belongs_to_it_reopens(graph: og.Graph) -> None:
    graph.branches.create("topic")
    topic = og.open(graph.uri, branch="topic", actor="act-bob", read_only=True)
    copy = again(topic)
    assert (copy.uri, copy.branch, copy.actor, copy.read_only) == (graph.uri, "topic", "act-bob", True)
    assert again(graph).query(COUNT).scalar() == 1
    assert again(graph.branches).list() == ["main", "topic"]
    assert again(graph.commits).list()[0] == graph.commits.list()[0]
    assert again(graph.tags).list() == []
    assert again(graph.schema).source == SCHEMA
    assert again(graph.changes).poll(start="beginning").blocks
    pinned = graph.snapshot()
    blob = graph.blob("node", "Person", graph.query(ID).scalar(), "photo")
    graph.load([{"type": "Person", "data": {"name": "bob"}}], mode="append")
    assert again(pinned).query(COUNT).scalar() == 1
    assert (again(pinned).commit_id, again(pinned).branch) == (pinned.commit_id, "main")
    assert again(blob).read() == b"xyz"
    assert again(graph.query(COUNT)).scalar() == 2
    assert again(graph.prepare(COUNT))().scalar() == 2


def test_a_handle_that_is_awaited_reopens(graph: og.Graph) -> None:
    async def work() -> list[int]:
        opened = await og.aopen(graph.uri, branch="main")
        prepared, pinned = again(await opened.prepare(COUNT)), again(await opened.snapshot())
        found = [await again(opened).query(COUNT), await pinned.query(COUNT), await prepared()]
        assert await again(opened.branches).list() == ["main"]
        return [item.scalar() for item in found]

    assert asyncio.run(work()) == [1, 1, 1]


ID = "query q() { match { $p: Person } return { $p.id as id } }"


def test_another_process_opens_it(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "handle").write_bytes(pickle.dumps(graph))
    path = str(tmp_path / "handle")
    code = f"import pickle; g = pickle.load(open({path!r}, 'rb')); print(g.query({COUNT!r}).scalar())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "1"


def test_a_branch_or_a_graph_that_took_its_place_is_not_it(graph: og.Graph, tmp_path: Path) -> None:
    graph.branches.create("topic")
    topic = pickle.dumps(og.open(graph.uri, branch="topic"))
    graph.branches.delete("topic")
    graph.branches.create("topic")
    with pytest.raises(og.BranchGone):
        pickle.loads(topic).query(COUNT)
    main = pickle.dumps(graph)
    (tmp_path / "graph").rename(tmp_path / "moved")
    with pytest.raises(og.NotAGraph):
        pickle.loads(main)
    og.init(tmp_path / "graph", SCHEMA)
    with pytest.raises(og.NotFound, match="another one"):
        pickle.loads(main)


@pytest.mark.s3
def test_credentials_are_never_in_a_pickle(s3: Any) -> None:
    graph = og.init(f"{s3.uri}/graph", SCHEMA, storage_options=s3.options)
    with pytest.raises(og.BadInput, match="may be a credential") as refused:
        pickle.dumps(graph)
    assert "access_key" in refused.value.option
    with pytest.raises(og.BadInput, match="may be a credential"):
        pickle.dumps(graph.snapshot())


@pytest.mark.parametrize(
    "embedding",
    [
        og.EmbeddingConfig("openai", api_key=SECRET),
        type("P", (), {"model": "m", "embed": lambda self, texts: []})(),
    ],
    ids=["key", "object"],
)
def test_a_provider_with_a_key_or_an_object_is_refused(graph: og.Graph, embedding: Any) -> None:
    with pytest.raises(og.BadInput, match="cannot be pickled") as refused:
        pickle.dumps(og.open(graph.uri, embedding=embedding))
    assert SECRET not in str(refused.value)
    assert again(og.open(graph.uri, embedding="mock", storage_options={"fsync": "false"})).branch == "main"


def test_what_is_read_while_it_is_used_says_that_it_cannot_be_pickled(graph: og.Graph) -> None:
    first = graph.commits.list()[-1].id
    for value in (graph.stream(COUNT), graph.diff(first, "main")):
        with pytest.raises(og.BadInput, match="cannot be pickled"):
            pickle.dumps(value)
