"""Requests to a server: errors come back as what they were, and only what is safe is sent again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from omnigraph.base import clock
from omnigraph.base.errors import MergeConflicts, OmniError, OutcomeUnknown, Unavailable
from omnigraph.base.ids import new_ulid
from omnigraph.graph.merge.conflicts import MergeConflict
from omnigraph.sdk.remote.requests.connections import Answer, Connections, Lost, NotSent
from omnigraph.sdk.remote.requests.exchange import SentContent
from omnigraph.wire.errors import read_error
from omnigraph.wire.media import EXACT, HANDLE_HEADER, IF_COMMIT_HEADER, JSON, KEY_HEADER, VALUES_HEADER
from omnigraph.wire.values import decode

_PAUSES_SECONDS = (0.05, 0.5)
"""Seconds before a request is sent again."""
_TOO_MANY_STATUS = 429
_MAX_WAIT_SECONDS = 5.0
_FIRST_ERROR_STATUS = 400


class Transport:
    """One graph on one server."""

    def __init__(self, uri: str, token: str | None) -> None:
        self.uri = uri.rstrip("/")
        self.token = token
        self.branch = ""
        """The branch that is meant when none is named."""
        self.key: str | None = None
        """The idempotency key of what is written here, where a write names none."""
        self._connections = Connections(self.uri)
        self._path = urlsplit(self.uri).path
        self._headers = {"Accept": JSON, VALUES_HEADER: EXACT}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def fork(self, key: str | None = None) -> Transport:
        """Return a transport that shares connections and nothing else: branch and key are its own."""
        other = copy(self)
        other.key, other._headers = key, dict(self._headers)
        return other

    @property
    def names(self) -> list[str]:
        """The name of the graph, as a path of namespaces."""
        return [unquote(self._path.rsplit("/", 1)[-1])]

    def beside(self, name: str) -> tuple[str, dict[str, str]]:
        """Return another address of the same server, and the headers that say who is calling."""
        root = self.uri.removesuffix(self._path) + self._path.rpartition("/graphs/")[0]
        known = {name: value for name, value in self._headers.items() if name == "Authorization"}
        return f"{root}/{name}", known

    def work_on(self, branch: str, incarnation: str) -> None:
        """Say with every request which branch is meant when it names none."""
        self.branch = branch
        self._headers[HANDLE_HEADER] = f"{quote(branch, safe='/')}@{incarnation}"

    def ask(self, path: str, **params: Any) -> Any:
        """Get what lies at a path; parameters that are None are left out."""
        return self._exchange("GET", with_params(path, params))

    def read(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post a body that changes nothing, and return the answer."""
        return self._exchange("POST", path, body)

    def write(
        self, path: str, body: Mapping[str, Any], key: str | None = None, if_commit: str | None = None
    ) -> Any:
        """Post a change once: it carries an idempotency key, so that it can be sent again."""
        headers = {KEY_HEADER: key or self.key or new_ulid()}
        if if_commit is not None:
            headers[IF_COMMIT_HEADER] = if_commit
        return self._exchange("POST", path, body, headers, writes=True)

    def answer(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
        key: str | None = None,
        if_commit: str | None = None,
    ) -> Answer:
        """Post what may be a change, as `write` does, and return the whole answer, of whatever form."""
        content, given = _as_content(body)
        told = {**given, **headers, KEY_HEADER: key or self.key or new_ulid()}
        if if_commit is not None:
            told[IF_COMMIT_HEADER] = if_commit
        return self._send("POST", path, content, told, True, True)

    def act(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, if_commit: str | None = None
    ) -> Any:
        """Change something that has no key: it is sent again only when the server was not reached."""
        headers = {} if if_commit is None else {IF_COMMIT_HEADER: if_commit}
        return self._exchange(method, path, body, headers, writes=True, can_repeat=False)

    def upload(
        self,
        method: str,
        path: str,
        content: SentContent,
        params: Mapping[str, Any],
        headers: Mapping[str, str],
    ) -> Any:
        """Send bytes as a change; what can be read only once, or has no key, is sent once."""
        can_repeat = isinstance(content, bytes) and KEY_HEADER in headers
        given = {"Content-Type": "application/octet-stream", **headers}
        return _read_json(self._send(method, with_params(path, params), content, given, True, can_repeat))

    def read_bytes(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
        """Post a body that changes nothing, and return the bytes of the whole answer."""
        content, given = _as_content(body)
        return self._send("POST", path, content, {**given, **headers}, False, True).content

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
    ) -> Iterator[Answer]:
        """Ask for an answer that is read while it comes."""
        content, given = _as_content(body)
        answer = self._send(method, path, content, {**given, **headers}, False, True, is_whole=False)
        try:
            yield answer
        except Lost as error:
            raise self._unreachable(error) from error
        finally:
            answer.close()

    def fetch(self, path: str, params: Mapping[str, Any], start: int, end: int) -> bytes:
        """Return a range of the bytes that lie at a path."""
        headers = {"Range": f"bytes={start}-{end - 1}"}
        with self.stream("GET", with_params(path, params), headers) as answer:
            return answer.read()

    def close(self) -> None:
        """Let go of connections; the next request opens new ones."""
        self._connections.close()

    def _exchange(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        writes: bool = False,
        can_repeat: bool = True,
    ) -> Any:
        content, given = _as_content(body)
        return _read_json(self._send(method, path, content, {**given, **(headers or {})}, writes, can_repeat))

    def _send(
        self,
        method: str,
        path: str,
        body: SentContent,
        headers: Mapping[str, str],
        writes: bool,
        can_repeat: bool,
        is_whole: bool = True,
    ) -> Answer:
        """Send a request until it is answered. A write that may have been made is never called failed."""
        was_lost: Lost | None = None
        for pause in (*_PAUSES_SECONDS, None):
            try:
                answer = self._connections.send(method, self._path + path, {**self._headers, **headers}, body)
                if is_whole or answer.status >= _FIRST_ERROR_STATUS:
                    answer.load()
            except NotSent as error:
                if pause is None or not (body is None or isinstance(body, bytes)):
                    raise (
                        self._unknown(was_lost) if was_lost and writes else self._unreachable(error)
                    ) from error
            except Lost as error:
                was_lost = error
                if pause is None or not can_repeat:
                    raise self._unknown(error) if writes else self._unreachable(error) from error
            else:
                if answer.status < _FIRST_ERROR_STATUS:
                    return answer
                wait = _seconds_to_wait(answer)
                failure = _error_of(answer)
                if pause is None or wait is None or _is_stream(body):
                    raise failure
                clock.current().sleep(wait - pause)
            clock.current().sleep(pause)
        raise AssertionError("a request is sent at least once")

    def _unreachable(self, error: Exception) -> Unavailable:
        return Unavailable(f"the server at {self.uri} does not answer: {error}", uri=self.uri)

    def _unknown(self, error: Exception) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"the server at {self.uri} stopped answering: {error}. The change may have been made: look "
            "before you make it again",
            uri=self.uri,
        )


