"""`optimize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import omnigraph as og
from omnigraph.cli.options import EngineName
from omnigraph.cli.output import print_json, print_note, print_table, print_text, progress_bar
from omnigraph.cli.session import AsJson, Branch, Uri, report_errors, session_of

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
            done = run(progress=lambda key, number, total: advance(number, total), engine=engine)
        if as_json:
            print_json({"branch": branch, **done.to_json()})
        else:
            _show(done, engine)


def _show(done: og.Optimization, asked: str) -> None:
    rows = [_row(table) for table in done.tables if table.committed]
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


def _row(table: TableOptimization) -> tuple[str, str, str, str]:
    joined = f"{table.fragments_removed} -> {table.fragments_added}" if table.fragments_removed else "-"
    built = ", ".join(f"{item.column} ({item.kind})" for item in table.built)
    folded = ", ".join(f"{item.column} ({item.kind})" for item in table.folded)
    return table.type_key, joined, built or "-", folded or "-"
