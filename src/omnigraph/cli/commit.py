"""`commit list`, `commit show`, `commit revert`, `commit cherry-pick` and `commit changes`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

import omnigraph as og
from omnigraph.cli.changes import commit_changes
from omnigraph.cli.history.metadata import describe_actor, describe_metadata
from omnigraph.cli.merging import MergeOptions, RevertOptions, carry_out
from omnigraph.cli.options import as_typed, expand_options, parse_metadata
from omnigraph.cli.output import print_json, print_table
from omnigraph.cli.session import AsJson, Branch, UriOption, report_errors, session_of

app = typer.Typer(help="Look at the history.", no_args_is_help=True, rich_markup_mode=None)

FilterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--filter", help="Only commits with actor=NAME, or with other metadata.", metavar="NAME=VALUE"
    ),
]


@app.command("list")
def list_commits(
    context: typer.Context,
    branch: Branch = "main",
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=0, help="At most this many.")] = None,
    only: FilterOption = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """List the commits that a branch can reach, newest first."""
    actor, where = _read_filters(only or [])
    with report_errors(as_json):
        found = session_of(context).open(uri).commits.list(branch, limit, actor, where=where)
        if as_json:
            print_json({"branch": branch, "commits": [asdict(item) for item in found]})
        else:
            rows = [
                (
                    *(
                        item.version,
                        item.id,
                        item.created_at,
                        describe_actor(item),
                        item.operation,
                        item.message,
                    ),
                    describe_metadata(item.metadata),
                )
                for item in found
            ]
            print_table(("version", "commit", "when", "actor", "operation", "message", "metadata"), rows)


@app.command()
def show(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="The commit's id.")],
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Show one commit of any branch."""
    with report_errors(as_json):
        found: og.Commit = session_of(context).open(uri).commits.show(id)
        if as_json:
            print_json(asdict(found))
        else:
            print_table(("field", "value"), list(asdict(found).items()))


@app.command()
@expand_options(RevertOptions)
def revert(
    context: typer.Context,
    id: Annotated[str | None, typer.Argument(help="The commit to take back.")] = None,
    branch: Annotated[str, typer.Option("--branch", "-b", help="The branch to take it back from.")] = "main",
    *,
    actor: Annotated[
        str | None, typer.Option(help="Take back all that this actor has done, in place of one commit.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="With --actor: what this commit has stays.")] = None,
    where: FilterOption = None,
    options: RevertOptions,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Take the change of one commit back, or all that an actor has done, as a new commit."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch, read_only=options.dry_run)
        strategy, *how = _read_options(options)
        values = parse_metadata(where)
        carry_out(
            options,
            as_json,
            lambda: graph.commits.revert(id, branch, strategy, *how, actor=actor, since=since, where=values),
        )


@app.command("cherry-pick")
@expand_options(MergeOptions)
def cherry_pick(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="The commit to bring over, of any branch.")],
    onto: Annotated[str, typer.Option("--onto", help="The branch that gets it.")] = "main",
    *,
    options: MergeOptions,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Bring the change of one commit to a branch, as a new commit."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, onto, read_only=options.dry_run)
        how = _read_options(options)
        carry_out(options, as_json, lambda: graph.commits.cherry_pick(id, onto, *how))


app.command("changes")(commit_changes)


def _read_options(options: MergeOptions) -> tuple[Any, ...]:
    metadata = parse_metadata(options.metadata)
    return as_typed(options.strategy), options.resolutions, options.dry_run, options.message, metadata


def _read_filters(filters: list[str]) -> tuple[str | None, dict[str, str]]:
    """Return the actor that is wanted, and the metadata."""
    wanted: dict[str, str] = {}
    for item in filters:
        field, equals, value = item.partition("=")
        if not (field and equals):
            raise typer.BadParameter(
                f"{item!r}: write --filter actor=NAME, or --filter NAME=VALUE of metadata"
            )
        wanted[field] = value
    return wanted.pop("actor", None), wanted
