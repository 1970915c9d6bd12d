"""`optimize`, `cleanup` and `repair`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

import omnigraph as og
from omnigraph.cli.options import EngineName, as_typed
from omnigraph.cli.output import print_json, print_note, print_table, print_text, progress_bar
from omnigraph.cli.session import (
    EXIT_FAILED,
    AsJson,
    Branch,
    Session,
    Uri,
    is_served,
    report_errors,
    session_of,
)

if TYPE_CHECKING:
    from omnigraph.graph.maintenance.optimize.optimize_table import TableOptimization


def optimize(
    context: typer.Context,
    uri: Uri = None,
    *,
    branch: Branch = "main",
    only_indices: Annotated[
        bool, typer.Option("--only-indices", help="Build and fold indexes, and leave fragments alone.")
    ] = False,
    engine: EngineName = "auto",
    as_json: AsJson = False,
) -> None:
    """Join fragments, fold new rows into indexes and build declared ones, in at most one commit."""
    with report_errors(as_json):
        graph = session_of(context).open(uri, branch, read_only=False)
        with progress_bar("tables", shown=not (as_json or session_of(context).quiet)) as advance:
            run = graph.ensure_indices if only_indices else graph.optimize
            report = None if is_served(graph) else lambda key, number, total: advance(number, total)
            done = run(progress=report, engine=as_typed(engine))
        if as_json:
            print_json({"branch": branch, **done.to_json()})
        else:
            _show_optimization(done, engine)


def _show_optimization(done: og.Optimization, asked: str) -> None:
    rows = [_row_of(table) for table in done.tables if table.committed]
    if rows:
        print_table(("table", "fragments", "built", "folded"), rows)
    landed = f"commit {done.commit_id}" if done.commit_id else "nothing to do"
    print_text(f"{landed} ({done.seconds:.1f} s)")
    if done.engine not in ("local", asked):
        print_note(f"ran on {done.engine}: {done.engine_reason}")
    for item in done.pending_indexes:
        print_note(f"pending: {item.type_key} {item.property}: {item.reason}")
    for table in done.tables:
        if table.skipped:
            print_note(f"skipped: {table.type_key}: {table.skipped}")


def _row_of(table: TableOptimization) -> tuple[str, str, str, str]:
    joined = f"{table.fragments_removed} -> {table.fragments_added}" if table.fragments_removed else "-"
    built = ", ".join(f"{item.column} ({item.kind})" for item in table.built)
    folded = ", ".join(f"{item.column} ({item.kind})" for item in table.folded)
    return table.type_key, joined, built or "-", folded or "-"


def cleanup(
    context: typer.Context,
    uri: Uri = None,
    *,
    keep: Annotated[int | None, typer.Option(help="Commits of every branch to keep.", min=1)] = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Drop only commits older than this: 30m, 12h, 7d, 2w.")
    ] = None,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Do it; without, only show what would go.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Drop old commits and remove files that nothing needs any more."""
    session = session_of(context)
    with report_errors(as_json):
        if confirm:
            session.require_consent(uri, "remove files")
        graph = session.open(uri, read_only=not confirm)
        done = graph.cleanup(keep=keep, older_than=older_than, dry_run=not confirm)
    if as_json:
        print_json(_cleanup_as_json(done))
    else:
        _show_cleanup(done)
    if done.errors:
        raise typer.Exit(EXIT_FAILED)


def repair(
    context: typer.Context,
    uri: Uri = None,
    *,
    confirm: Annotated[bool, typer.Option("--confirm", help="Fix what needs no guess.")] = False,
    scrub: Annotated[
        bool, typer.Option("--scrub", help="Read every byte of every file and compare it with its checksum.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Verify the whole graph and explain what is inconsistent."""
    with report_errors(as_json):
        done = _run_repair(session_of(context), uri, confirm, scrub)
    if as_json:
        print_json(
            {
                "ok": done.ok,
                "confirmed": done.confirmed,
                "checked": {
                    name: getattr(done, name) for name in ("branches", "commits", "tables", "files", "rows")
                },
                "findings": [finding.to_json() for finding in done.findings],
            }
        )
    else:
        _show_repair(done)
    if not done.ok:
        raise typer.Exit(EXIT_FAILED)


def _run_repair(session: Session, uri: str | None, confirm: bool, scrub: bool) -> og.Repair:
    try:
        return session.open(uri, read_only=not confirm, rescue=True).repair(confirm, scrub=scrub)
    except (og.CorruptState, og.UnreadablePlan):
        if confirm:
            print_note(
                "the graph can only be opened for reading, so nothing is fixed; the report says what is wrong"
            )
        return session.open(uri, read_only=True).repair(False, scrub=scrub)


def _cleanup_as_json(done: og.Cleanup) -> dict[str, Any]:
    return {**asdict(done), "files": done.files, "bytes": done.bytes}


def _show_cleanup(done: og.Cleanup) -> None:
    rows = [
        (table.table_key, table.removed.files, table.removed.bytes, table.kept.bytes, table.waiting.files)
        for table in done.tables
    ]
    print_table(("table", "files", "bytes", "bytes kept", "files waiting"), rows)
    word = "would go" if done.dry_run else "are gone"
    print_text(f"{done.files} files, {done.bytes} bytes and {done.commits_dropped} commits {word}")
    if waiting := sum(table.waiting.files for table in done.tables):
        print_note(
            f"{waiting} files that no commit names may belong to a write in progress: a cleanup removes them "
            "when they are older than the grace period (OMNIGRAPH_CLEANUP_GRACE_SECONDS, one day)"
        )
    if done.dry_run:
        print_note("nothing was changed: add --confirm to do it")
    for key, error in done.errors.items():
        print_note(f"{key} could not be cleaned up: {error}")


def _show_repair(done: og.Repair) -> None:
    for finding in done.findings:
        fixed = " (fixed)" if finding.mended else ""
        print_text(f"{finding.severity} [{finding.code}] {finding.where}: {finding.what}{fixed}")
        if not finding.mended:
            print_text(f"    {finding.advice}")
    print_text(
        f"{'sound' if done.ok else 'NOT SOUND'}: {done.branches} branches, {done.commits} commits, "
        f"{done.tables} table versions, {done.files} files, {done.rows} rows"
    )
