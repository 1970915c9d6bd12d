"""The conformance cases: where they are, and how answers are compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "conformance" / "cases"
Case = dict[str, Any]


def cases(wanted: Callable[[Case], bool]) -> list[Any]:
    """Return the wanted cases as parameters of a test, named by file and id."""
    return [
        pytest.param(case, id=f"{file.stem}-{case['id']}")
        for file in sorted(FOLDER.glob("*.jsonl"))
        for case in map(json.loads, file.read_text().splitlines())
        if wanted(case)
    ]


def comparable(rows: list[dict[str, Any]], ordered: bool | None) -> Any:
    """Return rows so that equal answers are equal: a multiset unless they are ordered, numbers by value."""
    texts = [json.dumps(_by_value(row), sort_keys=True) for row in rows]
    return texts if ordered else Counter(texts)


def _by_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _by_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_by_value(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
