"""Requests to a server: errors come back as what they were, and only what is safe is sent again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

from omnigraph.base.errors import MergeConflicts, OmniError, Unavailable
from omnigraph.base.ids import new_ulid
from omnigraph.graph.merge.conflicts import MergeConflict
from omnigraph.wire.errors import read_error
from omnigraph.wire.media import IF_COMMIT_HEADER, KEY_HEADER
from omnigraph.wire.values import decode

_TIMEOUT = httpx.Timeout(60.0, read=None)
_MAX_SENDS = 3


class Transport:
    """One graph on one server."""

    def __init__(self, uri: str, token: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.uri = uri.rstrip("/")
        self._client = httpx.Client(headers=headers, timeout=_TIMEOUT)

    def ask(self, path: str, **params: Any) -> Any:
        """Get what lies at a path; parameters that are None are left out."""
        return self._send("GET", path, params=_given(params)).json()

    def read(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post a body that changes nothing, and return the answer."""
        return self._send("POST", path, json=_given(body)).json()

    def write(
        self, path: str, body: Mapping[str, Any], key: str | None = None, if_commit: str | None = None
    ) -> Any:
        """Post a change once: it carries an idempotency key, so that it can be sent again."""
        headers = {KEY_HEADER: key or new_ulid()}
        if if_commit is not None:
            headers[IF_COMMIT_HEADER] = if_commit
        return self._send("POST", path, json=_given(body), headers=headers).json()

    def act(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Change something that has no key; it is sent once."""
        answer = self._send(method, path, sends=1, json=None if body is None else _given(body))
        return answer.json() if answer.content else None

    def upload(self, path: str, content: Any, params: Mapping[str, Any], key: str | None) -> Any:
        """Send a file as a change."""
        headers = {KEY_HEADER: key or new_ulid()}
        return self._send(
            "POST", path, sends=1, content=content, params=_given(params), headers=headers
        ).json()

    @contextmanager
    def stream(self, path: str, body: Mapping[str, Any], accept: str) -> Iterator[httpx.Response]:
        """Post a body and read the answer while it comes."""
        try:
            with self._client.stream(
                "POST", self.uri + path, json=_given(body), headers={"Accept": accept}
            ) as answer:
                if answer.is_error:
                    answer.read()
                    raise _error_of(answer)
                yield answer
        except httpx.HTTPError as error:
            raise _unreachable(self.uri, error) from error

    def close(self) -> None:
        """Let go of connections; the next request opens new ones."""
        self._client.close()

    def _send(self, method: str, path: str, sends: int = _MAX_SENDS, **given: Any) -> httpx.Response:
        for left in range(sends - 1, -1, -1):
            try:
                answer = self._client.request(method, self.uri + path, **given)
            except httpx.HTTPError as error:
                if left and isinstance(error, httpx.TransportError):
                    continue
                raise _unreachable(self.uri, error) from error
            if answer.is_error:
                raise _error_of(answer)
            return answer
        raise AssertionError("a request is sent at least once")


def quoted(name: str) -> str:
    """Return a name as a part of a path; slashes stay, as branches may have them."""
    return quote(name, safe="/")


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _error_of(answer: httpx.Response) -> OmniError:
    """Return the error that an answer tells, with what it carries as it is in process."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    error = read_error(answer.status_code, body)
    if isinstance(error, MergeConflicts):
        error.details["conflicts"] = decode(tuple[MergeConflict, ...], error.details["conflicts"])
    return error


def _unreachable(uri: str, error: Exception) -> Unavailable:
    return Unavailable(f"the server at {uri} does not answer: {error or type(error).__name__}", uri=uri)
