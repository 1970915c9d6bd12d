"""`optimize` killed at every failpoint on its way (4.6), and racing writers in other processes.

The numbers in comments are the assertions of section 5 of the crash matrix.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.graph.maintenance.optimize.optimize_table import BUSY
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.indexes.analyser import tokens
from omnigraph.storage.indexes.indexes import list_indexes
from omnigraph.storage.rows.search import nearest
from support import graph_tasks
from support.graphs import notes, plan_paths
from support.integrity_oracle import assert_integrity
from support.lance_tables import has
from support.words import rows_with_words
from support.workers import Worker, Workers

SCHEMA = """
node Doc { slug: String @key  title: String @index  rank: I32? @index  vec: Vector(4)? @index }
node Tag { name: String @key }
edge Links: Doc -> Doc { weight: F64? }
"""
DOC, TAG, LINKS = "node:Doc", "node:Tag", "edge:Links"
BASE_VERSION = 15
"""The next commit leaves a hint, so that this window can be hit too."""

Content = dict[str, list[dict[str, Any]]]


def _docs(first: int, end: int, title: str = "Running title") -> list[dict[str, Any]]:
    chance = random.Random(first)
    return [
        {
            "type": "Doc",
            "data": {
                "slug": f"d{number}",
                "title": f"{title} {number}",
                "rank": number % 7,
                "vec": [chance.gauss(0, 1) for _ in range(4)],
            },
        }
        for number in range(first, end)
    ]


def _tags(*names: str) -> list[dict[str, Any]]:
    return [{"type": "Tag", "data": {"name": name}} for name in names]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph in which there is something to fold, something to join and something to build."""
    root = tmp_path_factory.mktemp("template") / "graph"
    graph = og.init(root, SCHEMA)
    graph.load(_docs(0, 280), mode="append")
    graph.load([{"edge": "Links", "from": "d1", "to": f"d{n}"} for n in range(2, 9)], mode="append")
    graph.optimize()
    graph.branches.create("side")
    graph.load(_tags("side"), mode="append", branch="side")
    while graph.snapshot().version < BASE_VERSION - 1:
        number = 280 + graph.snapshot().version
        graph.load([*_docs(number, number + 1), *_tags(f"t{number}")], mode="append")
    graph.load(_docs(5, 9, "Walks"), mode="merge")
    assert graph.snapshot().version == BASE_VERSION
    return root


