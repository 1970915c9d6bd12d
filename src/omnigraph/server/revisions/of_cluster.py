"""From an applied revision of a cluster to the graphs that are served."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.base.errors import BadInput
from omnigraph.cluster.serving.applied import AppliedCluster, AppliedRevisions
from omnigraph.policy.gate import Gate
from omnigraph.server.graphs import ServedGraphs, ServedRevision
from omnigraph.server.policies import ServerPolicies


class ClusterRevisions:
    """The revisions of a cluster, opened for serving."""

    def __init__(self, root: str, has_tokens: bool, requires_all: bool = False) -> None:
        self._applied = AppliedRevisions(root)
        self._has_tokens, self._requires_all = has_tokens, requires_all

    def begin(self) -> ServedGraphs:
        """Return the graphs of the revision that is there, or say why a server cannot be started with it."""
        found = self._applied.read_newer()
        assert found is not None, "nothing was read before"
        served = _serve(found, choose_policies(found, self._has_tokens))
        served.open_all(needs="all" if self._requires_all else "one")
        return served

    def read_newer(self, before: ServedGraphs, again: bool = False) -> ServedGraphs | None:
        """Return the graphs of a newer revision; None when there is none. With `again` those of this one."""
        found = self._applied.read_newer(again)
        if found is None:
            return None
        try:
            policies = choose_policies(found, self._has_tokens)
        except BadInput as error:
            # Who calls cannot be told here: what needs a policy now is served to nobody.
            shut = {name: replace(graph, problem=error) for name, graph in found.graphs.items()}
            found, policies = replace(found, graphs=shut), before.policies
        served = _serve(found, policies)
        served.open_all(before, needs=None)
        return served


def check_cluster(root: str, has_tokens: bool) -> None:
    """Say why a server cannot be started with a cluster, before a worker is."""
    found = AppliedRevisions(root).read_newer()
    assert found is not None, "nothing was read before"
    choose_policies(found, has_tokens)


def choose_policies(found: AppliedCluster, has_tokens: bool) -> ServerPolicies:
    """Return the policies of a revision, or refuse them where nobody can be told from anybody."""
    gates = {
        name: Gate(graph.policy, name) for name, graph in found.graphs.items() if graph.policy is not None
    }
    server = None if found.server_policy is None else Gate(found.server_policy, "root")
    return ServerPolicies.choose(has_tokens, gates, server)


def _serve(found: AppliedCluster, policies: ServerPolicies) -> ServedGraphs:
    addresses = {name: graph.address for name, graph in found.graphs.items()}
    revision = ServedRevision(found.name, found.revision, found.config_digest, found.graphs)
    return ServedGraphs(addresses, policies, revision)
