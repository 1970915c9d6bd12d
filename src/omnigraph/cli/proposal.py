"""`omnigraph proposal`: propose branches; look at proposals, talk about them, approve and merge them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.cli.history.proposals import show_mergeability, show_proposal
from omnigraph.cli.merging import ConflictsTo, Message, keep_conflicts, show_merge
from omnigraph.cli.options import (
    IdempotencyKey,
    MetadataOption,
    SameAsOption,
    as_typed,
    parse_count,
    parse_metadata,
    parse_rules,
)
from omnigraph.cli.output import print_json, print_note, print_table, print_text
from omnigraph.cli.session import EXIT_FAILED, AsJson, UriOption, report_errors, session_of
from omnigraph.wire.values import encode

if TYPE_CHECKING:
    import omnigraph as og

app = typer.Typer(
    help="Propose branches to be merged; review, approve and merge what others propose.", no_args_is_help=True
)
ProposalId = Annotated[str, typer.Argument(help="The proposal: its id, or at least 6 letters of it.")]
WhatToSay = Annotated[str, typer.Option("--text", "-t", help="What to say about it.")]
SeenCommit = Annotated[
    str | None, typer.Option("--commit", help="What was looked at: refused if the source has moved since.")
]


@app.command()
def create(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="The branch that is proposed.")],
    *,
    into: Annotated[str, typer.Option(help="The branch that it is proposed to.")] = "main",
    title: Annotated[str, typer.Option(help="What it is, in a line.")] = "",
    description: Annotated[str, typer.Option(help="Why, for who looks at it.")] = "",
    reviewers: Annotated[list[str] | None, typer.Option("--reviewer", help="Who should look at it.")] = None,
    checks: Annotated[
        list[str] | None, typer.Option("--check", help="A stored query that must return no rows.")
    ] = None,
    strategy: Annotated[str, typer.Option(help="entity, property, ours or theirs.")] = "entity",
    same_as: SameAsOption = None,
    metadata: MetadataOption = None,
    idempotency_key: IdempotencyKey = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Propose to merge a branch into another."""
    with report_errors(as_json):
        made = (
            session_of(context)
            .open(uri, read_only=False)
            .proposals.create(
                source,
                into,
                title,
                description,
                reviewers=reviewers or (),
                checks=checks or (),
                strategy=as_typed(strategy),
                metadata=parse_metadata(metadata),
                idempotency_key=idempotency_key,
                same_as=parse_rules(same_as),
            )
        )
        print_json(encode(made)) if as_json else print_text(f"proposal {made.id}: {made.title}")


