"""What indexes stand on: behaviours of Lance that `storage.indexes` and `storage.rows.search` rely on.

When a new release of Lance turns one of these red, the claim in its name no longer holds: read what rests on
it before changing the test. Some pin a fault; when that is mended, what works around it can go.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance.dataset import serialize_row_addrs
from lance.fragment import write_fragments
from lance.query import MatchQuery

from omnigraph.storage.indexes import analyser
from omnigraph.storage.objects import open_store
from support.lance_tables import SCHEMA, PinnedFolder, Recording, append, commit, rows

ONES = np.ones(4, dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> PinnedFolder:
    return PinnedFolder.create(open_store(str(tmp_path / "root")), 300)


@pytest.fixture
def attempt(folder: PinnedFolder) -> Recording:
    """A write attempt on a table of 300 rows, whose indexes are built."""
    attempt = folder.attempt()
    _build(attempt.open())
    return attempt


def _build(dataset: Any) -> None:
    dataset.create_scalar_index("id", "BTREE", name="id")
    dataset.create_scalar_index("n", "BTREE", name="n")
    dataset.create_scalar_index("text", "BTREE", name="exact")
    dataset.create_scalar_index("text", "INVERTED", name="words", **analyser.OPTIONS)
    dataset.create_index("vec", "IVF_FLAT", name="vec", metric="cosine", num_partitions=1)


def _update(dataset: Any, first: int, end: int) -> None:
    changed = rows(first, end, add=1000).to_pylist()
    for row in changed:
        row |= {"text": "Zebra", "vec": [1.0, 0.0, 0.0, 0.0]}
    builder = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    builder.conflict_retries(0).execute(pa.Table.from_pylist(changed, schema=SCHEMA))


def _covered(dataset: Any) -> dict[str, list[set[int]]]:
    return {
        item.name: [set(segment.fragment_ids) for segment in item.segments]
        for item in dataset.describe_indices()
    }


def _words(dataset: Any, query: str, **options: Any) -> list[str]:
    edits = options.pop("edits", 0)
    asked = MatchQuery(query, "text", fuzziness=edits, max_expansions=1000)
    found = dataset.scanner(columns=["id"], full_text_query=asked, **options).to_table()
    return sorted(found["id"].to_pylist())


def _near(dataset: Any, query: Any, k: int, **options: Any) -> list[tuple[str, float]]:
    asked = {"column": "vec", "q": query, "k": k, "metric": "cosine"}
    found = dataset.scanner(columns=["id"], nearest=asked, prefilter=True, **options).to_table()
    return list(zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True))


def test_one_column_can_have_an_exact_index_and_one_of_its_words(attempt: Recording) -> None:
    dataset = attempt.open()
    plan = dataset.scanner(filter=pc.field("text") == "Running number 5").explain_plan()
    assert "ScalarIndexQuery: query=[text = Running number 5]@exact(BTree)" in plan
    assert _words(dataset, "5") == ["r5"]


def test_similar_words_are_not_reduced_to_stems_before_they_are_compared(attempt: Recording) -> None:
    # The texts say "Running", of which the index holds "run".
    dataset = attempt.open()
    assert len(_words(dataset, "running")) == 300
    assert len(_words(dataset, "rum", edits=1)) == 300
    assert _words(dataset, "rumming", edits=1) == [], "its stem is rum, one edit from run"


def test_rows_that_an_index_does_not_know_are_found_all_the_same(attempt: Recording) -> None:
    dataset = append(attempt.open(), rows(300, 303))
    assert all(parts == [{0}] for parts in _covered(dataset).values())
    assert dataset.to_table(filter=pc.field("id") == "r301")["n"].to_pylist() == [301]
    assert _words(dataset, "301") == ["r301"]
    assert len(_near(dataset, ONES, 400)) == 302, "all but r0, whose vector is zero"


def test_an_updated_row_is_found_by_what_it_is_and_not_by_what_it_was(attempt: Recording) -> None:
    dataset = attempt.open()
    _update(dataset, 5, 7)
    _assert_updated(dataset)
    dataset.optimize.optimize_indices(num_indices_to_merge=100)
    assert all(parts == [{0, 1}] for parts in _covered(dataset).values())
    _assert_updated(dataset)
    dataset.optimize.compact_files(num_threads=1)
    assert all(parts == [{2}] for parts in _covered(dataset).values()), "compaction keeps what is covered"
    _assert_updated(dataset)


def _assert_updated(dataset: Any) -> None:
    assert dataset.to_table(filter=pc.field("n") == 5).num_rows == 0
    assert dataset.to_table(filter=pc.field("n") == 1005)["id"].to_pylist() == ["r5"]
    assert _words(dataset, "5") == []
    assert _words(dataset, "zebras") == ["r5", "r6"]
    near = _near(dataset, ONES, 400)
    assert len(near) == len(dict(near)) == 299
    assert dict(near)["r5"] == pytest.approx(0.5)


def test_a_text_index_of_two_parts_finds_an_updated_row_by_words_that_it_had(attempt: Recording) -> None:
    """A fault: why new rows are merged into the one part that an index has."""
    dataset = attempt.open()
    _update(dataset, 5, 7)
    dataset.optimize.optimize_indices(num_indices_to_merge=0)
    assert _covered(dataset)["words"] == [{0}, {1}]
    assert _words(dataset, "5") == ["r5"]


def test_an_index_is_folded_again_and_again_when_asked_although_it_knows_all_rows(attempt: Recording) -> None:
    dataset = attempt.open()
    before = dataset.version
    dataset.optimize.optimize_indices()
    assert dataset.version == before
    dataset.optimize.optimize_indices(num_indices_to_merge=100)
    assert dataset.version > before, "so what needs no folding must not be asked for"


def test_fragments_that_an_index_covers_are_not_joined_with_others(attempt: Recording) -> None:
    dataset = append(append(attempt.open(), rows(300, 303)), rows(303, 306))
    dataset.optimize.compact_files(num_threads=1)
    assert [item.count_rows() for item in dataset.get_fragments()] == [300, 6]
    dataset.optimize.optimize_indices(num_indices_to_merge=100)
    dataset.optimize.compact_files(num_threads=1)
    assert [item.count_rows() for item in dataset.get_fragments()] == [306]


def test_rows_deleted_before_a_compaction_take_places_among_the_nearest(attempt: Recording) -> None:
    """A fault: why a search that finds too few asks for more."""
    dataset = attempt.open()
    dataset.delete("n < 100")
    assert len(_near(dataset, ONES, 50)) == 50
    dataset.optimize.compact_files(num_threads=1)
    assert len(_near(dataset, ONES, 50)) < 50
    assert len(_near(dataset, ONES, 400)) == 200


def test_an_overwrite_drops_every_index(attempt: Recording) -> None:
    dataset = attempt.open()
    new = write_fragments(rows(0, 5), dataset)
    dataset = commit(dataset, lance.LanceOperation.Overwrite(dataset.lance_schema, new))
    assert _covered(dataset) == {}


def test_an_index_follows_its_column_through_a_rename_and_out_of_the_table(attempt: Recording) -> None:
    dataset = attempt.open()
    dataset.alter_columns({"path": "n", "name": "m"})
    [index] = [item for item in dataset.describe_indices() if item.name == "n"]
    assert index.field_names == ["m"]
    dataset.drop_columns(["m"])
    assert "n" not in _covered(dataset)


def test_a_column_cannot_be_cast_under_its_index(attempt: Recording) -> None:
    dataset = attempt.open()
    with pytest.raises(OSError, match="index"):
        dataset.alter_columns({"path": "text", "data_type": pa.large_string()})
    dataset.drop_index("exact")
    dataset.drop_index("words")
    dataset.alter_columns({"path": "text", "data_type": pa.large_string()})


def test_the_transaction_that_built_an_index_can_be_committed_on_a_later_version(
    folder: PinnedFolder,
) -> None:
    first = folder.attempt().open()
    first.create_scalar_index("n", "BTREE", name="n")
    built = first.read_transaction(first.version).operation
    newer = folder.attempt()
    _update(newer.open(), 5, 7)
    append(newer.open(), rows(300, 303))
    later = folder.at(newer.pin).attempt()
    dataset = commit(later.open(), lance.LanceOperation.CreateIndex(built.new_indices, []))
    assert _covered(dataset) == {"n": [{0}]}
    assert dataset.to_table(filter=pc.field("n") == 5).num_rows == 0
    assert dataset.to_table(filter=pc.field("n") == 1005)["id"].to_pylist() == ["r5"]
    assert dataset.to_table(filter=pc.field("n") == 301).num_rows == 1


def test_a_vector_index_cannot_be_trained_without_vectors(tmp_path: Path) -> None:
    folder = PinnedFolder.create(open_store(str(tmp_path / "root")))
    dataset = append(
        folder.attempt().open(), rows(0, 300).set_column(3, "vec", pa.nulls(300, pa.list_(pa.float32(), 4)))
    )
    with pytest.raises(RuntimeError, match="cannot train 1 centroids with 0 vectors"):
        dataset.create_index("vec", "IVF_FLAT", name="vec", metric="cosine", num_partitions=1)


def test_a_zero_vector_is_left_out_of_an_index_by_cosine(attempt: Recording) -> None:
    assert "r0" not in dict(_near(attempt.open(), ONES, 400))


def test_allowed_rows_are_row_ids_and_count_before_the_ranking(attempt: Recording) -> None:
    dataset = append(attempt.open(), rows(300, 400))
    _update(dataset, 5, 6)
    found = dataset.scanner(columns=["id"], with_row_id=True, with_row_address=True).to_table().to_pylist()
    wanted = [row for row in found if row["id"] in ("r5", "r350", "r7")]
    only = serialize_row_addrs(row["_rowid"] for row in wanted)
    assert {name for name, _ in _near(dataset, ONES, 2, row_addr_allowlist=only)} == {"r350", "r7"}
    assert _words(dataset, "number", row_addr_allowlist=only, prefilter=True) == ["r350", "r7"]
    addresses = serialize_row_addrs(row["_rowaddr"] for row in wanted if row["id"] == "r5")
    assert _near(dataset, ONES, 2, row_addr_allowlist=addresses) == []


def test_a_filter_counts_before_the_ranking_too(attempt: Recording) -> None:
    found = _near(attempt.open(), ONES, 5, filter=pc.field("n") < 4)
    assert sorted(name for name, _ in found) == ["r1", "r2", "r3"]


def test_similar_words_are_found_only_in_what_an_index_covers(attempt: Recording) -> None:
    dataset = append(attempt.open(), rows(300, 301).set_column(2, "text", pa.array(["a zebra"])))
    assert _words(dataset, "zebras") == ["r300"]
    assert _words(dataset, "zebro", edits=1) == []
    assert _words(dataset, "zebras", fast_search=True) == []
    dataset.optimize.optimize_indices(num_indices_to_merge=100)
    assert _words(dataset, "zebro", edits=1) == ["r300"]
