"""Loading into a served graph: what is here is sent as the body of one request, which is one commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph.base.ids import new_ulid
from omnigraph.execution.load.quarantine import Quarantine
from omnigraph.execution.load.request import LoadRequest
from omnigraph.execution.load.run import Load
from omnigraph.sdk.remote.records.sources import as_upload
from omnigraph.sdk.remote.requests.transport import Transport
from omnigraph.wire.media import KEY_HEADER


def send_load(transport: Transport, request: LoadRequest) -> Load:
    """Load the records of a source as one commit, or nothing at all."""
    source = request.resolve_source({})
    rejected = request.choose_rejected_path(source)
    upload = as_upload(source)
    params = {
        "mode": request.mode,
        "branch": request.branch,
        "from": request.from_branch,
        "type": request.type,
        "message": request.message,
        "engine": None if request.engine == "auto" else request.engine,
        "on_error": request.on_error,
        "source": upload.name,
        "metadata": None if request.metadata is None else json.dumps(dict(request.metadata)),
        **_mapping(request.mapping),
    }
    headers = {KEY_HEADER: request.idempotency_key or new_ulid()}
    done = transport.upload("POST", f"/load/{upload.format}", upload.content, params, headers)
    kept = None
    if rejected is not None:
        quarantine = Quarantine(rejected)
        quarantine.keep(done["rejected_records"])
        kept = quarantine.path
    return Load(
        done["commit"],
        {item["name"]: item["entities_loaded"] for item in done["nodes"]},
        {item["name"]: item["entities_loaded"] for item in done["edges"]},
        done["rejected"],
        None if kept is None else str(kept),
        done["engine"],
        done["seconds"],
        done["engine_reason"],
        tuple(done["warnings"]),
        done["bytes_read"] if upload.name is not None else None,
        done["bytes_written"],
        dict(done["phases"]),
    )


def _mapping(mapping: Any) -> dict[str, str]:
    if mapping is None:
        return {}
    if isinstance(mapping, Mapping):
        return {"mapping": json.dumps(dict(mapping))}
    return {"rules": Path(mapping).read_text(encoding="utf-8")}  # it was read as rules before
