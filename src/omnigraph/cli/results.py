"""The rows of a read, in the formats that the command line has."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Annotated

import typer

from omnigraph.cli.output import TableStyle, count_of, print_json, print_note, print_table, print_text

if TYPE_CHECKING:
    import omnigraph as og
    from omnigraph.cli.session import Session

FORMATS = ("table", "kv", "csv", "jsonl", "json")
RowFormat = Annotated[
    str | None,
    typer.Option("--format", help=f"One of {', '.join(FORMATS)}; the configuration's, or table."),
]


def choose_format(given: str | None, configured: str | None) -> str:
    """Return the format that was asked for, that of the configuration, or the table."""
    if given is not None and given not in FORMATS:
        raise typer.BadParameter(f"--format {given}: use one of {', '.join(FORMATS)}")
    return given or configured or "table"


def show_result(result: og.Result, format: str, where: str, query: str | None, session: Session) -> None:
    """Print rows; of a table a line on standard error says how many there are, of what, by which query."""
    rows = result.rows
    meta = {"commit": result.commit_id, "columns": result.columns, "row_count": len(rows)}
    match format:
        case "json":
            print_json({**meta, "rows": rows})
        case "jsonl":
            print_json(meta)
            for row in rows:
                print_json(row)
        case "csv":
            out = io.StringIO()
            writer = csv.writer(out, lineterminator="\n")
            writer.writerows([result.columns, *([row[name] for name in result.columns] for row in rows)])
            print_text(out.getvalue())
        case "kv":
            blocks = ("".join(f"{name}: {value}\n" for name, value in row.items()) for row in rows)
            if rows:
                print_text("\n".join(blocks))
        case _:
            known = session.configuration
            style = TableStyle(known.table_width, known.table_overflow == "truncate")
            print_table(result.columns, [[row[name] for name in result.columns] for row in rows], style)
            if not session.quiet:
                by = f" via {query}" if query else ""
                count = count_of(len(rows), "row")
                print_note(f"{count} from {where}{by} (commit {result.commit_id})")
