"""Dense multi-hop patterns need memory for their answer, not for their paths (C17)."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.execution.local.steps import expand as hopping
from omnigraph.execution.local.steps import search_hops

_T = TypeVar("_T")

SCHEMA = "node Person { name: String @key  n: I64 }\nedge Knows: Person -> Person"
PEOPLE = 150
PATHS = PEOPLE * (PEOPLE - 1) ** 3
"""Paths of three hops in a group in which everybody knows everybody else: half a billion."""
BETWEEN = ((PEOPLE - 1) ** 3 + 1) // PEOPLE
"""Those between two given people."""
PATTERN = "$a: Person  $a knows $b  $b knows $c  $c knows $d"
ALLOWED = 400
"""MiB above what the process has before; all paths would take 16,000."""

RUN = """
import json, sys
import omnigraph as og

def highest():
    # Not ru_maxrss: that starts at the size of the process that started this one.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) // 1024

graph = og.open(sys.argv[1], read_only=True)
graph.query("query q() { match { $p: Person  $p knows $f } return { $p.name, count($f) as n } }")
before = highest()
if sys.argv[3] == "stream":
    batches = iter(graph.stream(sys.argv[2]))
    answer = [next(batches).num_rows for _ in range(100)]
else:
    told = graph.explain(sys.argv[2], analyze=True) if sys.argv[3] == "explain" else None
    answer = told.to_json() if told else graph.query(sys.argv[2], engine="local").rows
