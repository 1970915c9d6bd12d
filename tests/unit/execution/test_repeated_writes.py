"""What a write costs that has run before: Python calls are counted, as times vary on a shared machine."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import omnigraph as og

SCHEMA = "node Person { name: String @key  age: I64? }"
INSERT = "query q($name: String) { insert Person { name: $name } }"
MOST_CALLS = 950


def test_a_repeated_one_row_write_takes_few_calls(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA, storage_options={"fsync": "false"})
    for number in range(3):
        graph.mutate(INSERT, {"name": f"p{number}"})
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        graph.mutate(INSERT, {"name": "ada"})
    finally:
        sys.setprofile(None)
    assert calls <= MOST_CALLS
