"""Errors as agents get them: code, message, what to do next, and whether the same call may succeed later."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from omnigraph.base.errors import MergeConflicts, OmniError
from omnigraph.mcp.limits import ToolLimits
from omnigraph.mcp.pages import cut_down
from omnigraph.wire.values import encode

_WRITE_ELSEWHERE = "Make a branch of your own (create_branch), change that, and propose it (propose)."
_READ_LANGUAGE = "The tool language has the grammar with examples, the tool schema the types and properties."
HINTS: Mapping[str, str] = {
    "already_exists": "Choose another name, or work with what is there.",
    "bad_parameter": "The input schema of the tool says which parameters there are, and of which types.",
    "branch_protected": _WRITE_ELSEWHERE,
    "conflict": "Somebody else has changed the same rows: read them again, and decide anew.",
    "contention": "Many write at once: call again.",
    "expected_version_mismatch": "Somebody else has changed the same rows: read them again, and decide anew.",
    "key_conflict": "There is such a node already: look at it (entity), and update it, or load with mode "
    "merge.",
    "merge_conflicts": "Answer each conflict: call again with resolutions, each conflict with take "
    "added. In a proposal, "
    "resolve_proposal saves answers one by one.",
    "not_mergeable": "show_proposal says what is missing, with the rows of checks that failed.",
    "outcome_unknown": "It may have happened: look (commits), or call again with the same idempotency_key.",
    "parse_error": _READ_LANGUAGE,
    "policy_denied": "You may not do this. Tools that you may call are listed; ask who keeps the policy.",
    "precondition_failed": "The branch has moved: look at what is new (diff), and decide anew.",
    "read_only": "This connection only reads.",
    "too_many_requests": "Wait a second, and call again.",
    "type_error": _READ_LANGUAGE,
    "unavailable": "Call again in a moment; with the same idempotency_key nothing is done twice.",
    "validation_error": "The tool schema shows the rules of each type. Nothing was written: correct it "
    "and call again.",
}
"""By the code of an error; messages say what is wrong, these what an agent can do about it."""


_WRITES = frozenset({"change", "schema_apply", "branch_merge"})
"""What an actor who may not do it to a branch may perhaps propose."""


def describe_error(error: OmniError, limits: ToolLimits) -> dict[str, Any]:
    """Return an error as the answer of a tool."""
    details = dict(error.details)
    if isinstance(error, MergeConflicts):
        found = list(error.details.get("conflicts", ()))
        details["conflicts"] = [item.to_json() for item in islice(found, limits.rows)]
        details["conflict_count"] = len(found)
    answer: dict[str, Any] = {
        "error": error.message,
        "code": error.code,
        "retryable": error.retryable,
        "hint": _find_hint(error),
        "details": encode(details),
    }
    bounded: dict[str, Any] = cut_down(answer, limits.bytes)
    return bounded


def _find_hint(error: OmniError) -> str | None:
    branch = error.details.get("branch") or error.details.get("target_branch")
    if error.code == "policy_denied" and branch is not None and error.details.get("action") in _WRITES:
        return _WRITE_ELSEWHERE
    return HINTS.get(error.code)
