"""`query`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import omnigraph as og
from omnigraph.cli.options import EngineName, as_typed, expand_options
from omnigraph.cli.query_arguments import QueryOptions
from omnigraph.cli.results import RowFormat, choose_format, show_result
from omnigraph.cli.session import AsJson, UriOption, report_errors, session_of
from omnigraph.cli.stages import SparkUi, show_stages


@expand_options(QueryOptions)
def query(
    context: typer.Context,
    *,
    options: QueryOptions,
    engine: EngineName = "auto",
    spark_ui: SparkUi = False,
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds that the query may take.")] = None,
    form: RowFormat = None,
    uri: UriOption = None,
    as_json: AsJson = False,
) -> None:
    """Run a read query: a stored one by its name, or the text that is given."""
    asked = options.query_arguments(takes_stored=True)
    session = session_of(context)
    with report_errors(as_json or form == "json"):
        shown = choose_format("json" if as_json else form, session.configuration.output)
        graph = session.open(uri)
        with show_stages(context, as_json, spark_ui):
            result = _run(graph, asked, engine=as_typed(engine), timeout=timeout)
            if result.engine == "spark":
                result.to_arrow()  # Spark works when the rows are asked for
        show_result(result, shown, options.place, options.query_name(asked["gq"]), session)


def _run(graph: Any, asked: dict[str, Any], **how: Any) -> og.Result:
    """Run the text, or without one what is stored under the name."""
    found: og.Result
    if asked["gq"] is None:
        where = {name: asked[name] for name in ("branch", "snapshot")}
        found = graph.run(asked["name"], asked["params"], **where, **how, expect_mutation=False)
    else:
        found = graph.query(**asked, **how)
    return found
