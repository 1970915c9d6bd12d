"""The graphs that a server serves: opened once, with a handle for each request."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.errors import BadInput, Conflict, NotFound, OmniError
from omnigraph.cluster.serving.applied import AppliedGraph
from omnigraph.cluster.serving.pipelines import Pipeline
from omnigraph.policy.gate import Gate
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.opening import open as open_graph
from omnigraph.sdk.sharing import share_graph
from omnigraph.server.policies import ServerPolicies
from omnigraph.wire.graph_names import as_graph_name, check_graph_name

_GRAPHS_AT_ONCE = 4
_log = logging.getLogger("omnigraph.server")


def name_of(uri: str) -> str:
    """Return the name under which a graph is served unless another is given: its folder's."""
    return as_graph_name(uri.rstrip("/").rsplit("/", 1)[-1]) or "graph"


def name_graphs(addresses: Mapping[str, str]) -> dict[str, str]:
    """Return addresses by name, or say which name cannot be used."""
    for name in addresses:
        check_graph_name(name)
    return dict(addresses)


@dataclass(frozen=True)
class Quarantined:
    """A graph that could not be opened, and why."""

    uri: str
    error: OmniError


@dataclass(frozen=True)
class ServedRevision:
    """Which revision of a cluster is served."""

    cluster: str
    number: int
    config_digest: str | None
    graphs: Mapping[str, AppliedGraph] = field(repr=False)


class ServedGraphs:
    """Graphs by name. One that cannot be opened is left out and named; the others are served.

    What is served does not change: another revision of a cluster is another `ServedGraphs`, which takes over
    what was opened of graphs that are the same.
    """

    def __init__(
        self,
        addresses: Mapping[str, str],
        policies: ServerPolicies | None = None,
        revision: ServedRevision | None = None,
    ) -> None:
        self._addresses = name_graphs(addresses)
        self.policies = ServerPolicies() if policies is None else policies
        self.revision = revision
        self._gates = {name: self.policies.gate_of(name) for name in self._addresses}
        self._opened: dict[str, Graph] = {}
        self.quarantined: dict[str, Quarantined] = {}

    @property
    def names(self) -> list[str]:
        """The names of the graphs that are served, sorted."""
        return sorted(self._opened)

    def open_all(self, before: ServedGraphs | None = None, needs: str | None = "one") -> None:
        """Open every graph; refuse to go on without any (`one`), or without each of them (`all`)."""
        with ThreadPoolExecutor(_GRAPHS_AT_ONCE, thread_name_prefix="omnigraph-open") as threads:
            found = threads.map(lambda name: self._open(name, before), self._addresses)
            opened = dict(zip(self._addresses, found, strict=True))
        for name, graph in opened.items():
            if isinstance(graph, Graph):
                self._opened[name] = graph
            else:
                uri = self._addresses[name]
                self.quarantined[name] = Quarantined(uri, graph)
                known = None if before is None else before.quarantined.get(name)
                if known is None or known.error.message != graph.message:
                    _log.error("graph %s at %s is not served: %s", name, uri, graph.message)
        if needs is not None and (not self._opened or (needs == "all" and self.quarantined)):
            first = next(iter(self.quarantined.values()), None)
            raise (
                first.error if first is not None else BadInput("there is no graph to serve: give its address")
            )

    def _open(self, name: str, before: ServedGraphs | None) -> Graph | OmniError:
        declared = self.declaration_of(name)
        try:
            if declared is not None and declared.problem is not None:
                raise declared.problem
            graph = None if before is None else before._opened.get(name)
            if graph is None or not self._is_same(name, before):
                given: dict[str, Any] = {} if declared is None else {"embedding": declared.embedding}
                graph = open_graph(self._addresses[name], **given)
            if declared is not None:
                _check_declared(graph, declared)
            graph.internals.refuse_misfit(self._gates[name])
        except OmniError as error:
            return error
        return graph

    def _is_same(self, name: str, before: ServedGraphs | None) -> bool:
        if before is None:
            return False
        mine, other = self.declaration_of(name), before.declaration_of(name)
        if mine is None or other is None:
            return mine is other and self._addresses[name] == before._addresses[name]
        facts = ("address", "graph_id", "embedding")
        return all(getattr(mine, fact) == getattr(other, fact) for fact in facts)

    def try_again(self) -> ServedGraphs:
        """Return the same graphs, with those that could be opened now."""
        again = ServedGraphs(self._addresses, self.policies, self.revision)
        again.open_all(self, needs=None)
        return again

    def declaration_of(self, name: str) -> AppliedGraph | None:
        """Return what a cluster declares of a graph; None where no cluster is served."""
        return None if self.revision is None else self.revision.graphs.get(name)

    def pipelines_of(self, name: str) -> Mapping[str, Pipeline]:
        """Return the pipelines of a graph; only a cluster declares any."""
        declared = self.declaration_of(name)
        return {} if declared is None else declared.pipelines

    def handle(
        self, name: str, branch: str | None, actor: str | None, incarnation: str | None = None, **terms: Any
    ) -> Graph:
        """Return a handle of a graph for one request: nothing of it is shared but caches."""
        graph = self._opened.get(name)
        if graph is None:
            raise NotFound(f"there is no graph {name!r} here", graph=name)
        other = share_graph(graph, actor, branch, incarnation, policy=self._gates[name], **terms)
        declared = self.declaration_of(name)
        if declared is not None:
            other.declared_queries = declared.queries
            other.blob_sources = declared.blob_sources(is_served=True)
        return other

    def open_handle(self, name: str) -> Graph:
        """Return a handle of a graph for the server itself, which no policy holds back."""
        return share_graph(self._opened[name], None)

    def gate_of(self, name: str) -> Gate | None:
        """Return what decides about a graph; None where everything is allowed, or there is no such graph."""
        return self._gates.get(name)

    def close(self) -> None:
        """Drop what was opened."""
        for graph in self._opened.values():
            graph.close()


def _check_declared(graph: Graph, declared: AppliedGraph) -> None:
    """Refuse a graph that is not the one that was applied, or whose queries do not fit it."""
    if declared.graph_id is not None and graph.id != declared.graph_id:
        raise Conflict(
            f"another graph, {graph.id}, is at the address of {declared.name!r}: run `cluster refresh`, "
            "which records it",
            graph=declared.name,
        )
    declared.queries.check(graph.snapshot().catalog)
