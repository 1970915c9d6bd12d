"""What commands show of Spark while it works for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from omnigraph.cli.output import print_note, stage_bar
from omnigraph.cli.session import session_of

SparkUi = Annotated[bool, typer.Option("--spark-ui", help="Start Spark with its web page and say where.")]


@contextmanager
def show_stages(context: typer.Context, as_json: bool, ui: bool) -> Iterator[None]:
    """Show the stages of Spark on a terminal, and the address of its web page if it is asked for."""
    from omnigraph import spark

    if ui:
        address = spark.ui_address(spark.session(ui=True))
        print_note(f"Spark's web page is {address}" if address else "this Spark has no web page here")
    with stage_bar(not (as_json or session_of(context).quiet)) as report, spark.watched(report):
        yield
