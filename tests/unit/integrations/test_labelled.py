"""Graphs whose labels are data: what the stores of LangChain and LlamaIndex stand on."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.integrations.labelled import (
    LabelledEntity,
    LabelledGraph,
    LabelledRelation,
    labelled_schema,
)

ADA = LabelledEntity("ada", "Person", "ada", None, {"age": 36}, [1.0, 0.0])
BOB = LabelledEntity("bob", "Person", "bob", None, {}, [0.6, 0.8])
LAB = LabelledEntity("lab", "Company", "lab")


@pytest.fixture
def stored(tmp_path: Path) -> LabelledGraph:
    graph = LabelledGraph(og.init(tmp_path / "graph", labelled_schema(2)), dimension=2)
    works = [LabelledRelation("WORKS_AT", each, "lab", {"since": 1843}) for each in ("ada", "bob")]
    graph.put([ADA, BOB, LAB], [*works, LabelledRelation("KNOWS", "ada", "bob")], message="extracted")
    return graph


def test_what_was_put_is_there_as_one_commit(stored: LabelledGraph) -> None:
    assert [each.key for each in stored.entities()] == ["ada", "bob", "lab"]
    assert stored.entities(["ada"])[0].properties == {"age": 36}
    assert stored.graph.commits.list(limit=1)[0].message == "extracted"


def test_putting_again_replaces(stored: LabelledGraph) -> None:
    stored.put(
        [LabelledEntity("ada", "Person", "Ada")], [LabelledRelation("KNOWS", "ada", "bob", {"well": True})]
    )
    assert stored.entities(["ada"])[0].name == "Ada"
    assert [each[1].properties for each in stored.triples(["ada"]) if each[1].label == "KNOWS"] == [
        {"well": True}
    ]


def test_triples_around_are_nearest_first_and_bounded(stored: LabelledGraph) -> None:
    stored.put([LabelledEntity("far", "Place", "far")], [LabelledRelation("IN", "lab", "far")])
    labels = [each[1].label for each in stored.around(["ada"], 2, 10)]
    assert sorted(labels[:2]) == ["KNOWS", "WORKS_AT"]
    assert "IN" in labels
    assert len(stored.around(["ada"], 2, 2)) == 2
    assert stored.around(["ada"], 1, 10, without=["KNOWS", "WORKS_AT"]) == []


def test_the_nearest_come_with_their_similarity(stored: LabelledGraph) -> None:
    (first, score), (second, _) = stored.near([1.0, 0.0], 2)
    assert (first.key, second.key) == ("ada", "bob")
    assert score == pytest.approx(1.0)


def test_entities_go_with_their_relations_and_relations_alone(stored: LabelledGraph) -> None:
    stored.remove([], [LabelledRelation("KNOWS", "ada", "bob")])
    assert {each[1].label for each in stored.triples()} == {"WORKS_AT"}
    stored.remove(["bob"])
    assert [each[0].key for each in stored.triples()] == ["ada"]
