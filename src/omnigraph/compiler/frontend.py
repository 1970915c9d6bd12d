"""The compiler's entry points: text in; catalogs, checked queries and canonical text out.

Most processes only compile queries: what the other languages and reports need is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import BadInput, NotFound, TypeCheckError
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.ir.queries import CompiledQuery
from omnigraph.compiler.lower.query import lower_query
from omnigraph.compiler.query.ast import File, Query
from omnigraph.compiler.query.parser import parse
from omnigraph.compiler.source import SourceText, suggest
from omnigraph.compiler.typecheck.check import check_d2, check_query

QueryKind: TypeAlias = Literal["read", "mutation"]


def compile_schema(text: str, file: str = "") -> Catalog:
    """Compile a schema text into the catalog of a new graph, or raise a ParseError with every problem."""
    from omnigraph.compiler.catalog.build import build_draft
    from omnigraph.compiler.catalog.identity import assign_ids
    from omnigraph.compiler.schema.parser import read_schema
    from omnigraph.compiler.schema.problems import SchemaProblems

    problems = SchemaProblems(SourceText(text))
    draft = build_draft(read_schema(text, problems), problems)
    problems.raise_if_any(file)
    return assign_ids(draft.catalog)


def format_schema(text: str, file: str = "") -> str:
    """Return a schema text in canonical form, with its comments."""
    from omnigraph.compiler.schema.parser import parse_schema
    from omnigraph.compiler.schema.printer import print_schema

    return print_schema(parse_schema(text, file))


def compile_query(
    text: str, catalog: Catalog, name: str | None = None, kind: QueryKind | None = None, file: str = ""
) -> CompiledQuery:
    """Compile one query of a text: the one with this name, or the only one.

    The other queries must parse but are not checked. With `kind` the query must be of that kind.
    """
    query = _select(parse(text, file), name)
    source = SourceText(text)
    problems: list[Diagnostic] = []
    compiled = _compile(query, catalog, source, problems)
    if compiled is not None and kind is not None and compiled.kind != kind:
        article = "a mutation" if compiled.kind == "mutation" else "a read query"
        message = f"query {query.name.text!r} is {article} and cannot run as a {kind}"
        problems.append(source.diagnostic("type_error", message, query.name.span))
    if compiled is None or problems:
        raise TypeCheckError(problems, file)
    return compiled


def format_queries(text: str, file: str = "") -> str:
    """Return a query text in canonical form, with its comments."""
    from omnigraph.compiler.query.printer import print_file

    return print_file(parse(text, file))


def lint(
    text: str, catalog: Catalog, schema_source: Mapping[str, str], query_path: str = ""
) -> dict[str, Any]:
    """Return the lint report of a query text as JSON data."""
    from omnigraph.compiler.lint.report import lint_queries

    return lint_queries(text, catalog, schema_source, query_path)


def _select(file: File, name: str | None) -> Query:
    names = list(dict.fromkeys(query.name.text for query in file.queries))
    if name is None and len(names) == 1:
        name = names[0]
    if name is None and names:
        raise BadInput(f"the text holds {len(names)} queries, name one of {', '.join(names)}", queries=names)
    for query in file.queries:
        if query.name.text == name:
            return query
    shown = "the text holds no query" if name is None else f"query {name!r} not found"
    hint = suggest(name, names) if name else None
    raise NotFound(f"{shown}; {hint}" if hint else shown, query=name, queries=names)


def _compile(
    query: Query, catalog: Catalog, source: SourceText, problems: list[Diagnostic]
) -> CompiledQuery | None:
    typed, found = check_query(query, catalog, source)
    mixed = check_d2(query, source)
    problems += sorted([*found, *([mixed] if mixed else [])], key=lambda item: (item.line, item.column))
    return None if typed is None else lower_query(typed, catalog)
