"""`run_load`: from a source to a commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from omnigraph.base import clock
from omnigraph.base.errors import BatchLanded, Conflict, Unavailable, ValidationError
from omnigraph.base.notebook import html_table
from omnigraph.execution.engine import Availability, Engine, EngineChoice, Estimate, choose_engine
from omnigraph.execution.lineage.follow import LoadFacts, follow_load
from omnigraph.execution.load.executor import Executor
from omnigraph.execution.load.load_work import LoadWork
from omnigraph.execution.load.local_executor import LocalExecutor
from omnigraph.execution.load.metrics import LoadMetrics
from omnigraph.execution.load.quarantine import Quarantine
from omnigraph.execution.load.request import LoadRequest
from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.execution.missing_vectors import MissingVectors
from omnigraph.graph.handle import Graph
from omnigraph.graph.publish.outcome import Published

_QUARANTINE_ATTEMPTS = 3
Done = TypeVar("Done")


class BulkEngine(Protocol):
    """A load outside of this process, with the same stages and rules."""

    def availability(self) -> Availability:
        """Return whether it may be used without being asked for."""

    def estimate(self, source: LoadSource) -> Estimate | EngineChoice:
        """Return the size of a source, or the engine that must load it whatever its size."""

    def executor(self, source: LoadSource) -> Executor:
        """Return what reads a source."""


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
    engine_reason: str = ""
    warnings: tuple[str, ...] = ()
    """What was loaded as asked for, and is perhaps not what was meant."""
    bytes_read: int | None = None
    """The size of the files of the source; None when it is not in files."""
    bytes_written: int = 0
    """The size of the data files that were written."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds by phase: read, check, write, publish. Empty when the load had been made before."""

    @property
    def rows(self) -> int:
        """How many records were loaded."""
        return sum(self.nodes.values()) + sum(self.edges.values())

    def __repr__(self) -> str:
        rejected = f", {self.rejected:,} rejected" if self.rejected else ""
        warned = f", {len(self.warnings)} warnings" if self.warnings else ""
        counts = f"{sum(self.nodes.values()):,} nodes, {sum(self.edges.values()):,} edges"
        return f"Load({counts}{rejected}{warned}; commit={self.commit_id!r}, engine={self.engine!r})"

    def _repr_html_(self) -> str:
        """Return the counts by type as a table, for notebooks."""
        rows = [("node", *item) for item in self.nodes.items()] + [
            ("edge", *item) for item in self.edges.items()
        ]
        rejected = f"; {self.rejected:,} rejected, in {self.rejected_path}" if self.rejected else ""
        warned = "".join(f"; {text}" for text in self.warnings)
        note = f"commit {self.commit_id}, in {self.seconds:.2f} s ({self.engine}){rejected}{warned}"
        return html_table(("kind", "type", "records"), rows, note)


def run_load(graph: Graph, request: LoadRequest, bulk: BulkEngine | None) -> Load:
    """Load the records of a source as one commit, or nothing at all."""
    started = clock.current().monotonic()
    graph.internals.check_allowed("change", graph.internals.resolve_branch(request.branch))
    existing = request.branch if request.from_branch is None else request.from_branch
    if request.mode == "overwrite":
        graph.internals.check_sees_all("a load that replaces types", existing)
    if request.on_error == "quarantine":
        graph.internals.check_sees_all(
            "a load that says why records are wrong, and what stands in their way,", existing
        )
    records = request.resolve_source(graph.storage_options)
    choice = _choose_engine(request.engine, records, bulk)
    elsewhere = bulk if choice.is_spark else None
    rejected = request.choose_rejected_path(records)
    quarantine = Quarantine(rejected) if rejected else None
    stream = next(iter(request.streams), None)
    files = partial(_files_of, records)
    facts = LoadFacts(graph, choice.engine.value, records.type_names(), files, stream)
    with follow_load(facts) as followed:
        work, published = _commit(graph, request, records, elsewhere, quarantine)
        answer = published.answer if published is not None and published.answer else work.answer()
        metrics = work.metrics
        if followed is not None:
            followed.tell(published, answer, metrics.bytes_written)
    return Load(
        published.commit if published else None,
        dict(answer["nodes"]),
        dict(answer["edges"]),
        quarantine.count if quarantine else 0,
        str(quarantine.path) if quarantine and quarantine.path else None,
        choice.engine.value,
        clock.current().monotonic() - started,
        choice.reason,
        work.warnings(),
        metrics.bytes_read,
        sum(metrics.bytes_written.values()),
        {str(phase): seconds for phase, seconds in metrics.seconds.items()},
    )


