"""From the texts of `.gq` files to a set of stored queries: each query with its own part of the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import ParseError, ResourceLimit
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.parser import parse, parse_all
from omnigraph.compiler.source import SourceText
from omnigraph.compiler.stored.queries import QueryParameter, QuerySet, StoredQuery


def read_queries(texts: Mapping[str, str], most_bytes: int) -> QuerySet:
    """Return the queries in texts by file, or raise a ParseError with the problems of the first bad file.

    A name may be declared once.
    """
    check_size(texts.values(), most_bytes)
    found: dict[str, StoredQuery] = {}
    for file, text in texts.items():
        for query in _queries_of(text, file):
            if query.name in found:
                raise _declared_twice(query, found[query.name], text)
            found[query.name] = query
    return QuerySet.of(found.values())


def check_size(texts: Iterable[str], most_bytes: int) -> None:
    """Refuse texts that have more bytes together than the limit."""
    size = sum(len(text.encode(errors="replace")) for text in texts)
    if size > most_bytes:
        raise ResourceLimit(
            f"the stored queries have {size} bytes, the limit is {most_bytes}: store fewer, or raise "
            "OMNIGRAPH_STORED_QUERY_BYTES",
            resource="stored_query_bytes",
            limit=most_bytes,
            actual=size,
        )


def to_json(queries: QuerySet) -> list[dict[str, Any]]:
    """Return a set as it is stored and sent: texts with where they come from."""
    return [
        {"name": item.name, "text": item.text, "file": item.file, "line": item.line}
        for item in queries.values()
    ]


def from_json(data: Sequence[Mapping[str, Any]]) -> QuerySet:
    """Build a set from its stored form; what is said of each query follows from its text."""
    return QuerySet.of(_read_one(item["text"], item["file"], item["line"]) for item in data)


def _read_one(text: str, file: str, line: int) -> StoredQuery:
    parsed = parse(text, file)
    (query,) = parsed.queries
    return _describe(query, text, _comment_above(query, parsed.comments, text), file, line)


def _queries_of(text: str, file: str) -> Iterator[StoredQuery]:
    parsed, problems = parse_all(text)
    if not problems and not parsed.queries:
        problems = (Diagnostic("parse_error", "the text holds no query", 1, 1),)
    if problems:
        raise ParseError(problems, file)
    source = SourceText(text)
    for query in parsed.queries:
        above = _comment_above(query, parsed.comments, text)
        start = above[0].span.start if above else query.span.start
        line, _ = source.position(start)
        yield _describe(query, text[start : query.span.end], above, file, line)


def _describe(query: ast.Query, text: str, above: Sequence[ast.Comment], file: str, line: int) -> StoredQuery:
    told = query.description if query.description is not None else _say(above)
    return StoredQuery(
        query.name.text,
        text,
        "mutation" if isinstance(query.body, ast.Write) else "read",
        tuple(QueryParameter(item.name, item.type) for item in query.parameters),
        told,
        query.instruction,
        file,
        line,
    )


def _comment_above(query: ast.Query, comments: Sequence[ast.Comment], text: str) -> list[ast.Comment]:
    """Return the comments right above a query, with no empty line between."""
    found: list[ast.Comment] = []
    start = query.span.start
    for comment in reversed([item for item in comments if item.span.end <= start]):
        between = text[comment.span.end : start]
        if not comment.own_line or between.strip() or between.count("\n") > 1:
            break
        found.insert(0, comment)
        start = comment.span.start
    return found


def _say(comments: Sequence[ast.Comment]) -> str | None:
    """Return what comments say, without their marks."""
    lines: list[str] = []
    for comment in comments:
        bare = (
            comment.text.removeprefix("/*").removesuffix("*/") if comment.text[:2] == "/*" else comment.text
        )
        lines += [line.strip().lstrip("/*").strip() for line in bare.splitlines()]
    return "\n".join(lines).strip() or None


def _declared_twice(query: StoredQuery, first: StoredQuery, text: str) -> ParseError:
    source = SourceText(text)
    offset = source.bounds(query.line)[0] + query.text.find(query.name, query.text.find("query"))
    line, column = source.position(offset)
    where = f"in {first.place}" if first.place else f"on line {first.line}"
    message = f"query {query.name!r} is declared twice, first {where}"
    return ParseError([Diagnostic("parse_error", message, line, column)], query.file)
