"""`diff`, `commit changes`, `changes poll` and `changes baseline`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.cli.history.metadata import describe_metadata
from omnigraph.cli.options import expand_options
from omnigraph.cli.output import (
    line_width,
    print_json,
    print_note,
    print_styled,
    print_table,
    print_text,
)
from omnigraph.cli.session import AsJson, Branch, Uri, UriOption, report_errors, session_of

if TYPE_CHECKING:
    import omnigraph as og
    from omnigraph.graph.changes.model import Change, SchemaChange
    from omnigraph.sdk.proposals.events import ChangePage

app = typer.Typer(help="Follow what is committed.", no_args_is_help=True, rich_markup_mode=None)

Limit = Annotated[int | None, typer.Option("--limit", "-n", min=1, help="At most this many changes.")]
PageToken = Annotated[str | None, typer.Option(help="Continue after the page that gave this token.")]


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """Which changes are shown; all of them where nothing is said."""

    kinds: Annotated[list[str] | None, typer.Option("--kind", help="node or edge; may be repeated.")] = None
    types: Annotated[list[str] | None, typer.Option("--type", help="Only this type; may be repeated.")] = None
    ops: Annotated[
        list[str] | None, typer.Option("--op", help="insert, update or delete; may be repeated.")
    ] = None

    def as_filter(self) -> Any:
        """Return them as the engine takes them, which refuses other words."""
        return {name: value or None for name, value in asdict(self).items()}


@expand_options(ChangeOptions)
def diff(
    context: typer.Context,
    from_: Annotated[str, typer.Argument(metavar="FROM", help="A branch or a commit.")],
    to: Annotated[str, typer.Argument(metavar="TO", help="A branch or a commit.")],
    uri: Uri = None,
    *,
    options: ChangeOptions,
    limit: Limit = None,
    page_token: PageToken = None,
    counts: Annotated[bool, typer.Option("--counts", help="Only how many changes there are.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what leads from one branch or commit to another."""
    with report_errors(as_json):
        graph = session_of(context).open(uri)
        found = graph.diff(from_, to, **options.as_filter())
        ends = {"from": found.from_commit, "to": found.to_commit}
        schema = found.schema.to_json() if found.schema else None
        if counts:
            if as_json:
                print_json({**ends, "schema": schema, "counts": found.counts})
            else:
                _show_schema(found.schema)
                rows = [(key, *(item[op] for op in item)) for key, item in found.counts.items()]
                print_table(("table", "insert", "update", "delete"), rows)
            return
        page = found.page(limit, page_token)
        heads = {word: graph.commits.show(end) for word, end in ends.items()}
        if as_json:
            commits = {word: asdict(commit) for word, commit in heads.items()}
            print_json({**ends, "commits": commits, "schema": schema, **page.to_json()})
        else:
            for word, commit in heads.items() if page_token is None else ():
                _show_head(f"{word:<4} ", commit)
            show_changes(found.schema, page, graph, (found.from_commit, found.to_commit))


@expand_options(ChangeOptions)
def commit_changes(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="The commit's id.")],
    *,
    options: ChangeOptions,
    limit: Limit = None,
    page_token: PageToken = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what a commit made different from the one before it."""
    with report_errors(as_json):
        graph = session_of(context).open(uri)
        page = graph.commits.changes(
            id,
            **options.as_filter(),
            limit=limit,
            page_token=page_token,
        )
        if as_json:
            print_json(page.to_json())
        else:
            if page_token is None:
                _show_head("", graph.commits.show(page.cause.commit_id))
            show_changes(page.schema, page, graph, (page.cause.commit_id,))


def show_changes(schema: SchemaChange | None, page: Any, graph: og.Graph, commits: Sequence[str]) -> None:
    """Print a page of changes between commits, and how to go on."""
    _show_schema(schema)
    _show_changes(page.changes, graph, commits)
    _show_next("--page-token", page.next_page_token)


@app.command()
@expand_options(ChangeOptions)
def poll(
    context: typer.Context,
    uri: Uri = None,
    *,
    branch: Branch = "main",
    cursor: Annotated[str | None, typer.Option(help="Continue after this cursor.")] = None,
    start: Annotated[str | None, typer.Option(help="now, beginning or after:COMMIT.")] = None,
    page_token: PageToken = None,
    options: ChangeOptions,
    limit: Limit = None,
    proposals: Annotated[
        bool, typer.Option("--proposals", help="Also what has happened to proposals from it or into it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a branch has committed since a cursor."""
    with report_errors(as_json):
        graph = session_of(context).open(uri)
        page = graph.changes.poll(
            branch=branch,
            cursor=cursor,
            start=start,
            page_token=page_token,
            **options.as_filter(),
            limit=limit,
            events=("commits", "proposals") if proposals else None,
        )
        print_json(page.to_json()) if as_json else _show_page(page, graph)


