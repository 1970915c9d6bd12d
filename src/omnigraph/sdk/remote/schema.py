"""The schema of a served graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omnigraph.sdk.remote.transport import Transport
from omnigraph.sdk.schema import SchemaApply
from omnigraph.sdk.schema_text import read_schema_text
from omnigraph.wire.values import decode


class RemoteSchema:
    """The schema at the head of a handle's branch."""

    def __init__(self, transport: Transport, branch: str) -> None:
        self._transport, self._branch = transport, branch

    @property
    def source(self) -> str:
        """The text of the schema, as it was given."""
        return str(self._transport.ask("/schema", branch=self._branch)["schema_source"])

    def plan(
        self, text_or_path: str | Path, allow_data_loss: bool = False, *, mode: str = "replace"
    ) -> dict[str, Any]:
        """Return the steps that would lead to another schema, as JSON data; nothing is changed."""
        body = {**self._body(text_or_path, mode), "allow_data_loss": allow_data_loss}
        return dict(self._transport.read("/schema/plan", body))

    def apply(
        self,
        text_or_path: str | Path,
        *,
        allow_drop: bool = False,
        allow_data_loss: bool = False,
        mode: str = "replace",
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> SchemaApply:
        """Change the schema of this branch, and the data with it, in one commit."""
        body = {
            **self._body(text_or_path, mode),
            "allow_drop": allow_drop,
            "allow_data_loss": allow_data_loss,
            "message": message,
        }
        done = self._transport.write("/schema/apply", body, idempotency_key)
        return decode(SchemaApply, done)  # type: ignore[no-any-return]

    def _body(self, text_or_path: str | Path, mode: str) -> dict[str, Any]:
        text, _ = read_schema_text(text_or_path)
        return {"schema_source": text, "branch": self._branch, "mode": mode}
