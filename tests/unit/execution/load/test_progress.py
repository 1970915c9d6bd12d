"""What a load says while it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

import omnigraph as og
from omnigraph import spark
from omnigraph.execution.load.progress import LoadProgress, begin_phase, watch_load


class Noted(LoadProgress):
    """A progress that keeps what began."""

    def begin(self, phase: str) -> None:
        super().begin(phase)
        self.told = [*getattr(self, "told", []), (phase, self.rows)]


def test_a_load_names_its_phases_with_its_rows(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node Person { name: String @key }\n")
    with watch_load(noted := Noted()):
        graph.load([{"type": "Person", "data": {"name": name}} for name in "abc"], mode="append")
    assert noted.told == [("read", 0), ("check", 3), ("write", 3), ("publish", 3)]
    assert noted.describe() == "publish: 3 rows"
    begin_phase("read")  # nobody watches any more
    assert len(noted.told) == 4


def test_rows_of_other_processes_count_and_have_a_rate() -> None:
    progress = LoadProgress()
    assert progress.describe() is None
    progress.begin("read")
    assert progress.describe() == "read"
    progress.rows_elsewhere = lambda: 1_200_000
    assert re.fullmatch(r"read: 1,200,000 rows \([\d,]+ rows/s\)", str(progress.describe()))


def test_whoever_watches_hears_of_a_load_in_process(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node Person { name: String @key }\n")
    told: list[tuple[str, int, int]] = []
    rows = pa.table({"name": [f"p{number}" for number in range(3_000_000)]})  # long enough to be seen
    with spark.watched(lambda *some: told.append(some), seconds=0.001):
        graph.load(rows, type="Person", mode="append", engine="local")
    assert {(done, total) for _, done, total in told} == {(0, 0)}
    assert any(re.fullmatch(r"read: [\d,]+ rows \([\d,]+ rows/s\)", text) for text, *_ in told)
    assert any(
        text.startswith(("check: 3,000,000", "write: 3,000,000", "publish: 3,000,000")) for text, *_ in told
    )
