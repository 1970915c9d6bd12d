"""LangChain: any read query as a retriever, and a graph as a graph store of its question-answering chains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from omnigraph.integrations.labelled import LabelledEntity, LabelledGraph, LabelledRelation

__all__ = ["OmniGraphRetriever", "OmniGraphStore"]


class OmniGraphRetriever(BaseRetriever):  # type: ignore[misc]
    """A read query as a retriever: traversal, words and meaning in one, at any commit.

    The question is given as the parameter `parameter`; the column `content` of each row is a document's text,
    and the others, with the commit that was read, are its metadata.
    """

    graph: Any
    query: str
    content: str
    parameter: str = "question"
    params: dict[str, Any] | None = None
    branch: str | None = None
    snapshot: Any = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun | None = None
    ) -> list[Document]:
        found = self.graph.query(
            self.query,
            {**(self.params or {}), self.parameter: query},
            branch=self.branch,
            snapshot=self.snapshot,
        )
        return [
            Document(
                page_content=str(row[self.content]),
                metadata={
                    **{name: value for name, value in row.items() if name != self.content},
                    "commit": found.commit_id,
                },
            )
            for row in found
        ]


class OmniGraphStore:
    """A graph as a store of LangChain: its schema, its queries, documents that a model made graphs of.

    `add_graph_documents` needs a graph of `labelled_schema(dimension)`; the rest takes any.
    """

    def __init__(self, graph: Any, dimension: int = 1536) -> None:
        """Stand for a graph; `dimension` is that of its vectors."""
        self._stored = LabelledGraph(graph, dimension)

    @property
    def get_schema(self) -> str:
        """The schema as text."""
        return str(self._stored.graph.schema.source)

    @property
    def get_structured_schema(self) -> dict[str, Any]:
        """The labels that there are, of nodes and relations."""
        triples = self._stored.triples()
        nodes = sorted({each.label for each in self._stored.entities()})
        relations = sorted({(start.label, each.label, end.label) for start, each, end in triples})
        return {
            "node_props": {label: [] for label in nodes},
            "relationships": [{"start": start, "type": label, "end": end} for start, label, end in relations],
        }

    def refresh_schema(self) -> None:
        """Do nothing: the schema is read when it is asked for."""

    def query(self, query: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run a query in our language, and return its rows."""
        rows: list[dict[str, Any]] = self._stored.graph.query(query, dict(params or {})).rows
        return rows

    def add_graph_documents(self, graph_documents: Sequence[Any], include_source: bool = False) -> None:
        """Store the nodes and relations of graph documents, all as one commit."""
        entities: dict[str, LabelledEntity] = {}
        relations: dict[tuple[str, str, str], LabelledRelation] = {}
        for document in graph_documents:
            own = {node.id: node for node in document.nodes}
            for each in document.relationships:
                own |= {node.id: node for node in (each.source, each.target) if node.id not in own}
                start, end = str(each.source.id), str(each.target.id)
                relations[start, each.type, end] = LabelledRelation(each.type, start, end, each.properties)
            for node in own.values():
                entities[str(node.id)] = LabelledEntity(
                    str(node.id), node.type, str(node.id), None, node.properties
                )
            if include_source and document.source is not None:
                key = _source_key(document.source)
                text, notes = document.source.page_content, document.source.metadata
                entities[key] = LabelledEntity(key, "Document", key, text, notes)
                for node in own.values():
                    relation = LabelledRelation("MENTIONS", key, str(node.id))
                    relations[key, "MENTIONS", str(node.id)] = relation
        self._stored.put(entities.values(), relations.values())


def _source_key(source: Any) -> str:
    import hashlib

    named = getattr(source, "id", None)
    return str(named) if named else hashlib.sha256(source.page_content.encode()).hexdigest()
