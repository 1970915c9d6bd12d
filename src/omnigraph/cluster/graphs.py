"""The graphs of a cluster: where they are, how they are seen, made, changed and removed."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from omnigraph.base.errors import NotFound, OmniError
from omnigraph.cluster.config.digests import hash_bytes
from omnigraph.cluster.store.layout import graph_at, graph_path
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.managed import GRAPHS, apply_for_cluster
from omnigraph.sdk.opening import init, open
from omnigraph.sdk.schema_text import SchemaText
from omnigraph.storage.files.remove_root import remove_root
from omnigraph.storage.objects import ObjectStore

Options = Mapping[str, str] | None
_GRAPHS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class LiveGraph:
    """A graph as it is, beside what the ledger says of it."""

    state: Literal["absent", "open", "broken"]
    id: str | None = None
    schema: str | None = field(default=None, repr=False)
    live: str | None = None
    """The digest of the schema's text."""
    problem: str | None = None
    """Why it cannot be opened."""


@dataclass(frozen=True, slots=True)
class SchemaSteps:
    """The way from a live schema to a declared one."""

    steps: tuple[Mapping[str, Any], ...] = ()
    problem: str | None = None
    """Why there is none."""


class ClusterGraphs:
    """The graphs below one root."""

    def __init__(self, store: ObjectStore, root: str, options: Options, actor: str | None) -> None:
        self._store, self._root = store, root
        self._options, self._actor = options, actor

    def address(self, id: str) -> str:
        """Return the address of a graph."""
        return f"{self._root}/{graph_path(id)}"

    def open(self, id: str, read_only: bool = True, **given: Any) -> Graph:
        """Open a graph."""
        return open(
            self.address(id), read_only=read_only, storage_options=self._options, actor=self._actor, **given
        )

    def look(self, id: str, heals: bool = False) -> LiveGraph:
        """Return how a graph is; with `heals` what a crash has left of a write is settled first."""
        if not self._store.exists(graph_path(id)):
            return LiveGraph("absent")
        try:
            graph = self.open(id, read_only=not heals)
            source = graph.schema.source
            return LiveGraph("open", graph.id, source, hash_bytes(source.encode()))
        except OmniError as error:
            return LiveGraph("broken", problem=error.message)

    def look_at_all(self, ids: list[str], healed: frozenset[str] = frozenset()) -> dict[str, LiveGraph]:
        """Return how several graphs are, several at a time."""
        with ThreadPoolExecutor(_GRAPHS_AT_ONCE, thread_name_prefix="omnigraph-look") as threads:
            return dict(zip(ids, threads.map(lambda id: self.look(id, id in healed), ids), strict=True))

    def list_present(self) -> list[str]:
        """Return the graphs whose folders hold something, declared or not."""
        found: list[str] = []
        after = ""
        while (info := next(iter(self._store.list(GRAPHS, after)), None)) is not None:
            id = graph_at(info.path)
            if id is not None:
                found.append(id)
                after = f"{graph_path(id)}/\U0010ffff"
            else:
                after = info.path
        return found

    def plan_schema(self, id: str, text: str, file: str) -> SchemaSteps:
        """Return what would change a graph's schema into a declared one."""
        source: Any = SchemaText(text, file)
        try:
            plan = self.open(id).schema.plan(source)
            plan.require_supported()
        except OmniError as error:
            return SchemaSteps(problem=error.message)
        return SchemaSteps(tuple(step.to_json() for step in plan.steps))

    def create(self, id: str, text: str, file: str) -> LiveGraph:
        """Make a graph with a schema."""
        source: Any = SchemaText(text, file)
        with apply_for_cluster():
            graph = init(self.address(id), source, actor=self._actor, storage_options=self._options)
        return LiveGraph("open", graph.id, text, hash_bytes(text.encode()))

    def apply_schema(self, id: str, text: str, file: str, note: Mapping[str, str]) -> LiveGraph:
        """Change the schema of a graph; what it leaves out stays in older commits."""
        source: Any = SchemaText(text, file)
        graph = self.open(id, read_only=False)
        with apply_for_cluster():
            graph.schema.apply(source, allow_drop=True, message="omnigraph cluster apply", metadata=note)
        found = graph.snapshot().schema_source
        return LiveGraph("open", graph.id, found, hash_bytes(found.encode()))

    def remove(self, id: str) -> None:
        """Remove a graph and all that it holds."""
        if not self._store.exists(graph_path(id)):
            raise NotFound(f"there is no graph {id!r} to remove", graph=id)
        remove_root(self._store, graph_path(id))
