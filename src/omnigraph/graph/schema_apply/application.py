"""`SchemaApplication`: a schema change as work for `commit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from omnigraph.base.errors import ExpectedVersionMismatch
from omnigraph.compiler.catalog.migration.desired import DesiredSchema
from omnigraph.compiler.catalog.migration.plan import MigrationPlan
from omnigraph.compiler.catalog.migration.steps import AddConstraint, RequireProperty
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.graph.manifest.record import CommitClass
from omnigraph.graph.manifest.schemas import Schemas, StoredSchema
from omnigraph.graph.publish.conflict import SCHEMA
from omnigraph.graph.schema_apply.check_queries import refuse_broken
from omnigraph.graph.schema_apply.check_satisfiable import check_usable
from omnigraph.graph.schema_apply.check_stored_rows import check_stored
from omnigraph.graph.schema_apply.dropped import find_dropped_for_good
from omnigraph.graph.schema_apply.tables import change_table, change_tables
from omnigraph.graph.write.write_state import WriteBase


class SchemaApplication:
    """Work for `commit`: the way from the branch's schema to a desired one, with the data it rewrites.

    It may be applied to newer data, which is then checked again, but never to another schema than the one
    that it was planned from.
    """

    operation = "schema_apply"
    commit_class = CommitClass.LOGICAL
    repeatable = True

    def __init__(
        self,
        desired: DesiredSchema,
        schemas: Schemas,
        veto: Callable[[Catalog], None] | None = None,
        allow_broken_queries: bool = False,
    ) -> None:
        """Take the desired schema; `veto` may refuse the new catalog before anything is published.

        Stored queries that fitted must still fit, unless that is not asked for.
        """
        self._desired = desired
        self._schemas = schemas
        self._veto = veto
        self._allows_broken = allow_broken_queries
        self._planned_from: str | None = None

    @property
    def is_planned(self) -> bool:
        """Whether the work has begun."""
        return self._planned_from is not None

    def answer(self) -> Mapping[str, Any]:
        """Return the steps that were carried out."""
        return {"steps": [step.to_json() for step in self._plan.steps]}

    @property
    def plan(self) -> MigrationPlan:
        """The plan that was carried out."""
        return self._plan

    @property
    def before(self) -> Catalog:
        """The schema that the plan starts from."""
        return self._old

    def stage(self, base: WriteBase) -> None:
        """Plan; refuse what cannot be done, and a schema that somebody has changed meanwhile."""
        schema = base.state.head.schema
        if self._planned_from not in (None, schema):
            raise ExpectedVersionMismatch(
                "the schema was changed by another writer: look at it and apply yours again",
                table_key=SCHEMA,
                expected=self._planned_from,
                actual=schema,
            )
        self._planned_from = schema
        accepted = self._schemas.get(schema)
        self._old = accepted.catalog
        self._plan, self._text = self._desired.plan(accepted.catalog, accepted.source)
        self._desired.check(self._plan)
        if self._plan.steps:
            check_usable(self._plan.target, self._desired.text, self._desired.file)
        if self._plan.steps and self._veto is not None:
            self._veto(self._plan.target)

    def apply(self, base: WriteBase) -> None:
        """Stage every table's change and name the new schema; nothing when there is nothing to change."""
        if not self._plan.steps:
            return
        if not self._allows_broken:
            refuse_broken(self._schemas.queries(base.state.head.queries), self._old, self._plan.target)
        change_tables(base, self._old, self._plan.target, self._change)
        base.schema = self._schemas.put(StoredSchema(self._plan.target, self._text))
        base.reclaims = tuple(find_dropped_for_good(self._old, self._plan))

    def _change(self, base: WriteBase, old: TableType, new: TableType) -> None:
        check_stored(self._plan.target, new, old, self._steps_to_validate(new), base)
        change_table(base, old, new, rename_ids=bool(new.key and not old.key))

    def _steps_to_validate(self, table: TableType) -> list[Any]:
        """Return the steps that the stored rows of a table must satisfy."""
        return [
            step
            for step in self._plan.steps
            if isinstance(step, AddConstraint | RequireProperty)
            and (step.type_kind, step.type_name) == (table.kind, table.name)
            and step.validation_code is not None
        ]
