"""What a write costs that has run before: Python calls are counted, as times vary on a shared machine."""

from __future__ import annotations

from pathlib import Path

import omnigraph as og
from support.counted_calls import count_calls

SCHEMA = "node Person { name: String @key  age: I64? }"
INSERT = "query q($name: String) { insert Person { name: $name } }"
MOST_CALLS = 950


def test_a_repeated_one_row_write_takes_few_calls(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA, storage_options={"fsync": "false"})
    for number in range(3):
        graph.mutate(INSERT, {"name": f"p{number}"})
    assert count_calls(lambda: graph.mutate(INSERT, {"name": "ada"})) <= MOST_CALLS
