"""What a cluster declares of its graphs is changed by the cluster and by nobody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from support.clusters import OLDER, PEOPLE, TEAM, begin, write_cluster
from support.s3 import S3

CHANGES: dict[str, Callable[[og.Graph], object]] = {
    "schema": lambda graph: graph.schema.apply(OLDER),
    "schema of a branch": lambda graph: graph.schema.apply(OLDER),
    "queries": lambda graph: graph.queries.apply({"a.gq": TEAM}),
    "fewer queries": lambda graph: graph.queries.remove("everybody"),
}


@pytest.mark.parametrize("what", list(CHANGES))
def test_what_is_declared_of_a_graph_is_refused(tmp_path: Path, what: str) -> None:
    begin(write_cluster(tmp_path))
    graph = og.open(tmp_path / "graphs/people.omni", actor="act-ada")
    graph.branches.create("work")
    if what.endswith("branch"):
        graph = og.open(tmp_path / "graphs/people.omni", branch="work")
    before = graph.commits.list()[0].id
    with pytest.raises(og.ClusterManaged, match=f"the cluster at {tmp_path}: change") as caught:
        CHANGES[what](graph)
    assert caught.value.code == "cluster_managed" and caught.value.uri == graph.uri
    assert graph.commits.list()[0].id == before
    graph.load([{"type": "Person", "data": {"name": "ada"}}], mode="append")


@pytest.mark.parametrize("id", ["people", "another"])
def test_nobody_else_makes_a_graph_where_a_cluster_makes_its_own(tmp_path: Path, id: str) -> None:
    begin(write_cluster(tmp_path))
    root = tmp_path / f"graphs/{id}.omni"
    with pytest.raises(og.ClusterManaged, match="omnigraph cluster apply"):
        og.init(root, PEOPLE, force=True)
    assert root.exists() == (id == "people")
    og.init(tmp_path / "other.omni", PEOPLE).schema.apply(OLDER)


def test_a_link_to_a_graph_of_a_cluster_is_the_graph(tmp_path: Path) -> None:
    begin(write_cluster(tmp_path / "cluster"))
    (tmp_path / "link").symlink_to(tmp_path / "cluster/graphs/people.omni")
    with pytest.raises(og.ClusterManaged):
        og.open(tmp_path / "link").schema.apply(OLDER)


def test_a_folder_of_graphs_that_no_cluster_has_is_free(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graphs/people.omni", PEOPLE)
    assert graph.schema.apply(OLDER).applied


@pytest.mark.s3
def test_a_graph_of_a_cluster_in_a_bucket_is_protected_as_well(tmp_path: Path, s3: S3) -> None:
    storage = f"{s3.uri}/cluster"
    begin(write_cluster(tmp_path, storage=storage), s3.options)
    with pytest.raises(og.ClusterManaged, match=storage):
        og.open(f"{storage}/graphs/people.omni", storage_options=s3.options).schema.apply(OLDER)
    with pytest.raises(og.ClusterManaged, match=storage):
        og.init(f"{storage}/graphs/new.omni", PEOPLE, storage_options=s3.options)
    with pytest.raises(og.ClusterManaged):
        og.init(f"{storage}/graphs/new.omni/", PEOPLE, storage_options=s3.options)
