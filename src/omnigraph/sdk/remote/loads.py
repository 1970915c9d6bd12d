"""Loading into a served graph: what is here is sent as the body of one request, which is one commit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.execution.load.run import Load
from omnigraph.sdk.remote.transport import Transport
from omnigraph.wire.media import NDJSON
from omnigraph.wire.values import encode

_FORMATS = {".jsonl": "ndjson", ".ndjson": "ndjson", ".json": "ndjson", ".csv": "csv", ".parquet": "parquet"}


class RemoteLoads:
    """The part of a served graph that sends and receives records."""

    def __init__(self, transport: Transport, branch: str) -> None:
        self._transport, self.branch = transport, branch

    def load(
        self,
        source: Any,
        *,
        mode: str,
        branch: str | None = None,
        from_branch: str | None = None,
        type: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> Load:
        """Load graph records, a file of them, or with `type` a table, as one commit."""
        format, content = _body_of(source)
        params = {
            "mode": mode,
            "branch": branch or self.branch,
            "from": from_branch,
            "type": type,
            "message": message,
        }
        done = self._transport.upload(f"/load/{format}", content, params, idempotency_key)
        return Load(
            done["commit"],
            {item["name"]: item["entities_loaded"] for item in done["nodes"]},
            {item["name"]: item["entities_loaded"] for item in done["edges"]},
            seconds=done["seconds"],
            warnings=tuple(done["warnings"]),
        )

    def _records(self, path: str, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Return the lines of an answer as records, while they come."""
        with self._transport.stream(path, body, NDJSON) as answer:
            for line in answer.iter_lines():
                if line:
                    yield json.loads(line)


def _body_of(source: Any) -> tuple[str, Any]:
    """Return the format of a body, and what makes its bytes."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        format = _FORMATS.get(path.suffix.lower())
        if format is None:
            raise BadInput(f"{path} cannot be sent: use a file that ends in {', '.join(sorted(_FORMATS))}")
        try:
            return format, path.read_bytes()
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error}", path=str(path)) from error
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return "arrow", _arrow_file(source)
    if hasattr(source, "to_arrow") or hasattr(source, "__dataframe__"):
        table = source.to_arrow() if hasattr(source, "to_arrow") else pa.Table.from_pandas(source)
        return "arrow", _arrow_file(table)
    if isinstance(source, Iterable):
        return "ndjson", _lines(source)
    raise BadInput(f"{type(source).__name__} cannot be loaded: give records, a table or the path of a file")


def _lines(records: Iterable[Any]) -> Iterator[bytes]:
    for record in records:
        yield json.dumps(plain_json(record), ensure_ascii=False).encode() + b"\n"


def plain_json(value: Any) -> Any:
    """Return a value as JSON data; numbers keep all their digits."""
    if isinstance(value, Mapping):
        return {str(name): plain_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return value if isinstance(value, int) else encode(value)


def _arrow_file(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        for batch in table if isinstance(table, pa.RecordBatchReader) else [table]:
            writer.write(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]
