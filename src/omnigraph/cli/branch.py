"""`branch create`, `list`, `info`, `rename`, `delete`, `restore`, `reset`, `merge` and `rebase`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from omnigraph.cli.merging import MergeOptions, RebaseOptions, carry_out, show_merge
from omnigraph.cli.options import (
    IdempotencyKey,
    SameAsOption,
    as_typed,
    expand_options,
    parse_count,
    parse_metadata,
    parse_rules,
)
from omnigraph.cli.output import print_json, print_note, print_table, print_text
from omnigraph.cli.session import AsJson, UriOption, report_errors, session_of

app = typer.Typer(
    help="Create, list, describe, rename, merge, rebase, reset, delete and restore branches.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="The branch's name.")]


@app.command()
def create(
    context: typer.Context,
    name: Name,
    source: Annotated[str | None, typer.Option("--from", help="The branch to fork (main).")] = None,
    commit: Annotated[str | None, typer.Option(help="Begin at this commit, of any branch.")] = None,
    tag: Annotated[str | None, typer.Option(help="Begin at this tag.")] = None,
    version: Annotated[int | None, typer.Option(help="Begin at this version of the branch.")] = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Fork a branch; nothing is copied."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False, rescue=True)
        graph.branches.create(name, source, commit=commit, tag=tag, version=version)
        head = graph.snapshot(name)
        begun = source or tag or "main"
        origin = "" if commit else f" of {begun}" if tag is None else f", tag {tag}"
        if as_json:
            print_json({"branch": head.branch, "from": commit or begun, "commit": head.commit_id})
        else:
            print_text(f"branch {head.branch} starts at commit {head.commit_id}{origin}")


@app.command()
def restore(context: typer.Context, name: Name, uri: UriOption = None, as_json: AsJson = False) -> None:
    """Bring a deleted branch back with its commits, as long as no cleanup has removed them."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False, rescue=True)
        graph.branches.restore(name)
        head = graph.snapshot(name)
        if as_json:
            print_json({"branch": head.branch, "commit": head.commit_id})
        else:
            print_text(f"branch {head.branch} is back at commit {head.commit_id}")


@app.command("list")
def list_branches(context: typer.Context, uri: UriOption = None, as_json: AsJson = False) -> None:
    """List the branches: main first, then by name."""
    with report_errors(as_json):
        names = session_of(context).open(uri).branches.list()
        if as_json:
            print_json({"branches": names})
        else:
            print_text("\n".join(names))


@app.command()
def delete(context: typer.Context, name: Name, uri: UriOption = None, as_json: AsJson = False) -> None:
    """Delete a branch; `branch restore` brings it back until the next cleanup."""
    session = session_of(context)
    with report_errors(as_json):
        session.require_consent(uri, f"delete branch {name.strip()}")
        session.open(uri, read_only=False, rescue=True).branches.delete(name)
        if as_json:
            print_json({"deleted": name.strip()})
        else:
            print_text(f"deleted branch {name.strip()}")


@app.command()
def rename(
    context: typer.Context,
    name: Name,
    new: Annotated[str, typer.Argument(help="The name that it gets.")],
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Give a branch another name; its commits stay."""
    with report_errors(as_json):
        session_of(context).open(uri, read_only=False).branches.rename(name, new)
        if as_json:
            print_json({"branch": new.strip(), "renamed_from": name.strip()})
        else:
            print_text(f"branch {name.strip()} is called {new.strip()} now")


@app.command()
def info(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The branch's name.")] = "main",
    compared_with: Annotated[
        str, typer.Option("--compared-with", help="The branch that it is compared with.")
    ] = "main",
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Describe a branch: its head, who wrote last, how far it is ahead of another and behind it."""
    with report_errors(as_json):
        found = asdict(session_of(context).open(uri).branches.info(name, compared_with))
        if as_json:
            print_json(found)
        else:
            print_table(("field", "value"), list(found.items()))


@app.command()
def reset(
    context: typer.Context,
    name: Name,
    commit: Annotated[str, typer.Argument(help="What it is reset to: a commit, a tag, HEAD~1.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count the changes, write nothing.")] = False,
    message: Annotated[str | None, typer.Option(help="Why, for the history.")] = None,
    idempotency_key: IdempotencyKey = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Give a branch the content that a commit has, as a new commit."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=dry_run)
        done = graph.branches.reset(
            name, commit, dry_run=dry_run, message=message, idempotency_key=idempotency_key
        )
        show_merge(done, as_json, dry_run)


@app.command()
def protect(
    context: typer.Context,
    name: Name,
    approvals: Annotated[str, typer.Option(metavar="N", help="How many must approve a proposal.")] = "1",
    checks: Annotated[
        list[str] | None, typer.Option("--check", help="A stored query that must return no rows.")
    ] = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Let nothing but proposals change a branch."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False)
        graph.branches.protect(name, approvals=parse_count("--approvals", approvals), checks=checks or ())
        print_json({"protected": name}) if as_json else print_note(f"branch {name} is protected")


@app.command()
def unprotect(context: typer.Context, name: Name, uri: UriOption = None, as_json: AsJson = False) -> None:
    """Let writers change a branch directly again."""
    with report_errors(as_json):
        session_of(context).open(uri, read_only=False).branches.unprotect(name)
        print_json({"unprotected": name}) if as_json else print_note(
            f"branch {name} is not protected any more"
        )


@app.command()
@expand_options(MergeOptions)
def merge(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="The branch to merge.", metavar="SOURCE")],
    into: Annotated[str, typer.Option("--into", help="The branch that gets the changes.")] = "main",
    delete_branch: Annotated[
        bool, typer.Option("--delete-branch", help="Delete the source once it is merged.")
    ] = False,
    *,
    options: MergeOptions,
    same_as: SameAsOption = None,
    idempotency_key: IdempotencyKey = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Bring what a branch has done into another, as one commit, or report every conflict."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=options.dry_run)
        how = (
            as_typed(options.strategy),
            options.resolutions,
            options.dry_run,
            options.message,
            idempotency_key,
            parse_metadata(options.metadata),
            parse_rules(same_as),
        )
        carry_out(options, as_json, lambda: graph.branches.merge(source, into, delete_branch, *how))


@app.command()
@expand_options(RebaseOptions)
def rebase(
    context: typer.Context,
    name: Name,
    onto: Annotated[str, typer.Option("--onto", help="The branch to begin after.")] = "main",
    *,
    options: RebaseOptions,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Make the commits of a branch again on top of another's head."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, read_only=False)
        how = (as_typed(options.strategy), options.resolutions, options.dry_run)
        carry_out(options, as_json, lambda: graph.branches.rebase(name, onto, *how))
