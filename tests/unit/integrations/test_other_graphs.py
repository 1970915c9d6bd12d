"""Graphs go to other libraries and come back the same; what they count comes back as properties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

import omnigraph as og
from omnigraph.integrations.igraph import from_igraph
from omnigraph.integrations.networkx import from_networkx, to_networkx
from omnigraph.integrations.pyg import patch_records, to_arrays

SCHEMA = """
node Person { name: String @key  age: I64?  born: Date?  score: F64?  face: Vector(2)? }
node City { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge LivesIn: Person -> City
"""
LARGE = 2**53 + 1


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "graph", SCHEMA)
    made.load(
        [
            {
                "type": "Person",
                "data": {"name": "ada", "age": LARGE, "born": "1815-12-10", "face": [0.6, 0.8]},
            },
            {"type": "Person", "data": {"name": "bob"}},
            {"type": "City", "data": {"name": "ada"}},
            {"edge": "Knows", "from": "ada", "to": "bob", "data": {"since": "2026-01-31"}},
            {"edge": "Knows", "from": "ada", "to": "bob"},
            {"edge": "LivesIn", "from": "ada", "to": "ada"},
        ],
        mode="append",
    )
    return made


def everything(graph: og.Graph) -> list[str]:
    return sorted(map(str, graph.export()))


def test_a_graph_that_was_a_networkx_graph_meanwhile_says_the_same(graph: og.Graph, tmp_path: Path) -> None:
    made = to_networkx(graph)
    assert made.nodes["Person", "ada"]["age"] == LARGE
    assert made.number_of_edges(("Person", "ada"), ("Person", "bob")) == 2
    again = og.init(tmp_path / "again", SCHEMA)
    again.load(list(from_networkx(made)), mode="append")
    assert everything(again) == everything(graph)


def test_a_commit_and_some_types_can_be_chosen(graph: og.Graph) -> None:
    before = graph.snapshot()
    graph.mutate('query q() { delete Person where name = "bob" }')
    assert len(to_networkx(graph, snapshot=before, types=["Person", "Knows"])) == 2
    assert len(to_networkx(graph, snapshot=before.commit_id)) == 3
    assert to_networkx(graph, types=["Person", "LivesIn"]).number_of_edges() == 0


def test_any_graph_of_networkx_becomes_nodes_and_edges(graph: og.Graph) -> None:
    karate = networkx.karate_club_graph()
    named = networkx.relabel_nodes(karate, {number: f"member {number}" for number in karate})
    networkx.set_node_attributes(named, networkx.degree_centrality(named), "score")
    for _, attributes in named.nodes(data=True):
        attributes.pop("club")
    for _, _, attributes in named.edges(data=True):
        attributes.clear()
    records = from_networkx(named, node_type="Person", key="name", edge_type="Knows")
    loaded = graph.load(list(records), mode="merge")
    assert (loaded.nodes, loaded.edges) == ({"Person": 34}, {"Knows": 78})


def test_a_node_without_a_type_is_told(graph: og.Graph) -> None:
    plain = networkx.Graph()
    plain.add_node("x")
    with pytest.raises(og.BadInput, match="node 'x' has no type"):
        list(from_networkx(plain))


def test_arrays_number_the_nodes_of_each_type(graph: og.Graph) -> None:
    arrays = to_arrays(graph)
    assert arrays.ids == {"City": ("ada",), "Person": ("ada", "bob")}
    assert arrays.edge_index["Person", "Knows", "Person"].tolist() == [[0, 0], [1, 1]]
    assert arrays.edge_index["Person", "LivesIn", "City"].tolist() == [[0], [0]]


def test_features_are_numbers_and_vectors_and_nothing_else(graph: og.Graph) -> None:
    graph.mutate(
        'query q($v: Vector(2)) { update Person set { face: $v } where name = "bob" }', {"v": [1.0, 0.0]}
    )
    rows = to_arrays(graph, features={"Person": ["score", "face"]}).features["Person"]
    assert np.allclose(rows, [[0, 0.6, 0.8], [0, 1, 0]])
    with pytest.raises(og.BadInput, match="is a text"):
        to_arrays(graph, features={"Person": ["name"]})


def test_what_a_model_has_found_comes_back_as_a_patch(graph: og.Graph) -> None:
    ids = to_arrays(graph).ids["Person"]
    graph.load(patch_records("Person", ids, score=np.array([0.25, 0.5])), mode="patch", message="a model")
    found = graph.query(
        "query q() { match { $p: Person } return { $p.name, $p.age, $p.score } order { $p.name } }"
    )
    assert [list(row.values()) for row in found] == [["ada", LARGE, 0.25], ["bob", None, 0.5]]


class Vertex:
    """A vertex or an edge as igraph gives them; `tests/integrations` has the library itself."""

    def __init__(self, index: int, attributes: dict[str, Any], source: int = 0, target: int = 0) -> None:
        self.index, self.source, self.target, self._given = index, source, target, attributes

    def attributes(self) -> dict[str, Any]:
        """Return a copy, as igraph does."""
        return dict(self._given)


class OtherGraph:
    """A graph in the shape of igraph's."""

    vs = (Vertex(0, {"name": "eve", "age": 7}), Vertex(1, {"name": "fay", "age": None}))
    es = (Vertex(0, {"since": "2026-01-01"}, 0, 1),)


def test_a_graph_in_the_shape_of_igraph_becomes_records(graph: og.Graph) -> None:
    records = list(from_igraph(OtherGraph(), node_type="Person", edge_type="Knows"))
    assert records[0] == {"type": "Person", "data": {"age": 7, "name": "eve"}}
    assert records[1] == {"type": "Person", "data": {"name": "fay"}}
    assert graph.load(records, mode="merge").edges == {"Knows": 1}


def test_data_frames_lose_no_integer(graph: og.Graph) -> None:
    found = graph.query(
        "query q() { match { $p: Person } return { $p.name, $p.age as age } order { $p.name } }"
    )
    pandas, polars = found.to_pandas(), found.to_polars()
    assert (str(pandas["age"].dtype), str(polars["age"].dtype)) == ("Int64", "Int64")
    assert pandas["age"][0] == polars["age"][0] == LARGE
    for frame in (pandas, polars):
        renamed = (
            frame.rename({"p.name": "name"}) if frame is polars else frame.rename(columns={"p.name": "name"})
        )
        graph.load(renamed, type="Person", mode="patch")
    kept = graph.query(
        'query q() { match { $p: Person { name: "ada" } } return { $p.age, $p.born } }'
    ).first()
    assert kept == {"p.age": LARGE, "p.born": "1815-12-10"}