@app.command()
@expand_options(ChangeOptions)
def baseline(
    context: typer.Context,
    uri: Uri = None,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write; .gz and .zst are packed.")],
    branch: Branch = "main",
    options: ChangeOptions,
    as_json: AsJson = False,
) -> None:
    """Write all nodes and edges of a branch to a file, and the cursor from which to poll."""
    from omnigraph.sdk.changes import Baseline

    with report_errors(as_json):
        changes = session_of(context).open(uri).changes
        done = changes.baseline(out, branch=branch, **options.as_filter())
        assert isinstance(done, Baseline)
        if as_json:
            print_json(asdict(done))
        else:
            print_text(f"wrote commit {done.snapshot_commit_id} to {done.path}\ncursor {done.resume_cursor}")


def _show_page(page: ChangePage, graph: og.Graph) -> None:
    if page.proposals:
        rows = [(item.proposal, item.at, item.actor, item.kind) for item in page.proposals]
        print_table(("proposal", "when", "who", "what"), rows)
    for block in page.blocks:
        cause = block.cause
        print_text(_describe(cause.commit_id, cause.branch, cause.actor, cause.operation))
        _show_reason(cause.message, cause.metadata)
        _show_schema(block.schema)
        _show_changes(block.changes, graph, (cause.commit_id,))
    if page.cursor is not None:
        print_note(f"{'caught up' if page.caught_up else 'there is more'}: --cursor {page.cursor}")
    _show_next("--page-token", page.page_token)


def _show_head(word: str, commit: og.Commit) -> None:
    """Print which commit it is, who made it, when, and why."""
    when = commit.created_at.isoformat(sep=" ", timespec="seconds")
    what = _describe(commit.id, commit.branch, commit.actor, commit.operation)
    print_text(f"{word}{what}, {when}")
    _show_reason(commit.message, commit.metadata)


def _describe(commit: str, branch: str, actor: str | None, operation: str) -> str:
    return f"commit {commit} on {branch}{f' by {actor}' if actor else ''}: {operation}"


def _show_reason(message: str | None, metadata: Mapping[str, str]) -> None:
    for line in (message or "").strip().splitlines():
        print_text(f"     {line}")
    noted = describe_metadata(metadata)
    if noted:
        print_text(f"     {noted}")


def _show_schema(schema: SchemaChange | None) -> None:
    if schema is not None:
        rows = [("schema", *(str(value) for value in step.values())) for step in schema.steps]
        print_table(("", "step"), [(row[0], " ".join(row[1:])) for row in rows])


def _show_changes(changes: Iterable[Change], graph: og.Graph, commits: Sequence[str]) -> None:
    """Print changes between commits, whose schemas say what is a vector and what a blob."""
    from omnigraph.cli.history.changes import PropertyKinds, describe_change

    kinds: PropertyKinds | None = None
    width, measure = line_width()
    for change in changes:
        if kinds is None:
            kinds = PropertyKinds.of(graph.snapshot(commit=commit).catalog for commit in commits)
        for line in describe_change(change, kinds, width, measure):
            print_styled(line)


def _show_next(option: str, token: str | None) -> None:
    if token is not None:
        print_note(f"there is more: {option} {token}")
