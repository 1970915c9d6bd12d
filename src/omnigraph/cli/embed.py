"""`embed`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.base.settings import Settings
from omnigraph.cli.output import print_json, print_text
from omnigraph.cli.session import AsJson, Branch, Uri, report_errors, session_of

if TYPE_CHECKING:
    from omnigraph.execution.embed.embed_files import EmbedMode, FileJob

Types = Annotated[list[str] | None, typer.Option("--type", help="Only this type, or Type.property.")]
Select = Annotated[list[str] | None, typer.Option(help="Only records with T:field=value. Files only.")]


def embed(
    context: typer.Context,
    uri: Uri = None,
    *,
    branch: Branch = "main",
    reembed_all: Annotated[bool, typer.Option(help="Compute vectors that are there again.")] = False,
    clean: Annotated[bool, typer.Option(help="Take vectors out. Files only.")] = False,
    types: Types = None,
    select: Select = None,
    cache: Annotated[Path | None, typer.Option(help="A folder that keeps vectors between runs.")] = None,
    seed: Annotated[Path | None, typer.Option(help="A manifest that names records and result.")] = None,
    input: Annotated[Path | None, typer.Option(help="A file of graph records (NDJSON).")] = None,
    output: Annotated[Path | None, typer.Option(help="The file to write.")] = None,
    spec: Annotated[Path | None, typer.Option(help="What to embed: a schema (.pg), or JSON.")] = None,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the missing vectors of a graph's texts as one commit, or of a file's."""
    if clean and reembed_all:
        raise typer.BadParameter("give --clean or --reembed-all, not both")
    files = [seed, input, output, spec]
    if any(files):
        if uri or any(asdict(session_of(context).flags).values()) or branch != "main" or message:
            raise typer.BadParameter("give a graph or files, not both")
        with report_errors(as_json):
            mode: EmbedMode = "clean" if clean else "reembed_all" if reembed_all else "fill_missing"
            job = _job(seed, input, output, spec, mode, types or [], select or [])
            _embed_file(job, cache, as_json)
        return
    if clean or select:
        raise typer.BadParameter("--clean and --select are for files: give --input, --output and --spec")
    _embed_graph(context, uri, branch, types, reembed_all, cache, message, as_json)


def _embed_graph(
    context: typer.Context,
    uri: str | None,
    branch: str,
    types: list[str] | None,
    reembed: bool,
    cache: Path | None,
    message: str | None,
    as_json: bool,
) -> None:
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch, read_only=False)
        done = graph.embed(types=types, reembed=reembed, cache=cache, message=message)
        if as_json:
            facts = {"branch": branch, "commit": done.commit_id, "embedded": done.embedded}
            print_json({**facts, "model": done.model, "seconds": round(done.seconds, 3)})
        elif done.commit_id is None:
            print_text("no vector is missing")
        else:
            counts = ", ".join(f"{name} {count:,}" for name, count in sorted(done.embedded.items()))
            print_text(f"embedded {counts} in {done.seconds:.1f} s: commit {done.commit_id}")


def _job(
    seed: Path | None,
    input: Path | None,
    output: Path | None,
    spec: Path | None,
    mode: EmbedMode,
    types: list[str],
    select: list[str],
) -> FileJob:
    from omnigraph.execution.embed.embed_files import FileJob, Selector
    from omnigraph.execution.embed.spec import read_seed, read_spec

    selectors = [Selector.parse(text) for text in select]
    if seed is not None:
        if input or spec:
            raise typer.BadParameter(
                "--seed names the records and what to embed: leave out --input and --spec"
            )
        source, result, targets = read_seed(seed)
        return FileJob(source, output or result, targets, mode, types, selectors)
    if not (input and output and spec):
        raise typer.BadParameter("give --input, --output and --spec together, or --seed")
    return FileJob(input, output, read_spec(spec), mode, types, selectors)


def _embed_file(job: FileJob, cache: Path | None, as_json: bool) -> None:
    from omnigraph.embedding.embedder import Embedder
    from omnigraph.execution.embed.embed_files import embed_file

    embedder = Embedder(None, Settings.from_environment())
    if job.mode == "clean":
        counts, model = embed_file(job, embedder), None
    else:
        with embedder.cache_on_disk(cache) as kept:
            counts, model = embed_file(job, kept), kept.model
    if as_json:
        paths = {"input": str(job.input), "output": str(job.output), "mode": job.mode, "model": model}
        print_json({**paths, **asdict(counts)})
    else:
        changed = (
            f"{counts.cleaned:,} vectors taken out"
            if job.mode == "clean"
            else f"{counts.embedded:,} embedded"
        )
        print_text(f"{counts.records:,} records, {counts.selected:,} selected, {changed}: {job.output}")
