"""The plan: what is declared against what is recorded and what is there. Pure; all facts are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from omnigraph.cluster.config.desired import DesiredCluster
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.graphs import LiveGraph, SchemaSteps
from omnigraph.cluster.planning.changes import PlannedChange, order_changes
from omnigraph.cluster.resources import (
    AppliedResource,
    DesiredResource,
    graph_address,
    graph_of,
    kind_of,
    name_of_resource,
    policy_address,
    provider_address,
)
from omnigraph.cluster.store.approvals import Approval, ApprovalTerms
from omnigraph.cluster.store.ledger import LedgerState
from omnigraph.cluster.store.payloads import PayloadState

_WAITING = "it waits for what it needs"


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What a plan is made from."""

    desired: DesiredCluster
    state: LedgerState
    graphs: Mapping[str, LiveGraph]
    """How every graph is that is declared or recorded."""
    schemas: Mapping[str, SchemaSteps] = field(default_factory=dict)
    """The way to the declared schema, for graphs that are open and hold another text."""
    payloads: Mapping[str, PayloadState] = field(default_factory=dict)
    """How the payloads of recorded resources stand."""
    approvals: Sequence[Approval] = ()
    resumed: frozenset[str] = frozenset()
    """Approvals of removals that a run had begun when it died: what is half gone can only go on."""
    pending: Mapping[str, str] = field(default_factory=dict)
    """Graphs with an unsettled intent, and why."""


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """Changes in the order in which they are made."""

    changes: tuple[PlannedChange, ...]

    @property
    def is_converged(self) -> bool:
        """Whether there is nothing to do."""
        return not self.changes


def plan_changes(facts: PlanFacts, findings: ClusterFindings) -> ClusterPlan:
    """Return what leads from what is recorded and there to what is declared."""
    planner = _ChangePlanner(facts, findings)
    for item in facts.desired.resources.values():
        planner.plan_desired(item)
    for address, record in facts.state.resources.items():
        if address not in facts.desired.resources:
            planner.plan_removal(address, record)
    return ClusterPlan(tuple(order_changes(planner.settle())))


def approval_terms(facts: PlanFacts, graph: str) -> ApprovalTerms:
    """Return what an approval of a graph's removal is bound to."""
    record = facts.state.resources.get(graph_address(graph))
    live = facts.graphs.get(graph)
    seen = None if live is None or live.state != "open" else f"{live.id}:{live.live}"
    return ApprovalTerms(facts.desired.digest, record.digest if record else None, seen)


