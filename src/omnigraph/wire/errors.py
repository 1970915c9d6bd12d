"""Errors as HTTP says them: a status, whether to wait, and a body that becomes the same error again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from omnigraph.base import errors
from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import OmniError, Unavailable
from omnigraph.wire.values import encode

RETRY_AFTER_SECONDS = 1

STATUS: Mapping[str, int] = {
    "error": 500,
    "access_denied": 503,
    "already_exists": 409,
    "bad_input": 400,
    "batch_landed": 409,
    "branch_gone": 409,
    "branch_in_use": 409,
    "branch_protected": 403,
    "change_cursor_rejected": 400,
    "change_diff_refusal": 409,
    "change_feed_gap": 410,
    "cluster_invalid": 400,
    "cluster_lock_held": 409,
    "cluster_managed": 409,
    "conflict": 409,
    "contention": 409,
    "corrupt_state": 500,
    "embedding_error": 424,
    "embedding_invalid": 424,
    "embedding_model_mismatch": 409,
    "embedding_not_configured": 424,
    "embedding_refused": 424,
    "embedding_unavailable": 503,
    "expected_version_mismatch": 409,
    "foreign_links": 409,
    "format_too_new": 500,
    "format_too_old": 500,
    "historical_version_reclaimed": 410,
    "invalid_name": 400,
    "key_conflict": 409,
    "merge_conflicts": 409,
    "not_a_graph": 404,
    "not_found": 404,
    "not_mergeable": 409,
    "outcome_unknown": 503,
    "bad_parameter": 400,
    "parse_error": 400,
    "policy_denied": 403,
    "precondition_failed": 412,
    "read_only": 503,
    "proposal_closed": 409,
    "resource_limit": 413,
    "schema_change_unsupported": 400,
    "schema_would_drop": 409,
    "spark_failed": 503,
    "spark_missing": 503,
    "state_cas_mismatch": 409,
    "storage_missing": 503,
    "too_many_requests": 429,
    "stored_query_broken": 400,
    "type_error": 400,
    "unauthorized": 401,
    "unavailable": 503,
    "unreadable_plan": 500,
    "validation_error": 400,
}
"""By the code of an error; every code has one, which a test holds."""

HTTP_CODES: Mapping[str, int] = {
    "method_not_allowed": 405,
    "range_not_satisfiable": 416,
    "unsupported_media_type": 415,
}
"""Codes that only HTTP has: no class of ours stands behind them."""


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An error as a response."""

    status: int
    body: dict[str, Any]
    retry_after: int | None
    """Seconds after which the same request may succeed."""


def answer_error(error: OmniError) -> ErrorAnswer:
    """Return the response that tells an error."""
    body: dict[str, Any] = {
        "error": error.message,
        "code": error.code,
        "retryable": error.retryable,
        "details": encode(error.details),
    }
    if error.code == errors.ExpectedVersionMismatch.code:
        # The name and the members that clients of the first system know.
        body["manifest_conflict"] = {
            name: body["details"].get(name) for name in ("table_key", "expected", "actual")
        }
    wait = error.details.get("retry_after", RETRY_AFTER_SECONDS) if error.retryable else None
    return ErrorAnswer(STATUS[error.code], body, None if wait is None else max(1, round(wait)))


def read_error(status: int, body: Any) -> OmniError:
    """Return the error that a response tells; one that is not of OmniGraph is `unavailable`."""
    kind = _classes().get(str(body.get("code"))) if isinstance(body, Mapping) else None
    if kind is None or not isinstance(body.get("error"), str):
        return Unavailable(
            f"the server answered with status {status} and no error of OmniGraph", status=status
        )
    details = dict(body.get("details") or {})
    if "diagnostics" in details:
        details["diagnostics"] = tuple(Diagnostic(**item) for item in details["diagnostics"])
    found = kind.__new__(kind)
    OmniError.__init__(found, body["error"], **details)
    return found


def _classes() -> dict[str, type[OmniError]]:
    return {kind.code: kind for kind in _walk(OmniError)}


def _walk(kind: type[OmniError]) -> Iterator[type[OmniError]]:
    # A private base shares its code with the class above it, which is the one that is meant.
    for child in kind.__subclasses__():
        yield from _walk(child)
    if not kind.__name__.startswith("_"):
        yield kind
