"""What an operation begins with: the ledger, the intents, the graphs as they are, and the plan from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from omnigraph.base import clock
from omnigraph.cluster.config.desired import DesiredCluster
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.graphs import ClusterGraphs, LiveGraph, SchemaSteps
from omnigraph.cluster.planning.plan import PlanFacts
from omnigraph.cluster.planning.sweep import Sweep, sweep_intents
from omnigraph.cluster.resources import graph_of
from omnigraph.cluster.store import layout
from omnigraph.cluster.store.approvals import Approval, Approvals
from omnigraph.cluster.store.intents import Intent, Intents
from omnigraph.cluster.store.ledger import Ledger, LedgerState, StoredState
from omnigraph.cluster.store.lock import ClusterLock
from omnigraph.cluster.store.payloads import Payloads
from omnigraph.storage.objects import ObjectStore


@dataclass(frozen=True)
class ClusterStore:
    """All objects of a cluster."""

    objects: ObjectStore
    graphs: ClusterGraphs
    actor: str | None

    @property
    def ledger(self) -> Ledger:
        """What was applied."""
        return Ledger(self.objects)

    @property
    def lock(self) -> ClusterLock:
        """Who works on it."""
        return ClusterLock(self.objects)

    @property
    def intents(self) -> Intents:
        """What runs were about to do."""
        return Intents(self.objects)

    @property
    def approvals(self) -> Approvals:
        """What was allowed."""
        return Approvals(self.objects)

    @property
    def payloads(self) -> Payloads:
        """Texts of queries, policies and pipelines."""
        return Payloads(self.objects)


@dataclass(frozen=True, slots=True)
class ClusterSurvey:
    """A cluster as it was found."""

    stored: StoredState | None
    graphs: Mapping[str, LiveGraph]
    sweep: Sweep
    intents: tuple[Intent, ...]

    @property
    def state(self) -> LedgerState:
        """The ledger, with what dead runs had done."""
        return self.sweep.state


def survey_cluster(
    store: ClusterStore, stored: StoredState | None, desired: DesiredCluster, findings: ClusterFindings
) -> ClusterSurvey:
    """Return what is there; nothing is written but what a crashed write of a graph has left to be settled."""
    state = stored.state if stored is not None else LedgerState(desired.name)
    intents, unreadable = store.intents.list()
    for path in unreadable:
        findings.error(
            "intent_unreadable", path, "this intent cannot be read: look at it, then remove it yourself"
        )
    waiting = {intent.graph for intent in intents if intent.id not in state.settled}
    ids = sorted(
        {graph_of(address) or "" for address in (*state.resources, *desired.resources)} - {""}
        | {intent.graph for intent in intents}
    )
    changing = frozenset(
        intent.graph for intent in intents if intent.graph in waiting and intent.kind == "schema_apply"
    )
    graphs = store.graphs.look_at_all(ids, changing)
    declared = {
        id: not way.steps and way.problem is None
        for id, way in find_schema_steps(store, graphs, desired, waiting).items()
    }
    now = clock.current().now_us()
    sweep = sweep_intents(intents, state, graphs, declared, now, findings)
    return ClusterSurvey(stored, graphs, sweep, tuple(intents))


def find_schema_steps(
    store: ClusterStore,
    graphs: Mapping[str, LiveGraph],
    desired: DesiredCluster,
    only: set[str] | None = None,
) -> dict[str, SchemaSteps]:
    """Return the way to the declared schema of each graph that holds another text."""
    found: dict[str, SchemaSteps] = {}
    for id, text in desired.schemas.items():
        live = graphs.get(id)
        if live is None or live.state != "open" or (only is not None and id not in only):
            continue
        found[id] = (
            SchemaSteps()
            if live.schema == text
            else store.graphs.plan_schema(id, text, desired.schema_files[id])
        )
    return found


def gather_facts(store: ClusterStore, survey: ClusterSurvey, desired: DesiredCluster) -> PlanFacts:
    """Return all that a plan is made from."""
    return PlanFacts(
        desired,
        survey.state,
        survey.graphs,
        find_schema_steps(store, survey.graphs, desired),
        store.payloads.check_all(survey.state.resources),
        list_usable_approvals(store, survey.state),
        survey.sweep.resumed,
        survey.sweep.pending,
    )


def list_usable_approvals(store: ClusterStore, state: LedgerState) -> list[Approval]:
    """Return the approvals that nobody has used; the ledger knows before their files do."""
    used = {record["id"] for record in state.approvals}
    return [item for item in store.approvals.list_open() if item.id not in used]


def warn_of_undeclared(
    store: ClusterStore, state: LedgerState, desired: DesiredCluster, findings: ClusterFindings
) -> None:
    """Name graphs below the root that are neither declared nor recorded."""
    known = {graph_of(address) for address in (*state.resources, *desired.resources)}
    for id in store.graphs.list_present():
        if id not in known:
            message = "there is a graph here that is neither declared nor recorded: it is left alone"
            findings.warn("undeclared_graph", layout.graph_path(id), message)