@app.command("list")
def list_proposals(
    context: typer.Context,
    *,
    state: Annotated[str | None, typer.Option(help="open, merged or closed.")] = None,
    limit: Annotated[str, typer.Option(metavar="N", help="How many, newest first.")] = "50",
    after: Annotated[str | None, typer.Option(help="Continue after this proposal.")] = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """List proposals, newest first."""
    with report_errors(as_json):
        count = parse_count("--limit", limit)
        found = session_of(context).open(uri).proposals.list(state, limit=count, after=after)
        if as_json:
            print_json({"proposals": encode(found)})
            return
        rows = [
            (item.id, item.state, item.author, f"{item.source} → {item.into}", item.title) for item in found
        ]
        print_table(("proposal", "state", "author", "branches", "title"), rows)


@app.command()
def show(context: typer.Context, id: ProposalId, uri: UriOption = None, as_json: AsJson = False) -> None:
    """Show a proposal, what has been said about it, and whether it can be merged."""
    with report_errors(as_json):
        proposals = session_of(context).open(uri).proposals
        found = proposals.show(id)
        if as_json:
            print_json(encode(found))
            return
        show_proposal(found)
        if found.state == "open":
            show_mergeability(proposals.mergeable(found.id))


@app.command()
def mergeable(
    context: typer.Context,
    id: ProposalId,
    conflicts_to: ConflictsTo = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a proposal can be merged now, and why not; exit 1 when it cannot."""
    with report_errors(as_json):
        judged = session_of(context).open(uri).proposals.mergeable(id)
        keep_conflicts(conflicts_to, judged.conflicts, None)
        print_json(encode(judged)) if as_json else show_mergeability(judged)
        if not judged.mergeable:
            raise typer.Exit(EXIT_FAILED)


@app.command()
def diff(
    context: typer.Context,
    id: ProposalId,
    types: Annotated[list[str] | None, typer.Option("--type", help="Only this type.")] = None,
    limit: Annotated[str, typer.Option(metavar="N", help="At most this many changes.")] = "1000",
    page_token: Annotated[str | None, typer.Option(help="Continue after the page before.")] = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what a proposal changes: from what both branches began with, to its source."""
    from omnigraph.base.errors import NotFound
    from omnigraph.cli.changes import show_changes

    with report_errors(as_json):
        graph = session_of(context).open(uri)
        found = graph.proposals.show(id)
        if found.base_commit is None or found.source_commit is None:
            raise NotFound(f"proposal {found.id} has no source any more", proposal=found.id)
        changed = graph.diff(found.base_commit, found.source_commit, types=types or None)
        page = changed.page(parse_count("--limit", limit), page_token)
        if as_json:
            print_json(page.to_json())
        else:
            show_changes(changed.schema, page, graph, (changed.from_commit, changed.to_commit))


@app.command()
def comment(
    context: typer.Context,
    id: ProposalId,
    text: Annotated[str, typer.Argument(help="What to say.")],
    on: Annotated[
        str | None, typer.Option("--on", metavar="TYPE/ID[#PROPERTY]", help="The entity that is meant.")
    ] = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Say something about a proposal, or about an entity: --on Person/ada#age."""
    with report_errors(as_json):
        entity = None if on is None else _entity(on)
        done = session_of(context).open(uri, read_only=False).proposals.comment(id, text, entity=entity)
        _report(done, as_json, "said")


@app.command()
def approve(
    context: typer.Context,
    id: ProposalId,
    commit: SeenCommit = None,
    text: WhatToSay = "",
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Approve a proposal as its source is now; a later push voids that."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False)
        _report(graph.proposals.approve(id, commit=commit, text=text), as_json, "approved")


@app.command("request-changes")
def request_changes(
    context: typer.Context,
    id: ProposalId,
    text: Annotated[str, typer.Argument(help="What should change.")],
    commit: SeenCommit = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Ask for changes: until then the proposal is not merged."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False)
        _report(graph.proposals.request_changes(id, text, commit=commit), as_json, "changes requested of")


@app.command()
def resolve(
    context: typer.Context,
    id: ProposalId,
    resolutions: Annotated[Path, typer.Argument(help="Answers, such as an edited --conflicts-to file.")],
    replace: Annotated[bool, typer.Option("--replace", help="Drop the answers that were saved.")] = False,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Save answers to conflicts, some or all; they are used when the proposal is merged."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False)
        _report(graph.proposals.resolve(id, resolutions, replace=replace), as_json, "answers saved for")


@app.command()
def merge(
    context: typer.Context,
    id: ProposalId,
    *,
    delete_branch: Annotated[bool, typer.Option("--delete-branch", help="Delete the source.")] = False,
    message: Message = None,
    metadata: MetadataOption = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Merge a proposal that meets what its target demands, as one commit."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False)
        done = graph.proposals.merge(
            id, message=message, metadata=parse_metadata(metadata), delete_branch=delete_branch
        )
        show_merge(done, as_json, dry_run=False)


@app.command()
def close(
    context: typer.Context,
    id: ProposalId,
    text: WhatToSay = "",
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Close a proposal without merging it."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False)
        _report(graph.proposals.close(id, text), as_json, "closed")


@app.command()
def reopen(
    context: typer.Context,
    id: ProposalId,
    text: WhatToSay = "",
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Open a closed proposal again."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False)
        _report(graph.proposals.reopen(id, text), as_json, "reopened")


def _entity(text: str) -> list[str]:
    """Return the entity that a user has typed, `Person/ada#age`; of an id with # all stays together."""
    name, _, rest = text.partition("/")
    id_, has_property, property_ = rest.rpartition("#")
    return [name, id_, property_] if has_property and property_.isidentifier() else [name, rest]


def _report(done: og.Proposal, as_json: bool, words: str) -> None:
    print_json(encode(done)) if as_json else print_note(f"{words} proposal {done.id}: {done.title}")
