"""Exports as the public API offers them: records, a file or a folder, in process or on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.execution.engine import Engine, EngineChoice, choose_engine
from omnigraph.execution.export.export import (
    Export,
    check_export_format,
    export_file,
    export_folder,
    export_records,
)
from omnigraph.graph.handle import Graph
from omnigraph.graph.snapshot import Snapshot
from omnigraph.pipeline.engine import find_spark, run_spark_export

NEVER_ALONE = EngineChoice(Engine.LOCAL, "Spark writes a folder of part files, and only when it is asked for")


def run_export(
    graph: Graph,
    snapshot: Snapshot,
    target: str | os.PathLike[str] | None,
    types: Sequence[str] | None,
    format: str,
    engine: str,
) -> Export | Iterator[dict[str, Any]]:
    """Return the records of a snapshot, or write them to a target."""
    form = check_export_format(format)
    choice = choose_engine(engine, lambda: NEVER_ALONE, lambda: find_spark(starts=False))
    if target is None:
        refuse_without_target(form, choice)
        return export_records(snapshot, types)
    if choice.is_spark:
        done = run_spark_export(snapshot, target, graph.storage_options, types, form)
    elif form == "ndjson":
        done = export_file(snapshot, target, types)
    else:
        done = export_folder(snapshot, target, graph.storage_options, types, form)
    return replace(done, engine_reason=choice.reason)


def refuse_without_target(format: str, choice: EngineChoice) -> None:
    """Refuse to return records in another form than as records."""
    if format != "ndjson" or choice.is_spark:
        raise BadInput(
            "without a target, export returns records: use format='ndjson' and engine='local', "
            "or give a target"
        )
