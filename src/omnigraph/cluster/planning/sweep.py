"""What became of intents whose run died: each is settled forward, or kept with a reason. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.graphs import LiveGraph
from omnigraph.cluster.resources import AppliedResource, graph_address, graph_of, schema_address
from omnigraph.cluster.store.intents import Intent
from omnigraph.cluster.store.ledger import LedgerState

SweepOutcome = Literal["retired", "rolled_forward", "tombstoned", "kept"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is done with one intent."""

    outcome: SweepOutcome
    code: str = ""
    reason: str = ""
    """Why it is kept."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep comes to."""

    state: LedgerState
    settled: tuple[str, ...] = ()
    """Intents that can go once the state is written."""
    pending: Mapping[str, str] = field(default_factory=dict)
    """Graphs whose intent is kept, and why."""
    consumed: tuple[str, ...] = ()
    """Approvals that the dead run has used."""
    resumed: frozenset[str] = frozenset()
    """Approvals of removals that a dead run had begun."""


def judge_intent(intent: Intent, live: LiveGraph, state: LedgerState, is_declared: bool) -> Judgement:
    """Return what becomes of an intent; `is_declared` says that the graph holds what is declared now."""
    record = state.resources.get(schema_address(intent.graph))
    if intent.kind == "graph_delete":
        if live.state != "absent":
            return Judgement("retired")
        return Judgement("tombstoned" if graph_address(intent.graph) in state.resources else "retired")
    is_reached = live.state == "open" and (live.live == intent.schema_digest or is_declared)
    if intent.kind == "graph_create":
        if live.state == "absent":
            return Judgement("retired")
        if live.state == "broken":
            return Judgement(
                "kept",
                "graph_create_incomplete",
                f"a run died while it made the graph, and what it left cannot be opened ({live.problem}): "
                "nothing was removed; move the folder away, then apply again",
            )
        if record is not None and record.live == live.live:
            return Judgement("retired")
        if is_reached:
            return Judgement("rolled_forward")
        return Judgement(
            "kept",
            "graph_create_drifted",
            "a run died while it made the graph, and the graph has another schema now than was wanted: "
            "declare the schema that it has, or move the folder away",
        )
    if live.state == "absent":
        return Judgement("retired")
    if live.state == "broken":
        return Judgement("kept", "graph_unopenable", f"the graph cannot be opened: {live.problem}")
    if record is not None and record.live == live.live:
        return Judgement("retired")
    if is_reached:
        return Judgement("rolled_forward")
    return Judgement(
        "kept",
        "schema_apply_pending",
        "a run died while it changed the schema, and the graph has neither the old nor the new one: declare "
        "the schema that it has, or bring the graph to one of the two",
    )


def sweep_intents(
    intents: Sequence[Intent],
    state: LedgerState,
    graphs: Mapping[str, LiveGraph],
    declared: Mapping[str, bool],
    now: int,
    findings: ClusterFindings,
) -> Sweep:
    """Return the state with what dead runs had done, and which intents are settled by it."""
    resources, observations = dict(state.resources), dict(state.observations)
    records: list[Mapping[str, Any]] = list(state.recoveries)
    used: list[Mapping[str, Any]] = list(state.approvals)
    settled: list[str] = []
    pending: dict[str, str] = {}
    consumed: list[str] = []
    resumed: set[str] = set()
    known = set(state.settled)
    for intent in intents:
        if intent.id in known:
            settled.append(intent.id)
            continue
        live = graphs[intent.graph]
        current = state.with_changes(resources=resources)
        found = judge_intent(intent, live, current, declared.get(intent.graph, False))
        if found.outcome == "kept":
            pending[intent.graph] = found.reason
            findings.error(found.code, graph_address(intent.graph), found.reason)
            continue
        settled.append(intent.id)
        if found.outcome == "retired":
            if intent.approval is not None:
                resumed.add(intent.approval)
            continue
        own = graph_address(intent.graph)
        if found.outcome == "rolled_forward":
            before = resources.get(own)
            resources[own] = AppliedResource(
                before.digest if before else "",
                embedding_provider=before.embedding_provider if before else None,
                external_blob_policy=before.external_blob_policy if before else None,
                graph_id=live.id,
            )
            resources[schema_address(intent.graph)] = AppliedResource(
                intent.schema_digest or "", live=live.live
            )
        else:
            for address in [address for address in resources if graph_of(address) == intent.graph]:
                del resources[address]
            observations[own] = {"deleted_at": now, "approval": intent.approval}
            if intent.approval is not None:
                consumed.append(intent.approval)
                used.append({"id": intent.approval, "resource": own, "consumed_at": now})
        records.append(
            {
                "intent": intent.id,
                "kind": intent.kind,
                "graph": intent.graph,
                "outcome": found.outcome,
                "actor": intent.actor,
                "at": now,
            }
        )
    after = state.with_changes(
        resources=resources, observations=observations, recoveries=records, approvals=used
    )
    return Sweep(after, tuple(settled), pending, tuple(consumed), frozenset(resumed))
