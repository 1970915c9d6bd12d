"""`init`, `snapshot` and `version`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import omnigraph as og
from omnigraph.cli.arrow import import_without_pandas
from omnigraph.cli.output import print_json, print_table, print_text
from omnigraph.cli.session import AsJson, Uri, report_errors, session_of
from omnigraph.graph.manifest.format import CURRENT


def init(
    context: typer.Context,
    uri: Uri = None,
    *,
    schema: Annotated[Path, typer.Option("--schema", "-s", help="The .pg file to start with.")],
    force: Annotated[bool, typer.Option("--force", help="Make it among files that lie there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a new graph."""
    session = session_of(context)
    with report_errors(as_json):
        import_without_pandas()
        graph = og.init(session.address(uri), schema, actor=session.acting, force=force)
        made = graph.snapshot()
        if as_json:
            keys = [table.key for table in made.tables]
            print_json({"uri": graph.uri, "graph_id": graph.id, "commit": made.commit_id, "tables": keys})
        else:
            print_text(f"made a graph with {len(made.tables)} tables at {graph.uri}")


def snapshot(
    context: typer.Context,
    uri: Uri = None,
    *,
    branch: Annotated[str | None, typer.Option("--branch", "-b", help="A branch; main unless given.")] = None,
    commit: Annotated[str | None, typer.Option(help="A commit of any branch.")] = None,
    at: Annotated[int | None, typer.Option("--at", help="A version of the branch.")] = None,
    tag: Annotated[str | None, typer.Option(help="A tag.")] = None,
    timestamp: Annotated[str | None, typer.Option(help="A moment of the branch, in ISO 8601.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the tables of a graph at a branch's head, version or past moment, a commit, or a tag."""
    with report_errors(as_json):
        found = session_of(context).open(uri).snapshot(branch, commit, at, tag, timestamp)
        if as_json:
            print_json(
                {
                    "branch": found.branch,
                    "commit": found.commit_id,
                    "version": found.version,
                    "tables": [
                        {"key": table.key, "rows": table.rows, "version": table.version}
                        for table in found.tables
                    ],
                }
            )
            return
        print_text(f"branch {found.branch}, version {found.version}, commit {found.commit_id}")
        rows = [(table.key, table.rows, table.version) for table in found.tables]
        print_table(("table", "rows", "version"), rows)


def version(as_json: AsJson = False) -> None:
    """Show the release and the storage format that it writes."""
    if as_json:
        print_json({"version": og.__version__, "format": CURRENT})
    else:
        print_text(f"omnigraph {og.__version__} (storage format {CURRENT})")
