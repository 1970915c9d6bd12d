"""LlamaIndex keeps its property graph in a graph, and asks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.vector_stores.types import VectorStoreQuery

import omnigraph as og
from omnigraph.integrations.labelled import labelled_schema
from omnigraph.integrations.llama_index import OmniGraphPropertyStore


@pytest.fixture
def store(tmp_path: Path) -> OmniGraphPropertyStore:
    made = OmniGraphPropertyStore(og.init(tmp_path / "graph", labelled_schema(2)), dimension=2)
    ada = EntityNode(name="ada", label="Person", properties={"age": 36}, embedding=[1.0, 0.0])
    lab = EntityNode(name="lab", label="Company", embedding=[0.0, 1.0])
    chunk = ChunkNode(text="Ada works at the lab.", id_="chunk-1", properties={"ref_doc_id": "doc-1"})
    made.upsert_nodes([ada, lab, chunk])
    made.upsert_relations(
        [
            Relation(label="WORKS_AT", source_id="ada", target_id="lab", properties={"since": 1843}),
            Relation(label="MENTIONS", source_id="chunk-1", target_id="ada"),
        ]
    )
    return made


def test_nodes_come_back_as_what_they_were(store: OmniGraphPropertyStore) -> None:
    (ada,) = store.get(ids=["ada"])
    assert isinstance(ada, EntityNode)
    assert (ada.label, ada.properties) == ("Person", {"age": 36})
    (chunk,) = store.get(properties={"ref_doc_id": "doc-1"})
    assert isinstance(chunk, ChunkNode)
    assert (chunk.id, chunk.text) == ("chunk-1", "Ada works at the lab.")


def test_triplets_are_found_by_ends_and_labels(store: OmniGraphPropertyStore) -> None:
    ((start, relation, end),) = store.get_triplets(relation_names=["WORKS_AT"])
    assert (start.id, relation.label, relation.properties, end.id) == (
        "ada",
        "WORKS_AT",
        {"since": 1843},
        "lab",
    )
    assert len(store.get_triplets(entity_names=["ada"])) == 2
    assert store.get_triplets() == []


def test_the_map_around_nodes_has_their_relations(store: OmniGraphPropertyStore) -> None:
    found = store.get_rel_map(store.get(ids=["lab"]), depth=2)
    assert {triplet[1].label for triplet in found} == {"WORKS_AT", "MENTIONS"}
    assert store.get_rel_map(store.get(ids=["lab"]), depth=1, ignore_rels=["WORKS_AT"]) == []


def test_vectors_and_queries_of_ours_find_nodes(store: OmniGraphPropertyStore) -> None:
    nodes, scores = store.vector_query(VectorStoreQuery(query_embedding=[1.0, 0.0], similarity_top_k=1))
    assert nodes[0].id == "ada"
    assert scores[0] == pytest.approx(1.0)
    query = "query n($label: String) { match { $e: Entity { label: $label } } return { $e.name } }"
    assert store.structured_query(query, {"label": "Company"}) == [{"e.name": "lab"}]
    assert "node Entity" in store.get_schema_str()


def test_what_is_deleted_is_gone_and_can_be_read_before(store: OmniGraphPropertyStore) -> None:
    store.delete(relation_names=["MENTIONS"])
    store.delete(ids=["ada"])
    assert store.get(ids=["ada"]) == []
    assert store.get_triplets(relation_names=["WORKS_AT", "MENTIONS"]) == []
    assert (
        len(store.client.query("query n() { match { $e: Entity } return { $e.key } }", snapshot="HEAD~2"))
        == 3
    )
