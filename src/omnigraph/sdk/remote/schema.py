"""The schema of a served graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.base.choices import SchemaMode
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.migration.plan import MigrationPlan
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.sdk.remote.requests.transport import Transport
from omnigraph.sdk.schema import SchemaApply, SchemaHandle, desire_schema, plan_schema
from omnigraph.wire.values import decode


class RemoteSchema:
    """The schema at the head of a handle's branch."""

    stands_for = SchemaHandle

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def source(self) -> str:
        """The text of the schema, as it was given."""
        return str(self._transport.ask("/schema")["schema_source"])

    @property
    def catalog(self) -> Catalog:
        """The compiled schema."""
        return codec.from_json(self._transport.ask("/schema")["catalog"])

    def plan(
        self, text_or_path: str | Path, allow_data_loss: bool = False, *, mode: SchemaMode = "replace"
    ) -> MigrationPlan:
        """Return the steps that would lead to another schema; nothing is changed. See `apply` for `mode`."""
        # A plan follows from two schemas alone: only the stored one has to be asked for.
        desired = desire_schema(text_or_path, mode, allow_data_loss=allow_data_loss)
        told = self._transport.ask("/schema")
        return plan_schema(desired, codec.from_json(told["catalog"]), told["schema_source"])

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
        """Change the schema of this branch, and the data with it, in one commit."""
        desired = desire_schema(text_or_path, mode, allow_drop=allow_drop, allow_data_loss=allow_data_loss)
        body: dict[str, Any] = {
            "schema_source": desired.text,
            "file": desired.file or None,
            "mode": mode,
            "allow_drop": allow_drop,
            "allow_data_loss": allow_data_loss,
            "allow_broken_queries": allow_broken_queries,
            "message": message,
            "metadata": metadata,
        }
        done = self._transport.write("/schema/apply", body, idempotency_key)
        return decode(SchemaApply, done)  # type: ignore[no-any-return]
