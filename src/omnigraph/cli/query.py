"""`query`."""

from __future__ import annotations

import csv
import io
from typing import Annotated

import typer

import omnigraph as og
from omnigraph.cli.options import EngineName, as_typed, expand_options
from omnigraph.cli.output import print_json, print_note, print_table, print_text
from omnigraph.cli.query_arguments import QueryOptions
from omnigraph.cli.session import AsJson, UriOption, report_errors, session_of
from omnigraph.cli.stages import SparkUi, show_stages

FORMATS = ("table", "kv", "csv", "jsonl", "json")


@expand_options(QueryOptions)
def query(
    context: typer.Context,
    *,
    options: QueryOptions,
    engine: EngineName = "auto",
    spark_ui: SparkUi = False,
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds that the query may take.")] = None,
    format: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")] = "table",
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Run a read query: a text, or a stored query by its name."""
    if format not in FORMATS:
        raise typer.BadParameter(f"--format {format}: use one of {', '.join(FORMATS)}")
    asked = options.query_arguments()
    with report_errors(as_json or format == "json"):
        graph = session_of(context).open(uri)
        with show_stages(context, as_json, spark_ui):
            if asked["gq"] is None:
                del asked["gq"]
                result = graph.run(**asked, engine=as_typed(engine), timeout=timeout, expect_mutation=False)
            else:
                result = graph.query(**asked, engine=as_typed(engine), timeout=timeout)
            if result.engine == "spark":
                result.to_arrow()  # Spark works when the rows are asked for
        _show(result, "json" if as_json else format)


def _show(result: og.Result, format: str) -> None:
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
            print_table(result.columns, [[row[name] for name in result.columns] for row in rows])
            print_note(f"{len(rows)} row{'' if len(rows) == 1 else 's'} at commit {result.commit_id}")
