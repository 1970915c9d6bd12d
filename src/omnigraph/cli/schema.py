"""`schema show`, `schema plan` and `schema apply`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from omnigraph.base.choices import SchemaMode
from omnigraph.cli.options import IdempotencyKey, MetadataOption, parse_metadata
from omnigraph.cli.output import print_json, print_note, print_text
from omnigraph.cli.session import AsJson, Branch, Uri, report_errors, session_of

app = typer.Typer(help="Look at the schema and change it.", no_args_is_help=True, rich_markup_mode=None)

SchemaFile = Annotated[Path, typer.Option("--schema", "-s", help="The .pg file to go to.")]
Drop = Annotated[
    bool,
    typer.Option(
        "--allow-drop", help="Drop what the file leaves out; older versions keep it until a cleanup."
    ),
]
DataLoss = Annotated[
    bool, typer.Option("--allow-data-loss", help="Drop what the file leaves out, from older versions too.")
]
Extend = Annotated[bool, typer.Option("--extend", help="The file adds to the schema that is there.")]


@app.command()
def show(context: typer.Context, uri: Uri = None, branch: Branch = "main", as_json: AsJson = False) -> None:
    """Show the schema of a branch."""
    with report_errors(as_json):
        source = session_of(context).open(uri, branch).schema.source
        print_json({"branch": branch, "source": source}) if as_json else print_text(source)


@app.command()
def plan(
    context: typer.Context,
    uri: Uri = None,
    *,
    schema: SchemaFile,
    branch: Branch = "main",
    allow_data_loss: DataLoss = False,
    extend: Extend = False,
    as_json: AsJson = False,
) -> None:
    """Show the steps to another schema; nothing is changed."""
    with report_errors(as_json):
        handle = session_of(context).open(uri, branch).schema
        planned = handle.plan(schema, allow_data_loss, mode=_mode(extend))
        found = planned.to_json()
        if as_json:
            print_json(found)
        else:
            _print_steps(found["steps"], found["warnings"])
            if planned.drops and not allow_data_loss:
                print_note("note: apply carries out the drops only with --allow-drop or --allow-data-loss")
        if not found["supported"]:
            raise typer.Exit(1)


@app.command()
def apply(
    context: typer.Context,
    uri: Uri = None,
    *,
    schema: SchemaFile,
    branch: Branch = "main",
    allow_drop: Drop = False,
    allow_data_loss: DataLoss = False,
    extend: Extend = False,
    allow_broken_queries: Annotated[
        bool, typer.Option("--allow-broken-queries", help="Stored queries may stop fitting.")
    ] = False,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why.")] = None,
    idempotency_key: IdempotencyKey = None,
    metadata: MetadataOption = None,
    as_json: AsJson = False,
) -> None:
    """Change the schema of a branch, and its data, in one commit."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch, read_only=False)
        done = graph.schema.apply(
            schema,
            allow_drop=allow_drop,
            allow_data_loss=allow_data_loss,
            mode=_mode(extend),
            allow_broken_queries=allow_broken_queries,
            message=message,
            idempotency_key=idempotency_key,
            metadata=parse_metadata(metadata),
        )
        if as_json:
            print_json(asdict(done))
        else:
            _print_steps(done.steps, done.warnings)
            print_text(f"commit {done.commit_id}" if done.applied else "nothing to change")


def _mode(extend: bool) -> SchemaMode:
    return "extend" if extend else "replace"


def _print_steps(steps: list[dict[str, Any]], warnings: list[str]) -> None:
    for step in steps:
        facts = ", ".join(f"{name} {value}" for name, value in step.items() if name != "kind")
        print_text(f"{step['kind']}: {facts}")
    for warning in warnings:
        print_note(f"warning: {warning}")