def quoted(name: str) -> str:
    """Return a name as a part of a path; slashes stay, as branches may have them."""
    return quote(name, safe="/")


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a caller gave: None stands for what was left out."""
    return {name: value for name, value in values.items() if value is not None}


def with_params(path: str, params: Mapping[str, Any]) -> str:
    """Return a path with parameters; those that are None are left out."""
    told = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in given(params).items()
    }
    return f"{path}?{urlencode(told, doseq=True)}" if told else path


def _as_content(body: Mapping[str, Any] | None) -> tuple[bytes | None, dict[str, str]]:
    if body is None:
        return None, {}
    return json.dumps(given(body), ensure_ascii=False).encode(), {"Content-Type": JSON}


def _read_json(answer: Answer) -> Any:
    try:
        return json.loads(answer.content) if answer.content else None
    except ValueError:
        raise read_error(answer.status, None) from None


def _is_stream(body: SentContent) -> bool:
    return body is not None and not isinstance(body, bytes)


def _seconds_to_wait(answer: Answer) -> float | None:
    """Return when a request that the server had no room for may be sent again; it has not begun."""
    if answer.status != _TOO_MANY_STATUS:
        return None
    told = answer.headers.get("retry-after", "")
    return max(
        _PAUSES_SECONDS[-1], min(float(told), _MAX_WAIT_SECONDS) if told.isascii() and told.isdigit() else 0
    )


def _error_of(answer: Answer) -> OmniError:
    """Return the error that an answer tells, with what it carries as it is in process."""
    try:
        body = json.loads(answer.content)
    except ValueError:
        body = None
    error = read_error(answer.status, body)
    if isinstance(error, MergeConflicts):
        error.details["conflicts"] = decode(tuple[MergeConflict, ...], error.details["conflicts"])
    return error
