"""`alias`: a stored query of a server, under a name of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnigraph.base.plain import read_json
from omnigraph.cli.config.flags import AddressFlags
from omnigraph.cli.output import print_json, print_table
from omnigraph.cli.query_arguments import Params, ParamsFile, query_params
from omnigraph.cli.results import RowFormat, choose_format, show_result
from omnigraph.cli.session import AsJson, report_errors, session_of

if TYPE_CHECKING:
    from omnigraph.cli.config.configuration import Alias


def alias(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="The alias; without it they are listed.", metavar="[NAME]")
    ] = None,
    values: Annotated[
        list[str] | None, typer.Argument(help="Values of its parameters, in their order.", metavar="[VALUE]…")
    ] = None,
    params: Params = None,
    params_file: ParamsFile = None,
    form: RowFormat = None,
    as_json: AsJson = False,
) -> None:
    """Run a stored query of a server by a name of the configuration, or list these names."""
    session = session_of(context)
    with report_errors(as_json or form == "json"):
        known = session.configuration
        if name is None:
            _show_aliases(known.aliases, as_json)
            return
        found = known.alias(name)
        shown = "json" if as_json else choose_format(form or found.format, known.output)
        given = query_params(params, params_file) or {}
        flags = AddressFlags(server=found.server, graph=found.graph)
        graph = session.at(flags).open(None)
        stored: Any = graph
        kinds = {item.name: item.to_json()["kind"] for item in stored.queries.show(found.query).params}
        words = _read_words(found, values or [], kinds)
        result = stored.run(found.query, {**found.params, **words, **given}, expect_mutation=False)
        show_result(result, shown, f"branch {graph.branch}", found.query, session)


def _read_words(alias: Alias, words: Sequence[str], kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return the values that words after an alias stand for."""
    if len(words) > len(alias.args):
        takes = ", ".join(alias.args) or "no values"
        raise typer.BadParameter(f"the alias {alias.name} takes {takes}: {len(words)} are given")
    return {
        name: read_word(word, kinds.get(name, "string"))
        for name, word in zip(alias.args, words, strict=False)
    }


def read_word(word: str, kind: str) -> Any:
    """Return a word as a value of a parameter's kind: numbers, lists and the like are JSON, others texts."""
    if kind in ("string", "date", "datetime"):
        return word
    try:
        return read_json(word)
    except ValueError:
        return word  # the server says what is wrong with it


def _show_aliases(aliases: Mapping[str, Alias], as_json: bool) -> None:
    if as_json:
        print_json({"aliases": [asdict(item) for _, item in sorted(aliases.items())]})
        return
    rows = [
        (item.name, item.server, item.graph, item.query, " ".join(item.args))
        for _, item in sorted(aliases.items())
    ]
    print_table(("alias", "server", "graph", "query", "values"), rows)
