"""JSON Schemas of what tools take and return, each said once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnigraph.mcp.limits import ToolLimits

JsonSchema = dict[str, Any]


def text(description: str, **more: Any) -> JsonSchema:
    """Return the schema of a string."""
    return {"type": "string", "description": description, **more}


def choice(words: Sequence[str], description: str) -> JsonSchema:
    """Return the schema of one of some words."""
    return {"type": "string", "enum": list(words), "description": description}


def flag(description: str) -> JsonSchema:
    """Return the schema of a boolean, false unless given."""
    return {"type": "boolean", "description": description, "default": False}


def texts(description: str) -> JsonSchema:
    """Return the schema of a list of strings."""
    return {"type": "array", "items": {"type": "string"}, "description": description}


def objects(description: str = "") -> JsonSchema:
    """Return the schema of a list of objects."""
    return {
        "type": "array",
        "items": {"type": "object"},
        **({"description": description} if description else {}),
    }


def or_null(schema: Mapping[str, Any]) -> JsonSchema:
    """Return the schema of what may be missing."""
    return {"anyOf": [dict(schema), {"type": "null"}]}


TEXT: JsonSchema = {"type": "string"}
NUMBER: JsonSchema = {"type": ["integer", "string"]}
"""A whole number; one beyond 2^53 - 1 is a string."""
FLAG: JsonSchema = {"type": "boolean"}
OBJECT: JsonSchema = {"type": "object"}
LIST: JsonSchema = {"type": "array"}
MAYBE_OBJECT: JsonSchema = {"type": ["object", "null"]}
NEXT_CURSOR: JsonSchema = {
    "type": ["string", "null"],
    "description": "Send it as cursor, with the same arguments, for what follows; null at the end.",
}
COMMIT: JsonSchema = {"type": ["string", "null"], "description": "The id of a commit."}
MADE: JsonSchema = {
    "type": ["string", "null"],
    "description": "The commit that was made; null when nothing changed.",
}

BRANCH = text("A branch; the default one of this connection unless given.")
SNAPSHOT = text("What is read instead of a branch: a commit, a tag, `HEAD~1`, `main@{2026-01-31}`.")
CURSOR = text("next_cursor of the answer before; all other arguments stay as they were.")
MESSAGE = text("What was done and why, in a sentence; it stands in the history.")
METADATA: JsonSchema = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "description": "Noted in the commit, and found by it: task, run, on_behalf_of, source, …; strings.",
}
KEY = text("A name for this very call: the same name again gives the first answer and changes nothing more.")
PARAMS: JsonSchema = {
    "type": "object",
    "description": "The values of the query's parameters, by name without $. Integers beyond 2^53 may be "
    "strings.",
}
TYPES = texts("Only these types.")
OPS: JsonSchema = {
    "type": "array",
    "items": {"type": "string", "enum": ["insert", "update", "delete"]},
    "description": "Only these operations.",
}
WHY = {"message": MESSAGE, "metadata": METADATA, "idempotency_key": KEY}
"""What every tool takes that makes a commit."""
WHERE = {"branch": BRANCH, "snapshot": SNAPSHOT}


def page_options(limits: ToolLimits, what: str) -> dict[str, JsonSchema]:
    """Return what a tool takes whose answer comes in pages."""
    limit = {
        "type": "integer",
        "minimum": 1,
        "maximum": limits.most_rows,
        "description": f"At most so many {what}; {limits.rows} unless given.",
    }
    return {"limit": limit, "cursor": CURSOR}
