"""A graph's schema as users see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.migration.plan import MigrationPlan, plan_migration
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.handle import Graph
from omnigraph.graph.schema_apply.application import SchemaApplication
from omnigraph.graph.schema_apply.check_satisfiable import check_usable
from omnigraph.graph.schema_apply.reclaim import reclaim_dropped


@dataclass(frozen=True, slots=True)
class SchemaApply:
    """What a schema change did; not `applied` when the schemas were the same."""

    applied: bool
    commit_id: str | None
    steps: list[dict[str, Any]]
    warnings: list[str]


class SchemaHandle:
    """The schema at the head of a handle's branch."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @property
    def source(self) -> str:
        """The text of the schema, as it was given."""
        return self._graph.snapshot().schema_source

    @property
    def catalog(self) -> Catalog:
        """The compiled schema."""
        return self._graph.snapshot().catalog

    def plan(self, new_pg: str, allow_data_loss: bool = False) -> MigrationPlan:
        """Return the steps that would lead to another schema; nothing is changed."""
        plan = plan_migration(self.catalog, _text(new_pg), _flag(allow_data_loss))
        if plan.steps:
            check_usable(plan.target, new_pg)
        return plan

    def apply(
        self,
        new_pg: str,
        allow_data_loss: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> SchemaApply:
        """Change the schema of this branch, and the data with it, in one commit."""
        work = SchemaApplication(_text(new_pg), _flag(allow_data_loss), self._graph.schemas)
        published = self._graph.commit_work(
            work, message=message, durable=True, idempotency_key=idempotency_key
        )
        if published is not None and not work.is_planned:  # it was applied before, under the same key
            steps = list(published.answer.get("steps", ()))
            left = any(step.get("mode") == "hard" for step in steps)
            return SchemaApply(True, published.commit, steps, [_MAY_BE_LEFT] if left else [])
        warnings = list(work.plan.warnings)
        if published is not None and published.record is not None and allow_data_loss:
            if not reclaim_dropped(self._graph._core, published.record, work.before, work.plan):
                warnings.append(_MAY_BE_LEFT)
            self._graph.close()  # what is gone must not be read from memory either
        steps = [step.to_json() for step in work.plan.steps]
        return SchemaApply(published is not None, published.commit if published else None, steps, warnings)


_MAY_BE_LEFT = (
    "old versions of what was dropped may still be stored: a cleanup that drops history (keep, older_than) "
    "removes them"
)


def _text(new_pg: str) -> str:
    if not isinstance(new_pg, str):
        raise BadInput(f"a schema must be a string, found {type(new_pg).__name__}")
    return new_pg


def _flag(allow_data_loss: bool) -> bool:
    if not isinstance(allow_data_loss, bool):
        raise BadInput(f"allow_data_loss is True or False, found {allow_data_loss!r}")
    return allow_data_loss
