"""Checks: stored queries that must return no rows on what a merge would make of a branch."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.base.errors import BadInput, OmniError
from omnigraph.execution.read import Reader, ReadRequest
from omnigraph.graph.proposals.model import CheckResult
from omnigraph.graph.snapshot import Snapshot
from omnigraph.wire.values import encode

SHOWN_ROWS = 20


def run_checks(
    reader: Reader, result: Snapshot, target: Snapshot, names: Sequence[str]
) -> tuple[CheckResult, ...]:
    """Run checks on a merged result; the target says what they are: no proposal changes its own."""
    return tuple(_run_check(reader, result, target, name) for name in names)


def _run_check(reader: Reader, result: Snapshot, target: Snapshot, name: str) -> CheckResult:
    try:
        found = reader.run(result, ReadRequest(_find_text(target, name), name=name))
    except OmniError as error:
        return CheckResult(name, False, error=error.message)
    shown = tuple(encode(row) for row in found[:SHOWN_ROWS])
    return CheckResult(name, not len(found), shown, tuple(found.columns), len(found))


def _find_text(target: Snapshot, name: str) -> str:
    query = target.queries.find(name)
    if query.is_mutation:
        raise BadInput(f"stored query {name!r} is a mutation: a check is a read that returns no rows")
    return query.text
