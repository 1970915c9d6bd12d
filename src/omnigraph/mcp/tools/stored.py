"""Stored queries as tools: typed by their parameters and by the columns that they return."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.queries import CompiledQuery
from omnigraph.compiler.stored.queries import QuerySet, StoredQuery
from omnigraph.compiler.stored.tools import column_schema, name_tools, params_schema
from omnigraph.execution.query_cache import compile_cached
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.reads import answer_rows
from omnigraph.mcp.tools.schemas import BRANCH, COMMIT, NEXT_CURSOR, WHERE, WHY, objects, page_options
from omnigraph.mcp.tools.writes import CHANGED, answer_change

_MAX_DESCRIPTION_LETTERS = 1_000


def stored_tools(queries: Iterable[StoredQuery], catalog: Catalog | None, limits: ToolLimits) -> list[Tool]:
    """Return a tool for each stored query; with a schema their results are typed."""
    found = QuerySet.of(queries)
    names = name_tools(found)
    return [_tool_of(query, names[query.name], catalog, limits) for query in found.values()]


def _tool_of(query: StoredQuery, name: str, catalog: Catalog | None, limits: ToolLimits) -> Tool:
    options = (
        {**WHERE, **page_options(limits, "rows")} if not query.is_mutation else {"branch": BRANCH, **WHY}
    )
    params = params_schema(query.params)
    # A query may call its parameters as options are called; these make room.
    named = {option: _free_name(option, params["properties"]) for option in options}
    rows = {
        "commit": COMMIT,
        "columns": objects(),
        "rows": _rows_schema(query, catalog),
        "next_cursor": NEXT_CURSOR,
    }
    return Tool(
        name,
        query.name,
        _describe(query),
        ("invoke_query",),
        partial(_run, query.name, named),
        {**params["properties"], **{named[option]: schema for option, schema in options.items()}},
        tuple(params["required"]),
        CHANGED if query.is_mutation else rows,
        writes=query.is_mutation,
        destroys=query.is_mutation,
        query=query.name,
        checked=frozenset(named.values()),
    )


def _free_name(option: str, taken: Mapping[str, Any]) -> str:
    while option in taken:
        option += "_"
    return option


def _describe(query: StoredQuery) -> str:
    """Return what a query says of itself; whoever stores queries writes it, so it is bounded and plain."""
    does = "changes the graph in one commit" if query.is_mutation else "only reads"
    parts = [query.description, query.instruction, f"A stored query of this graph; it {does}."]
    return "\n".join(make_plain(item) for item in parts if item)


def make_plain(said: str) -> str:
    """Return a text of somebody else without control characters, and not longer than it may be."""
    plain = re.sub(r"[^\S\n]+", " ", "".join(sign for sign in said if sign.isprintable() or sign in "\n\t"))
    return plain if len(plain) <= _MAX_DESCRIPTION_LETTERS else plain[:_MAX_DESCRIPTION_LETTERS] + "…"


def _rows_schema(query: StoredQuery, catalog: Catalog | None) -> dict[str, Any]:
    compiled: CompiledQuery | None = None
    if catalog is not None and not query.is_mutation:
        with suppress(OmniError):  # one that does not fit the schema any more is told when it is called
            compiled = compile_cached(query.text, catalog, query.name, "read")
    if compiled is None:
        return objects()
    columns = {column.name: column_schema(column.type) for column in compiled.columns}
    return {
        "type": "array",
        "items": {"type": "object", "properties": columns, "required": list(columns)},
    }


def _run(name: str, named: Mapping[str, str], call: ToolCall) -> dict[str, Any]:
    params = {key: value for key, value in call.arguments.items() if key not in named.values()}
    asked = call.split({option: call.arguments.get(spelling) for option, spelling in named.items()}, params)
    if "limit" in named:
        found = asked.open().run(name, params, **asked.place, expect_mutation=False)
        return answer_rows(asked, found)
    done = asked.open().run(
        name,
        params,
        **asked.given("branch"),
        **asked.said,
        idempotency_key=asked.key,
        expect_mutation=True,
    )
    return answer_change(done)
