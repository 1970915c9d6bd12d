"""The kinds of jobs: one value says all of each. Every kind may be done twice, as a process can die."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from omnigraph.base.choices import ExportFormat, ReadEngine
from omnigraph.base.errors import OmniError
from omnigraph.cluster.serving.pipelines import find_declared
from omnigraph.pipeline.progress import Report, watch_stages
from omnigraph.sdk.schema_text import SchemaText
from omnigraph.server.addresses import AllowedAddresses
from omnigraph.server.bodies import (
    Body,
    CleanupBody,
    EmbedBody,
    MergeBody,
    OptimizeBody,
    RepairBody,
    SchemaBody,
)
from omnigraph.server.calls import GraphCall, WriteHeaders
from omnigraph.server.jobs.rights import (
    CheckRight,
    check_admin,
    check_change,
    check_export,
    check_merge,
    check_schema,
)
from omnigraph.server.loads import FILES, LoadOptions, load_file, name_records, tell_load
from omnigraph.wire.values import encode

AskedKind = Literal["optimize", "embed", "cleanup", "repair", "backup", "export", "merge", "schema"]
"""Kinds that are asked for with a JSON body; a load comes with the file itself, a pipeline with its name."""


class BackupBody(Body):
    """Where to copy a graph, or one snapshot of it."""

    target: str
    since: str | None = None
    branch: str | None = None
    snapshot: str | None = None


class ExportJobBody(Body):
    """Where to write the records of a branch or snapshot."""

    target: str
    branch: str | None = None
    snapshot: str | None = None
    type_names: list[str] | None = None
    format: ExportFormat = "ndjson"
    engine: ReadEngine = "auto"


@dataclass(frozen=True, slots=True)
class JobCall:
    """What a job works with."""

    call: GraphCall
    asked: Mapping[str, Any]
    folder: Path
    body: Path | None
    headers: WriteHeaders
    """What its commit holds to; its idempotency key is its own id."""
    report: Report
    """Told what is worked on, how much is done, and of how much; raises when the job is unwanted."""
    addresses: AllowedAddresses


@dataclass(frozen=True, slots=True)
class JobKind:
    """One kind of job."""

    run: Callable[[JobCall], Any]
    """Does it, and returns its result, still to be encoded."""
    check: CheckRight
    """Raises unless the actor of a handle may begin it, before anything of it is done."""
    body: type[Body] | None = None
    """What it is asked for with, unless it has a route of its own."""
    makes_commit: bool = False
    """Whether it makes one commit, which can hold to the commit that must still be the head."""
    has_target: bool = False
    """Whether it writes to an address, which must be one of those that jobs may use."""


def _optimize(job: JobCall) -> Any:
    asked = OptimizeBody(**job.asked)
    graph = job.call.open()
    run = graph.ensure_indices if asked.indexes_only else graph.optimize
    return run(asked.branch, job.report, engine=asked.engine)


def _embed(job: JobCall) -> Any:
    return job.call.open().embed(**EmbedBody(**job.asked).model_dump(), cache=job.folder / "vectors")


def _clean(job: JobCall) -> Any:
    return job.call.open().cleanup(**CleanupBody(**job.asked).model_dump())


def _repair(job: JobCall) -> Any:
    asked = RepairBody(**job.asked)
    done = job.call.open().repair(asked.confirm, scrub=asked.scrub, progress=job.report)
    return {**encode(done), "ok": done.ok}


def _back_up(job: JobCall) -> Any:
    asked = BackupBody(**job.asked)
    target = job.addresses.check(asked.target)
    given = asked.model_dump(exclude={"target"})
    return job.call.open().backup(target, **given, progress=job.report)


def _export(job: JobCall) -> Any:
    asked = ExportJobBody(**job.asked)
    target = job.addresses.check(asked.target)
    given = asked.model_dump(exclude={"target", "type_names"})
    return job.call.open().export(target, types=asked.type_names, **given)


def _merge(job: JobCall) -> Any:
    asked = MergeBody(**job.asked)
    given = asked.model_dump(exclude={"source", "target"})
    return job.call.open(headers=job.headers).branches.merge(asked.source, asked.target, **given)


def _apply_schema(job: JobCall) -> Any:
    asked = SchemaBody(**job.asked)
    given = asked.model_dump(exclude={"schema_source", "file", "branch"})
    text: Any = SchemaText(asked.schema_source, asked.file)
    return job.call.open(asked.branch, job.headers).schema.apply(text, **given)


def _load(job: JobCall) -> Any:
    asked = dict(job.asked)
    options = LoadOptions(**asked["options"])
    address = asked["address"]
    if address is not None:
        job.addresses.check(address)
    path = str(job.folder / f"body{FILES[asked['format']][0]}")
    try:
        return load_file(
            job.call, job.headers, str(job.folder), path, asked["format"], asked["mode"], options, address
        )
    except OmniError as error:
        raise name_records(error, str(job.folder), path, asked["format"], options.source) from error


def _run_pipeline(job: JobCall) -> Any:
    graph = job.call.open(headers=job.headers)
    known = job.call.graphs.pipelines_of(job.call.name)
    pipeline = find_declared(known, job.asked["pipeline"], job.asked["digest"], graph)
    done = pipeline.run(graph, job.folder, job.headers.idempotency_key)
    return tell_load(done, job.call, (pipeline.branch, pipeline.from_branch), pipeline.mode, {})


KINDS: Mapping[str, JobKind] = {
    "optimize": JobKind(_optimize, check_admin, OptimizeBody),
    "embed": JobKind(_embed, check_change, EmbedBody),
    "cleanup": JobKind(_clean, check_admin, CleanupBody),
    "repair": JobKind(_repair, check_admin, RepairBody),
    "backup": JobKind(_back_up, check_admin, BackupBody, has_target=True),
    "export": JobKind(_export, check_export, ExportJobBody, has_target=True),
    "merge": JobKind(_merge, check_merge, MergeBody, makes_commit=True),
    "schema": JobKind(_apply_schema, check_schema, SchemaBody, makes_commit=True),
    "load": JobKind(_load, check_change, makes_commit=True),
    "pipeline": JobKind(_run_pipeline, check_change, makes_commit=True),
}
assert get_args(AskedKind) == tuple(name for name, kind in KINDS.items() if kind.body is not None)


def run_job(kind: str, job: JobCall) -> Any:
    """Do what a job is asked for and return its result as JSON data."""

    def tell(stage: str, done: int, total: int) -> None:
        job.report(f"spark: {stage}", done, total)

    options: Mapping[str, Any] = job.asked.get("options") or job.asked
    uses_spark = options.get("engine") == "spark"
    with watch_stages(tell) if uses_spark else nullcontext():
        return encode(KINDS[kind].run(job))


def describe_load(format: str, mode: str, options: LoadOptions, address: str | None) -> dict[str, Any]:
    """Return the request of a load as a job keeps it."""
    return {"format": format, "mode": mode, "options": asdict(options), "address": address}
