"""The shared conformance cases that need the schema language alone: compiling and planning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from omnigraph.base.errors import OmniError, ParseError
from omnigraph.compiler.catalog.migration import plan_migration
from omnigraph.compiler.frontend import compile_schema, format_schema

CASES = Path(__file__).parent / "cases"
Case = dict[str, Any]


def _cases(*operations: str) -> list[Case]:
    lines = [line for path in sorted(CASES.glob("*.jsonl")) for line in path.read_text().splitlines() if line]
    return [
        case for case in map(json.loads, lines) if not operations or case.get("op", "query") in operations
    ]


def _identifier(case: Case) -> str:
    return str(case["id"])


def _assert_expected_error(error: OmniError, expect: Case) -> None:
    fragments = expect.get("error_contains_any")
    assert fragments, f"unexpected error: {error.message}"
    assert any(fragment.lower() in error.message.lower() for fragment in fragments), error.message
    assert isinstance(error, ParseError) == (expect["stage"] == "parse")


@pytest.mark.parametrize("case", _cases("schema"), ids=_identifier)
def test_a_schema_compiles_or_is_refused_as_the_case_says(case: Case) -> None:
    try:
        compile_schema(case["schema"])
    except OmniError as error:
        _assert_expected_error(error, case["expect"])
    else:
        assert case["expect"]["rows"] == []


@pytest.mark.parametrize("case", _cases("plan"), ids=_identifier)
def test_a_migration_is_planned_as_the_case_says(case: Case) -> None:
    try:
        plan = plan_migration(compile_schema(case["schema"]), case["schema2"])
    except OmniError as error:
        _assert_expected_error(error, case["expect"])
        return
    expect = case["expect"]
    assert plan.supported == expect["supported"]
    steps = [step.to_json() for step in plan.steps]
    for wanted in expect["steps_contain"]:
        assert any(wanted.items() <= step.items() for step in steps), steps
    if expect["supported"] and not expect["steps_contain"]:
        assert steps == []


@pytest.mark.parametrize(
    "case", [case for case in _cases() if case.get("op") not in ("schema", "plan")], ids=_identifier
)
def test_the_schema_of_every_other_case_compiles_and_can_be_formatted(case: Case) -> None:
    assert compile_schema(format_schema(case["schema"])) == compile_schema(case["schema"])
