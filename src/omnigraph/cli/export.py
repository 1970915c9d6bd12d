"""`export`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from omnigraph.cli.options import as_typed
from omnigraph.cli.output import print_bytes, print_json, print_note, print_text
from omnigraph.cli.session import AsJson, Branch, Uri, report_errors, session_of


def export(
    context: typer.Context,
    uri: Uri = None,
    *,
    branch: Branch = "main",
    commit: Annotated[str | None, typer.Option("--snapshot", help="A commit, or a tag.")] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only this type; may be repeated.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="A file (.gz and .zst are packed), or a new folder for parts."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="ndjson, or parquet: a folder with a file for each type.")
    ] = "ndjson",
    engine: Annotated[
        str, typer.Option("--engine", help="auto, local, or spark: a folder of part files, also s3://.")
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Write every node and edge as NDJSON graph records or Parquet columns, which `load` reads."""
    from omnigraph.execution.export.export import Export, record_line

    if out is None and (form != "ndjson" or engine == "spark"):
        raise typer.BadParameter("only NDJSON made in process goes to the terminal: give --out as well")
    if as_json and out is None:
        raise typer.BadParameter("--json tells about the file that was written: give --out as well")
    with report_errors(as_json):
        graph = session_of(context).open(uri)
        done = graph.export(
            out,
            branch=None if commit else branch,
            snapshot=commit,
            types=types or None,
            format=as_typed(form),
            engine=as_typed(engine),
        )
        if not isinstance(done, Export):
            print_bytes(map(record_line, done))
            return
        if as_json:
            print_json(asdict(done))
        else:
            counts = [f"{name} {count:,}" for name, count in {**done.nodes, **done.edges}.items()]
            print_text(f"wrote {', '.join(counts) or 'nothing'} to {done.path}")
            print_note(f"commit {done.commit_id}, {done.seconds:.1f} s")
