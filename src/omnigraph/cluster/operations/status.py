"""What is recorded, and whether it is whole."""

from __future__ import annotations

from omnigraph.base.plain import to_full_object
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.operations.report import ClusterReport, make_report
from omnigraph.cluster.operations.survey import ClusterStore, list_usable_approvals
from omnigraph.cluster.store.layout import intent_path


def describe_status(store: ClusterStore, findings: ClusterFindings) -> ClusterReport:
    """Return the state of a cluster as it is recorded, each payload compared with its digest."""
    stored, held = store.ledger.read(), store.lock.read()
    intents, unreadable = store.intents.list()
    lock = None if held is None else to_full_object(held)
    for path in unreadable:
        findings.error("intent_unreadable", path, "this intent cannot be read")
    if stored is None:
        findings.error("state_missing", store.objects.root_uri, "nothing is recorded: run `cluster import`")
        return make_report(findings, lock=lock, state_revision=None, resources={})
    state = stored.state
    for address, standing in store.payloads.check_all(state.resources).items():
        if standing != "ok":
            findings.error(f"payload_{standing}", address, f"its stored text is {standing}")
    for intent in intents:
        if intent.id not in state.settled:
            findings.warn(
                "intent_pending",
                intent_path(intent.id),
                f"a run has not finished its {intent.kind} of {intent.graph}: the next apply settles it",
            )
    addresses = sorted({*state.resources, *state.statuses})
    resources = {}
    for address in addresses:
        status, record = state.statuses.get(address), state.resources.get(address)
        resources[address] = {
            "status": status.status if status is not None else "applied",
            "digest": record.digest if record is not None else None,
            "message": status.message if status is not None else None,
        }
    return make_report(
        findings,
        cluster=state.name,
        state_revision=state.revision,
        config_digest=state.config_digest,
        converged=state.config_digest is not None,
        lock=lock,
        resources=resources,
        recoveries=[dict(item) for item in state.recoveries],
        approvals=[item.to_json() for item in list_usable_approvals(store, state)],
    )
