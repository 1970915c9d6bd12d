"""`queries list`, `show`, `validate`, `apply` and `remove`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.cli.options import IdempotencyKey, MetadataOption, parse_metadata
from omnigraph.cli.output import print_json, print_table, print_text
from omnigraph.cli.session import AsJson, Branch, Uri, UriOption, report_errors, session_of

if TYPE_CHECKING:
    from omnigraph.compiler.stored.queries import StoredQuery
    from omnigraph.sdk.queries.handle import QueriesApply

app = typer.Typer(
    help="Look at the stored queries and change them.", no_args_is_help=True, rich_markup_mode=None
)

QueryFolder = Annotated[Path, typer.Option("--queries", help="A folder of .gq files, or a file.")]
KeepOthers = Annotated[bool, typer.Option("--extend", help="Keep the queries that the files do not name.")]
WhyOption = Annotated[str | None, typer.Option("--message", "-m", help="Why.")]
OfSnapshot = Annotated[str | None, typer.Option(help="A commit of any branch, or a tag.")]


@app.command("list")
def list_queries(
    context: typer.Context,
    uri: Uri = None,
    branch: Branch = "main",
    snapshot: OfSnapshot = None,
    as_json: AsJson = False,
) -> None:
    """List the stored queries."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch)
        _print_queries(graph.queries.list(snapshot=snapshot), as_json)


@app.command()
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name of the query.")],
    uri: UriOption = None,
    branch: Branch = "main",
    snapshot: OfSnapshot = None,
    as_json: AsJson = False,
) -> None:
    """Show the text of a stored query."""
    with report_errors(as_json):
        found = session_of(context).open(uri, branch).queries.show(name, snapshot=snapshot)
        print_json({**_entry(found), "text": found.text}) if as_json else print_text(found.text)


@app.command()
def validate(
    context: typer.Context,
    uri: Uri = None,
    *,
    queries: QueryFolder,
    branch: Branch = "main",
    as_json: AsJson = False,
) -> None:
    """Check queries against the schema of a branch; nothing is stored."""
    with report_errors(as_json):
        _print_queries(session_of(context).open(uri, branch).queries.validate(queries), as_json)


@app.command()
def apply(
    context: typer.Context,
    uri: Uri = None,
    *,
    queries: QueryFolder,
    branch: Branch = "main",
    extend: KeepOthers = False,
    message: WhyOption = None,
    idempotency_key: IdempotencyKey = None,
    metadata: MetadataOption = None,
    as_json: AsJson = False,
) -> None:
    """Store the queries of a folder, in one commit; without --extend they are all that there is then."""
    with report_errors(as_json):
        done = (
            session_of(context)
            .open(uri, branch, read_only=False)
            .queries.apply(
                queries,
                mode="extend" if extend else "replace",
                message=message,
                idempotency_key=idempotency_key,
                metadata=parse_metadata(metadata),
            )
        )
        _print_done(done, as_json)


@app.command()
def remove(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(help="The names of the queries.")],
    uri: UriOption = None,
    branch: Branch = "main",
    message: WhyOption = None,
    metadata: MetadataOption = None,
    as_json: AsJson = False,
) -> None:
    """Remove stored queries, in one commit."""
    with report_errors(as_json):
        handle = session_of(context).open(uri, branch, read_only=False).queries
        _print_done(handle.remove(names, message=message, metadata=parse_metadata(metadata)), as_json)


def _print_done(done: QueriesApply, as_json: bool) -> None:
    if as_json:
        print_json(asdict(done))
        return
    for what in ("added", "changed", "removed"):
        for name in getattr(done, what):
            print_text(f"{what} {name}")
    print_text(f"commit {done.commit_id}" if done.applied else "nothing to change")


def _print_queries(queries: Any, as_json: bool) -> None:
    if as_json:
        print_json({"queries": [_entry(query) for query in queries]})
        return
    rows = [
        (
            query.name,
            query.kind,
            ", ".join(f"${item.name}: {item.type}" for item in query.params),
            _first_line(query),
        )
        for query in queries
    ]
    print_table(("name", "kind", "parameters", "description"), rows)


def _first_line(query: StoredQuery) -> str:
    return (query.description or "").partition("\n")[0]


def _entry(query: StoredQuery) -> dict[str, Any]:
    return {
        "name": query.name,
        "kind": query.kind,
        "description": query.description,
        "instruction": query.instruction,
        "params": [item.to_json() for item in query.params],
        "place": query.place,
    }
