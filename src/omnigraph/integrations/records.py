"""What all libraries share: a commit as nodes and edges with typed ends, and records of foreign ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.compiler.frontend import compile_schema

Name = tuple[str, str]
"""A node: its type and its id."""


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node of a commit, with every property."""

    name: Name
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    """An edge of a commit, with its two nodes and every property."""

    type: str
    id: str
    start: Name
    end: Name
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CommitContent:
    """What one commit says, or some types of it."""

    nodes: tuple[NodeRecord, ...]
    edges: tuple[EdgeRecord, ...]


def read_content(graph: Any, branch: str | None, snapshot: Any, types: Sequence[str] | None) -> CommitContent:
    """Return the nodes and edges of a branch's head, a snapshot, a commit's id or a tag.

    Edges are left out whose nodes are: of types that were not asked for.
    """
    pinned = graph.snapshot(branch=branch, commit=snapshot) if not hasattr(snapshot, "tables") else snapshot
    edges = {each.name: each for each in compile_schema(pinned.schema_source).edges}
    nodes: list[NodeRecord] = []
    found: list[EdgeRecord] = []
    known: set[Name] = set()
    for record in graph.export(snapshot=pinned, types=types):
        given = dict(record["data"])
        name = given.pop("id")
        if "type" in record:
            nodes.append(NodeRecord((record["type"], name), given))
            known.add((record["type"], name))
            continue
        ends = edges[record["edge"]]
        start, end = (ends.source, record["from"]), (ends.target, record["to"])
        if start in known and end in known:
            found.append(EdgeRecord(record["edge"], name, start, end, given))
    return CommitContent(tuple(nodes), tuple(found))


def node_record(
    name: Any, attributes: Mapping[str, Any], node_type: str | None, key: str | None
) -> dict[str, Any]:
    """Return the record of a foreign node: one that came from here, or any other with its name as its key."""
    if node_type is None and isinstance(name, tuple) and len(name) == 2:
        return {"type": name[0], "data": {**plain(attributes), "id": name[1]}}
    wanted = attributes.get("type", node_type)
    if wanted is None:
        raise BadInput(f"node {name!r} has no type: give it an attribute `type`, or say `node_type=`")
    own = {word: value for word, value in plain(attributes).items() if word != "type"}
    return {"type": wanted, "data": {**own, (key or "id"): name if key else str(name)}}


def edge_record(
    start: Any, end: Any, attributes: Mapping[str, Any], edge_type: str | None, id: Any = None
) -> dict[str, Any]:
    """Return the record of a foreign edge."""
    wanted = attributes.get("type", edge_type)
    if wanted is None:
        raise BadInput(
            f"edge {start!r} → {end!r} has no type: give it an attribute `type`, or say `edge_type=`"
        )
    own = {word: value for word, value in plain(attributes).items() if word != "type"}
    named = {"id": id} if isinstance(id, str) else {}
    ends = [node[1] if isinstance(node, tuple) and len(node) == 2 else node for node in (start, end)]
    return {"edge": wanted, "from": ends[0], "to": ends[1], "data": {**own, **named}}


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as Python's own: what numpy has counted, too."""
    return {word: value.item() if hasattr(value, "item") else value for word, value in values.items()}


def patch_records(type: str, ids: Sequence[str], **values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield records that set properties of nodes, for `load(mode="patch")`: what a model has found."""
    for name, column in values.items():
        if len(column) != len(ids):
            raise BadInput(f"{name} has {len(column)} values for {len(ids)} nodes")
    for place, id in enumerate(ids):
        given = plain({name: column[place] for name, column in values.items()})
        yield {"type": type, "data": {"id": id, **given}}
