"""`schema show`, `schema plan` and `schema apply`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from omnigraph.base.errors import BadInput
from omnigraph.cli.options import IdempotencyKey
from omnigraph.cli.output import print_json, print_note, print_text
from omnigraph.cli.session import AsJson, Branch, Uri, report_errors, session_of

app = typer.Typer(help="Look at the schema and change it.", no_args_is_help=True, rich_markup_mode=None)

SchemaFile = Annotated[Path, typer.Option("--schema", "-s", help="The .pg file to go to.")]
DataLoss = Annotated[bool, typer.Option("--allow-data-loss", help="Drops also give up older versions.")]


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
    as_json: AsJson = False,
) -> None:
    """Show the steps to another schema; nothing is changed."""
    with report_errors(as_json):
        found = session_of(context).open(uri, branch).schema.plan(_read(schema), allow_data_loss).to_json()
        if as_json:
            print_json(found)
        else:
            _print_steps(found["steps"], found["warnings"])
        if not found["supported"]:
            raise typer.Exit(1)


@app.command()
def apply(
    context: typer.Context,
    uri: Uri = None,
    *,
    schema: SchemaFile,
    branch: Branch = "main",
    allow_data_loss: DataLoss = False,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why.")] = None,
    idempotency_key: IdempotencyKey = None,
    as_json: AsJson = False,
) -> None:
    """Change the schema of a branch, and its data, in one commit."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch, read_only=False)
        done = graph.schema.apply(_read(schema), allow_data_loss, message, idempotency_key)
        if as_json:
            print_json(asdict(done))
        else:
            _print_steps(done.steps, done.warnings)
            print_text(f"commit {done.commit_id}" if done.applied else "nothing to change")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the schema file {path} cannot be read: {error}", path=str(path)) from error


def _print_steps(steps: list[dict[str, Any]], warnings: list[str]) -> None:
    for step in steps:
        facts = ", ".join(f"{name} {value}" for name, value in step.items() if name != "kind")
        print_text(f"{step['kind']}: {facts}")
    for warning in warnings:
        print_note(f"warning: {warning}")
