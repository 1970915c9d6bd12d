"""Loads of files that came over HTTP, whether their request waits for them or not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Query

from omnigraph.base.choices import LoadMode, OnError, ReadEngine, SourceFormat
from omnigraph.base.errors import BadInput, OmniError
from omnigraph.base.plain import read_json
from omnigraph.execution.load.run import Load
from omnigraph.server.calls import GraphCall, WriteHeaders
from omnigraph.wire.values import encode

BodyFormat = Literal["ndjson", "csv", "parquet", "arrow"]
FILES: dict[BodyFormat, tuple[str, SourceFormat]] = {
    "ndjson": (".jsonl", "json"),
    "csv": (".csv", "csv"),
    "parquet": (".parquet", "parquet"),
    "arrow": (".arrow", "arrow"),
}
"""By the format in the path: the end of a file's name, and what a load calls it."""


@dataclass(frozen=True)
class LoadOptions:
    """What the address of a load says beside its format and mode."""

    branch: str | None = None
    from_branch: Annotated[str | None, Query(alias="from")] = None
    type: str | None = None
    message: str | None = None
    engine: ReadEngine = "local"
    on_error: OnError = "fail"
    mapping: Annotated[str | None, Query(description="Properties by column, as a JSON object.")] = None
    rules: Annotated[str | None, Query(description="The text of a mapping file.")] = None
    metadata: Annotated[str | None, Query(description="Noted in the commit: a JSON object of strings.")] = (
        None
    )
    source: Annotated[str | None, Query(description="What errors call the body.")] = None


def name_records(
    error: OmniError, folder: str, path: str, format: BodyFormat, source: str | None
) -> OmniError:
    """Return an error that names records of the body or its source, not the file that it was kept in."""
    word = "record" if format == "ndjson" else "line"

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            if source is not None:
                return value.replace(path, source)
            return value.replace(f"{path}:", f"{word} ").replace(path, "the body").replace(folder, "the body")
        if isinstance(value, Mapping):
            return {name: clean(item) for name, item in value.items()}
        return [clean(item) for item in value] if isinstance(value, list | tuple) else value

    cleaned = copy(error)
    OmniError.__init__(cleaned, clean(error.message), **clean(encode(error.details)))
    return cleaned


def load_file(
    call: GraphCall,
    headers: WriteHeaders,
    folder: str,
    path: str,
    format: BodyFormat,
    mode: LoadMode,
    options: LoadOptions,
    address: str | None = None,
) -> dict[str, Any]:
    """Load a file, or files at an address, as one commit, and return what is told of it."""
    graph = call.open(headers=headers)
    rejected = os.path.join(folder, "rejected.jsonl")
    done = graph.load(
        path if address is None else address,
        mode=mode,
        branch=options.branch,
        from_branch=options.from_branch,
        engine=options.engine,
        format=FILES[format][1],
        mapping=_read_mapping(options, folder),
        type=options.type,
        on_error=options.on_error,
        rejected_to=rejected if options.on_error == "quarantine" else None,
        message=options.message,
        metadata=read_object("metadata", options.metadata),
    )
    branch = options.branch or graph.branch
    return tell_load(done, call, (branch, options.from_branch), mode, {path: options.source or "the body"})


def tell_load(
    done: Load, call: GraphCall, branches: tuple[str, str | None], mode: LoadMode, called: Mapping[str, str]
) -> dict[str, Any]:
    """Return what is told of a load into a branch, perhaps forked; `called` says what paths are called."""
    branch, base = branches
    nodes = [{"name": name, "entities_loaded": count} for name, count in done.nodes.items()]
    edges = [{"name": name, "entities_loaded": count} for name, count in done.edges.items()]
    return {
        "branch": branch,
        "base_branch": base,
        "mode": mode,
        "nodes": nodes,
        "edges": edges,
        "total_entities": sum(item["entities_loaded"] for item in (*nodes, *edges)),
        "rejected": done.rejected,
        "rejected_records": _read_rejected(done.rejected_path, called),
        "warnings": encode(done.warnings),
        "engine": done.engine,
        "engine_reason": done.engine_reason,
        "seconds": done.seconds,
        "bytes_read": done.bytes_read,
        "bytes_written": done.bytes_written,
        "phases": encode(done.phases),
        "actor_id": call.caller.actor,
        "commit": done.commit_id,
    }


def _read_mapping(options: LoadOptions, folder: str) -> Mapping[str, str] | str | None:
    """Return a mapping of columns, or the path of a mapping file."""
    if options.rules is None:
        return read_object("mapping", options.mapping)
    if options.mapping is not None:
        raise BadInput("give a mapping of columns or the rules of a mapping file, not both")
    path = os.path.join(folder, "mapping.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(options.rules)
    return path


def read_object(name: str, given: str | None) -> dict[str, str] | None:
    """Return strings by name, which a parameter holds as JSON."""
    if given is None:
        return None
    try:
        found = read_json(given)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise BadInput(f"{name} is {given!r}: give a JSON object of strings")
    return found


def _read_rejected(kept: str | None, called: Mapping[str, str]) -> list[str]:
    """Return the records that were left out, each as a line of JSON, with the reasons."""
    if kept is None:
        return []
    with open(kept, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    for path, name in called.items():
        lines = [line.replace(path, name) for line in lines]
    return lines
