"""One node or edge: what it is at a commit, its edges, its history, and putting it back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import pyarrow.compute as pc

from omnigraph.base.errors import BadInput, NotFound, ReadOnly
from omnigraph.base.notebook import html_facts
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.source import suggest
from omnigraph.execution.export.export_files import records_of
from omnigraph.graph.changes.table_version import TableVersion
from omnigraph.graph.entity.blame import blame
from omnigraph.graph.entity.history import EntityChange, EntityStep, list_steps
from omnigraph.graph.entity.stored import EntityAddress, StoredEntity, find_entity
from omnigraph.graph.handle import Graph
from omnigraph.graph.history import Commit
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.rows.find_rows import find_equal

EdgeDirection = Literal["out", "in", "both"]
ENDS: dict[str, tuple[str, ...]] = {"out": ("src",), "in": ("dst",), "both": ("src", "dst")}


class Entity:
    """A node or edge of one commit. What is asked about its past goes back from there."""

    id: str

    def __init__(
        self, snapshot: Snapshot, type: str, id: str, write_to: tuple[Graph, str | None] | None = None
    ) -> None:
        """Stand for a node or edge; `write_to` is a graph and the branch that its user has named."""
        if not isinstance(id, str):
            raise BadInput(f"id is {id!r}: it must be a string, as the id of a node or edge is")
        self._snapshot, self._write_to = snapshot, write_to
        self._table = _find_type(snapshot, type)
        self.id = id

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to find the same entity in another process."""
        return Entity, (self._snapshot, self._table.table_key, self.id, self._write_to)

    @property
    def kind(self) -> str:
        """Whether it is a node or an edge."""
        return self._table.kind

    @property
    def type(self) -> str:
        """The name of its type."""
        return self._table.name

    @property
    def commit_id(self) -> str:
        """The commit that it is looked at at."""
        return self._snapshot.commit_id

    @property
    def _key(self) -> EntityAddress:
        return EntityAddress(table_identity(self._table), self.id)

    @cached_property
    def _stored(self) -> StoredEntity | None:
        return find_entity(self._snapshot.core, self._snapshot.record, self._key)

    @property
    def exists(self) -> bool:
        """Whether it is there."""
        return self._stored is not None

    @property
    def properties(self) -> dict[str, Any]:
        """All its properties, in the form of a load; None where it has no value."""
        return dict(self._require().image["properties"])

    @property
    def ends(self) -> tuple[str, str] | None:
        """The ids of the nodes that an edge leads from and to; None for a node."""
        ends = self._require().image.get("endpoints")
        return None if ends is None else (ends["from"], ends["to"])

    def edges(
        self, types: Sequence[str] | None = None, direction: EdgeDirection = "both", limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the edges of a node as records of a load, by type; a loop is there once."""
        if self.kind != "node":
            raise BadInput(f"{self!r} is an edge: its nodes are `ends`")
        if direction not in ENDS:
            raise BadInput(f"direction is {direction!r}: use out, in or both")
        self._require()
        return list(islice(self._edges(types, ENDS[direction]), limit))

    def history(self, limit: int | None = None, *, earlier: bool = False) -> Iterator[EntityChange]:
        """Yield the commits that changed it, newest first, merged branches included, with before and after.

        It ends where it was inserted. With `earlier`, or when it is not there, what had the same id
        before is looked for as well: that takes a look at every older version of its type.
        """
        for step in islice(self._steps(earlier), limit):
            told = replace(step.describe(), commit=self._snapshot.core.commit_of(step.record))
            # Who does not see all data is not told of nodes that may be hidden.
            yield told if self._snapshot.sees_all else replace(told, went_into=None, took_in=())

    def blame(self) -> dict[str, Commit]:
        """Return for each property the commit that gave it the value that it has."""
        found = blame(self._require(), self._steps())
        if self._snapshot.sees_all:
            return found
        return {name: commit.without_measures() for name, commit in found.items()}

    def reset(
        self, revision: str, *, message: str | None = None, metadata: Mapping[str, str] | None = None
    ) -> str | None:
        """Make it what it was at another commit, as one new commit; where it was not there, it is deleted.

        Returns the commit, None when nothing changed. The edges that were deleted with a node do not come
        back with it.
        """
        if self._write_to is None:
            raise ReadOnly("this is of a snapshot, which never changes: call g.entity(…) without one")
        from omnigraph.execution.load.request import LoadRequest
        from omnigraph.execution.load.run import run_load
        from omnigraph.execution.write.run_mutation import run_mutation

        graph, branch = self._write_to
        was = Entity(graph.snapshot(commit=revision), self._table.table_key, self.id)
        if was._stored is None:
            text = f"query reset($id: String) {{ delete {self.type} where id = $id }}"
            params = {"id": self.id}
            done = run_mutation(graph, text, params, branch=branch, message=message, metadata=metadata)
            return done.commit_id
        request = LoadRequest(
            source=list(records_of(was._table, was._stored.stored)),
            mode="merge",
            branch=branch,
            engine="local",
            message=message,
            metadata=metadata,
        )
        return run_load(graph, request, None).commit_id

    def _edges(self, types: Sequence[str] | None, ends: Iterable[str]) -> Iterator[dict[str, Any]]:
        catalog = self._snapshot.catalog
        wanted = None if types is None else {_find_type(self._snapshot, name).table_key for name in types}
        for edge in catalog.edges:
            if wanted is not None and edge.table_key not in wanted:
                continue
            place = {"src": edge.source, "dst": edge.target}
            version = TableVersion.of(self._snapshot.core, self._snapshot.record, table_identity(edge))
            for end in ends:
                if version is None or place[end] != self.type:
                    continue
                rows = version.images(find_equal(version.rows, end, self.id))
                if end == "dst" and "src" in ends and edge.source == edge.target:
                    rows = rows.filter(pc.not_equal(rows["src"], self.id))
                yield from records_of(edge, rows)

    def _steps(self, earlier: bool = False) -> Iterator[EntityStep]:
        return list_steps(
            self._snapshot.core, self._snapshot.record, self._key, earlier, self._snapshot.access
        )

    def _require(self) -> StoredEntity:
        if self._stored is None:
            raise NotFound(
                f"there is no {self.kind} {self.type} with the id {self.id!r} at commit {self.commit_id}",
                kind=self.kind,
                type=self.type,
                id=self.id,
                commit=self.commit_id,
            )
        return self._stored

    def __repr__(self) -> str:
        there = "" if self.exists else ", not there"
        return f"Entity({self.type} {self.id!r}{there}; commit={self.commit_id!r})"

    def _repr_html_(self) -> str:
        """Return the properties as a table, for notebooks."""
        facts = self.properties.items() if self.exists else ()
        return html_facts(f"{self.type} {self.id} at commit {self.commit_id}", facts)


def _find_type(snapshot: Snapshot, name: str) -> TableType:
    """Return a type by its name, or by its key (`edge:Knows`); of a node and an edge type the node's."""
    catalog = snapshot.catalog
    found = catalog.node(name) or catalog.edge(name) or catalog.table(name)
    if found is None:
        hint = suggest(str(name), [item.name for item in catalog.tables])
        raise NotFound(f"there is no type {name!r}" + (f": {hint}" if hint else ""), type=name)
    return found
