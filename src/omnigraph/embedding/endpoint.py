"""Posting JSON to a provider, with a deadline, retries and OmniGraph's errors.

The key travels in a header and nowhere else: not in an address, a message, a log line or a `repr`.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from omnigraph.base import clock, telemetry
from omnigraph.base.errors import EmbeddingRefused, EmbeddingUnavailable, InvalidEmbedding
from omnigraph.base.settings import Settings
from omnigraph.embedding.deadline import current_deadline
from omnigraph.embedding.rate_limit import RateLimit

_BACKOFF_SECONDS = 0.2
_MAX_ANSWER_BYTES = 64 * 2**20
_MAX_REASON_CHARACTERS = 200
_RETRY_STATUSES = frozenset({408, 425, 429})


class _TransientError(Exception):
    """A failure that a retry may not meet again."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class Endpoint:
    """A provider's base URL and its authentication headers."""

    def __init__(
        self, base_url: str, headers: Mapping[str, str], key: str | None, settings: Settings
    ) -> None:
        """Use headers that may hold the key; `key` is kept out of messages."""
        self.base_url = base_url.rstrip("/")
        self._headers = dict(headers)
        self._key = key
        self._settings = settings
        self._pace = RateLimit(settings.embedding_requests_per_minute)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Post a body and return the answer's JSON; transient failures are retried within the deadline."""
        now, settings, last = clock.current(), self._settings, current_deadline()
        end = now.monotonic() + settings.embedding_deadline_seconds
        for attempt in range(settings.embedding_retries + 1):
            end += self._pace.wait(last)  # waiting for our own rate limit is not a failure
            left = min(end, last) - now.monotonic()
            if last <= now.monotonic():
                raise self._unavailable_error(_TransientError("no time is left for another request"), attempt)
            try:
                return self._post_once(path, body, min(settings.embedding_timeout_seconds, left))
            except _TransientError as trouble:
                pause = trouble.retry_after
                if pause is None:
                    pause = _BACKOFF_SECONDS * 2**attempt * (0.75 + now.jitter() / 2)
                else:
                    self._pace.hold(pause)
                if attempt == settings.embedding_retries or now.monotonic() + pause >= min(end, last):
                    raise self._unavailable_error(trouble, attempt + 1) from None
            now.sleep(pause)
        raise AssertionError("unreachable")

    def _post_once(self, path: str, body: Mapping[str, Any], seconds: float) -> Any:
        telemetry.count("embedding.requests")
        end = clock.current().monotonic() + seconds
        try:
            with self._open_client().stream(
                "POST",
                f"{self.base_url}{path}",
                json=body,
                headers=self._headers,
                timeout=max(seconds, 0.001),
            ) as response:
                data = _read(response, end)
        except httpx.TimeoutException:
            raise _TransientError(f"no answer within {seconds:.3g} s") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _TransientError(self._hide_key(f"{type(error).__name__}: {error}")) from None
        if response.status_code in _RETRY_STATUSES or response.status_code >= 500:
            reason = f"status {response.status_code}{self._reason(data)}"
            raise _TransientError(reason, _retry_after(response.headers.get("retry-after")))
        if response.status_code != httpx.codes.OK:
            raise self._refusal_error(response.status_code, data)
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise InvalidEmbedding(
                f"the embedding provider at {self.base_url} answered with something that is not JSON"
            ) from None

    def _open_client(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = httpx.Client()
            return self._client

    def _refusal_error(self, status: int, data: bytes) -> EmbeddingRefused:
        advice = ": check the key" if status in (401, 403) else ""
        return EmbeddingRefused(
            f"the embedding provider at {self.base_url} refuses the request, status {status}{advice}"
            f"{self._reason(data)}",
            status=status,
        )

    def _unavailable_error(self, trouble: _TransientError, tries: int) -> EmbeddingUnavailable:
        later = f"; it asks to wait {trouble.retry_after:.3g} s" if trouble.retry_after else ""
        times = "once" if tries == 1 else f"{tries} times"
        return EmbeddingUnavailable(
            f"the embedding provider at {self.base_url} was asked {times}: {trouble.reason}{later}",
            tries=tries,
            retry_after=trouble.retry_after,
        )

    def _reason(self, data: bytes) -> str:
        """Return the reason that an answer gives, short, on one line and without the key."""
        text = data.decode(errors="replace")
        try:
            said = json.loads(text)["error"]
            text = said["message"] if isinstance(said, dict) else str(said)
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        text = re.sub(r"\s+", " ", self._hide_key(str(text))).strip()
        short = text if len(text) <= _MAX_REASON_CHARACTERS else text[:_MAX_REASON_CHARACTERS] + "…"
        return f" ({short})" if short else ""

    def _hide_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _read(response: httpx.Response, end: float) -> bytes:
    """Read an answer; give up on one that is too long or does not end in time."""
    data = bytearray()
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > _MAX_ANSWER_BYTES:
            raise InvalidEmbedding(
                f"the embedding provider answered with more than {_MAX_ANSWER_BYTES} bytes"
            )
        if clock.current().monotonic() > end:
            raise _TransientError("the answer did not end in time")
    return bytes(data)


def _retry_after(text: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, given as a number or a date."""
    if not text:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text.strip()):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    now = datetime.fromtimestamp(clock.current().now_us() / 1e6, UTC)
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
