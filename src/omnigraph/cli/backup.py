"""`backup`, `backups` and `restore`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import omnigraph as og
from omnigraph.cli.output import print_json, print_note, print_table, print_text, progress_bar
from omnigraph.cli.session import EXIT_FAILED, AsJson, report_errors, session_of

Place = Annotated[str, typer.Argument(help="Where backups lie: a path, file:// or s3://.")]
Id = Annotated[str | None, typer.Option("--id", help="A backup; the newest unless given.")]


def backup(
    context: typer.Context,
    uri: Annotated[
        str | None, typer.Argument(help="Where the graph is; leave it out with --store.", show_default=False)
    ] = None,
    target: Annotated[str | None, typer.Argument(help="Where backups lie: a path, file:// or s3://.")] = None,
    *,
    since: Annotated[
        str | None, typer.Option(help="A commit that an earlier backup holds: go on from that backup.")
    ] = None,
    branch: Annotated[
        str | None, typer.Option("--branch", "-b", help="Only the head of this branch.")
    ] = None,
    snapshot: Annotated[str | None, typer.Option(help="Only this commit or tag.")] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write nothing to the graph, not even what stops a cleanup.")
    ] = False,
    no_read_back: Annotated[
        bool, typer.Option("--no-read-back", help="Compare the sizes of what was copied, not its content.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy the whole graph, or one snapshot, to a place of backups; only what is new there is copied."""
    session = session_of(context)
    address, place = (uri, target) if target is not None or not session.flags.store else (None, uri)
    if place is None:
        graph_address = session.address(address)
        raise typer.BadParameter(
            f"where to? Give the place for backups of {graph_address} too: a path, file:// or s3://"
        )
    with report_errors(as_json):
        graph = session.open(address, read_only=read_only, announce=False, rescue=True)
        with progress_bar("bytes", shown=not (as_json or session.quiet)) as advance:
            done = graph.backup(
                place,
                since,
                branch=branch,
                snapshot=snapshot,
                progress=lambda what, number, total: advance(number, total),
                reads_back=not no_read_back,
            )
        if as_json:
            print_json(asdict(done))
            return
        print_text(f"backup {done.id} of {done.commits} commits at {done.uri}")
        print_note(
            f"{done.files_copied} of {done.files} files and {done.bytes_copied} of {done.bytes} bytes "
            f"were copied ({done.seconds:.1f} s)"
        )


def backups(
    target: Place,
    *,
    commit: Annotated[
        str | None,
        typer.Option(help="Only those that hold this commit: an id, its first letters, or a tag."),
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Read every file and compare it.")] = False,
    id_: Id = None,
    as_json: AsJson = False,
) -> None:
    """List the backups at a place, or with --verify read them."""
    with report_errors(as_json):
        if verify:
            _verify(target, id_, as_json)
            return
        listed = og.backups(target, commit=commit)
        found = [item for item in listed if id_ in (None, item.id)]
        unreadable = [item for item in listed.unreadable if id_ in (None, item.id)]
        if as_json:
            print_json(
                {
                    "backups": [asdict(item) for item in found],
                    "unreadable": [asdict(item) for item in unreadable],
                }
            )
        else:
            rows = [
                (item.id, item.created_at, item.scope, len(item.heads), item.commits, item.files, item.bytes)
                for item in found
            ]
            print_table(("backup", "made", "of", "branches", "commits", "files", "bytes"), rows)
            for item in unreadable:
                print_note(f"backup {item.id} [{item.code}]: {item.error}")


def restore(
    context: typer.Context,
    backup: Place,
    uri: Annotated[str, typer.Argument(help="Where the graph is to be: an empty place.")],
    *,
    id_: Id = None,
    new_id: Annotated[
        bool, typer.Option("--new-id", help="Give the graph a new id instead of the original's.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a graph from a backup; one that was cut off goes on."""
    from omnigraph.sdk.restoring import run_restore

    with report_errors(as_json):
        with progress_bar("bytes", shown=not (as_json or session_of(context).quiet)) as advance:
            done = run_restore(
                backup,
                uri,
                id_,
                new_id,
                progress=lambda what, number, total: advance(number, total),
            )
        if as_json:
            print_json(asdict(done))
        else:
            print_text(f"made a graph of {done.commits} commits at {done.uri} from backup {done.backup}")
            print_note(f"{done.files} files, {done.bytes} bytes ({done.seconds:.1f} s)")


def _verify(target: str, id_: str | None, as_json: bool) -> None:
    with progress_bar("bytes", shown=not as_json) as advance:
        found = og.verify_backup(target, id_, progress=lambda what, number, total: advance(number, total))
    if as_json:
        print_json({"ok": found.ok, **asdict(found)})
    else:
        for item in found.damage:
            print_text(f"{item.path} is missing or damaged: it is {item.of} of {', '.join(item.backups)}")
        word = "sound" if found.ok and found.backups else "NOT SOUND" if found.backups else "NO BACKUP"
        print_text(f"{word}: {found.backups} backups, {found.files} files, {found.bytes} bytes")
    if not (found.ok and found.backups):
        raise typer.Exit(EXIT_FAILED)
