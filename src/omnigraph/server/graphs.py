"""The graphs that a server serves: opened once, with a handle for each request."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from omnigraph.base.errors import BadInput, NotFound, OmniError
from omnigraph.policy.gate import Gate
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.opening import open as open_graph
from omnigraph.sdk.sharing import share_graph
from omnigraph.server.policies import ServerPolicies

_NAME = re.compile(r"[a-zA-Z0-9-]{1,64}")
_log = logging.getLogger("omnigraph.server")


def name_of(uri: str) -> str:
    """Return the name under which a graph is served unless another is given: its folder's."""
    name = re.sub(r"[^a-zA-Z0-9-]", "-", uri.rstrip("/").rsplit("/", 1)[-1])[:64]
    return name or "graph"


def name_graphs(addresses: Mapping[str, str]) -> dict[str, str]:
    """Return addresses by name, or say which name cannot be used."""
    for name in addresses:
        if not _NAME.fullmatch(name):
            raise BadInput(f"{name!r} cannot name a graph: use 1 to 64 of the letters a-z, A-Z, 0-9 and -")
    return dict(addresses)


@dataclass(frozen=True)
class Quarantined:
    """A graph that could not be opened, and why."""

    uri: str
    error: OmniError


class ServedGraphs:
    """Graphs by name. One that cannot be opened is left out and named; the others are served."""

    def __init__(self, addresses: Mapping[str, str], policies: ServerPolicies | None = None) -> None:
        self._addresses = name_graphs(addresses)
        self.policies = ServerPolicies() if policies is None else policies
        self._gates = {name: self.policies.gate_of(name) for name in self._addresses}
        self._opened: dict[str, Graph] = {}
        self.quarantined: dict[str, Quarantined] = {}
        self._lock = Lock()

    @property
    def names(self) -> list[str]:
        """The names of the graphs that are served, sorted."""
        return sorted(self._opened)

    def open_all(self) -> None:
        """Open every graph; refuse to go on without any."""
        for name, uri in self._addresses.items():
            try:
                graph = open_graph(uri)
                graph._refuse_misfit(self._gates[name])
                self._opened[name] = graph
            except OmniError as error:
                self.quarantined[name] = Quarantined(uri, error)
                _log.error("graph %s at %s is not served: %s", name, uri, error.message)
        if not self._opened:
            first = next(iter(self.quarantined.values()), None)
            raise (
                first.error if first is not None else BadInput("there is no graph to serve: give its address")
            )

    def handle(
        self, name: str, branch: str | None, actor: str | None, incarnation: str | None = None, **terms: Any
    ) -> Graph:
        """Return a handle of a graph for one request: nothing of it is shared but caches."""
        graph = self._opened.get(name)
        if graph is None:
            raise NotFound(f"there is no graph {name!r} here", graph=name)
        return share_graph(graph, actor, branch, incarnation, policy=self._gates[name], **terms)

    def gate_of(self, name: str) -> Gate | None:
        """Return what decides about a graph; None where everything is allowed, or there is no such graph."""
        return self._gates.get(name)

    def close(self) -> None:
        """Drop what was opened."""
        for graph in self._opened.values():
            graph.close()
