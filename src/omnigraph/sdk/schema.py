"""A graph's schema as users see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.base.choices import SchemaMode
from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.migration.desired import DesiredSchema
from omnigraph.compiler.catalog.migration.plan import MigrationPlan
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.handle import Graph
from omnigraph.graph.schema_apply.application import SchemaApplication
from omnigraph.graph.schema_apply.check_satisfiable import check_usable
from omnigraph.graph.schema_apply.reclaim import reclaim_dropped
from omnigraph.sdk.managed import refuse_managed_graph
from omnigraph.sdk.schema_text import read_schema_text

_MODES = ("replace", "extend")


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
        self._internals = graph.internals

    @property
    def source(self) -> str:
        """The text of the schema, as it was given."""
        return self._graph.snapshot().schema_source

    @property
    def catalog(self) -> Catalog:
        """The compiled schema."""
        return self._graph.snapshot().catalog

    def plan(
        self, text_or_path: str | Path, allow_data_loss: bool = False, *, mode: SchemaMode = "replace"
    ) -> MigrationPlan:
        """Return the steps that would lead to another schema; nothing is changed. See `apply` for `mode`."""
        self._internals.check_sees_all("a change of the schema")
        desired = desire_schema(text_or_path, mode, allow_data_loss=allow_data_loss)
        snapshot = self._graph.snapshot()
        return plan_schema(desired, snapshot.catalog, snapshot.schema_source)

    def apply(
        self,
        text_or_path: str | Path,
        *,
        allow_drop: bool = False,
        allow_data_loss: bool = False,
        mode: SchemaMode = "replace",
        allow_broken_queries: bool = False,
        message: str | None = None,
        idempotency_key: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> SchemaApply:
        """Change the schema of this branch, and the data with it, in one commit.

        With mode `replace` the text is the whole schema. What it leaves out is dropped, if that is allowed:
        after `allow_drop` older versions still have it until a cleanup, after `allow_data_loss` they do not.
        With mode `extend` the text is added to the schema that is there. A schema that breaks a stored query
        is refused, unless `allow_broken_queries` is given.
        """
        self._internals.check_allowed("schema_apply", target=self._graph.branch)
        refuse_managed_graph(self._graph, "the schema")
        self._internals.check_sees_all("a change of the schema")
        desired = desire_schema(text_or_path, mode, allow_drop=allow_drop, allow_data_loss=allow_data_loss)
        work = SchemaApplication(desired, self._graph.schemas, allow_broken_queries=allow_broken_queries)
        published = self._graph.commit_work(
            work,
            message=message,
            durable=True,
            idempotency_key=idempotency_key,
            metadata=metadata,
        )
        if published is not None and not work.is_planned:  # it was applied before, under the same key
            steps = list(published.answer.get("steps", ()))
            left = any(step.get("mode") == "hard" for step in steps)
            return SchemaApply(True, published.commit, steps, [_MAY_BE_LEFT] if left else [])
        warnings = list(work.plan.warnings)
        if published is not None and published.record is not None and allow_data_loss:
            if not reclaim_dropped(self._internals.whole, published.record):
                warnings.append(_MAY_BE_LEFT)
            self._graph.close()  # what is gone must not be read from memory either
        steps = [step.to_json() for step in work.plan.steps]
        return SchemaApply(published is not None, published.commit if published else None, steps, warnings)


_MAY_BE_LEFT = "old versions of what was dropped may still be stored: the next cleanup removes them"


def plan_schema(desired: DesiredSchema, accepted: Catalog, source: str) -> MigrationPlan:
    """Return the steps from an accepted schema to a desired one."""
    plan, _ = desired.plan(accepted, source)
    if plan.steps:
        check_usable(plan.target, desired.text, desired.file)
    return plan


def desire_schema(text_or_path: Any, mode: str, **flags: bool) -> DesiredSchema:
    """Return what a caller wants the schema to be, or say what is wrong with it."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise BadInput(f"{name} is True or False, found {value!r}")
    if mode not in _MODES:
        raise BadInput(f"mode is {mode!r}: use one of {', '.join(_MODES)}")
    text, file = read_schema_text(text_or_path)
    return DesiredSchema(text, file, extends=mode == "extend", **flags)
