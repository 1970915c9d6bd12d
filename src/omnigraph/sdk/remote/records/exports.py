"""Exports of a served graph: its records, or a file of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omnigraph.base import clock
from omnigraph.base.errors import BadInput
from omnigraph.execution.engine import EngineChoice, choose_engine
from omnigraph.execution.export.export import Export, check_export_format, record_line
from omnigraph.sdk.export import NEVER_ALONE, refuse_without_target
from omnigraph.sdk.remote.requests.gaps import refuse_here
from omnigraph.sdk.remote.requests.ndjson import ask_records
from omnigraph.sdk.remote.requests.transport import Transport
from omnigraph.storage.files.outputs import local_path, whole_file


def run_export(
    transport: Transport,
    where: Mapping[str, Any],
    target: str | os.PathLike[str] | None,
    types: Sequence[str] | None,
    format: str,
    engine: str,
) -> Export | Iterator[dict[str, Any]]:
    """Return the records of a branch or commit, or write them to a file."""
    form = check_export_format(format)
    if engine == "spark":
        raise refuse_here("engine='spark'", "its records come over the network, to this process")
    choice = choose_engine(engine, lambda: NEVER_ALONE, lambda: None)  # type: ignore[arg-type,return-value]
    body = {**where, "type_names": _as_list(types)}
    if target is None:
        refuse_without_target(form, choice)
        return ask_records(transport, "/export", body)
    if form != "ndjson":
        raise refuse_here("format='parquet'", "export records, or export where the graph is stored")
    return _export_file(transport, body, target, choice)


def _export_file(
    transport: Transport, body: Mapping[str, Any], target: str | os.PathLike[str], choice: EngineChoice
) -> Export:
    started = clock.current().monotonic()
    path = local_path(target)
    told = transport.read("/export/types", body)
    counts: dict[str, dict[str, int]] = {kind: dict.fromkeys(told[kind], 0) for kind in ("nodes", "edges")}
    records = ask_records(transport, "/export", {**body, "branch": None, "snapshot": told["commit"]})
    with whole_file(path) as file:
        for record in records:
            kind = "nodes" if "type" in record else "edges"
            counts[kind][record["type" if kind == "nodes" else "edge"]] += 1
            file.write(record_line(record))
    seconds = clock.current().monotonic() - started
    return Export(
        str(path),
        told["commit"],
        counts["nodes"],
        counts["edges"],
        seconds=seconds,
        engine_reason=choice.reason,
    )


def _as_list(types: Any) -> Any:
    if types is None or isinstance(types, list):
        return types
    if isinstance(types, str) or not all(isinstance(name, str) for name in types):
        raise BadInput(f"types is {types!r}: give a list of type names")
    return list(types)
