"""Conditions that a review found wrong: dates in lists, truths beside truths, many members, and threads."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = (
    "node A { k: String @key  day: Date?  days: [Date]?  at: DateTime?  moments: [DateTime]?  ok: Bool? }"
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    made = og.init(tmp_path_factory.mktemp("conditions") / "g", SCHEMA)
    moment = "2026-01-02T03:04:05.678Z"
    rows = [
        {
            "k": "in",
            "day": "2026-01-02",
            "days": ["2026-01-01", "2026-01-02"],
            "at": moment,
            "moments": [moment],
        },
        {
            "k": "out",
            "day": "2026-01-02",
            "days": ["2026-01-01"],
            "at": moment,
            "moments": ["2026-01-02T00:00:00Z"],
        },
    ]
    made.load([{"type": "A", "data": row} for row in rows], mode="append")
    return made


@pytest.mark.parametrize("condition", ["$a.days contains $a.day", "$a.moments contains $a.at"])
def test_a_list_of_dates_contains_a_date_of_the_row(graph: og.Graph, condition: str) -> None:
    found = graph.query(f"query q() {{ match {{ $a: A  {condition} }} return {{ $a.k }} }}")
    assert [row["a.k"] for row in found] == ["in"]


def test_truths_are_compared_with_truths(graph: og.Graph) -> None:
    gq = "query q($x: Bool, $y: Bool) { match { $a: A  $x = $y } return { count($a) as n } }"
    assert graph.query(gq, {"x": True, "y": True}).rows == [{"n": 2}]
    assert graph.query(gq, {"x": True, "y": False}).rows == [{"n": 0}]


def test_a_long_list_of_keys_is_looked_at_once(graph: og.Graph) -> None:
    gq = "query q($ids: [String]) { match { $a: A  $a.k in $ids } return { $a.k } }"
    asked = [f"nobody-{at}" for at in range(20_000)] + ["out"]
    assert [row["a.k"] for row in graph.query(gq, {"ids": asked})] == ["out"]
    assert graph.query(gq, {"ids": []}).rows == []


def test_a_large_limit_does_not_start_another_engine(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "g", "node D { k: String @key  v: Vector(2)? }")
    graph.load([{"type": "D", "data": {"k": "a", "v": [1.0, 0.0]}}], mode="append")
    gq = "query q() { match { $d: D } return { $d.k } order { nearest($d.v, [1.0, 0.0]) } limit 2147483647 }"
    assert graph.query(gq, timeout=20).rows == [{"d.k": "a"}]


def test_threads_read_one_handle_right_after_a_write(tmp_path: Path) -> None:
    columns = [f"c{at}" for at in range(12)]
    fields = "  ".join(f"{name}: I64?" for name in columns)
    graph = og.init(tmp_path / "g", f"node W {{ k: String @key  {fields} }}")
    for part in range(4):
        rows = [{"k": f"{part}-{at}", **dict.fromkeys(columns, at)} for at in range(50)]
        graph.load([{"type": "W", "data": row} for row in rows], mode="append")
    failures: list[BaseException] = []

    def read(number: int) -> None:
        try:
            for name in columns[number % 3 :]:
                gq = f"query q() {{ match {{ $w: W {{ {name}: 3 }} }} return {{ count($w) as n }} }}"
                assert graph.query(gq).rows == [{"n": 4}]
        except BaseException as error:
            failures.append(error)

    for turn in range(3):
        graph.load([{"type": "W", "data": {"k": f"new-{turn}"}}], mode="append")
        threads = [threading.Thread(target=read, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
