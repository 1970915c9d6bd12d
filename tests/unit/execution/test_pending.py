"""Statements that see what earlier ones did, however the stored rows are read."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.execution.write import write_overlay as pending
from support.stored_graph import read_back

SCHEMA = """
node Item { name: String @key  n: I32?  at: DateTime?  tags: [String]?  spot: Vector(2)?  body: Blob? }
node Log { n: I32  note: String? }
"""


@pytest.fixture(params=[0, 10_000], ids=["rows by id", "rows at once"])
def graph(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> og.Graph:
    monkeypatch.setattr(pending, "_MAX_ROWS_READ_WHOLE", request.param)
    graph = og.init(tmp_path / "graph", SCHEMA)
    full = {"at": "2026-01-02T03:04:05Z", "tags": ["x", "y"], "spot": [1, 2], "body": "base64:AAE="}
    graph.load(
        [{"type": "Item", "data": {"name": f"i{at}", "n": at, **(full if at else {})}} for at in range(4)]
        + [{"type": "Item", "data": {"name": "none"}}],
        mode="append",
    )
    return graph


def _numbers(graph: og.Graph) -> dict[str, object]:
    return {name: row["n"] for name, row in read_back(graph.snapshot()).nodes["Item"].items()}


def test_updates_of_updates_and_of_inserts_count_each_time(graph: og.Graph) -> None:
    done = graph.mutate("""query q() {
        insert Item { name: "new", n: 9 }
        insert Item { name: "i0", n: 8 }
        update Item set { n: 20 } where n >= 2
        update Item set { n: 21 } where n = 20
        insert Item { name: "i2", n: 2 }
        update Item set { n: 22 } where n = 2
    }""")
    # new, i0; new, i0, i2, i3; the same four; i2; i2
    assert (done.affected_nodes, done.affected_edges) == (2 + 4 + 4 + 1 + 1, 0)
    assert _numbers(graph) == {"i0": 21, "i1": 1, "i2": 22, "i3": 21, "new": 21, "none": None}


def test_an_update_keeps_every_other_property(graph: og.Graph) -> None:
    before = read_back(graph.snapshot()).nodes["Item"]
    graph.mutate("query q() { update Item set { n: 5 } where n < 3  update Item set { n: 6 } where n = 5 }")
    after = read_back(graph.snapshot()).nodes["Item"]
    changed = {"i0", "i1", "i2"}
    assert after == {name: {**row, "n": 6} if name in changed else row for name, row in before.items()}
    blobs = graph.snapshot().table("node:Item").dataset.to_table(["name", "body"], blob_handling="all_binary")
    kept = {"i1", "i2", "i3"}
    assert {row["name"]: row["body"] for row in blobs.to_pylist()} == {
        name: b"\x00\x01" if name in kept else None for name in after
    }


def test_every_kind_of_value_can_be_assigned_to_many_rows(graph: og.Graph) -> None:
    done = graph.mutate("""query q($b: Blob) {
        update Item set { at: datetime("2026-02-03T00:00:00Z"), tags: ["z"], spot: [3, 4], body: $b }
        where n >= 0
    }""", {"b": "base64:Ag=="})  # fmt: skip
    assert done.affected_nodes == 4
    rows = read_back(graph.snapshot()).nodes["Item"]
    assert {(row["at"], row["tags"], row["spot"]) for name, row in rows.items() if name != "none"} == {
        (1_770_076_800_000, ("z",), (3.0, 4.0))
    }


def test_an_update_that_matches_nothing_makes_no_commit(graph: og.Graph) -> None:
    version = graph.snapshot().version
    for where in ("n = 77", "n > 2147483648", 'name = "nobody"', "n != 77"):
        done = graph.mutate(
            f"query q() {{ update Log set {{ n: 1 }} where {where.replace('name', 'note')} }}"
        )
        assert (done.commit_id, done.affected_nodes) == (None, 0)
    assert graph.snapshot().version == version
