"""Looking at graphs and payloads, and recording what was seen."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.cluster.config.desired import DesiredCluster
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.graphs import LiveGraph, SchemaSteps
from omnigraph.cluster.operations.compose import compose_graphs
from omnigraph.cluster.operations.survey import ClusterStore, ClusterSurvey, find_schema_steps
from omnigraph.cluster.resources import (
    AppliedResource,
    graph_address,
    kind_of,
    name_of_resource,
    schema_address,
)
from omnigraph.cluster.store.ledger import LedgerState, ResourceStatus


def import_graphs(
    store: ClusterStore, survey: ClusterSurvey, desired: DesiredCluster, findings: ClusterFindings
) -> LedgerState:
    """Return the first state: the declared graphs that are there already."""
    return _Observer(store, survey, desired, findings).adopt()


def refresh_state(
    store: ClusterStore, survey: ClusterSurvey, desired: DesiredCluster, findings: ClusterFindings
) -> LedgerState:
    """Return the state with what is gone, damaged or different noted in it."""
    observer = _Observer(store, survey, desired, findings)
    observer.look_at_graphs()
    observer.look_at_payloads()
    return observer.adopt()


class _Observer:
    def __init__(
        self, store: ClusterStore, survey: ClusterSurvey, desired: DesiredCluster, findings: ClusterFindings
    ) -> None:
        self._store, self._survey, self._desired, self._findings = store, survey, desired, findings
        self._resources = dict(survey.state.resources)
        self._statuses = {
            address: item for address, item in survey.state.statuses.items() if item.status != "drifted"
        }
        self._observations = dict(survey.state.observations)

    def look_at_graphs(self) -> None:
        """Note which recorded graphs are gone, cannot be opened, or are not as they were applied."""
        for address in list(self._resources):
            if kind_of(address) != "graph":
                continue
            id = name_of_resource(address)
            if id in self._survey.sweep.pending:
                self._mark(address, "blocked", self._survey.sweep.pending[id])
                continue
            live = self._survey.graphs[id]
            if live.state == "absent":
                self._lose(id)
            elif live.state == "broken":
                reason = f"it cannot be opened: {live.problem}"
                self._findings.error("graph_unopenable", address, reason)
                self._mark(address, "error", reason)
            else:
                self._compare(id, live)

    def look_at_payloads(self) -> None:
        """Drop the digests of payloads that are gone or damaged: the next apply stores them again."""
        for address, standing in self._store.payloads.check_all(self._resources).items():
            if standing == "ok":
                self._mark(address, "applied")
            elif standing == "unreadable":
                self._findings.error("payload_unreadable", address, "its stored text cannot be read")
                self._mark(address, "error", "its stored text cannot be read")
            else:
                reason = f"its stored text is {standing}: the next apply stores it again"
                self._findings.warn(f"payload_{standing}", address, reason)
                del self._resources[address]
                self._mark(address, "drifted", reason)

    def adopt(self) -> LedgerState:
        """Record the declared graphs that are there and were not known, and return the state."""
        ways = find_schema_steps(self._store, self._survey.graphs, self._desired)
        for id, live in self._survey.graphs.items():
            address = graph_address(id)
            item = self._desired.resources.get(address)
            if item is None or address in self._resources or id in self._survey.sweep.pending:
                continue
            if live.state == "broken":
                self._findings.error("graph_unopenable", address, f"it cannot be opened: {live.problem}")
            elif live.state == "open":
                schema = schema_address(id)
                is_declared = not ways.get(id, SchemaSteps(problem="unknown")).steps
                digest = self._desired.resources[schema].record.digest if is_declared else live.live or ""
                self._resources[schema] = AppliedResource(digest, live=live.live)
                self._resources[address] = AppliedResource("", graph_id=live.id)
                self._observations[address] = {"graph_id": live.id}
                self._mark(address, "applied")
                self._mark(schema, "applied")
        return self._survey.state.with_changes(
            name=self._desired.name,
            resources=compose_graphs(self._resources),
            statuses=self._statuses,
            observations=self._observations,
        )

    def _lose(self, id: str) -> None:
        reason = "its root is missing: the next apply makes an empty graph again"
        for address in (graph_address(id), schema_address(id)):
            self._resources.pop(address, None)
            self._mark(address, "drifted", reason)
        self._findings.warn("graph_root_missing", graph_address(id), reason)

    def _compare(self, id: str, live: LiveGraph) -> None:
        address, schema = graph_address(id), schema_address(id)
        record, text = self._resources[address], self._resources.get(schema)
        self._mark(address, "applied")
        if live.id != record.graph_id:
            reason = f"another graph, {live.id}, is at its root now"
            self._findings.warn("graph_replaced", address, reason)
            self._resources[address] = replace(record, graph_id=live.id)
            self._observations[address] = {"graph_id": live.id}
            self._mark(address, "drifted", reason)
        if text is not None and text.live != live.live:
            reason = "the graph's schema is not the one that was applied: the next apply changes it back"
            self._findings.warn("schema_drifted", schema, reason)
            self._mark(schema, "drifted", reason)
        elif text is not None:
            self._mark(schema, "applied")

    def _mark(self, address: str, status: str, message: str | None = None) -> None:
        before = self._statuses.get(address)
        if status == "applied" and before is not None and before.status in ("planned", "blocked"):
            return  # what waits to be changed is still whole
        self._statuses[address] = ResourceStatus(status, message)
