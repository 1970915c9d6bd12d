"""Blocks of a feed that come from outside: whether they are what a poll gives, before anything is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.keys import id_of_key
from omnigraph.compiler.catalog.model import END_COLUMNS, TableType
from omnigraph.graph.write.integrity.convert import convert

Json = Mapping[str, Any]

_OPS = ("insert", "update", "delete")


def join_pages(parts: Sequence[Json]) -> Json:
    """Return the whole block whose parts came in several pages."""
    if not parts or not all(_is_part(part) for part in parts):
        raise BadInput("a block is what a poll gives: an object with 'cause' and 'changes'")
    changes: list[Json] = []
    for part in parts:
        if part["cause"] != parts[0]["cause"] or part["offset"] != len(changes):
            raise BadInput("these are not the parts of one block, in order and from its first change on")
        changes += part["changes"]
    if not parts[-1]["complete"]:
        raise BadInput("the block is not complete: read its last page and give all its parts")
    for place, change in enumerate(changes):
        if not _is_change(change):
            raise BadInput(f"change {place + 1} of the block is not what a poll gives", place=place)
    first = parts[0]
    return {
        "cause": first["cause"],
        "schema": first.get("schema"),
        "queries": first.get("queries"),
        "changes": changes,
    }


def row_of(table: TableType, change: Json) -> dict[str, Any]:
    """Return the row that a change leaves, as plain values; a property that it does not name is null."""
    image, row = change["after"], {"id": change["id"]}
    unknown = sorted(set(image["properties"]) - set(table.by_name))
    if unknown:
        raise _misfit(table, change, f"it has {unknown[0]!r}, which the type has not")
    for item in table.properties:
        try:
            row[item.name] = convert(image["properties"].get(item.name), item.type)
        except ValueError as error:
            raise _misfit(table, change, f"{item.name} {error}") from None
    if table.kind == "edge":
        row |= {column: image["endpoints"][end] for end, column in END_COLUMNS.items()}
    if table.key and id_of_key(table, row) != change["id"]:
        raise _misfit(table, change, "its id is not what its key makes")
    return row


def _is_part(part: Any) -> bool:
    if not isinstance(part, Mapping) or not isinstance(part.get("cause"), Mapping):
        return False
    schema, queries = part.get("schema"), part.get("queries")
    return (
        isinstance(part["cause"].get("graph_commit_id"), str)
        and _is_list(part.get("changes"))
        and isinstance(part.get("offset"), int)
        and isinstance(part.get("complete"), bool)
        and (schema is None or _has(schema, catalog=Mapping, source=str))
        and (queries is None or (_has(queries, before=Mapping, after=Mapping) and _all_texts(queries)))
    )


def _is_change(change: Any) -> bool:
    if not _has(change, type=Mapping, id=str, op=str, kind=str) or change["op"] not in _OPS:
        return False
    if not _has(change["type"], id=str, name=str):
        return False
    if change["op"] == "delete":
        return True
    after = change.get("after")
    ends = change["kind"] != "edge" or (
        _has(after, endpoints=Mapping) and _has(after["endpoints"], **{"from": str, "to": str})
    )
    return _has(after, properties=Mapping) and ends


def _has(value: Any, **members: type) -> bool:
    return isinstance(value, Mapping) and all(isinstance(value.get(key), of) for key, of in members.items())


def _all_texts(queries: Json) -> bool:
    return all(isinstance(text, str) for side in ("before", "after") for text in queries[side].values())


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _misfit(table: TableType, change: Json, why: str) -> BadInput:
    return BadInput(
        f"the block's change of {table.kind} {table.name} {change['id']!r} does not fit: {why}",
        type=table.name,
        entity_id=change["id"],
    )
