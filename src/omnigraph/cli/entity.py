"""`entity show`, `history`, `blame`, `reset`, `same` and `combine`."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.cli.blob import At, OwnerId, OwnerType
from omnigraph.cli.history.metadata import describe_actor
from omnigraph.cli.merging import Resolutions
from omnigraph.cli.options import IdempotencyKey, MetadataOption, as_typed, parse_count, parse_metadata
from omnigraph.cli.output import print_json, print_table, print_text
from omnigraph.cli.session import AsJson, UriOption, report_errors, session_of

if TYPE_CHECKING:
    from omnigraph.graph.entity.history import EntityChange
    from omnigraph.sdk.entities.entity import Entity

app = typer.Typer(
    help="Look at one node or edge; combine duplicates.", no_args_is_help=True, rich_markup_mode=None
)

OnBranch = Annotated[str, typer.Option("--branch", "-b", help="The branch.")]


@app.command()
def show(
    context: typer.Context,
    type_name: OwnerType,
    id_: OwnerId,
    *,
    branch: OnBranch = "main",
    commit: At = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Show its properties, and the edges of a node."""
    with report_errors(as_json):
        found = _open(context, uri, branch, commit, type_name, id_)
        edges = found.edges() if found.kind == "node" else []
        if as_json:
            ends = None if found.ends is None else dict(zip(("from", "to"), found.ends, strict=True))
            head = {"kind": found.kind, "type": found.type, "id": found.id, "commit": found.commit_id}
            print_json({**head, "properties": found.properties, "endpoints": ends, "edges": edges})
            return
        ends_of = zip(("from", "to"), found.ends or (), strict=False)
        print_table(("property", "value"), [*ends_of, *found.properties.items()])
        if edges:
            print_table(("edge", "from", "to"), [(item["edge"], item["from"], item["to"]) for item in edges])


@app.command()
def history(
    context: typer.Context,
    type_name: OwnerType,
    id_: OwnerId,
    *,
    limit: Annotated[str, typer.Option("--limit", "-n", metavar="N", help="At most this many.")] = "100",
    earlier: Annotated[
        bool, typer.Option("--earlier", help="Also what had the id before it was inserted.")
    ] = False,
    branch: OnBranch = "main",
    commit: At = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """List the commits that changed it, newest first."""
    with report_errors(as_json):
        found = _open(context, uri, branch, commit, type_name, id_)
        changes = list(islice(found.history(earlier=earlier), parse_count("--limit", limit)))
        if as_json:
            print_json({"type": found.type, "id": found.id, "changes": [_document(item) for item in changes]})
            return
        rows = [
            (
                item.commit.id,
                item.commit.created_at,
                describe_actor(item.commit),
                item.op,
                _what(item),
                item.commit.message,
            )
            for item in changes
        ]
        print_table(("commit", "when", "actor", "op", "what", "message"), rows)


@app.command("blame")
def show_blame(
    context: typer.Context,
    type_name: OwnerType,
    id_: OwnerId,
    *,
    branch: OnBranch = "main",
    commit: At = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Show for each property which commit gave it its value."""
    with report_errors(as_json):
        found = _open(context, uri, branch, commit, type_name, id_)
        blamed, values = found.blame(), found.properties
        if as_json:
            print_json(
                {"type": found.type, "id": found.id, "blame": {k: asdict(v) for k, v in blamed.items()}}
            )
            return
        rows = [(name, values[name], by.id, describe_actor(by), by.message) for name, by in blamed.items()]
        print_table(("property", "value", "commit", "actor", "message"), rows)


@app.command()
def reset(
    context: typer.Context,
    type_name: OwnerType,
    id_: OwnerId,
    revision: Annotated[str, typer.Argument(metavar="COMMIT", help="A commit, a tag, HEAD~1.")],
    *,
    branch: OnBranch = "main",
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why.")] = None,
    metadata: MetadataOption = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Make it what it was at another commit, as one new commit."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch, read_only=False)
        done = graph.entity(type_name, id_).reset(
            revision, message=message, metadata=parse_metadata(metadata)
        )
        if as_json:
            print_json({"commit": done})
        else:
            print_text(f"commit {done}" if done else "nothing changed")


@app.command()
def same(
    context: typer.Context,
    type_name: OwnerType,
    on: Annotated[
        list[str], typer.Argument(metavar="PROPERTY...", help="What they have the same values of.")
    ],
    *,
    limit: Annotated[
        str, typer.Option("--limit", "-n", metavar="N", help="At most this many groups.")
    ] = "100",
    branch: OnBranch = "main",
    commit: At = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """List nodes that may be duplicates: each line has ids with the same values."""
    with report_errors(as_json):
        found = (
            session_of(context)
            .open(uri)
            .entities.find_same(
                type_name,
                on,
                branch=None if commit else branch,
                snapshot=commit,
                limit=parse_count("--limit", limit),
            )
        )
        if as_json:
            print_json({"type": type_name, "groups": [list(group) for group in found]})
        else:
            print_table(("nodes", "ids"), [(len(group), ", ".join(group)) for group in found])


@app.command()
def combine(
    context: typer.Context,
    type_name: Annotated[str, typer.Argument(metavar="TYPE", help="The type of the nodes.")],
    keep: Annotated[str, typer.Argument(metavar="KEEP", help="The id that stays.")],
    drop: Annotated[list[str], typer.Argument(metavar="DROP...", help="The ids that go.")],
    *,
    values: Annotated[
        str,
        typer.Option(
            help="fill takes what is missing from those that go, keep nothing, newest what is newer."
        ),
    ] = "fill",
    resolutions: Resolutions = None,
    branch: OnBranch = "main",
    message: Annotated[str | None, typer.Option("--message", "-m", help="Why.")] = None,
    metadata: MetadataOption = None,
    idempotency_key: IdempotencyKey = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Combine duplicates: make one node of several; their edges are moved to the one that stays."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch, read_only=False)
        done = graph.entities.combine(
            type_name,
            keep,
            drop,
            values=as_typed(values),
            resolutions=resolutions,
            message=message,
            idempotency_key=idempotency_key,
            metadata=parse_metadata(metadata),
        )
        if as_json:
            print_json(asdict(done))
        else:
            edges = (
                f"{done.edges_moved} edges moved, {done.edges_folded} folded, {done.loops_removed} removed"
            )
            print_text(f"{', '.join(done.gone)} went into {done.kept}: {edges}, commit {done.commit_id}")


def _open(
    context: typer.Context, uri: str | None, branch: str, commit: str | None, type_name: str, id_: str
) -> Entity:
    graph = session_of(context).open(uri)
    return graph.entity(type_name, id_, branch=None if commit else branch, snapshot=commit)


def _what(change: EntityChange) -> str:
    if change.went_into is not None:
        return f"went into {change.went_into}"
    took_in = f"took in {', '.join(change.took_in)}" if change.took_in else ""
    what = "came by a merge" if change.came_by_merge else ", ".join(change.changed)
    return "; ".join(text for text in (took_in, what) if text)


def _document(change: EntityChange) -> dict[str, Any]:
    head = {"op": change.op, "changed": list(change.changed), "came_by_merge": change.came_by_merge}
    one = {"went_into": change.went_into, "took_in": list(change.took_in)}
    return {"commit": asdict(change.commit), **head, **one, "before": change.before, "after": change.after}
