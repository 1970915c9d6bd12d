"""Changes: what an apply would do to each resource, and why it would not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

ChangeKind = Literal["create", "update", "delete"]
Disposition = Literal["applied", "derived", "deferred", "blocked"]


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One change of one resource."""

    resource: str
    operation: ChangeKind
    disposition: Disposition
    before: str | None = None
    after: str | None = None
    reason: str | None = None
    steps: tuple[Mapping[str, Any], ...] = ()
    """Of a schema: the steps of its migration."""
    needs_approval: bool = False
    approval: str | None = None
    """The approval that allows it."""

    def block(self, reason: str) -> PlannedChange:
        """Return the change as one that cannot be made now."""
        return replace(self, disposition="blocked", reason=reason)

    def to_json(self) -> dict[str, Any]:
        """Return the change as plain JSON data."""
        data: dict[str, Any] = {
            "resource": self.resource,
            "operation": self.operation,
            "disposition": self.disposition,
            "before": self.before,
            "after": self.after,
        }
        if self.reason is not None:
            data["reason"] = self.reason
        if self.resource.startswith("schema."):
            data["steps"] = [dict(step) for step in self.steps]
        if self.needs_approval:
            data["approval"] = {"required": True, "id": self.approval}
        return data


_ORDER = ("provider", "graph", "schema", "query", "policy", "pipeline")


def order_changes(changes: list[PlannedChange]) -> list[PlannedChange]:
    """Return changes in the order in which they are made: deletes last."""

    def rank(change: PlannedChange) -> tuple[bool, int, str]:
        kind = change.resource.partition(".")[0]
        return change.operation == "delete", _ORDER.index(kind), change.resource

    return sorted(changes, key=rank)
