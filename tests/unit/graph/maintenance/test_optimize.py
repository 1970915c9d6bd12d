"""`optimize` and `ensure_indices` on whole graphs: what they do, report and leave alone."""

from __future__ import annotations

import base64
import random
import re
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import Unavailable
from omnigraph.graph.maintenance.optimize.optimize import Optimization
from omnigraph.graph.maintenance.optimize.wanted_indexes import WantedIndex
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.indexes import indexes
from omnigraph.storage.indexes.indexes import IndexKind, list_indexes
from support.lance_tables import has
from support.s3 import S3
from support.words import rows_with_words

SCHEMA = """
node Doc {
  slug: String @key
  title: String @index
  rank: I32? @index
  kind: enum(memo, note)? @index
  vec: Vector(4)? @index
  tags: [String]?
}
node Tag { name: String @key }
edge Links: Doc -> Doc { weight: F64? }
"""
DOC, TAG, LINKS = "node:Doc", "node:Tag", "edge:Links"
ALL = {
    DOC: {
        ("id", "btree"), ("slug", "btree"), ("slug", "text"), ("title", "btree"), ("title", "text"),
        ("rank", "btree"), ("kind", "btree"), ("vec", "vector"),
    },
    TAG: set(),
    LINKS: {("id", "btree"), ("src", "btree"), ("dst", "btree")},
}  # fmt: skip


def docs(first: int, end: int, seed: int = 0) -> list[dict[str, Any]]:
    chance = random.Random(first * 1000 + seed)
    return [
        {
            "type": "Doc",
            "data": {
                "slug": f"d{number}",
                "title": f"Running title {number}" if seed == 0 else f"Walks {seed}",
                "rank": number % 7,
                "kind": "memo" if number % 2 else "note",
                "vec": [chance.gauss(0, 1) for _ in range(4)],
            },
        }
        for number in range(first, end)
    ]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """300 documents in three fragments, some links, and no index."""
    graph = og.init(tmp_path / "graph", SCHEMA, actor="act-ada")
    for first in (0, 100, 200):
        graph.load(docs(first, first + 100), mode="append")
    graph.load([{"edge": "Links", "from": "d1", "to": f"d{n}"} for n in range(2, 9)], mode="append")
    return graph


def present(snapshot: Snapshot) -> dict[str, set[tuple[str, str]]]:
    return {
        info.key: {(item.column, item.kind.value) for item in list_indexes(snapshot.table(info.key).dataset)}
        for info in snapshot.tables
    }


def uncovered(snapshot: Snapshot, key: str) -> set[int]:
    return {item.rows_uncovered for item in list_indexes(snapshot.table(key).dataset)}


def contents(snapshot: Snapshot) -> dict[str, list[dict[str, Any]]]:
    return {
        info.key: sorted(snapshot.table(info.key).scan().to_pylist(), key=lambda row: row["id"])
        for info in snapshot.tables
    }


def by_table(done: Optimization) -> dict[str, Any]:
    return {table.type_key: table for table in done.tables}


def test_everything_is_done_in_one_commit_and_nothing_in_the_next(graph: og.Graph) -> None:
    before = graph.snapshot()
    done = graph.optimize()
    head = graph.snapshot()
    assert head.version == before.version + 1
    assert done.commit_id == head.commit_id
    assert (head.commit.operation, head.commit.actor) == ("optimize", "act-ada")
    assert present(head) == ALL
    assert present(before) == {DOC: set(), TAG: set(), LINKS: set()}
    assert contents(head) == contents(before)
    doc = by_table(done)[DOC]
    assert (doc.fragments_removed, doc.fragments_added, doc.committed) == (3, 1, True)
    assert {(item.column, item.kind.value) for item in doc.built} == ALL[DOC]
    assert not by_table(done)[TAG].committed
    again = graph.optimize()
    assert again.commit_id is None
    assert [table.type_key for table in again.tables] == [LINKS, DOC, TAG]
    assert not any(table.committed or table.built or table.folded for table in again.tables)
    assert graph.snapshot().commit_id == head.commit_id


def test_ensure_indices_leaves_fragments_alone(graph: og.Graph) -> None:
    done = graph.ensure_indices()
    assert graph.snapshot().commit.operation == "ensure_indices"
    assert present(graph.snapshot()) == ALL
    assert by_table(done)[DOC].fragments_removed == 0
    assert len(graph.snapshot().table(DOC).fragments()) == 3
    assert graph.ensure_indices().commit_id is None


