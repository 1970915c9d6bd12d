"""The schema of a branch: show it, plan a change, apply one."""

from __future__ import annotations

from typing import Any

from omnigraph.base.choices import refuse_branch_and_snapshot
from omnigraph.compiler.catalog import codec
from omnigraph.sdk.schema_text import SchemaText
from omnigraph.server.bodies import SchemaBody
from omnigraph.server.calls import GraphDep, WriteDep
from omnigraph.server.requests.engine_route import EngineRoute
from omnigraph.server.requests.route_terms import reads_only
from omnigraph.server.requests.routing import GraphRouter
from omnigraph.wire.values import encode

router = GraphRouter(route_class=EngineRoute, tags=["schema"])


@router.get("/schema")
def show_schema(call: GraphDep, branch: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
    """Return the text of the schema, and its compiled form, which has the identities of types."""
    refuse_branch_and_snapshot(branch, snapshot)
    graph = call.open(branch)
    seen = graph.snapshot(commit=snapshot) if snapshot is not None else graph.snapshot()
    return {
        "branch": seen.branch,
        "schema_source": seen.schema_source,
        "catalog": encode(codec.to_json(seen.catalog)),
    }


@router.post("/schema/plan")
@reads_only
def plan_schema(call: GraphDep, body: SchemaBody) -> dict[str, Any]:
    """Return the steps that would lead to another schema."""
    plan = call.open(body.branch).schema.plan(_as_text(body), body.allow_data_loss, mode=body.mode)
    return {
        "supported": plan.supported,
        "steps": [encode(step.to_json()) for step in plan.steps],
        "warnings": list(plan.warnings),
    }


@router.post("/schema/apply")
def apply_schema(call: GraphDep, headers: WriteDep, body: SchemaBody) -> dict[str, Any]:
    """Change the schema of a branch, and the data with it, in one commit."""
    given = body.model_dump(exclude={"schema_source", "file", "branch"})
    done = call.open(body.branch, headers).schema.apply(_as_text(body), **given)
    found: dict[str, Any] = encode(done)
    return found


def _as_text(body: SchemaBody) -> Any:
    """Return a schema that is never taken for the path of a file on the server."""
    return SchemaText(body.schema_source, body.file)
