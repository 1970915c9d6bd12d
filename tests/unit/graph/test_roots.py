"""Where a graph may be made, and how much a commit may say about itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from support.s3 import S3

SCHEMA = "node A { k: String @key }"


@pytest.mark.parametrize("inside", ["nodes/x", "nodes", "edges/deep/er", "__manifest/x", "__mine"])
def test_no_graph_is_made_among_the_files_of_another(tmp_path: Path, inside: str) -> None:
    og.init(tmp_path / "graph", SCHEMA)
    with pytest.raises(og.BadInput, match="lies inside the graph"):
        og.init(tmp_path / "graph" / inside, SCHEMA)
    assert og.open(tmp_path / "graph").snapshot().version == 1


def test_folders_that_only_have_such_names_are_free(tmp_path: Path) -> None:
    og.init(tmp_path / "graph", SCHEMA)
    for free in ("nodes/graph", "graph/other", "__all/edges/graph"):
        assert og.init(tmp_path / free, SCHEMA).snapshot().version == 1


@pytest.mark.s3
def test_a_bucket_is_no_different(s3: S3) -> None:
    og.init(f"{s3.uri}/nodes/graph", SCHEMA, storage_options=s3.options)
    with pytest.raises(og.BadInput, match="lies inside the graph"):
        og.init(f"{s3.uri}/nodes/graph/nodes/x", SCHEMA, storage_options=s3.options)


def test_a_message_and_an_actor_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_COMMIT_TEXT_BYTES", "8")
    graph = og.init(tmp_path / "graph", SCHEMA, actor="12345678")
    record = [{"type": "A", "data": {"k": "1"}}]
    for writer in (
        lambda said: graph.load(record, mode="append", message=said),
        lambda said: graph.load(record, mode="append", branch="b", from_branch="main", message=said),
        lambda said: graph.mutate('query q() { insert A { k: "1" } }', message=said),
    ):
        with pytest.raises(og.ResourceLimit, match="message has 9 bytes") as caught:
            writer("\u00e4" * 4 + "x")
        assert caught.value.details["limit"] == 8
    assert graph.branches.list() == ["main"]
    assert graph.snapshot().version == 1
    graph.load(record, mode="append", message="\u00e4" * 4)
    assert graph.commits.list()[0].message == "\u00e4" * 4
    with pytest.raises(og.ResourceLimit, match="actor has 9 bytes"):
        og.open(tmp_path / "graph", actor="123456789")