def test_new_and_changed_rows_are_folded_in_and_the_table_is_one_fragment_again(graph: og.Graph) -> None:
    graph.optimize()
    graph.load(docs(290, 320, seed=1), mode="merge")
    assert uncovered(graph.snapshot(), DOC) == {30}
    done = graph.optimize()
    assert uncovered(graph.snapshot(), DOC) == {0}
    assert {(item.column, item.kind.value) for item in by_table(done)[DOC].folded} == ALL[DOC]
    assert len(graph.snapshot().table(DOC).fragments()) == 1
    assert graph.optimize().commit_id is None


def test_optimize_on_a_branch_does_not_touch_main(graph: og.Graph) -> None:
    graph.branches.create("topic")
    main = graph.snapshot()
    done = graph.optimize(branch="topic")
    assert graph.snapshot().commit_id == main.commit_id
    assert present(graph.snapshot()) == {DOC: set(), TAG: set(), LINKS: set()}
    assert graph.snapshot("topic").commit_id == done.commit_id
    assert present(graph.snapshot("topic")) == ALL
    assert contents(graph.snapshot("topic")) == contents(main)


def test_an_empty_graph_needs_no_commit_and_its_vectors_are_pending(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    done = graph.optimize()
    assert done.commit_id is None
    [pending] = done.pending_indexes
    assert (pending.type_key, pending.property) == (DOC, "vec")
    assert set(pending.to_json()) == {"type_key", "property", "reason"}


@pytest.mark.parametrize("vector", [None, [0.0, 0.0, 0.0, 0.0]], ids=["null", "zero"])
def test_vectors_that_cannot_train_an_index_keep_it_pending_and_the_others_are_built(
    tmp_path: Path, vector: list[float] | None
) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    records = docs(0, 300)
    for record in records:
        record["data"]["vec"] = vector
    graph.load(records, mode="append")
    done = graph.optimize()
    assert [item.property for item in done.pending_indexes] == ["vec"]
    assert present(graph.snapshot())[DOC] == ALL[DOC] - {("vec", "vector")}
    assert graph.optimize().commit_id is None, "what is pending is not tried in a commit of its own"


def test_an_index_that_cannot_be_built_keeps_nobody_from_the_others(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = indexes.build

    def refuse(dataset: Any, column: str, kind: IndexKind) -> Any:
        changes = build(dataset, column, kind)
        if (column, kind) == ("title", IndexKind.TEXT):
            raise Unavailable("no memory for this one")
        return changes

    monkeypatch.setattr(indexes, "build", refuse)
    done = graph.optimize()
    assert present(graph.snapshot())[DOC] == ALL[DOC] - {("title", "text")}
    assert [(item.property, item.reason) for item in done.pending_indexes] == [
        ("title", "no memory for this one")
    ]
    monkeypatch.undo()
    assert by_table(graph.optimize())[DOC].built == (_wanted("title", "text"),)


def _wanted(column: str, kind: str) -> WantedIndex:
    return WantedIndex(column, IndexKind(kind))


def test_a_handle_for_reading_cannot_optimize(graph: og.Graph) -> None:
    with pytest.raises(og.ReadOnly):
        og.open(graph.uri, read_only=True).optimize()


def test_progress_names_every_table_once(graph: og.Graph) -> None:
    said: list[tuple[str, int, int]] = []
    graph.optimize(progress=lambda key, done, total: said.append((key, done, total)))
    assert {key for key, _, _ in said} == {DOC, TAG, LINKS}
    assert [(done, total) for _, done, total in said] == [(1, 3), (2, 3), (3, 3)]


def test_tables_with_blobs_are_compacted_and_every_byte_stays(tmp_path: Path) -> None:
    """C3: null, empty and non-empty values, in a table beside one without blobs."""
    graph = og.init(
        tmp_path / "graph", "node File { name: String @key  data: Blob? }\nnode Plain { n: I32? }"
    )
    stored = {"a": b"x" * 100_000, "b": b"", "c": None, "d": b"abc", "e": b"\0" * 70_000}
    for name, value in stored.items():
        data = None if value is None else "base64:" + base64.b64encode(value).decode()
        graph.load(
            [{"type": "File", "data": {"name": name, "data": data}}, {"type": "Plain", "data": {"n": 1}}],
            mode="append",
        )
    graph.mutate('query q() { delete File where name = "d" }')
    del stored["d"]
    done = by_table(graph.optimize())
    assert done["node:File"].fragments_removed > done["node:File"].fragments_added == 1
    assert done["node:Plain"].fragments_removed == 5
    assert _blobs(graph.snapshot()) == stored
    assert graph.optimize().commit_id is None


def _blobs(snapshot: Snapshot) -> dict[str, bytes | None]:
    dataset = snapshot.table("node:File").dataset
    found = dataset.to_table(columns=["name", "data"], blob_handling="all_binary").to_pylist()
    return {row["name"]: row["data"] for row in found}


# Other operations beside indexes.


def test_a_strict_write_on_an_older_handle_succeeds_after_optimize(graph: og.Graph) -> None:
    """A50: maintenance disturbs neither a handle nor a condition on the head; a change of content does."""
    older = og.open(graph.uri)
    head = older.snapshot().commit_id
    og.open(graph.uri).optimize()
    older.mutate('query q() { update Doc set { rank: 100 } where slug = "d1" }', if_commit=head)
    with pytest.raises(og.PreconditionFailed):
        older.mutate('query q() { delete Doc where slug = "d1" }', if_commit=head)


def test_no_write_builds_or_folds_an_index(graph: og.Graph) -> None:
    """C2."""
    graph.load(docs(300, 310), mode="merge")
    graph.mutate('query q() { insert Doc { slug: "x", title: "t" } }')
    graph.schema.apply(SCHEMA.replace("tags: [String]?", "tags: [String]?  more: String? @index"))
    graph.branches.create("topic")
    graph.mutate('query q() { insert Doc { slug: "y", title: "t" } }', branch="topic")
    graph.branches.merge("topic")
    assert present(graph.snapshot()) == {DOC: set(), TAG: set(), LINKS: set()}
    graph.optimize()
    covered = {item.name: item.rows_covered for item in list_indexes(graph.snapshot().table(DOC).dataset)}
    for number in range(40):
        graph.mutate('query q($s: String) { insert Doc { slug: $s, title: "t" } }', {"s": f"z{number}"})
    after = {item.name: item.rows_covered for item in list_indexes(graph.snapshot().table(DOC).dataset)}
    assert after == covered, "joining fragments inside a write leaves coverage as it was"
    assert len(graph.snapshot().table(DOC).fragments()) < 20


def test_only_maintenance_asks_for_an_index_to_be_built() -> None:
    """C2, in the source: one folder builds indexes, and only maintenance and its job on Spark ask for it."""
    source = Path(og.__file__).parent
    callers = {
        str(path.relative_to(source)): set(found)
        for path in sorted(source.rglob("*.py"))
        if (found := re.findall(r"\.(build_index|fold_indexes|put_index|put_indexes)\(", path.read_text()))
    }
    assert callers == {
        "graph/maintenance/optimize/executor.py": {"build_index", "fold_indexes"},
        "graph/maintenance/optimize/optimize_table.py": {"put_indexes"},
        "pipeline/jobs/optimize.py": {"put_index", "put_indexes"},
    }
    builders = {
        str(path.relative_to(source))
        for path in sorted(source.rglob("*.py"))
        if re.search(r"\.(create_index|create_scalar_index|optimize_indices|create_index_uncommitted)\(",
                     path.read_text())
    }  # fmt: skip
    assert builders == {"storage/tables/maintenance_parts.py", "storage/indexes/indexes.py"}


def test_a_build_that_is_not_published_leaves_every_table_where_it_was(graph: og.Graph) -> None:
    """C2: staged."""
    before = {info.key: info.version for info in graph.snapshot().tables}
    with failpoints.arm_temporarily("write.after_all_tables", "raise"), pytest.raises(OSError):
        graph.optimize()
    assert {info.key: info.version for info in graph.snapshot().tables} == before
    assert present(graph.snapshot()) == {DOC: set(), TAG: set(), LINKS: set()}
    assert graph.optimize().commit_id is not None


def test_a_schema_change_keeps_the_indexes_that_it_can_and_never_fails_for_one(graph: og.Graph) -> None:
    graph.optimize()
    graph.schema.apply(
        SCHEMA.replace("rank: I32?", "rank: I64?").replace(
            "title: String @index", 'heading: String @index @rename_from("title")'
        )
    )
    head = graph.snapshot()
    renamed = {("heading" if column == "title" else column, kind) for column, kind in ALL[DOC]}
    assert present(head)[DOC] == renamed - {("rank", "btree")}
    assert head.table(DOC).scan(["id"], has("heading", "Running title 7"))["id"].to_pylist() == ["d7"]
    done = graph.optimize()
    assert by_table(done)[DOC].built == (_wanted("rank", "btree"),)
    assert present(graph.snapshot())[DOC] == renamed


def test_an_overwrite_drops_the_indexes_and_optimize_builds_them_again(graph: og.Graph) -> None:
    graph.optimize()
    graph.load(docs(0, 300, seed=3), mode="overwrite")
    assert present(graph.snapshot())[DOC] == set()
    graph.optimize()
    assert present(graph.snapshot())[DOC] == ALL[DOC]
    found = rows_with_words(graph.snapshot().table(DOC), "title", "walking")
    assert found is not None and len(found.addresses) == 300


def test_a_merge_by_pointer_brings_indexes_and_a_merge_by_row_keeps_the_targets(graph: og.Graph) -> None:
    graph.optimize()
    graph.branches.create("topic")
    graph.load(docs(300, 310, seed=1), mode="append", branch="topic")
    graph.optimize(branch="topic")
    graph.branches.merge("topic")
    assert present(graph.snapshot())[DOC] == ALL[DOC]
    _assert_answers(graph, "walk", 10)
    graph.branches.create("other")
    graph.load(docs(310, 315, seed=2), mode="append", branch="other")
    graph.load(docs(315, 318, seed=2), mode="append")
    graph.branches.merge("other")
    assert present(graph.snapshot())[DOC] == ALL[DOC]
    _assert_answers(graph, "walk", 18)
    graph.optimize()
    _assert_answers(graph, "walk", 18)
    assert uncovered(graph.snapshot(), DOC) == {0}


def _assert_answers(graph: og.Graph, word: str, expected: int) -> None:
    table = graph.snapshot().table(DOC)
    found = rows_with_words(table, "title", word)
    assert found is not None
    read = [item for item in table.dataset.get_fragments() if item.fragment_id in found.unread]
    flat = [row for item in read for row in item.to_table(["title"])["title"].to_pylist()]
    assert len(found.addresses) + sum("Walks" in title for title in flat) == expected


def test_two_branches_that_share_a_table_each_have_their_own_indexes(graph: og.Graph) -> None:
    """Two lineages with the same version numbers: neither may see what the other has built."""
    graph.branches.create("left")
    graph.branches.create("right")
    graph.load(docs(300, 320, seed=1), mode="append", branch="left")
    graph.load(docs(300, 330, seed=2), mode="append", branch="right")
    graph.optimize(branch="left")
    graph.optimize(branch="right")
    for branch, title, rows in (("left", "Walks 1", 20), ("right", "Walks 2", 30)):
        table = graph.snapshot(branch).table(DOC)
        assert table.scan(["id"], has("title", title)).num_rows == rows
        assert uncovered(graph.snapshot(branch), DOC) == {0}


@pytest.mark.s3
def test_over_s3_everything_is_done_in_one_commit_and_nothing_in_the_next(s3: S3) -> None:
    graph = og.init(f"{s3.uri}/graph", SCHEMA, storage_options=s3.options)
    graph.load(docs(0, 260), mode="append")
    graph.optimize()
    graph.load(docs(250, 270, seed=1), mode="merge")
    before = contents(graph.snapshot())
    assert graph.optimize().commit_id == graph.snapshot().commit_id
    assert graph.optimize().commit_id is None
    assert present(graph.snapshot())[DOC] == ALL[DOC]
    assert uncovered(graph.snapshot(), DOC) == {0}
    assert contents(graph.snapshot()) == before


def test_what_cannot_be_called_is_no_progress(graph: og.Graph) -> None:
    for care in (graph.optimize, graph.ensure_indices):
        with pytest.raises(og.BadInput, match="progress is 5"):
            care(progress=5)  # type: ignore[arg-type]


def test_a_handle_for_reading_embeds_nothing_whether_or_not_there_is_a_provider(graph: og.Graph) -> None:
    with pytest.raises(og.ReadOnly):
        og.open(graph.uri, read_only=True).embed()
