"""Tools that ask: the schema, queries, plans, stored queries, the language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from omnigraph.base.errors import NotFound
from omnigraph.compiler.schema.ast import SchemaFile
from omnigraph.compiler.schema.parser import parse_schema
from omnigraph.compiler.schema.printer import print_schema
from omnigraph.compiler.source import suggest
from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.compiler.stored.tools import describe_query, name_tools
from omnigraph.execution.result import Result, Stream
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.tools.model import Tool, ToolCall
from omnigraph.mcp.tools.schemas import (
    COMMIT,
    NEXT_CURSOR,
    PARAMS,
    TEXT,
    WHERE,
    flag,
    objects,
    page_options,
    text,
    texts,
)
from omnigraph.skill.pages import read_page

_BATCH_ROWS = 1_024


def read_tools(limits: ToolLimits) -> list[Tool]:
    """Return the tools of this file."""
    gq = text(
        "The text of a query, such as `query q($n: String) { match { $p: Person { name: $n } } return { "
        "$p.age } }`."
    )
    return [
        Tool(
            "schema",
            "Schema",
            "The types of nodes and edges, with their properties and rules, as text. Read it before you "
            "query.",
            ("read",),
            _show_schema,
            {
                **WHERE,
                "types": texts("Only the declarations of these types and interfaces."),
                **page_options(limits, "lines"),
            },
            returns={"commit": COMMIT, "schema": TEXT, "next_cursor": NEXT_CURSOR},
        ),
        Tool(
            "language",
            "Query language",
            "How queries and mutations are written: a short reference with examples.",
            (),
            _show_language,
            returns={"text": TEXT},
        ),
        Tool(
            "query",
            "Query",
            "Run a read query of the graph, at a branch's head or at any commit. It cannot change anything.",
            ("read",),
            _run_query,
            {
                "query": gq,
                "params": PARAMS,
                "name": text("Which query of the text, if it has several."),
                **WHERE,
                **page_options(limits, "rows"),
            },
            ("query",),
            {"commit": COMMIT, "columns": objects(), "rows": objects(), "next_cursor": NEXT_CURSOR},
        ),
        Tool(
            "explain",
            "Explain",
            "The plan of a read query: how it is carried out, what it reads. With analyze it is run.",
            ("read",),
            _explain,
            {"query": gq, "params": PARAMS, **WHERE, "analyze": flag("Run it, and say what each step did.")},
            ("query",),
            {"plan": TEXT},
        ),
        Tool(
            "stored_queries",
            "Stored queries",
            "The queries that the graph keeps under names, each with its text, its parameters and the "
            "name of its tool.",
            ("invoke_query",),
            _list_stored,
            {**WHERE, **page_options(limits, "queries")},
            returns={"queries": objects(), "next_cursor": NEXT_CURSOR},
        ),
    ]


def answer_rows(call: ToolCall, found: Result | Stream) -> dict[str, Any]:
    """Return a page of the rows of a read."""
    rows = iter(found) if isinstance(found, Result) else _rows_of(found)
    page = call.page(rows, found.commit_id)
    columns = [{"name": column.name, "type": str(column.type)} for column in found.schema]
    return {
        "commit": found.commit_id,
        "columns": columns,
        "rows": page.items,
        "next_cursor": page.next_cursor,
    }


def _rows_of(stream: Stream) -> Iterator[dict[str, Any]]:
    for batch in stream:
        yield from Result(stream.schema, batch.columns, stream.commit_id)


def _run_query(call: ToolCall) -> dict[str, Any]:
    asked = {"params": call.get("params"), **call.given("name"), **call.place}
    return answer_rows(call, call.open().stream(call.arguments["query"], batch_rows=_BATCH_ROWS, **asked))


def _explain(call: ToolCall) -> dict[str, Any]:
    graph = call.open()
    plan = graph.explain(
        call.arguments["query"],
        call.get("params"),
        call.get("analyze", False),
        **call.given("branch", "snapshot"),
    )
    return {"plan": str(plan)}


def _show_schema(call: ToolCall) -> dict[str, Any]:
    place = call.place
    seen = call.open().snapshot(place.get("branch"), commit=place.get("snapshot"))
    lines = seen.schema_source.splitlines()
    wanted = call.get("types")
    page = call.page(lines if wanted is None else _declarations(seen.schema_source, wanted), seen.commit_id)
    return {"commit": seen.commit_id, "schema": "\n".join(page.items), "next_cursor": page.next_cursor}


def _declarations(source: str, wanted: list[str]) -> list[str]:
    """Return the lines of the declarations of some types, with their comments."""
    tree = parse_schema(source)
    known = [item.name.text for item in tree.declarations]
    for name in wanted:
        if name not in known:
            hint = suggest(name, known)
            raise NotFound(
                f"there is no type or interface {name!r}" + (f": {hint}" if hint else ""), type=name
            )
    kept = tuple(item for item in tree.declarations if item.name.text in wanted)
    return print_schema(SchemaFile(kept)).strip().splitlines()


def _show_language(call: ToolCall) -> dict[str, Any]:
    return {"text": read_page("references/query-language.md")}


def _list_stored(call: ToolCall) -> dict[str, Any]:
    graph, place = call.open(), call.place
    commit = call.cursor.commit or graph.snapshot(place.get("branch"), place.get("snapshot")).commit_id
    found = QuerySet.of(graph.queries.list(snapshot=commit))
    names = name_tools(found)
    told = ({**describe_query(query, names[query.name]), "text": query.text} for query in found.values())
    page = call.page(told, commit)
    return {"queries": page.items, "next_cursor": page.next_cursor}