class _ChangePlanner:
    def __init__(self, facts: PlanFacts, findings: ClusterFindings) -> None:
        self._facts, self._findings = facts, findings
        self._state = facts.state
        self._changes: dict[str, PlannedChange] = {}

    def plan_desired(self, item: DesiredResource) -> None:
        """Plan what is declared."""
        kind = kind_of(item.address)
        if kind == "graph":
            self._plan_graph(item)
        elif kind == "schema":
            self._plan_schema(item)
        else:
            self._plan_plain(item)

    def plan_removal(self, address: str, record: AppliedResource) -> None:
        """Plan what is recorded and not declared any more."""
        kind, graph = kind_of(address), graph_of(address)
        change = PlannedChange(address, "delete", "applied", record.digest)
        if graph is not None and graph_address(graph) not in self._facts.desired.resources:
            if kind == "graph":
                change = self._judge_graph_removal(graph, change)
            else:  # one gate for all of a graph
                own = self._judge_graph_removal(
                    graph, PlannedChange(graph_address(graph), "delete", "applied")
                )
                change = replace(
                    change,
                    disposition="derived" if own.disposition == "applied" else own.disposition,
                    reason=f"with {own.resource}",
                )
        self._changes[address] = change

    def settle(self) -> list[PlannedChange]:
        """Return the changes, those blocked whose needs are."""
        resources = self._facts.desired.resources
        for _ in range(len(self._changes) + 1):
            moved = False
            for address, change in self._changes.items():
                if change.disposition == "blocked" or address not in resources:
                    continue
                for need in resources[address].needs:
                    other = self._changes.get(need)
                    if other is not None and other.disposition == "blocked":
                        self._changes[address] = change.block(f"{_WAITING}: {need}")
                        moved = True
                        break
            if not moved:
                break
        self._keep_what_is_used()
        return list(self._changes.values())

    def _plan_graph(self, item: DesiredResource) -> None:
        id = name_of_resource(item.address)
        record, live = self._state.resources.get(item.address), self._facts.graphs[id]
        before = record.digest if record else None
        if live.state == "absent":
            reason = None
            if record is not None:
                reason = "its root is missing: an empty graph is made again"
                self._findings.warn("graph_root_missing", item.address, reason)
            change = PlannedChange(item.address, "create", "applied", before, item.record.digest, reason)
        elif live.state == "broken":
            reason = f"it cannot be opened: {live.problem}"
            if id not in self._facts.pending:
                self._findings.error("graph_unopenable", item.address, reason)
            change = PlannedChange(item.address, "update", "blocked", before, item.record.digest, reason)
        elif record is None:
            reason = "there is a graph that the ledger does not know: run `omnigraph cluster refresh`"
            self._findings.error("graph_root_exists", item.address, reason)
            change = PlannedChange(item.address, "create", "blocked", None, item.record.digest, reason)
        else:
            if live.id != record.graph_id:
                self._findings.warn(
                    "graph_replaced", item.address, f"another graph, {live.id}, is at its root now"
                )
            elif _same_graph(record, item.record):
                self._block_pending(id, item.address)
                return
            change = PlannedChange(item.address, "update", "derived", before, item.record.digest)
        self._changes[item.address] = change
        self._block_pending(id, item.address)

    def _plan_schema(self, item: DesiredResource) -> None:
        id = graph_of(item.address) or ""
        record, live = self._state.resources.get(item.address), self._facts.graphs[id]
        before = record.digest if record else None
        if live.state == "absent":
            change = PlannedChange(item.address, "create", "derived", before, item.record.digest)
        elif live.state == "broken":
            return
        else:
            drifted = record is not None and record.live != live.live
            if drifted:
                self._findings.warn(
                    "schema_drifted", item.address, "the graph's schema is not the one that was applied"
                )
            if record is not None and not drifted and record.digest == item.record.digest:
                return
            way = self._facts.schemas.get(id, SchemaSteps())
            change = PlannedChange(
                item.address,
                "create" if record is None else "update",
                "applied" if way.steps else "derived",
                before,
                item.record.digest,
                "it has drifted" if drifted else None,
                way.steps,
            )
            if way.problem is not None:
                self._findings.error("schema_change_unsupported", item.address, way.problem)
                change = change.block(way.problem)
        self._changes[item.address] = change
        self._block_pending(id, item.address)

    def _plan_plain(self, item: DesiredResource) -> None:
        record = self._state.resources.get(item.address)
        standing = self._facts.payloads.get(item.address, "ok")
        before = record.digest if record else None
        reason = None
        if record is not None and _same_plain(record, item.record):
            if standing == "ok":
                return
            if standing == "unreadable":
                self._findings.error("payload_unreadable", item.address, "its stored text cannot be read")
                self._changes[item.address] = PlannedChange(
                    item.address, "update", "blocked", before, item.record.digest, "it cannot be read"
                )
                return
            reason = f"its stored text is {standing}: it is published again"
            self._findings.warn(f"payload_{standing}", item.address, reason)
        self._changes[item.address] = PlannedChange(
            item.address,
            "create" if record is None else "update",
            "applied",
            before,
            item.record.digest,
            reason,
        )

    def _judge_graph_removal(self, id: str, change: PlannedChange) -> PlannedChange:
        if id in self._facts.pending:
            return change.block(self._facts.pending[id])
        if self._facts.graphs[id].state == "absent":
            return replace(change, reason="its root is gone already")
        change = replace(change, needs_approval=True)
        wanted = approval_terms(self._facts, id)
        given = [item for item in self._facts.approvals if item.resource == change.resource]
        for approval in reversed(given):
            has_begun = approval.id in self._facts.resumed and self._facts.graphs[id].state == "broken"
            if approval.terms == wanted or (
                has_begun and replace(approval.terms, live=wanted.live) == wanted
            ):
                return replace(change, approval=approval.id)
        if given:
            reason = (
                f"approval {given[-1].id} is stale: what it allowed has changed since; look at the plan and "
                "approve it again"
            )
            self._findings.warn("approval_stale", change.resource, reason)
        else:
            reason = f"it needs `omnigraph cluster approve {change.resource}`"
            self._findings.warn("approval_required", change.resource, reason)
        return replace(change, disposition="deferred", reason=reason)

    def _block_pending(self, id: str, address: str) -> None:
        """Block a graph whose last movement is not settled, and so what needs it."""
        reason = self._facts.pending.get(id)
        if reason is None:
            return
        change = self._changes.get(address)
        if change is None:
            digest = self._facts.desired.resources[address].record.digest
            change = PlannedChange(address, "update", "blocked", digest, digest)
        self._changes[address] = change.block(reason)

    def _keep_what_is_used(self) -> None:
        """Block the removal of what a graph uses that stays for now."""
        for address, record in self._state.resources.items():
            own = self._changes.get(address)
            if kind_of(address) != "graph" or own is None or own.operation != "delete":
                continue
            if own.disposition == "applied":
                continue
            id = name_of_resource(address)
            used = [] if record.embedding_provider is None else [provider_address(record.embedding_provider)]
            used += [
                policy_address(name_of_resource(other))
                for other, bundle in self._state.resources.items()
                if bundle.applies_to is not None and id in bundle.applies_to
            ]
            for other in used:
                change = self._changes.get(other)
                if change is not None and change.operation == "delete":
                    self._changes[other] = change.block(f"{address} still uses it")


def _same_graph(record: AppliedResource, wanted: AppliedResource) -> bool:
    return (record.digest, record.embedding_provider, tuple(record.external_blob_policy or ())) == (
        wanted.digest,
        wanted.embedding_provider,
        tuple(wanted.external_blob_policy or ()),
    )


def _same_plain(record: AppliedResource, wanted: AppliedResource) -> bool:
    return (record.digest, record.applies_to) == (wanted.digest, wanted.applies_to)
