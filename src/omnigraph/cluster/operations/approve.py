"""Approving one irreversible change."""

from __future__ import annotations

from omnigraph.base.errors import BadInput
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.operations.report import ClusterReport, make_report
from omnigraph.cluster.operations.survey import ClusterStore
from omnigraph.cluster.planning.plan import PlanFacts, approval_terms, plan_changes
from omnigraph.cluster.resources import name_of_resource


def approve_change(store: ClusterStore, facts: PlanFacts, resource: str) -> ClusterReport:
    """Store an approval of a change that needs one; one that stands already is returned as it is."""
    plan = plan_changes(facts, ClusterFindings())
    change = next((item for item in plan.changes if item.resource == resource), None)
    if change is None or not change.needs_approval:
        waiting = ", ".join(item.resource for item in plan.changes if item.needs_approval) or "nothing"
        why = "is not changed by the plan" if change is None else "needs no approval"
        raise BadInput(f"{resource} {why}; what needs an approval: {waiting}", resource=resource)
    if change.approval is not None:
        given = next(item for item in facts.approvals if item.id == change.approval)
        return make_report(ClusterFindings(), approval=given.to_json(), created=False)
    terms = approval_terms(facts, name_of_resource(resource))
    made = store.approvals.create(resource, terms, store.actor)
    return make_report(ClusterFindings(), approval=made.to_json(), created=True)