@pytest.fixture
def root(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the template; nobody waits long for a parked writer's turn to end."""
    monkeypatch.setenv("OMNIGRAPH_TURN_SECONDS", "0.05")
    return Path(shutil.copytree(template, tmp_path / "graph"))


def _content(snapshot: Snapshot) -> Content:
    return {
        info.key: sorted(snapshot.table(info.key).scan().to_pylist(), key=lambda row: row["id"])
        for info in snapshot.tables
    }


def _coverage(snapshot: Snapshot) -> dict[str, dict[tuple[str, str], int]]:
    """Return the rows that each index does not know."""
    return {
        info.key: {
            (item.column, item.kind.value): item.rows_uncovered
            for item in list_indexes(snapshot.table(info.key).dataset)
        }
        for info in snapshot.tables
    }


COMPLETE = {
    DOC: dict.fromkeys(
        [("id", "btree"), ("rank", "btree"), ("slug", "btree"), ("slug", "text"), ("title", "btree"),
         ("title", "text"), ("vec", "vector")], 0
    ),
    TAG: dict.fromkeys([("id", "btree"), ("name", "btree"), ("name", "text")], 0),
    LINKS: dict.fromkeys([("id", "btree"), ("src", "btree"), ("dst", "btree")], 0),
}  # fmt: skip


def _assert_answers(snapshot: Snapshot) -> None:
    """What indexes say is what the rows say."""
    table = snapshot.table(DOC)
    stored = table.dataset.scanner(use_scalar_index=False, with_row_id=True).to_table().to_pylist()
    for rank in range(8):
        expected = {row["id"] for row in stored if row["rank"] == rank}
        assert set(table.scan(["id"], has("rank", rank))["id"].to_pylist()) == expected
    for row in stored[::37]:
        assert table.scan(["id"], has("id", row["id"])).num_rows == 1
        found = table.scan(["id"], has("title", row["title"]))["id"].to_pylist()
        assert found == [item["id"] for item in stored if item["title"] == row["title"]]
    for word in ("walking", "runs", "7"):
        holding = {row["id"] for row in stored if set(tokens(word)) & set(tokens(row["title"]))}
        words = rows_with_words(table, "title", word)
        assert words is not None
        by_address = table.dataset.scanner(columns=["id"], with_row_address=True).to_table().to_pylist()
        found = {row["id"] for row in by_address if row["_rowaddr"] in set(words.addresses.tolist())}
        unread = {row["id"] for row in by_address if row["_rowaddr"] >> 32 in words.unread}
        assert found == holding - unread
    near = nearest(table, "vec", stored[11]["vec"], 5)
    assert near is not None
    assert near["id"].to_pylist()[0] == stored[11]["id"]
    assert near.num_rows == 5


# Killed.


def _points(root: Path) -> list[str]:
    """Run it once, and return every failpoint that it passes, with the number of the pass."""
    hits: Counter[str] = Counter()

    def count(point: failpoints.Failpoint) -> None:
        hits[point.value] += 1

    for point in failpoints.Failpoint:
        failpoints._armed[point] = failpoints._Armed(count, None)
    try:
        graph_tasks.optimize(str(root))
    finally:
        failpoints._armed.clear()
    hits.pop("recovery.after_list", None)
    return [f"{name}@{nth}" for name, times in hits.items() for nth in sorted({1, times})]


EXPECTED = {
    "plan.after_put": (False, True, 1),
    "publish.before_record": (False, True, 1),
    "publish.after_record": (True, True, 1),
    "publish.before_hint": (True, True, 1),
    "plan.before_delete": (True, True, 1),
}
"""Where the plan is durable: whether it is visible at once, and after recovery, and how many notes tell."""


def test_optimize_killed_anywhere_was_done_whole_or_not_at_all(
    template: Path, tmp_path: Path, workers: Workers
) -> None:
    old = _content(og.open(template, read_only=True).snapshot())
    side = _content(og.open(template, read_only=True).snapshot("side"))
    points = _points(Path(shutil.copytree(template, tmp_path / "once")))
    passed = {point.partition("@")[0] for point in points}
    assert passed >= {
        "write.after_stage", "table.before_pin", "table.after_pin", "maintenance.after_fold",
        "maintenance.after_compact", "maintenance.after_index", "write.after_all_tables", "plan.before_put",
        *EXPECTED,
    }  # fmt: skip
    for point in points:
        root = Path(shutil.copytree(template, tmp_path / point.replace("@", "-")))
        name, _, nth = point.partition("@")
        reader, survivor = og.open(root, read_only=True), og.open(root, actor="survivor")
        before = _coverage(reader.snapshot())
        worker = workers.take()
        worker.tell("optimize", str(root), failpoints=f"{name}=kill@{nth}")
        worker.die()
        at_once, recovered, count = EXPECTED.get(name, (False, False, 0))
        # (1) Whoever only reads sees one whole state, and reading settles nothing.
        assert len(plan_paths(str(root))) == count, point
        for handle in (reader, og.open(root, read_only=True)):
            head = handle.snapshot()
            assert _content(head) == old, point
            assert _coverage(head) == (COMPLETE if at_once else before), point
            assert head.version == BASE_VERSION + at_once, point
        copy = Path(shutil.copytree(root, tmp_path / "opened"))
        og.open(copy)
        _assert_settled(copy, old, side, COMPLETE if recovered else before, count, point)
        # A handle that was open all the while settles with its next write.
        survivor.mutate('query q() { insert Tag { name: "other" } }')
        assert plan_paths(str(root)) == []
        assert notes(og.open(root, read_only=True)) == ["RolledForward"] * count, point
        shutil.rmtree(root)
        shutil.rmtree(copy)


def _assert_settled(
    root: Path, content: Content, side: Content, coverage: object, count: int, point: str
) -> None:
    graph = og.open(root, read_only=True)
    # (2, 3, 4) One chain, one note at most, no plan, the other branch as it was.
    assert plan_paths(str(root)) == []
    assert notes(graph) == ["RolledForward"] * count, point
    assert [commit.version for commit in graph.commits.list()] == list(range(graph.snapshot().version, 0, -1))
    assert _content(graph.snapshot()) == content, point
    assert _content(graph.snapshot("side")) == side
    assert _coverage(graph.snapshot()) == coverage, point
    _assert_answers(graph.snapshot())
    # (6) A second open changes nothing.
    head = graph.snapshot().commit_id
    assert og.open(root).snapshot().commit_id == head
    # (5, 8) The same call again ends where it should, and once more does nothing; a strict write succeeds.
    graph = og.open(root)
    assert (graph.optimize().commit_id is None) == (coverage == COMPLETE), point
    assert _coverage(graph.snapshot()) == COMPLETE
    assert graph.optimize().commit_id is None
    assert _content(graph.snapshot()) == content
    graph.mutate('query q() { update Doc set { rank: 100 } where slug = "d3" }')
    graph.schema.apply(SCHEMA.replace("weight: F64?", "weight: F64?  since: Date?"))
    _assert_answers(graph.snapshot())


# Plans that were met by others.


def _park(root: Path, worker: Worker, point: str = "plan.after_put", **given: Any) -> None:
    worker.tell("optimize", str(root), *given.values(), failpoints=f"{point}=park")
    worker.wait_parked(point)


def test_a_plan_of_optimize_is_rolled_forward_over_commits_to_tables_that_it_left_alone(
    root: Path, worker: Worker
) -> None:
    og.open(root).optimize()
    og.open(root).load(_docs(400, 410), mode="append")
    _park(root, worker)
    og.open(root).load(_tags("winner"), mode="append")
    worker.kill()
    expected = _content(og.open(root, read_only=True).snapshot())
    graph = og.open(root)
    assert notes(graph) == ["RolledForward"]
    assert _content(graph.snapshot()) == expected
    assert _coverage(graph.snapshot())[DOC] == COMPLETE[DOC]
    _assert_answers(graph.snapshot())


def test_a_plan_of_optimize_whose_tables_changed_is_discarded_and_the_winner_stays(
    root: Path, worker: Worker
) -> None:
    _park(root, worker)
    og.open(root).load(_docs(7, 12, "Walks again"), mode="merge")
    worker.kill()
    expected = _content(og.open(root, read_only=True).snapshot())
    graph = og.open(root)
    assert notes(graph) == ["RolledBack"]
    assert _content(graph.snapshot()) == expected
    _assert_answers(graph.snapshot())
    graph.optimize()
    assert _coverage(graph.snapshot()) == COMPLETE
    assert _content(graph.snapshot()) == expected
    _assert_answers(graph.snapshot())


def test_a_load_that_died_is_rolled_forward_onto_tables_that_were_indexed_meanwhile(
    root: Path, worker: Worker
) -> None:
    worker.tell("load", str(root), _docs(275, 285, "Walks late"), "merge", failpoints="plan.after_put=park")
    worker.wait_parked("plan.after_put")
    og.open(root).optimize()
    worker.kill()
    graph = og.open(root)
    assert notes(graph) == ["RolledForward"]
    titles = {row["id"]: row["title"] for row in _content(graph.snapshot())[DOC]}
    assert titles["d280"] == "Walks late 280"
    _assert_answers(graph.snapshot())
    assert_integrity(graph.snapshot())


# Races, with the order forced.


def _indexes_on_disk(root: Path, snapshot: Snapshot, key: str) -> int:
    folder = Path(snapshot.namespace.table_uri(key)) / "_indices"
    return len(list(folder.iterdir()))


@pytest.mark.parametrize("only_indices", [True, False], ids=["ensure_indices", "optimize"])
def test_a_writer_that_is_faster_is_met_halfway(root: Path, worker: Worker, only_indices: bool) -> None:
    worker.tell("optimize", str(root), "main", only_indices, failpoints="write.after_all_tables=park@1")
    worker.wait_parked("write.after_all_tables")
    graph = og.open(root)
    graph.load([*_docs(200, 204, "Walks over"), *_docs(500, 510)], mode="merge")
    graph.mutate('query q() { delete Doc where slug = "d60" }')
    expected = _content(graph.snapshot())
    before = _indexes_on_disk(root, graph.snapshot(), TAG)
    worker.release("write.after_all_tables")
    done = worker.answer()
    head = graph.snapshot()
    assert done.commit_id == head.commit_id
    assert _content(head) == expected
    assert _indexes_on_disk(root, head, TAG) == before, "a table that nobody has changed is not done again"
    doc = next(table for table in done.tables if table.type_key == DOC)
    assert doc.skipped == (None if only_indices else BUSY)
    assert doc.fragments_removed == 0
    _assert_answers(head)
    graph.optimize()
    assert _coverage(graph.snapshot()) == COMPLETE
    assert _content(graph.snapshot()) == expected


def test_indexes_that_were_built_are_not_built_again_for_a_lost_race(tmp_path: Path, worker: Worker) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load(_docs(0, 300), mode="append")
    worker.tell("optimize", graph.uri, "main", True, failpoints="write.after_all_tables=park@1")
    worker.wait_parked("write.after_all_tables")
    built = _indexes_on_disk(tmp_path, graph.snapshot(), DOC)
    graph.load(_docs(290, 310, "Walks"), mode="merge")
    worker.release("write.after_all_tables")
    assert worker.answer().commit_id == graph.snapshot().commit_id
    assert _indexes_on_disk(tmp_path, graph.snapshot(), DOC) == built == len(COMPLETE[DOC])
    assert set(_coverage(graph.snapshot())[DOC].values()) == {20}
    _assert_answers(graph.snapshot())


def test_optimize_beside_an_overwrite_a_schema_change_and_another_optimize_ends_well(
    root: Path, workers: Workers
) -> None:
    parked = workers.take()
    parked.tell("optimize", str(root), failpoints="write.after_all_tables=park@1")
    parked.wait_parked("write.after_all_tables")
    graph = og.open(root)
    graph.optimize()
    graph.load(_docs(0, 270, "Walks anew"), mode="overwrite")
    graph.schema.apply(SCHEMA.replace("rank: I32?", "rank: I64?"))
    expected = _content(graph.snapshot())
    parked.release("write.after_all_tables")
    parked.answer()
    assert _content(graph.snapshot()) == expected
    graph.optimize()
    assert _coverage(graph.snapshot()) == COMPLETE
    assert _content(graph.snapshot()) == expected
    _assert_answers(graph.snapshot())


def test_optimize_of_a_branch_that_is_deleted_meanwhile_is_told_so(root: Path, worker: Worker) -> None:
    og.open(root).branches.create("topic")
    _park(root, worker, "write.after_all_tables", branch="topic")
    og.open(root).branches.delete("topic")
    worker.release("write.after_all_tables")
    with pytest.raises(og.BranchGone):
        worker.answer()
    assert plan_paths(str(root)) == []


def test_writers_never_fail_for_maintenance_and_maintenance_always_ends(
    root: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMNIGRAPH_TURN_SECONDS")
    writers, carers = [workers.take() for _ in range(2)], [workers.take() for _ in range(2)]
    for me, writer in enumerate(writers):
        writer.tell("insert_docs", str(root), me, 40)
    for carer in carers:
        carer.tell("optimize_often", str(root), 4)
    assert [writer.answer() for writer in writers] == [40, 40]
    assert sum(carer.answer() for carer in carers) >= 1
    graph = og.open(root)
    assert plan_paths(str(root)) == []
    assert notes(graph) == []
    ids = {row["id"] for row in _content(graph.snapshot())[DOC]}
    assert ids >= {f"w{me}-{number}" for me in range(2) for number in range(40)}
    _assert_answers(graph.snapshot())
    assert_integrity(graph.snapshot())
    graph.optimize()
    assert _coverage(graph.snapshot()) == COMPLETE
    _assert_answers(graph.snapshot())
