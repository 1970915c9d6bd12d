"""Rules that a schema change adds, against stored rows: old columns, renamed ones and new ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og

EDGE = "edge E: A -> A { w: I64? }"
BEFORE = f"node A {{ k: String @key  n: I64? }}\n{EDGE}"
RECORDS = [
    *({"type": "A", "data": {"k": str(at), "n": at}} for at in range(3)),
    {"edge": "E", "from": "0", "to": "1", "data": {"w": 1}},
    {"edge": "E", "from": "0", "to": "2", "data": {"w": 1}},
]

SATISFIED = [
    f"node A {{ k: String @key  n: I64?  x: I64? @unique }}\n{EDGE}",
    f"node A {{ k: String @key  n: I64?  x: I64?  @unique(n, x) }}\n{EDGE}",
    f"node A {{ k: String @key  n: I64?  x: I64 @default(2)  @unique(n, x) }}\n{EDGE}",
    f"node A {{ k: String @key  n: I64?  x: I64?  @range(x, 5..9)  @range(n, 0..2) }}\n{EDGE}",
    f'node A {{ k: String @key  n: I64?  x: String?  @check(x, "a")  @check(k, "[0-2]") }}\n{EDGE}',
    f'node A {{ k: String @key  m: I64 @rename_from("n") @unique }}\n{EDGE}',
    "node A { k: String @key  n: I64? }\nedge E: A -> A @card(1..2) { w: I64?  z: Date? @unique }",
    "node A { k: String @key  n: I64? }\nedge E: A -> A { w: I64?  @unique(src, dst) }",
]
BROKEN = [
    (f"node A {{ k: String @key  n: I64?  x: I64 @default(1) @unique }}\n{EDGE}", "@unique violation on A.x"),
    (f"node A {{ k: String @key  n: I64?  @range(n, 1..) }}\n{EDGE}", "@range violation on A.n"),
    (f'node A {{ k: String @key  n: I64?  @check(k, "[01]") }}\n{EDGE}', "@check violation on A.k"),
    (
        "node A { k: String @key  n: I64? }\nedge E: A -> A @card(0..1) { w: I64? }",
        "@card violation on edge E",
    ),
    ("node A { k: String @key  n: I64? }\nedge E: A -> A { w: I64?  @unique(src, w) }", "@unique violation"),
    (f"node A {{ k: String @key  n: I64?  x: I64 }}\n{EDGE}", "OG-MF-103"),
]


def _graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", BEFORE)
    graph.load(RECORDS, mode="append")
    return graph


@pytest.mark.parametrize("after", SATISFIED)
def test_a_change_that_the_rows_satisfy_is_one_commit(after: str, tmp_path: Path) -> None:
    graph = _graph(tmp_path)
    before = graph.snapshot()
    done = graph.schema.apply(after)
    assert done.applied
    assert graph.snapshot().version == before.version + 1
    assert [table.rows for table in graph.snapshot().tables] == [table.rows for table in before.tables]
    assert not graph.schema.apply(after).applied


@pytest.mark.parametrize(("after", "message"), BROKEN)
def test_a_change_that_the_rows_break_is_refused_and_changes_nothing(
    after: str, message: str, tmp_path: Path
) -> None:
    graph = _graph(tmp_path)
    before = graph.snapshot()
    with pytest.raises(og.SchemaChangeUnsupported) as raised:
        graph.schema.apply(after)
    assert message in str(raised.value)
    assert graph.snapshot().commit_id == before.commit_id
    assert graph.schema.source == BEFORE
