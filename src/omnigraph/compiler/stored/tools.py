"""Stored queries as tools of programs: names that clients accept, and JSON Schemas of what they take."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any

from omnigraph.compiler.stored.queries import QueryParameter, QuerySet, StoredQuery
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.params import RANGES

MAX_TOOL_NAME_CHARACTERS = 64
"""What clients of models accept."""

RESERVED = frozenset(
    {
        *("schema", "language", "query", "explain", "stored_queries", "mutate", "load"),
        *("entity", "entity_history", "entity_blame", "reset_entity", "commits", "diff", "revert"),
        *("plan_schema", "apply_schema", "read_blob", "revert_actor", "cherry_pick", "find_same", "combine"),
        *("branches", "create_branch", "delete_branch", "restore_branch", "merge_branch", "rebase_branch"),
        *("tags", "create_tag", "delete_tag", "changes"),
        *(
            "proposals",
            "show_proposal",
            "propose",
            "comment_proposal",
            "resolve_proposal",
            "approve_proposal",
        ),
        *("request_changes", "merge_proposal", "close_proposal", "find_tool", "call_tool"),
    }
)
"""Names of tools that every graph has."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FORMATS = {
    Scalar.DATE: ("date", "a day, YYYY-MM-DD"),
    Scalar.DATETIME: ("date-time", "a moment, YYYY-MM-DDTHH:MM:SS with an optional offset"),
}


def name_tools(queries: QuerySet) -> dict[str, str]:
    """Return the name of each query's tool, by the query's name; no two are alike."""
    taken: set[str] = set(RESERVED)
    names: dict[str, str] = {}
    # Those that can keep their names do, whatever the others are called.
    for name in sorted(queries, key=lambda item: (not _keeps(item), item)):
        names[name] = found = name if _keeps(name) else _shorten(name, taken)
        taken.add(found)
    return names


def describe_query(query: StoredQuery, tool_name: str) -> dict[str, Any]:
    """Return a query as a catalog of queries lists it."""
    return {
        "name": query.name,
        "tool_name": tool_name,
        "description": query.description,
        "instruction": query.instruction,
        "mutation": query.is_mutation,
        "params": [item.to_json() for item in query.params],
    }


def params_schema(params: Collection[QueryParameter]) -> dict[str, Any]:
    """Return the JSON Schema of an object of arguments. The decoder of parameters has the last word."""
    return {
        "type": "object",
        "properties": {item.name: _schema_of(item.type) for item in params},
        "required": [item.name for item in params if not item.type.nullable],
        "additionalProperties": False,
    }


def column_schema(type_: PropertyType) -> dict[str, Any]:
    """Return the JSON Schema of the values of a column, as answers in JSON have them."""
    if type_.is_map:
        made: dict[str, Any] = {"type": "object"}
    elif type_.is_list or type_.is_vector:
        made = {"type": "array"}
    elif type_.scalar in RANGES or type_.scalar.is_float:
        # Whole numbers beyond 2^53 - 1, and numbers that are none, are strings.
        made = {"type": ["integer" if type_.scalar in RANGES else "number", "string"]}
    else:
        made = {"type": "boolean" if type_.scalar is Scalar.BOOL else "string"}
    return {"anyOf": [made, {"type": "null"}]}


def _keeps(name: str) -> bool:
    return name not in RESERVED and _PLAIN.fullmatch(name) is not None


def _shorten(name: str, taken: Collection[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    stored = f"stored_{plain}"
    if len(stored) <= MAX_TOOL_NAME_CHARACTERS and stored not in taken:
        return stored
    digest = hashlib.sha256(name.encode()).hexdigest()[:10]
    return f"{plain[: MAX_TOOL_NAME_CHARACTERS - 11]}_{digest}"


def _schema_of(type_: PropertyType) -> dict[str, Any]:
    if type_.vector is not None:
        made: dict[str, Any] = {
            "type": "array",
            "items": {"type": "number"},
            "minItems": type_.vector,
            "maxItems": type_.vector,
        }
    elif type_.is_list:
        made = {"type": "array", "items": _scalar(type_.scalar)}
    else:
        made = _scalar(type_.scalar)
        if type_.enum is not None:
            made["enum"] = list(type_.enum)
    return {"anyOf": [made, {"type": "null"}], "default": None} if type_.nullable else made


def _scalar(scalar: Scalar) -> dict[str, Any]:
    if scalar in RANGES:
        low, high = RANGES[scalar]
        return {"type": "integer", "minimum": low, "maximum": high}
    if scalar.is_float:
        return {"type": "number"}
    if scalar is Scalar.BOOL:
        return {"type": "boolean"}
    if scalar is Scalar.BLOB:
        return {"type": "string", "description": "base64: and the bytes in base64, or a URI"}
    found: Mapping[str, str] = {}
    if scalar in _FORMATS:
        name, told = _FORMATS[scalar]
        found = {"format": name, "description": told}
    return {"type": "string", **found}
