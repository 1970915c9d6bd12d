"""`Cluster`: a folder with its `cluster.yaml`, and what an operator does with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omnigraph.base.errors import ClusterInvalid, NotFound, Unavailable
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.plain import to_full_object
from omnigraph.cluster.config.desired import DesiredCluster, find_config, read_folder
from omnigraph.cluster.config.model import ClusterConfig
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.graphs import ClusterGraphs, Options
from omnigraph.cluster.operations.apply import ApplyRun
from omnigraph.cluster.operations.approve import approve_change
from omnigraph.cluster.operations.observe import import_graphs, refresh_state
from omnigraph.cluster.operations.report import ClusterReport, make_report
from omnigraph.cluster.operations.status import describe_status
from omnigraph.cluster.operations.survey import (
    ClusterStore,
    ClusterSurvey,
    gather_facts,
    survey_cluster,
    warn_of_undeclared,
)
from omnigraph.cluster.places import root_of
from omnigraph.cluster.planning.plan import ClusterPlan, plan_changes
from omnigraph.cluster.store import layout
from omnigraph.cluster.store.ledger import LedgerState, StoredState
from omnigraph.storage.objects import open_store


class Cluster:
    """A cluster as its operator sees it. Errors are raised as they are elsewhere; findings are reported."""

    def __init__(
        self,
        folder: str | os.PathLike[str] = ".",
        *,
        actor: str | None = None,
        storage_options: Options = None,
    ) -> None:
        """Take the folder of `cluster.yaml`; nothing is read yet."""
        self._folder = Path(folder)
        self._actor, self._options = actor, storage_options

    def validate(self) -> ClusterReport:
        """Read and check all that is declared; no storage is touched."""
        findings = ClusterFindings()
        _, desired = read_folder(self._folder, findings)
        if desired is None:
            return make_report(findings, config_digest=None, resources={})
        digests = {address: item.record.digest for address, item in sorted(desired.resources.items())}
        return make_report(findings, config_digest=desired.digest, resources=digests)

    def plan(self) -> ClusterReport:
        """Compare what is declared with what is recorded and there; nothing is changed."""
        findings = ClusterFindings()
        config, desired = self._read(findings)
        store = self._store(config)
        with self._hold_lock(store, config, "plan", findings):
            stored = store.ledger.read()
            if stored is None:
                findings.warn(
                    "state_missing", store.objects.root_uri, "nothing is recorded yet: run `cluster import`"
                )
            survey, plan = self._plan(store, stored, desired, findings)
        return make_report(findings, **_describe_plan(desired, survey, plan))

    def apply(self) -> ClusterReport:
        """Make what is there what is declared, as far as it may be; the ledger is written at most once."""
        findings = ClusterFindings()
        config, desired = self._read(findings)
        store = self._store(config)
        with self._hold_lock(store, config, "apply", findings):
            stored = _need_state(store.ledger.read())
            survey, plan = self._plan(store, stored, desired, findings)
            run = ApplyRun(store, desired, survey, plan, findings)
            approvals = {item.id: item for item in store.approvals.list_open()}
            run.carry_out(approvals)
            state = self._write(store, stored, run.state, run.settled, findings)
            for record in state.approvals:
                if record["id"] in approvals:
                    hit(Failpoint.CLUSTER_BEFORE_APPROVAL_NOTE)
                    with _warning_of_leftovers(findings, layout.approval_path(record["id"])):
                        store.approvals.note_consumed(approvals[record["id"]], record["consumed_at"])
        warn_of_undeclared(store, state, desired, findings)
        facts = _describe_plan(desired, survey, ClusterPlan(tuple(run.changes)))
        return make_report(
            findings,
            **facts
            | {
                "converged": run.is_converged,
                "state_revision": state.revision,
                "wrote": state.revision != stored.state.revision,
            },
        )

    def import_(self) -> ClusterReport:
        """Begin a ledger with the graphs that are there; fails when there is one."""
        findings = ClusterFindings()
        config, desired = self._read(findings)
        store = self._store(config)
        with self._hold_lock(store, config, "import", findings):
            survey = survey_cluster(store, None, desired, findings)
            state = import_graphs(store, survey, desired, findings)
            if findings.has_errors:
                return make_report(findings, state_revision=None)
            made = store.ledger.create(state.with_changes(settled=(*state.settled, *survey.sweep.settled)))
            with _warning_of_leftovers(findings, layout.RECOVERIES):
                store.intents.remove(survey.sweep.settled)
        warn_of_undeclared(store, made, desired, findings)
        return make_report(findings, state_revision=made.revision, resources=sorted(made.resources))

    def refresh(self) -> ClusterReport:
        """Look at everything again, and record how it differs from what was applied."""
        findings = ClusterFindings()
        config, desired = self._read(findings)
        store = self._store(config)
        with self._hold_lock(store, config, "refresh", findings):
            stored = _need_state(store.ledger.read())
            survey = survey_cluster(store, stored, desired, findings)
            state = refresh_state(store, survey, desired, findings)
            settled = survey.sweep.settled
            known = state.settled
            state = state.with_changes(settled=(*known, *(id for id in settled if id not in known)))
            state = self._write(store, stored, state, settled, findings)
        warn_of_undeclared(store, state, desired, findings)
        return make_report(
            findings,
            state_revision=state.revision,
            wrote=state.revision != stored.state.revision,
            drifted=sorted(address for address, item in state.statuses.items() if item.status == "drifted"),
        )

    def status(self) -> ClusterReport:
        """Tell what is recorded and whether it is whole; reads only, and takes no lock."""
        findings = ClusterFindings()
        store = self._store(self._config(findings))
        return describe_status(store, findings)

    def approve(self, resource: str) -> ClusterReport:
        """Allow one irreversible change, exactly as it is planned now."""
        findings = ClusterFindings()
        config, desired = self._read(findings)
        store = self._store(config)
        stored = _need_state(store.ledger.read())
        survey = survey_cluster(store, stored, desired, findings)
        facts = gather_facts(store, survey, desired)
        return approve_change(store, facts, resource)

    def force_unlock(self, lock_id: str) -> ClusterReport:
        """Remove the lock with exactly this id, whose process is known to be gone."""
        findings = ClusterFindings()
        store = self._store(self._config(findings))
        return make_report(findings, unlocked=to_full_object(store.lock.force(lock_id)))

    def _config(self, findings: ClusterFindings) -> ClusterConfig:
        config = find_config(self._folder, findings)
        if config is None or findings.has_errors:
            raise _invalid(findings)
        return config

    def _read(self, findings: ClusterFindings) -> tuple[ClusterConfig, DesiredCluster]:
        config, desired = read_folder(self._folder, findings)
        if config is None or desired is None or findings.has_errors:
            raise _invalid(findings)
        return config, desired

    def _store(self, config: ClusterConfig) -> ClusterStore:
        objects = open_store(root_of(self._folder, config), self._options)
        graphs = ClusterGraphs(objects, objects.root_uri, self._options, self._actor)
        return ClusterStore(objects, graphs, self._actor)

    @contextmanager
    def _hold_lock(
        self, store: ClusterStore, config: ClusterConfig, operation: str, findings: ClusterFindings
    ) -> Iterator[None]:
        if not config.locks:
            findings.warn(
                "state_lock_disabled", "state.lock", "nothing keeps two operators from working at once"
            )
            yield
            return

        def warn(why: str) -> None:
            findings.warn("lock_left", layout.LOCK, why)

        with store.lock.hold(operation, self._actor, warn):
            yield

    def _plan(
        self,
        store: ClusterStore,
        stored: StoredState | None,
        desired: DesiredCluster,
        findings: ClusterFindings,
    ) -> tuple[ClusterSurvey, ClusterPlan]:
        survey = survey_cluster(store, stored, desired, findings)
        return survey, plan_changes(gather_facts(store, survey, desired), findings)

    def _write(
        self,
        store: ClusterStore,
        stored: StoredState,
        state: LedgerState,
        settled: tuple[str, ...],
        findings: ClusterFindings,
    ) -> LedgerState:
        """Write the ledger if it says something new, then remove the intents that it takes in."""
        hit(Failpoint.CLUSTER_BEFORE_STATE)
        if state != stored.state:
            state = store.ledger.swap(stored, state)
            hit(Failpoint.CLUSTER_AFTER_STATE)
        with _warning_of_leftovers(findings, layout.RECOVERIES):
            store.intents.remove(settled)
        return state


@contextmanager
def _warning_of_leftovers(findings: ClusterFindings, path: str) -> Iterator[None]:
    """Warn of what cannot be tidied up once the ledger says all: the next run does it."""
    try:
        yield
    except Unavailable as error:
        findings.warn("not_tidied", path, f"{error.message}; what was applied is recorded")


def _need_state(stored: StoredState | None) -> StoredState:
    if stored is None:
        raise NotFound(
            "the cluster has no state yet: run `omnigraph cluster import` first", reason="state_missing"
        )
    return stored


def _invalid(findings: ClusterFindings) -> ClusterInvalid:
    found = tuple(findings)
    lines = "\n".join(item.render() for item in found if item.severity == "error")
    return ClusterInvalid(
        f"what is declared is not right:\n{lines}", diagnostics=[item.to_json() for item in found]
    )


def _describe_plan(desired: DesiredCluster, survey: ClusterSurvey, plan: ClusterPlan) -> dict[str, Any]:
    stored = survey.stored
    return {
        "cluster": desired.name,
        "config_digest": desired.digest,
        "state_revision": None if stored is None else stored.state.revision,
        "state_cas": None if stored is None else stored.etag,
        "converged": plan.is_converged and not survey.sweep.pending and stored is not None,
        "changes": [change.to_json() for change in plan.changes],
        "approvals_required": [
            change.resource for change in plan.changes if change.needs_approval and change.approval is None
        ],
        "pending": dict(survey.sweep.pending),
    }
