"""Applying: graphs are made and changed, payloads stored, and then the ledger is written once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import OmniError
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.cluster.config.desired import DesiredCluster
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.graphs import LiveGraph
from omnigraph.cluster.operations.compose import compose_graphs
from omnigraph.cluster.operations.survey import ClusterStore, ClusterSurvey
from omnigraph.cluster.planning.changes import PlannedChange
from omnigraph.cluster.planning.plan import ClusterPlan
from omnigraph.cluster.resources import (
    AppliedResource,
    graph_of,
    kind_of,
    name_of_resource,
    schema_address,
)
from omnigraph.cluster.store.approvals import Approval
from omnigraph.cluster.store.intents import Intent
from omnigraph.cluster.store.ledger import LedgerState, ResourceStatus

_STATUS = {"deferred": "planned", "blocked": "blocked"}


class ApplyRun:
    """One run over a plan; it holds what the ledger will say."""

    def __init__(
        self,
        store: ClusterStore,
        desired: DesiredCluster,
        survey: ClusterSurvey,
        plan: ClusterPlan,
        findings: ClusterFindings,
    ) -> None:
        self._store, self._desired, self._survey, self._findings = store, desired, survey, findings
        self._changes = {change.resource: change for change in plan.changes}
        self._resources = dict(survey.state.resources)
        self._observations = dict(survey.state.observations)
        self._intents: list[Intent] = []
        self._approvals: dict[str, Approval] = {}
        self._failed: dict[str, str] = {}
        self._is_blocked: dict[str, str] = {}

    @property
    def changes(self) -> list[PlannedChange]:
        """The changes as they turned out."""
        return list(self._changes.values())

    @property
    def settled(self) -> tuple[str, ...]:
        """The intents that the state of this run takes in."""
        return (*self._survey.sweep.settled, *(intent.id for intent in self._intents))

    def carry_out(self, approvals: Mapping[str, Approval]) -> None:
        """Make every change that can be made, in its order."""
        changes = self.changes
        for change in changes:
            if change.operation != "delete" and kind_of(change.resource) == "graph":
                self._try(change, self._create_graph)
        for change in changes:
            if change.operation != "delete" and kind_of(change.resource) == "schema":
                self._try(change, self._change_schema)
        for change in changes:
            if change.operation != "delete" and kind_of(change.resource) not in ("graph", "schema"):
                self._try(change, self._store_payload)
        hit(Failpoint.CLUSTER_AFTER_PAYLOADS)
        for change in changes:
            if change.operation == "delete":
                self._try(change, lambda it: self._remove(it, approvals))

    @property
    def is_converged(self) -> bool:
        """Whether what is declared is now what is there."""
        return not (self._survey.sweep.pending or self._findings.has_errors) and all(
            change.disposition in ("applied", "derived") for change in self._changes.values()
        )

    @property
    def state(self) -> LedgerState:
        """What the ledger is to say."""
        before = self._survey.state
        now = clock.current().now_us()
        known = {record["id"] for record in before.approvals}
        used = [
            {"id": approval.id, "resource": approval.resource, "actor": approval.actor, "consumed_at": now}
            for approval in self._approvals.values()
            if approval.id not in known
        ]
        resources = compose_graphs(self._resources)
        return before.with_changes(
            name=self._desired.name,
            resources=resources,
            statuses=self._statuses(resources),
            observations=self._observations,
            approvals=(*before.approvals, *used),
            settled=(*before.settled, *(id for id in self.settled if id not in before.settled)),
            config_digest=self._desired.digest if self.is_converged else None,
        )

    def _try(self, change: PlannedChange, act: Callable[[PlannedChange], None]) -> None:
        if change.disposition not in ("applied", "derived"):
            return
        item = self._desired.resources.get(change.resource)
        for need in item.needs if item is not None and change.operation != "delete" else ():
            if need in self._failed:
                self._changes[change.resource] = change.block(f"{need} has failed: {self._failed[need]}")
                self._failed[change.resource] = f"it needs {need}"
                return
        try:
            act(change)
        except OmniError as error:
            self._failed[change.resource] = error.message
            self._findings.error(error.code, change.resource, error.message)
            self._changes[change.resource] = change.block(error.message)

    def _create_graph(self, change: PlannedChange) -> None:
        id = name_of_resource(change.resource)
        live = self._survey.graphs[id]
        if live.state == "absent":
            live = self._move(
                "graph_create",
                id,
                lambda: self._store.graphs.create(
                    id, self._desired.schemas[id], self._desired.schema_files[id]
                ),
                (Failpoint.CLUSTER_BEFORE_CREATE, Failpoint.CLUSTER_AFTER_CREATE),
                lambda now: now.state == "absent",
            )
            digest = self._desired.resources[schema_address(id)].record.digest
            self._resources[schema_address(id)] = AppliedResource(digest, live=live.live)
        self._resources[change.resource] = replace(
            self._desired.resources[change.resource].record, graph_id=live.id
        )
        self._observations[change.resource] = {"graph_id": live.id}

    def _change_schema(self, change: PlannedChange) -> None:
        id = graph_of(change.resource) or ""
        live = self._survey.graphs[id]
        if live.state == "absent":
            return  # it was made with the graph
        if change.disposition == "applied":
            note = {"cluster_config": self._desired.digest}
            before = live
            live = self._move(
                "schema_apply",
                id,
                lambda: self._store.graphs.apply_schema(
                    id, self._desired.schemas[id], self._desired.schema_files[id], note
                ),
                (Failpoint.CLUSTER_BEFORE_SCHEMA, Failpoint.CLUSTER_AFTER_SCHEMA),
                lambda now: now.live == before.live,
            )
        digest = self._desired.resources[change.resource].record.digest
        self._resources[change.resource] = AppliedResource(digest, live=live.live)

    def _store_payload(self, change: PlannedChange) -> None:
        item = self._desired.resources[change.resource]
        if item.payload is not None:
            self._store.payloads.put(change.resource, item.record.digest, item.payload)
        self._resources[change.resource] = item.record

    def _remove(self, change: PlannedChange, approvals: Mapping[str, Approval]) -> None:
        if kind_of(change.resource) == "graph":
            id = name_of_resource(change.resource)
            approval = approvals.get(change.approval or "")
            if self._survey.graphs[id].state != "absent":
                assert approval is not None, "a graph is removed only with an approval"
                self._remove_graph(id, approval)
            now = clock.current().now_us()
            approval_id = approval.id if approval is not None else None
            self._observations[change.resource] = {"deleted_at": now, "approval": approval_id}
            for address in [address for address in self._resources if graph_of(address) == id]:
                del self._resources[address]
        elif change.disposition == "applied":
            self._resources.pop(change.resource, None)

    def _remove_graph(self, id: str, approval: Approval) -> None:
        intent = self._store.intents.put(
            "graph_delete",
            id,
            actor=self._store.actor,
            config_digest=self._desired.digest,
            approval=approval.id,
        )
        hit(Failpoint.CLUSTER_BEFORE_DELETE)
        self._store.graphs.remove(id)
        hit(Failpoint.CLUSTER_AFTER_DELETE)
        self._intents.append(intent)
        self._approvals[approval.id] = approval

    def _move(
        self,
        kind: Any,
        id: str,
        act: Callable[[], LiveGraph],
        points: tuple[Failpoint, Failpoint],
        is_unmoved: Callable[[LiveGraph], bool],
    ) -> LiveGraph:
        """Move a graph under an intent; when that fails and nothing has moved, no intent is left."""
        digest = self._desired.resources[schema_address(id)].record.digest
        intent = self._store.intents.put(
            kind,
            id,
            actor=self._store.actor,
            schema_digest=digest,
            config_digest=self._desired.digest,
        )
        try:
            hit(points[0])
            live = act()
        except Exception:
            if is_unmoved(self._store.graphs.look(id)):
                self._store.intents.remove([intent.id])
            raise
        hit(points[1])
        self._intents.append(intent)
        return live

    def _statuses(self, resources: Mapping[str, AppliedResource]) -> dict[str, ResourceStatus]:
        found = {address: ResourceStatus("applied") for address in resources}
        for address in self._desired.resources:
            found.setdefault(address, ResourceStatus("pending"))
        for address, change in self._changes.items():
            if change.disposition in _STATUS:
                kind = "error" if address in self._failed else _STATUS[change.disposition]
                found[address] = ResourceStatus(kind, change.reason)
        return found
