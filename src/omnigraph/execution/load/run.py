"""`run_load`: from a source to a commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast, get_args

from omnigraph.base import clock
from omnigraph.base.errors import BadInput, Conflict, ValidationError
from omnigraph.base.ids import new_ulid
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.quarantine import Quarantine
from omnigraph.execution.load.sources import FileSource, Source, open_source, open_tables
from omnigraph.execution.load.work import LoadWork
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.handle import Graph
from omnigraph.graph.write.commit import Work

_TRIES = 3


class LoadingWork(Work, Protocol):
    """Work that loads, and counts what it loads."""

    nodes: dict[str, int]
    edges: dict[str, int]


class BulkEngine(Protocol):
    """Another way to load than in process: the same stages and rules, elsewhere."""

    name: str

    def is_better_for(self, source: Source) -> bool:
        """Say whether this way is the better one for a source."""

    def work(
        self,
        source: Source,
        mode: Mode,
        catalog_at: Callable[[str], Catalog],
        quarantine: Quarantine | None,
        vectors: MissingVectors,
    ) -> LoadingWork:
        """Return the work that loads a source."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a load did: records by type, how many were rejected and where they are, and how it ran."""

    commit_id: str | None
    nodes: dict[str, int] = field(default_factory=dict)
    edges: dict[str, int] = field(default_factory=dict)
    rejected: int = 0
    rejected_path: str | None = None
    engine: str = "local"
    seconds: float = 0.0


def run_load(
    graph: Graph,
    source: Any,
    *,
    mode: str,
    branch: str | None = None,
    from_branch: str | None = None,
    engine: str = "auto",
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    type: str | None = None,
    on_error: str = "fail",
    rejected_to: str | os.PathLike[str] | None = None,
    message: str | None = None,
    bulk: BulkEngine | None = None,
) -> Load:
    """Load the records of a source as one commit, or nothing at all."""
    if mode not in get_args(Mode):
        raise BadInput(f"{mode!r} is not a load mode: use append, merge or overwrite", mode=mode)
    if on_error not in ("fail", "quarantine"):
        raise BadInput(f"on_error is {on_error!r}: use 'fail' or 'quarantine'", on_error=on_error)
    if engine not in ("auto", "local", "spark") or (engine == "spark" and bulk is None):
        raise BadInput(f"engine is {engine!r}: use 'auto', 'local' or 'spark'", engine=engine)
    if mapping is not None and type is None:
        raise BadInput("a mapping of columns needs the type that the rows are of: give type=")
    started = clock.current().monotonic()
    options = graph.storage_options
    records = (
        open_source(source, options) if type is None else open_tables(source, type, mapping, format, options)
    )
    elsewhere = (
        bulk if bulk and (engine == "spark" or (engine == "auto" and bulk.is_better_for(records))) else None
    )
    quarantine = Quarantine(_rejected_path(records, rejected_to)) if on_error == "quarantine" else None
    for attempt in range(1, _TRIES + 1):
        vectors = MissingVectors(graph.embedder)
        making = elsewhere.work if elsewhere else LoadWork
        work: LoadingWork = making(records, cast(Mode, mode), graph.catalog_at, quarantine, vectors)
        try:
            record = graph.commit_work(
                work, branch=branch, message=message, durable=True, from_branch=from_branch
            )
            break
        except (ValidationError, Conflict):
            # What was right when it was surveyed can be wrong on a newer state: survey that one.
            if quarantine is None or attempt == _TRIES:
                raise
    return Load(
        record.commit if record else None,
        work.nodes,
        work.edges,
        quarantine.count if quarantine else 0,
        str(quarantine.path) if quarantine and quarantine.count else None,
        elsewhere.name if elsewhere else "local",
        seconds=clock.current().monotonic() - started,
    )


def _rejected_path(source: Source, wanted: str | os.PathLike[str] | None) -> Path:
    if wanted is not None:
        return Path(wanted)
    if isinstance(source, FileSource):
        first = source.paths[0]
        return Path(f"{first.rpartition('/')[2] if '://' in first else first}.rejected.ndjson")
    return Path(f"omnigraph-rejected-{new_ulid()}.ndjson")
