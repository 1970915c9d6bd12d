"""Which policies a server decides by, and what holds where there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from omnigraph.base.errors import BadInput, PolicyDenied
from omnigraph.policy.actions import ACTIONS, ON_SERVER
from omnigraph.policy.bundle import READ_ONLY, Bundle
from omnigraph.policy.gate import Gate
from omnigraph.policy.read_bundle import read_bundle

_WRITES = ACTIONS - ON_SERVER - {"read"}


class ServerState(StrEnum):
    """What holds on a server."""

    OPEN = "open"
    """Everybody may do everything with the graphs."""
    DEFAULT_DENY = "default_deny"
    """Who has a token may read."""
    POLICY_ENABLED = "policy_enabled"
    """Who has a token may do what the policies allow."""


@dataclass(frozen=True)
class ServerPolicies:
    """The gates of graphs by name, and that of the server itself."""

    state: ServerState = ServerState.OPEN
    graphs: Mapping[str, Gate] = field(default_factory=dict)
    server: Gate | None = None

    @staticmethod
    def choose(has_tokens: bool, graphs: Mapping[str, Gate], server: Gate | None) -> ServerPolicies:
        """Return what holds; a policy without tokens is refused, since nobody could be told from anybody."""
        if not (graphs or server):
            return ServerPolicies(ServerState.DEFAULT_DENY if has_tokens else ServerState.OPEN)
        if not has_tokens:
            raise BadInput("a policy needs to know who calls: give tokens as well (--token-file, --jwks)")
        return ServerPolicies(ServerState.POLICY_ENABLED, dict(graphs), server)

    def gate_of(self, graph: str) -> Gate | None:
        """Return what decides about a graph; where graphs have policies, one without has all denied."""
        if self.state is ServerState.OPEN:
            return None
        if self.state is ServerState.DEFAULT_DENY:
            return Gate(READ_ONLY, graph)
        return self.graphs.get(graph) or Gate(Bundle(), graph)

    def may_list(self, actor: str | None) -> bool:
        """Return whether an actor may know which graphs there are."""
        if self.state is ServerState.OPEN:
            return True
        return self.server is not None and self.server.allows(actor, "graph_list")

    def check_list(self, actor: str | None) -> None:
        """Raise `PolicyDenied` unless an actor may know which graphs there are."""
        if self.may_list(actor):
            return
        if self.server is not None:
            self.server.check(actor, "graph_list")
        raise PolicyDenied(
            f"{actor!r} may not graph_list: this server has no policy of its own; start it with --policy and "
            "the file of one whose rules allow graph_list",
            action="graph_list",
            actor=actor,
        )


def refuse_reader(gate: Gate | None, actor: str | None) -> None:
    """Raise `PolicyDenied` if an actor may change nothing at all of a graph, before its body is read."""
    if gate is not None and not any(gate.allows_anywhere(actor, action) for action in sorted(_WRITES)):
        gate.check(actor, "change")


def read_policies(given: Iterable[str], graphs: Sequence[str]) -> tuple[dict[str, Gate], Gate | None]:
    """Return the gates of graphs, and of the server: `FILE` is for all graphs, `NAME=FILE` for one."""
    gates: dict[str, Gate] = {}
    server: Gate | None = None
    for item in given:
        name, sign, path = item.partition("=")
        named = [name] if sign and name in graphs else None
        bundle = read_bundle(path if named else item)
        if bundle.is_for_server:
            if named or server is not None:
                raise BadInput("one policy is about the server, and it is not of a graph", path=bundle.file)
            server = Gate(bundle, "root")
            continue
        for graph in named or graphs:
            if graph in gates:
                raise BadInput(f"graph {graph!r} has two policies: give one", graph=graph)
            gates[graph] = Gate(bundle, graph)
    without = sorted(set(graphs) - set(gates))
    if gates and without:
        raise BadInput(f"these graphs have no policy: {', '.join(without)}; give each one (NAME=FILE)")
    return gates, server