def _files_of(source: LoadSource) -> Sequence[str]:
    """Return the files of a source; those that a data frame of Spark is read from, as far as Spark says."""
    if source.frame is None:
        return source.paths()
    with suppress(Exception):  # it is asked of Spark, and only for lineage
        return list(source.frame.rows.inputFiles())
    return ()


def _choose_engine(wanted: str, source: LoadSource, bulk: BulkEngine | None) -> EngineChoice:
    if bulk is None:
        return choose_engine(wanted, lambda: EngineChoice(Engine.LOCAL, "asked for"), None)
    return choose_engine(wanted, lambda: bulk.estimate(source), bulk.availability)


def _commit(
    graph: Graph,
    request: LoadRequest,
    source: LoadSource,
    elsewhere: BulkEngine | None,
    quarantine: Quarantine | None,
) -> tuple[LoadWork, Published | None]:
    """Commit the records of a source."""

    def try_once() -> tuple[LoadWork, Published | None]:
        vectors = MissingVectors(graph.embedder)
        executor = elsewhere.executor(source) if elsewhere else LocalExecutor()
        metrics = LoadMetrics("spark" if elsewhere else "local", source.size_bytes())
        work = LoadWork(executor, source, request.load_mode, graph.catalog_at, quarantine, vectors, metrics)
        began = clock.current().monotonic()
        published = graph.commit_work(
            work,
            branch=request.branch,
            message=request.message,
            durable=True,
            from_branch=request.from_branch,
            streams=request.streams,
            idempotency_key=request.idempotency_key,
            lasting=elsewhere is not None,
            metadata=_notes_of(request),
        )
        if metrics.seconds:  # else the load had been made before
            rest = clock.current().monotonic() - began - sum(metrics.seconds.values())
            metrics.add("publish", rest)
        return work, published

    return commit_valid(quarantine, try_once)


def commit_valid(quarantine: Quarantine | None, try_once: Callable[[], Done]) -> Done:
    """Commit; with a quarantine, look for invalid records again on a newer state, and keep their file."""
    tries = 1 if quarantine is None else _QUARANTINE_ATTEMPTS
    with _settle_quarantine(quarantine):
        while True:
            tries -= 1
            try:
                return try_once()
            except BatchLanded:
                raise
            except (ValidationError, Conflict):
                # What was valid before can be invalid on a newer state: check that one.
                if not tries:
                    raise


def _notes_of(request: LoadRequest) -> dict[str, str]:
    """Return what a commit notes of a load: the batch of a stream that it is, and what the caller gave."""
    return {**note_batch(request.streams), **(request.metadata or {})}


def note_batch(streams: Mapping[str, int]) -> dict[str, str]:
    """Return what the commit of a batch notes of it; `streams` has the batch by its application."""
    batches = [{"app_id": app, "batch": str(batch)} for app, batch in streams.items()]
    return batches[0] if batches else {}


@contextmanager
def _settle_quarantine(quarantine: Quarantine | None) -> Iterator[None]:
    """Keep the file of rejected records if the rest was, or may have been, committed; else delete it."""
    try:
        yield
    except (Unavailable, OSError):
        if quarantine is not None:
            quarantine.settle()
        raise
    except Exception:
        if quarantine is not None:
            quarantine.discard()
        raise
    if quarantine is not None:
        quarantine.settle()
