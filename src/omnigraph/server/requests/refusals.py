"""Errors as answers of the server: one shape, whoever refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import Send

from omnigraph.base.errors import OmniError, Unauthorized
from omnigraph.server.context import current_request
from omnigraph.server.requests.json_answer import JsonAnswer
from omnigraph.wire.errors import HTTP_CODES, answer_error

_NO_JSON = "json_invalid"
"""What the framework calls a body that is not JSON."""

_MISSING = {
    "all": "it is missing: send a JSON object, {} where nothing need be said",
    "query": "it is missing: give it in the address, after the question mark",
    "header": "it is missing among the headers",
}
"""What to do where something is missing, by where that is; `all` is a whole body."""

_WRONG = {
    "model_attributes_type": "it must be a JSON object",
    "model_type": "it must be an object",
    "dict_type": "it must be an object",
    "list_type": "it must be a list",
    "string_type": "it must be a string",
    "int_type": "it must be a whole number",
    "bool_type": "it must be true or false",
    "extra_forbidden": "there is no member of this name: /openapi.json lists them",
}
"""What is wrong, in our words, by what the framework calls it."""


def add_refusals(app: FastAPI) -> None:
    """Let every error of an application be told in the one shape."""
    app.add_exception_handler(OmniError, _tell_error)
    app.add_exception_handler(RequestValidationError, _tell_invalid)
    app.add_exception_handler(HTTPException, _tell_http)


def answer_of(error: OmniError) -> JsonAnswer:
    """Return the response that tells an error."""
    answer = answer_error(error)
    headers = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    _note(error.code)
    return JsonAnswer(answer.body, answer.status, headers)


def refuse(message: str, code: str, **details: Any) -> JsonAnswer:
    """Return the response of a code that only HTTP has."""
    _note(code)
    body = {"error": message, "code": code, "retryable": False, "details": details}
    return JsonAnswer(body, HTTP_CODES[code])


async def send_error(send: Send, error: OmniError) -> None:
    """Tell an error where there is no application yet."""
    answer = answer_error(error)
    _note(error.code)
    body = json.dumps(answer.body).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if answer.retry_after is not None:
        headers.append((b"retry-after", str(answer.retry_after).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _tell_error(request: Request, error: Exception) -> JsonAnswer:
    assert isinstance(error, OmniError)
    return answer_of(error)


async def _tell_invalid(request: Request, error: Exception) -> JsonAnswer:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(item["loc"] == ("body",) and isinstance(item.get("input"), bytes) for item in found):
        given = request.headers.get("content-type") or "not named"
        return refuse(
            f"the body is JSON here, and its type is {given}: send Content-Type: application/json",
            "unsupported_media_type",
            content_type=request.headers.get("content-type"),
        )
    problems = [_describe_problem(item) for item in found]
    said = "; ".join(f"{item['where']}: {item['problem']}" for item in problems)
    _note("bad_input")
    body = {"error": said, "code": "bad_input", "retryable": False, "details": {"problems": problems}}
    return JsonAnswer(body, 400)


def _describe_problem(item: Mapping[str, Any]) -> dict[str, str]:
    if item["type"] == _NO_JSON:
        problem = f"it is not JSON: {item['ctx']['error']}, at character {item['loc'][-1] + 1}"
        return {"where": "body", "problem": problem}
    problem = _WRONG.get(item["type"], item["msg"])
    if item["type"] == "missing":
        problem = _MISSING.get(item["loc"][0] if len(item["loc"]) > 1 else "all", "it is missing")
    return {"where": ".".join(str(part) for part in item["loc"]), "problem": problem}


async def _tell_http(request: Request, error: Exception) -> JsonAnswer:
    assert isinstance(error, HTTPException)
    codes = {status: code for code, status in HTTP_CODES.items()} | {404: "not_found"}
    code = codes.get(error.status_code, "bad_input")
    _note(code)
    body = {"error": _word(request, error), "code": code, "retryable": False, "details": {}}
    return JsonAnswer(body, error.status_code, dict(error.headers or {}))


def _word(request: Request, error: HTTPException) -> str:
    """Return what a refusal of the framework means, and what to do."""
    cause, path = error.__cause__, request.url.path
    if isinstance(cause, UnicodeDecodeError):
        return f"body: it is not UTF-8: {cause.reason}, at byte {cause.start + 1}"
    if isinstance(cause, RecursionError):
        return "body: it is nested too deep"
    if isinstance(cause, ValueError):
        return f"body: it is not JSON that can be read: {cause}"
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return f"there is nothing at {path}: /openapi.json lists the paths"
        case HTTPStatus.METHOD_NOT_ALLOWED:
            offered = (error.headers or {}).get("Allow", "another")
            return f"{path} has no method {request.method}: use {offered}"
    return str(error.detail)


def _note(code: str) -> None:
    """Let the log and the metrics of the request say which error it was."""
    request = current_request()
    if request is not None:
        request.code = code
