"""Errors as answers of the server: one shape, whoever refuses."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Send

from omnigraph.base.errors import OmniError, Unauthorized
from omnigraph.server.context import current_request
from omnigraph.wire.errors import HTTP_CODES, answer_error


def add_refusals(app: FastAPI) -> None:
    """Let every error of an application be told in the one shape."""
    app.add_exception_handler(OmniError, _tell_error)
    app.add_exception_handler(RequestValidationError, _tell_invalid)
    app.add_exception_handler(HTTPException, _tell_http)


def answer_of(error: OmniError) -> JSONResponse:
    """Return the response that tells an error."""
    answer = answer_error(error)
    headers = {} if answer.retry_after is None else {"Retry-After": str(answer.retry_after)}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    _note(error.code)
    return JSONResponse(answer.body, answer.status, headers)


def refuse(message: str, code: str, **details: Any) -> JSONResponse:
    """Return the response of a code that only HTTP has."""
    _note(code)
    body = {"error": message, "code": code, "retryable": False, "details": details}
    return JSONResponse(body, HTTP_CODES[code])


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


async def _tell_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, OmniError)
    return answer_of(error)


async def _tell_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = [
        {"where": ".".join(str(part) for part in item["loc"]), "problem": item["msg"]}
        for item in error.errors()
    ]
    said = "; ".join(f"{item['where']}: {item['problem']}" for item in problems)
    _note("bad_input")
    body = {"error": said, "code": "bad_input", "retryable": False, "details": {"problems": problems}}
    return JSONResponse(body, 400)


async def _tell_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    codes = {status: code for code, status in HTTP_CODES.items()} | {404: "not_found"}
    code = codes.get(error.status_code, "bad_input")
    _note(code)
    body = {"error": str(error.detail), "code": code, "retryable": False, "details": {}}
    return JSONResponse(body, error.status_code, dict(error.headers or {}))


def _note(code: str) -> None:
    """Let the log and the metrics of the request say which error it was."""
    request = current_request()
    if request is not None:
        request.code = code
