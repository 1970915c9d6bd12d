"""LangChain retrieves from a graph, and stores what its models extract."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from langchain_core.documents import Document

import omnigraph as og
from omnigraph.integrations.labelled import labelled_schema
from omnigraph.integrations.langchain import OmniGraphRetriever, OmniGraphStore

SCHEMA = "node Note { slug: String @key  body: String  vec: Vector(64)? @embed(body) }"
QUERY = """
query near($question: String) {
  match { $n: Note } return { $n.body as text, $n.slug as slug }
  order { rrf(nearest($n.vec, $question), bm25($n.body, $question)) } limit 1
}
"""


def test_a_read_query_is_a_retriever_that_names_its_commit(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA, embedding="mock")
    for slug, body in (("tea", "A red kettle for tea"), ("sea", "A blue whale in the sea")):
        graph.load([{"type": "Note", "data": {"slug": slug, "body": body}}], mode="append")
    retriever = OmniGraphRetriever(graph=graph, query=QUERY, content="text")
    (found,) = retriever.invoke("a whale")
    assert (found.page_content, found.metadata["slug"]) == ("A blue whale in the sea", "sea")
    assert found.metadata["commit"] == graph.snapshot().commit_id
    (before,) = OmniGraphRetriever(graph=graph, query=QUERY, content="text", snapshot="HEAD~1").invoke(
        "a whale"
    )
    assert before.metadata["slug"] == "tea"


def test_documents_that_a_model_made_graphs_of_are_stored_as_one_commit(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", labelled_schema(2))
    ada = SimpleNamespace(id="Ada", type="Person", properties={"born": 1815})
    lab = SimpleNamespace(id="Lab", type="Company", properties={})
    works = SimpleNamespace(source=ada, target=lab, type="WORKS_AT", properties={})
    source = Document(page_content="Ada works at the lab.", metadata={"page": 3})
    document = SimpleNamespace(nodes=[ada, lab], relationships=[works], source=source)
    store = OmniGraphStore(graph, dimension=2)
    store.add_graph_documents([document], include_source=True)
    assert len(graph.commits.list()) == 2
    assert {"start": "Person", "type": "WORKS_AT", "end": "Company"} in store.get_structured_schema[
        "relationships"
    ]
    rows = store.query(
        'query n() { match { $d: Entity  $d relates $e  $d.label = "Document" } return { $e.name } }'
    )
    assert sorted(row["e.name"] for row in rows) == ["Ada", "Lab"]
