"""The description of the routes (OpenAPI): what the framework derives, with our answers, errors, examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from omnigraph.server.description.answers import describe_answers
from omnigraph.server.identity import Identity
from omnigraph.wire.errors import HTTP_CODES, STATUS
from omnigraph.wire.media import JSON, NDJSON
from omnigraph.wire.schemas import SchemaBook

_QUERY = "query people() { match { $p: Person } return { $p.name } }"
_INSERT = 'query add() { insert Person { name: "ada" } }'
_SCHEMA = "node Person { name: String @key  age: I64? }"
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "QueryBody": {"query": _QUERY, "branch": "main"},
    "ExplainBody": {"query": _QUERY, "analyze": True},
    "EntityResetBody": {"revision": "HEAD~1", "message": "the crawler was wrong"},
    "CombineBody": {"type": "Person", "keep": "ada", "drop": ["ada l."], "message": "one person"},
    "SameRuleBody": {"type": "Person", "on": ["mail"]},
    "MutateBody": {"query": _INSERT, "message": "add ada"},
    "LoadBody": {"data": '{"type": "Person", "data": {"name": "ada"}}\n', "mode": "append"},
    "QueriesBody": {"files": {"people.gq": _QUERY}, "mode": "extend"},
    "RunBody": {"params": {"city": "Kyiv"}, "branch": "main"},
    "ExportBody": {"branch": "main", "type_names": ["Person"]},
    "BranchBody": {"name": "review", "from": "main"},
    "RenameBody": {"name": "reviewed"},
    "ResetBody": {"commit": "HEAD~1", "dry_run": True},
    "MergeBody": {"source": "review", "target": "main", "dry_run": True},
    "RebaseBody": {"onto": "main"},
    "PickBody": {"branch": "main", "dry_run": True},
    "UndoBody": {"actor": "agent-7", "since": "v1", "dry_run": True},
    "SchemaBody": {"schema_source": _SCHEMA},
    "TagBody": {"name": "v1", "branch": "main"},
    "ApplyBody": {"parts": [{"cause": {}, "changes": [], "offset": 0, "complete": True}]},
    "EmbedBody": {"types": ["Doc.vec"]},
    "OptimizeBody": {"branch": "main"},
    "CleanupBody": {"keep": 10, "older_than": "7d", "dry_run": True},
    "RepairBody": {"confirm": False},
    "ProtectionBody": {"approvals": 1, "checks": ["orphans"]},
    "ProposalBody": {"source": "review", "into": "main", "title": "two people more"},
    "CommentBody": {"text": "is that so?", "entity": {"type": "Person", "id": "ada", "property": "age"}},
    "ApproveBody": {"text": "looks right"},
    "ChangesRequestBody": {"text": "the age is wrong"},
    "ResolutionsBody": {"resolutions": [{"type_name": "Person", "entity_id": "ada", "take": "theirs"}]},
    "ProposalMergeBody": {"delete_branch": True},
    "ProposalTextBody": {"text": "not needed any more"},
}
"""An example of every body, by the name of its model."""

_ERROR = {
    "type": "object",
    "required": ["error", "code", "retryable", "details"],
    "properties": {
        "error": {"type": "string", "description": "What, which, and what next, for people."},
        "code": {"type": "string", "enum": sorted({*STATUS, *HTTP_CODES}), "description": "Stable."},
        "retryable": {"type": "boolean", "description": "Whether the same request may succeed later."},
        "details": {"type": "object", "description": "The facts, by name."},
        "manifest_conflict": {
            "type": "object",
            "description": "Of a table that has moved: its key, and the versions expected and found.",
        },
    },
    "example": {
        "error": "there is no branch 'none'",
        "code": "not_found",
        "retryable": False,
        "details": {"branch": "none"},
    },
}
_LANCE_ERROR = {
    "type": "object",
    "required": ["error", "code"],
    "properties": {
        "error": {"type": "string"},
        "code": {"type": "integer", "description": "A number of the Lance REST Namespace."},
        "detail": {"type": "string", "description": "Our code."},
        "instance": {"type": "string"},
    },
    "example": {"error": "there is no graph 'x' here", "code": 1, "detail": "not_found", "instance": ""},
}
STATUSES: Mapping[int, str] = {
    400: "The request is wrong.",
    401: "The token is missing or not known.",
    403: "The caller may not do this.",
    404: "The named thing does not exist.",
    408: "The body took too long.",
    409: "Somebody else was first, or two sides disagree.",
    410: "It existed, and a cleanup has removed it.",
    412: "The head is another commit than the one that was named.",
    413: "A limit was reached.",
    415: "The body is not of a kind that the route reads.",
    424: "A text could not be turned into a vector.",
    429: "Too much at once: `Retry-After` says when to ask again.",
    500: "What is stored, or the server, is damaged.",
    503: "Storage cannot be reached.",
    504: "The time for the request is over.",
}
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_BODIES: Mapping[str, Mapping[str, Any]] = {
    "load_records": {"application/octet-stream": _BINARY, NDJSON: {"schema": {"type": "string"}}},
    "put_blob": {"application/octet-stream": _BINARY, "text/plain": {"schema": {"type": "string"}}},
}
"""Of the operations that read their bodies themselves."""
_WITHOUT_TOKEN = frozenset({"/healthz", "/readyz"})


def describe_routes(app: FastAPI, tokens: Identity) -> Callable[[], dict[str, Any]]:
    """Return what makes the description of an application, once."""
    made: dict[str, Any] = {}

    def describe() -> dict[str, Any]:
        if not made:
            made.update(_describe(app, is_open=tokens.is_open))
        return made

    return describe


def _describe(app: FastAPI, is_open: bool) -> dict[str, Any]:
    found = get_openapi(
        title=app.title,
        version=app.version,
        description="Graphs that are versioned, branched and merged, over HTTP. Errors have one shape.",
        routes=app.routes,
    )
    parts, book = found["components"], SchemaBook()
    for model in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(model, None)
    parts["schemas"] |= {"Error": _ERROR, "LanceError": _LANCE_ERROR}
    for model, example in EXAMPLES.items():
        parts["schemas"][model]["example"] = dict(example)
    if not is_open:
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            _complete(book, path, method, operation, is_open)
    assert not parts["schemas"].keys() & book.schemas.keys(), "a body and an answer have the same name"
    parts["schemas"] |= book.schemas
    return found


def _complete(book: SchemaBook, path: str, method: str, operation: dict[str, Any], is_open: bool) -> None:
    name = operation["operationId"]
    answers = operation["responses"]
    for status, known in answers.items():
        if status.startswith("2") and method != "head":
            describe_answers(book, name, status, known)
    answers.pop("422", None)
    shape = "LanceError" if path.startswith("/lance/") else "Error"
    statuses = dict(STATUSES) if path not in _WITHOUT_TOKEN else {}
    if path == "/readyz":
        statuses[503] = "The worker stops, or cannot read what it serves."
    if name == "read_blob":
        statuses[416] = "The range begins beyond the end."
    if shape == "LanceError":
        statuses[406] = "The operation is not offered."
    for status, text in statuses.items():
        answer: dict[str, Any] = {"description": text}
        if method != "head":
            answer["content"] = {JSON: {"schema": {"$ref": f"#/components/schemas/{shape}"}}}
        answers.setdefault(str(status), answer)
    if name in _BODIES:
        operation["requestBody"] = {"required": True, "content": dict(_BODIES[name])}
    if not is_open and path not in _WITHOUT_TOKEN:
        operation["security"] = [{"token": []}]