print(json.dumps({"grew": highest() - before, "answer": answer}))
"""


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    graph = og.init(tmp_path_factory.mktemp("dense") / "graph", SCHEMA)
    names = [f"p{n}" for n in range(PEOPLE)]
    graph.load(pa.table({"name": names, "n": list(range(PEOPLE))}), type="Person", mode="append")
    pairs = [(a, b) for a in names for b in names if a != b]
    ends = {"from": [a for a, _ in pairs], "to": [b for _, b in pairs]}
    graph.load(pa.table(ends), type="Knows", mode="append")
    return graph.uri


def _asked(uri: str, gq: str, how: str = "query") -> Any:
    done = subprocess.run(
        [sys.executable, "-c", RUN, uri, gq, how], capture_output=True, text=True, check=True, timeout=300
    )
    found = json.loads(done.stdout.splitlines()[-1])
    print(f"{found['grew']} MiB for {gq}")
    assert found["grew"] < ALLOWED
    return found["answer"]


def test_half_a_billion_paths_are_counted_without_being_walked(uri: str) -> None:
    assert PATHS > 200_000_000
    gq = f"query q() {{ match {{ {PATTERN} }} return {{ count($d) as n }} }}"
    assert _asked(uri, gq) == [{"n": PATHS}]


def test_paths_are_counted_where_their_ends_are_compared(uri: str) -> None:
    gq = f"query q() {{ match {{ {PATTERN}  $a.n < $d.n }} return {{ count($d) as n }} }}"
    assert _asked(uri, gq) == [{"n": PEOPLE * (PEOPLE - 1) // 2 * BETWEEN}]


def test_groups_of_paths_are_counted(uri: str) -> None:
    gq = (
        f"query q() {{ match {{ {PATTERN} }} return {{ $d.n, count($a) as m }} order {{ m, $d.n }} limit 2 }}"
    )
    gq = gq.replace("$d.n, count", "$d.n as end, count").replace("order { m, $d.n }", "order { end }")
    assert _asked(uri, gq) == [{"end": 0, "m": (PEOPLE - 1) ** 3}, {"end": 1, "m": (PEOPLE - 1) ** 3}]


def test_distinct_ends_of_paths_are_few(uri: str) -> None:
    shown = "{ $a.n as start, $d.n as end } order { end desc } limit 1"
    assert _asked(uri, f"query q() {{ match {{ {PATTERN} }} return distinct {shown} }}") == [
        {"start": 0, "end": PEOPLE - 1}
    ]


def test_a_small_limit_stops_the_walk_early(uri: str) -> None:
    shown = "{ $a.name, $b.name as b, $c.name as c, $d.name as d } limit 10"
    told = _asked(uri, f"query q() {{ match {{ {PATTERN} }} return {shown} }}", "explain")
    assert told["rows"] == 10
    assert max(step.get("rows", 0) for step in told["plan"]) < 10_000_000


def test_a_stream_of_all_paths_begins_at_once(uri: str) -> None:
    gq = f"query q() {{ match {{ {PATTERN} }} return {{ $a.n, $b.n as b, $c.n as c, $d.n as d }} }}"
    assert sum(_asked(uri, gq, "stream")) > 1_000_000


def _peak(run: Callable[[], _T]) -> tuple[_T, int]:
    """Return what a function gives, and the most MiB that its arrays took at once."""
    tracemalloc.start()
    try:
        return run(), tracemalloc.get_traced_memory()[1] >> 20
    finally:
        tracemalloc.stop()


def test_a_stream_of_all_paths_in_an_optional_block_begins_at_once(uri: str) -> None:
    pattern = "$a: Person  optional { $a knows $b  $b knows $c  $c knows $d }"
    gq = f"query q() {{ match {{ {pattern} }} return {{ $a.n, $b.n as b, $c.n as c, $d.n as d }} }}"
    batches = iter(og.open(uri, read_only=True).stream(gq))
    rows, took = _peak(lambda: sum(next(batches).num_rows for _ in range(40)))
    assert rows > 2_000_000
    assert took < ALLOWED


def test_what_follows_an_optional_block_sees_its_rows_piece_by_piece(uri: str) -> None:
    pattern = "$a: Person  optional { $a knows $b  $b knows $c }  $c.n < $a.n"
    counted = "{ $b.n as b, $c.n as c, count($a) as m } order { m } limit 1"
    shown = "{ $a.n as a, $b.n as b, $c.n as c } order { a desc, c, b } limit 1"
    graph = og.open(uri, read_only=True)
    gq = f"query q() {{ match {{ {pattern} }} return {counted} }}"
    assert graph.query(gq).rows == [{"b": 0, "c": PEOPLE - 2, "m": 1}]
    gq = f"query q() {{ match {{ {pattern} }} return {shown} }}"
    rows, took = _peak(lambda: graph.query(gq).rows)
    assert rows == [{"a": PEOPLE - 1, "b": 1, "c": 0}]
    assert took < ALLOWED


def test_a_negated_block_is_left_with_the_first_match_of_a_row(uri: str) -> None:
    beyond = "$a knows $b  $b knows $c  $c knows $d  $d.n > $a.n  $c.n != $b.n  $b.n != $d.n"
    gq = f"query q() {{ match {{ $a: Person  not {{ {beyond} }} }} return {{ $a.n as last }} }}"
    graph = og.open(uri, read_only=True)
    told, took = _peak(lambda: graph.explain(gq, analyze=True).to_json())
    assert told["rows"] == 1, "the last one"
    walked = max(step["rows"] for drop in told["plan"] for step in drop.get("children", ()))
    assert walked < 10_000_000
    assert took < ALLOWED


def test_what_lies_beyond_a_counted_end_is_counted_piece_by_piece(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hopping, "PIECE_ROWS", 1_000)
    monkeypatch.setattr(search_hops, "_WALK_EDGES", 1_000)
    monkeypatch.setenv("OMNIGRAPH_QUERY_ROWS", "30000")
    graph = og.open(uri, read_only=True)
    for hops in ("{1,2}", "{2,3}"):
        pattern = f"$a: Person  $a.n < 20  $a knows $b  $b knows{hops} $c  $c knows $d  $d.n < 5"
        gq = f"query q() {{ match {{ {pattern} }} return {{ count($d) as n }} }}"
        cut = graph.query(gq, engine="local").rows[0]["n"]
        with monkeypatch.context() as uncut:
            uncut.setattr(hopping, "PIECE_ROWS", 1 << 20)
            uncut.setattr(search_hops, "_WALK_EDGES", 1 << 20)
            uncut.setenv("OMNIGRAPH_QUERY_ROWS", "50000000")
            whole = og.open(uri, read_only=True)
            assert cut == whole.query(gq, optimise=hops == "{2,3}", engine="local").rows[0]["n"]
        assert (cut > 0) == (hops == "{1,2}"), "whoever is reached by one hop is not reached by two"


def test_pairs_over_many_hops_are_looked_for_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = 1_000
    graph = og.init(tmp_path / "graph", SCHEMA)
    names = [f"p{n}" for n in range(people)]
    graph.load(pa.table({"name": names, "n": list(range(people))}), type="Person", mode="append")
    ends = [(n, (n * step + at) % people) for n in range(people) for at, step in enumerate((1, 3, 7), 1)]
    edges = {"from": [names[a] for a, _ in ends], "to": [names[b] for _, b in ends]}
    graph.load(pa.table(edges), type="Knows", mode="append")
    monkeypatch.setattr(hopping, "PIECE_ROWS", 1 << 16)
    monkeypatch.setattr(search_hops, "_WALK_EDGES", 1 << 16)
    monkeypatch.setenv("OMNIGRAPH_QUERY_ROWS", "375000")
    reader = og.open(graph.uri, read_only=True)
    gq = "query q() { match { $a: Person  $a knows{1,30} $b  $a.n >= $b.n } return { count($b) as n } }"
    some = reader.query(gq).rows[0]["n"]
    every = reader.query(gq.replace("$a.n >= $b.n", "")).rows[0]["n"]
    assert 375_000 < some < every < people**2
