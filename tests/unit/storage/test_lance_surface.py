"""What the design stands on: every Lance behaviour that the architecture page lists, pinned one by one.

When a new release of Lance turns one of these red, the claim in its name no longer holds: read what rests
on it before changing the test.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
import warnings
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import datafusion
import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lance.blob import blob_array, blob_field
from lance.fragment import RowIdSequence, write_fragments
from lance.optimize import Compaction
from lance.query import MatchQuery

from omnigraph.storage.format.manifests import manifests
from omnigraph.storage.namespace import Pin
from omnigraph.storage.objects import ObjectStore, open_store
from omnigraph.storage.tables.staging import StagedTable
from support.lance_tables import (
    SCHEMA,
    TABLE,
    PinnedFolder,
    Recording,
    append,
    build_segment,
    commit,
    read_ids,
    rows,
    run_task,
    unpickled,
    write_through,
)
from support.processes import run_in_threads, run_together
from support.s3 import S3


def _merge_insert(dataset: Any) -> None:
    changes = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    changes.conflict_retries(0).execute(rows(299, 301, add=1000))


def _compact(dataset: Any) -> None:
    append(dataset, rows(300, 301)).optimize.compact_files(num_threads=1)


def _optimize_indices(dataset: Any) -> None:
    dataset.create_scalar_index("id", "BTREE")
    append(dataset, rows(300, 301)).optimize.optimize_indices()


OPERATIONS: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "merge_insert": (_merge_insert, [3]),
    "delete": (lambda d: d.delete("n < 3"), [3]),
    "update": (lambda d: d.update({"n": "n + 1"}, where="n < 3"), [3]),
    "append": (lambda d: append(d, rows(300, 301)), [3]),
    "insert": (lambda d: d.insert(rows(300, 301)), [3]),
    "overwrite": (lambda d: lance.write_dataset(rows(0, 1), d, mode="overwrite"), [3]),
    "empty overwrite": (lambda d: commit(d, lance.LanceOperation.Overwrite(d.lance_schema, [])), [3]),
    "btree index": (lambda d: d.create_scalar_index("id", "BTREE"), [3]),
    "inverted index": (lambda d: d.create_scalar_index("text", "INVERTED"), [3]),
    "vector index": (lambda d: d.create_index("vec", "IVF_FLAT", num_partitions=2), [3]),
    "add column": (lambda d: d.add_columns({"m": "n * 2"}), [3]),
    "drop column": (lambda d: d.drop_columns(["n"]), [3]),
    "rename column": (lambda d: d.alter_columns({"path": "n", "name": "m"}), [3]),
    "compaction": (_compact, [3, 4, 4]),
    "optimize_indices": (_optimize_indices, [3, 4, 5]),
}
"""What Lance can do to a table, and the versions that it then asks the namespace to create after number 2."""

A_FEW = ("merge_insert", "delete", "empty overwrite", "btree index", "rename column", "compaction")


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return open_store(str(tmp_path / "root"))


@pytest.fixture
def table(store: ObjectStore) -> PinnedFolder:
    """A table of 300 rows at version 2."""
    return PinnedFolder.create(store, 300)


@pytest.fixture
def small(store: ObjectStore) -> PinnedFolder:
    """A table of 3 rows at version 2."""
    return PinnedFolder.create(store, 3)


def _manifests_in_versions(table: PinnedFolder) -> list[str]:
    return [path for path in table.files("_versions") if ".manifest" in path]


# One staging path for all writers.


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_commits_through_create_table_version_and_nowhere_else(
    table: PinnedFolder, name: str
) -> None:
    operation, versions = OPERATIONS[name]
    attempt = table.attempt()
    operation(attempt.open())
    assert attempt.created == versions
    assert _manifests_in_versions(table) == []
    assert len(table.ids()) == 300, "the version that it started from has changed"
    assert table.at(attempt.pin).open().version == versions[-1]


@pytest.mark.s3
@pytest.mark.parametrize("name", A_FEW)
def test_over_s3_operations_commit_through_create_table_version_too(s3: S3, name: str) -> None:
    table = PinnedFolder.create(s3.store(), 300)
    operation, versions = OPERATIONS[name]
    attempt = table.attempt()
    operation(attempt.open())
    assert attempt.created == versions
    assert _manifests_in_versions(table) == []
    assert len(table.ids()) == 300
    assert table.at(attempt.pin).open().version == versions[-1]


@pytest.mark.parametrize("name", ["append", "delete", "btree index", "compaction"])
def test_a_commit_that_the_namespace_refuses_changes_nothing_and_leaves_a_staging_file(
    table: PinnedFolder, name: str
) -> None:
    # Lance asks three times whether the version exists after all, and then calls the outcome unknown.
    with pytest.raises((OSError, RuntimeError), match="Commit result for version 3 is unknown"):
        OPERATIONS[name][0](table.open())
    residue = _manifests_in_versions(table)
    assert residue
    assert all(".manifest-" in path for path in residue), "a file without suffix would be built upon"
    assert len(table.ids()) == 300
    attempt = table.attempt()
    attempt.open().delete("n = 0")
    assert attempt.created == [3]


def test_a_new_table_asks_for_no_cleanup_of_its_own(table: PinnedFolder) -> None:
    # An `auto_cleanup` entry would let a commit delete files that only pins name.
    assert table.open().config() == {}


# File names.


def test_lance_stages_a_manifest_under_its_final_name_and_a_unique_suffix(small: PinnedFolder) -> None:
    attempt = small.attempt()
    attempt.open().delete("n = 0")
    name, unique = attempt.staging_names[0].split("-", 1)
    assert name == f"{2**64 - 1 - 3}.manifest", "the V2 name counts versions down"
    assert len(unique) == 36
    assert attempt.pin.path == f"_pins/{unique}/{name}"


def test_a_pin_that_loses_lances_name_makes_later_versions_fall_back_to_the_old_names(
    small: PinnedFolder,
) -> None:
    small.store.move(f"{TABLE}/{small.pin.path}", f"{TABLE}/_pins/renamed.manifest")
    attempt = small.at(Pin(2, "_pins/renamed.manifest")).attempt()
    attempt.open().delete("n = 0")
    assert attempt.staging_names[0].startswith("3.manifest-")


class _HandsStagingPathsBack(Recording):
    """What a namespace must not do: leave the manifest where Lance staged it."""

    def create_table_version(self, request: Any) -> Any:
        staged = Pin(request["version"], "_versions/" + request["manifest_path"].rsplit("/", 1)[1])
        self._staged.setdefault(TABLE, {})[staged.version] = staged
        return {"version": {"version": staged.version, "manifest_path": request["manifest_path"]}}


def test_a_staging_path_handed_back_is_copied_to_versions_and_later_commits_rebase_onto_it(
    small: PinnedFolder,
) -> None:
    careless = _HandsStagingPathsBack(small.store, small.pin)
    careless.open().delete("n = 0")
    careless.open()
    assert f"{TABLE}/_versions/{2**64 - 1 - 3}.manifest" in small.files("_versions")
    other = small.attempt()
    dataset = other.open()
    dataset.delete("n = 1")
    assert other.created == [4], "version 3 was never published, and yet it is built upon"
    assert dataset.count_rows() == 1


# By path.


def test_a_managed_table_cannot_be_opened_by_path(small: PinnedFolder) -> None:
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(small.snapshot().table_uri(TABLE))


@pytest.mark.s3
def test_over_s3_a_managed_table_cannot_be_opened_by_path_either(s3: S3) -> None:
    table = PinnedFolder.create(s3.store(), 3)
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(table.snapshot().table_uri(TABLE), storage_options=table.store.lance_options())


# Compaction.


def test_compaction_creates_its_version_twice_and_the_second_one_counts(small: PinnedFolder) -> None:
    attempt = small.attempt()
    dataset = append(attempt.open(), rows(3, 4))
    attempt.created.clear()
    dataset.optimize.compact_files(num_threads=1)
    assert attempt.created == [4, 4]
    joined = small.at(attempt.pin).open()
    assert len(joined.get_fragments()) == 1
    assert joined.count_rows() == 4


# Sessions.


def _two_lineages_in(session: lance.Session | None, table: PinnedFolder) -> tuple[Any, Any]:
    """Commit version 4 twice: first with an index of rows that the second lineage does not have."""
    first = append(_opened(table.attempt(), session), rows(900, 901))
    first.create_scalar_index("id", "BTREE")
    second = append(_opened(table.attempt(), session), rows(800, 801))
    second.delete("n = 0")
    assert first.version == second.version == 4
    return first, second


def _opened(attempt: Recording, session: lance.Session | None) -> Any:
    if session is None:
        return attempt.open()
    return lance.dataset(namespace_client=attempt, table_id=[TABLE], session=session)


def test_a_session_shared_by_two_lineages_serves_one_the_indexes_of_the_other(table: PinnedFolder) -> None:
    _, second = _two_lineages_in(lance.Session(), table)
    assert [index.name for index in second.describe_indices()] == ["id_idx"], "nobody built it here"


def test_our_handles_never_share_a_session(table: PinnedFolder) -> None:
    first, second = _two_lineages_in(None, table)
    assert not first.session().is_same_as(second.session())
    assert [index.name for index in first.describe_indices()] == ["id_idx"]
    assert second.describe_indices() == []
    assert second.to_table(filter="id = 'r900'").num_rows == 0
    assert second.to_table(filter="id = 'r800'").num_rows == 1


# What Lance does not see.


def test_versions_and_tracked_files_do_not_see_pins(small: PinnedFolder) -> None:
    dataset = small.open()
    assert dataset.version == 2
    assert dataset.versions() == []
    assert dataset.tracked_files().read_all().num_rows == 0


def test_lances_own_cleanup_takes_the_files_of_pins_for_garbage(small: PinnedFolder) -> None:
    small.open().cleanup_old_versions(older_than=timedelta(0))
    assert small.ids() == ["r0", "r1", "r2"], "files younger than a week are spared by default"
    small.open().cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    assert small.files("data") == []


def test_lances_own_cleanup_takes_week_old_files_of_pins_even_by_default(small: PinnedFolder) -> None:
    a_month_ago = time.time() - 30 * 86_400
    for path in small.files():
        os.utime(f"{small.store.root_uri}/{path}", (a_month_ago, a_month_ago))
    small.open().cleanup_old_versions()
    assert small.files("data") == []


# Row identity and row versions.


def _row_versions(dataset: Any) -> dict[str, tuple[int, int, int]]:
    names = ["id", "_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
    found = dataset.to_table(columns=names).to_pydict()
    return {row[0]: row[1:] for row in zip(*(found[name] for name in names), strict=True)}


def test_row_ids_and_row_versions_are_right_along_one_lineage(small: PinnedFolder) -> None:
    attempt = small.attempt()
    dataset = attempt.open()
    changes = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    changes.execute(rows(2, 4, add=100))
    expected = {"r0": (0, 2, 2), "r1": (1, 2, 2), "r2": (2, 2, 3), "r3": (3, 3, 3)}
    assert _row_versions(dataset) == expected
    dataset.optimize.compact_files(num_threads=1)
    assert len(dataset.get_fragments()) == 1
    assert _row_versions(small.at(attempt.pin).open()) == expected


def test_detached_commits_have_no_place_in_a_lineage(small: PinnedFolder) -> None:
    attempt = small.attempt()
    dataset = attempt.open()
    staged = lance.LanceOperation.Append(write_fragments(rows(3, 4), dataset))
    detached = lance.LanceDataset.commit(dataset, staged, read_version=2, detached=True)
    assert detached.version >= 2**63
    created = _row_versions(detached)["r3"][1]
    assert created == 3, "a row says that it came with version 3, which is not the detached one's number"


# Staged fragments.


def test_fragments_staged_on_one_base_can_be_appended_onto_a_newer_one(small: PinnedFolder) -> None:
    staged = write_fragments(rows(100, 101), small.attempt().open())
    newer = small.attempt()
    newer.open().delete("n = 0")
    attempt = small.at(newer.pin).attempt()
    dataset = commit(attempt.open(), lance.LanceOperation.Append(staged))
    assert attempt.created == [4]
    assert sorted(dataset.to_table()["id"].to_pylist()) == ["r1", "r100", "r2"]
    assert _row_versions(dataset)["r100"] == (3, 4, 4)


def _table_whose_columns_once_changed(store: ObjectStore) -> PinnedFolder:
    schema = pa.schema([("id", pa.string()), ("gone", pa.string()), ("kept", pa.string())])
    table = PinnedFolder.create(store, schema=schema)
    attempt = table.attempt()
    dataset = attempt.open()
    dataset.drop_columns(["gone"])
    dataset.add_columns(pa.schema([("new", pa.string())]))
    return table.at(attempt.pin)


def test_fragments_written_by_address_scramble_the_columns_of_a_changed_table(store: ObjectStore) -> None:
    table = _table_whose_columns_once_changed(store)
    dataset = table.attempt().open()
    row = pa.table({"id": ["a"], "kept": ["K"], "new": ["N"]})
    by_address = write_fragments(row, table.snapshot().table_uri(TABLE))
    found = commit(dataset, lance.LanceOperation.Append(by_address)).to_table().to_pylist()
    assert found == [{"id": "a", "kept": "N", "new": None}]


def test_fragments_written_with_the_opened_dataset_keep_their_columns(store: ObjectStore) -> None:
    table = _table_whose_columns_once_changed(store)
    attempt = table.attempt()
    staged = StagedTable(attempt, TABLE)
    staged.append(staged.write_rows(pa.table({"id": ["a"], "kept": ["K"], "new": ["N"]})))
    assert table.at(attempt.pin).open().to_table().to_pylist() == [{"id": "a", "kept": "K", "new": "N"}]


def test_a_fragment_stages_deletions_by_itself(small: PinnedFolder) -> None:
    attempt = small.attempt()
    dataset = attempt.open()
    thinned = dataset.get_fragments()[0].delete("n < 2")
    assert attempt.created == []
    commit(dataset, lance.LanceOperation.Delete([thinned], [], "n < 2"))
    assert small.at(attempt.pin).ids() == ["r2"]


def test_rewritten_rows_keep_their_row_ids(small: PinnedFolder) -> None:
    attempt = small.attempt()
    dataset = attempt.open()
    thinned = dataset.get_fragments()[0].delete("n = 1")
    rewritten = write_fragments(rows(1, 2, add=100), dataset)[0]
    rewritten.row_id_meta = RowIdSequence([1]).to_inline_metadata()
    commit(dataset, lance.LanceOperation.Update(updated_fragments=[thinned], new_fragments=[rewritten]))
    found = small.at(attempt.pin).open()
    assert _row_versions(found) == {"r0": (0, 2, 2), "r1": (1, 2, 3), "r2": (2, 2, 2)}
    assert found.to_table(filter="id = 'r1'")["n"].to_pylist() == [101]


# Other processes and threads.


def test_a_spawned_process_reads_from_a_pickled_namespace_of_pins(table: PinnedFolder) -> None:
    assert run_together(read_ids, [(table.snapshot(),)]) == [table.ids()]


@pytest.mark.s3
def test_over_s3_a_spawned_process_reads_from_a_pickled_namespace_of_pins(s3: S3) -> None:
    table = PinnedFolder.create(s3.store(), 3)
    assert run_together(read_ids, [(table.snapshot(),)]) == [["r0", "r1", "r2"]]


def test_fragments_staged_in_other_processes_are_committed_in_this_one(small: PinnedFolder) -> None:
    view = small.snapshot()
    staged = run_together(write_through, [(view, 10, 12), (view, 20, 22)])
    attempt = small.attempt()
    commit(attempt.open(), lance.LanceOperation.Append([item for part in staged for item in unpickled(part)]))
    assert attempt.created == [3]
    assert small.at(attempt.pin).ids() == ["r0", "r1", "r10", "r11", "r2", "r20", "r21"]


def test_compaction_tasks_run_in_another_process(small: PinnedFolder) -> None:
    attempt = small.attempt()
    dataset = append(attempt.open(), rows(3, 4))
    plan = Compaction.plan(dataset, {"target_rows_per_fragment": 1024, "num_threads": 1})
    view = small.at(attempt.pin).snapshot()
    done = run_together(run_task, [(view, pickle.dumps(task)) for task in plan.tasks])
    Compaction.commit(dataset, [pickle.loads(result) for result in done])
    joined = small.at(attempt.pin)
    assert len(joined.open().get_fragments()) == 1
    assert joined.ids() == ["r0", "r1", "r2", "r3"]


def test_index_segments_are_built_in_other_processes(small: PinnedFolder) -> None:
    attempt = small.attempt()
    dataset = append(attempt.open(), rows(3, 4))
    view = small.at(attempt.pin).snapshot()
    built = run_together(build_segment, [(view, item.fragment_id) for item in dataset.get_fragments()])
    dataset.commit_existing_index_segments("by_id", "id", [pickle.loads(segment) for segment in built])
    found = small.at(attempt.pin).open()
    assert [index.name for index in found.describe_indices()] == ["by_id"]
    assert "ScalarIndexQuery" in found.scanner(filter="id = 'r3'").explain_plan()
    assert found.to_table(filter="id = 'r3'").num_rows == 1


@pytest.mark.long
def test_sixteen_threads_stage_and_open_at_once(small: PinnedFolder) -> None:
    def work(me: int) -> tuple[str, int]:
        attempt = small.attempt()
        for number in range(10):
            append(attempt.open(), rows(1000 * me + number, 1000 * me + number + 1))
            for _ in range(10):
                small.open()
        return attempt.pin.path, attempt.open().count_rows()

    done = run_in_threads(work, [(me,) for me in range(1, 17)])
    assert {count for _, count in done} == {13}
    assert len({path for path, _ in done}) == 16
    assert _manifests_in_versions(small) == []


def test_lance_warns_that_it_does_not_survive_a_fork(small: PinnedFolder) -> None:
    small.open()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        process = multiprocessing.get_context("fork").Process(target=os._exit, args=(0,))
        process.start()
        process.join(30)
    assert process.exitcode == 0
    assert any("not fork-safe" in str(warning.message) for warning in said)


# Blobs.


def test_a_large_blobs_payload_lies_in_a_folder_beside_its_data_file(store: ObjectStore) -> None:
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), blob_field("doc", nullable=True)])
    table = PinnedFolder.create(store, schema=schema)
    attempt = table.attempt()
    staged = StagedTable(attempt, TABLE)
    payload = b"x" * 1_000_000
    values = pa.table([pa.array(["a", "b", "c"]), blob_array([payload, b"", None])], schema=staged.schema)
    staged.append(staged.write_rows(values))
    assert attempt.created == [2]
    [data_file, blob_file] = sorted(table.files("data"), key=lambda path: path.endswith(".blob"))
    assert blob_file.startswith(data_file.removesuffix(".lance") + "/")
    found = table.at(attempt.pin).open().take_blobs("doc", indices=[0, 1, 2])
    assert [blob and blob.read() for blob in found] == [payload, b"", None]
    (fragment,) = table.at(attempt.pin).open().get_fragments()
    with pytest.raises(OSError, match="more fields in the schema"):
        fragment.take([0], columns=["doc"])
    assert fragment.to_table(columns=["doc"]).num_rows == 3


# DataFusion.


def test_lance_speaks_to_datafusion_54(table: PinnedFolder) -> None:
    assert datafusion.__version__.startswith("54.")
    context = datafusion.SessionContext()
    provider = lance.FFILanceTableProvider(table.open(), with_row_id=False, with_row_addr=False)
    context.register_table("t", provider)
    assert context.sql("SELECT count(*) AS n, max(n) AS m FROM t").to_pydict() == {"n": [300], "m": [299]}


# Growth and floors.


def test_every_append_adds_a_fragment(small: PinnedFolder) -> None:
    dataset = small.attempt().open()
    for number in range(10, 15):
        dataset = append(dataset, rows(number, number + 1))
    assert len(dataset.get_fragments()) == 6


@pytest.mark.s3
def test_over_s3_opening_a_pinned_table_takes_two_requests_and_one_in_the_process_that_wrote_it(
    s3: S3,
) -> None:
    table = PinnedFolder.create(s3.store(), 3)
    with s3.requests() as seen:
        table.open()
    assert [(request.method, request.is_listing) for request in seen] == [("HEAD", False)]
    manifests.clear()
    with s3.requests() as seen:
        table.open()
    assert [(request.method, request.is_listing) for request in seen] == [("GET", False), ("HEAD", False)]


@pytest.mark.s3
def test_over_s3_a_staged_upsert_of_one_row_takes_eight_requests_beside_the_opening(s3: S3) -> None:
    table = PinnedFolder.create(s3.store(), 3)
    dataset = table.attempt().open()
    with s3.requests() as seen:
        changes = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        changes.conflict_retries(0).execute(rows(10, 11))
    folders = [(item.method, item.key.split("/")[-2] if item.key else "list") for item in seen]
    assert [item for item in folders if item[1] in ("data", "list", "_transactions")] == [
        ("GET", "data"),
        ("PUT", "data"),
        ("GET", "list"),
        ("PUT", "_transactions"),
    ]
    moving_the_manifest = [item[0] for item in folders[4:]]
    assert moving_the_manifest == ["PUT", "GET", "PUT", "DELETE"], (
        "staged by Lance; read, put and removed by us"
    )


# Filters.


@pytest.fixture
def dated(store: ObjectStore) -> Any:
    """A row of each type that filters are particular about."""
    schema = pa.schema(
        [("day", pa.date32()), ("moment", pa.date64()), ("small", pa.int32()), ("text", pa.string())]
    )
    table = PinnedFolder.create(store, schema=schema)
    new_year = date(2024, 1, 1)
    row = {"day": [new_year], "moment": [new_year], "small": [7], "text": ["Running fast"]}
    return append(table.attempt().open(), pa.table(row, schema=schema))


@pytest.mark.parametrize(
    "filter",
    ["day = '2024-01-01'", "moment = '2024-01-01'", "small = 7.5", "small < 1e12", "small < 99999999999"],
)
def test_a_literal_of_another_type_is_refused(dated: Any, filter: str) -> None:
    with pytest.raises(ValueError, match="could not convert to literal"):
        dated.to_table(filter=filter)


@pytest.mark.parametrize(
    "filter", ["day = date '2024-01-01'", "moment = date '2024-01-01'", "small = 7", "small < 2147483647"]
)
def test_a_literal_of_the_columns_type_is_taken(dated: Any, filter: str) -> None:
    assert dated.to_table(filter=filter).num_rows == 1


def test_arrow_expressions_reach_dates_and_not_moments(dated: Any) -> None:
    assert dated.to_table(filter=pc.field("day") == pa.scalar(date(2024, 1, 1))).num_rows == 1
    with pytest.raises(ValueError, match="not yet supported by Substrait"):
        dated.to_table(filter=pc.field("moment") == pa.scalar(date(2024, 1, 1), pa.date64()))


def _matches(dataset: Any, word: str) -> int:
    return int(dataset.to_table(full_text_query=MatchQuery(word, "text")).num_rows)


def test_text_search_without_an_index_is_case_sensitive_and_unstemmed(dated: Any) -> None:
    words = ("Running", "running", "run")
    assert [_matches(dated, word) for word in words] == [1, 0, 0]
    dated.create_scalar_index("text", "INVERTED")
    assert [_matches(dated, word) for word in words] == [1, 1, 1]


def test_the_schema_of_a_pinned_table_is_the_one_it_was_created_with(table: PinnedFolder) -> None:
    assert table.open().schema == SCHEMA


@pytest.mark.parametrize("member", [pa.uint32(), pa.uint64(), pa.date64()], ids=str)
def test_a_list_that_substrait_cannot_say_spoils_arrow_expressions_about_other_columns(
    member: pa.DataType, tmp_path: Path
) -> None:
    """Why `storage/filters.py` writes SQL."""
    table = pa.table({"id": ["a", "b"], "x": pa.array([[], []], pa.list_(member))})
    dataset = lance.write_dataset(table, str(tmp_path / "t"))
    with pytest.raises(ValueError, match="Substrait"):
        dataset.to_table(filter=pc.field("id") == "a")
    assert dataset.to_table(filter="id = 'a'").num_rows == 1


def test_what_is_asked_of_lance_by_its_inner_names_is_there(small: PinnedFolder) -> None:
    """`stats.dataset_stats` counts deleted rows as well, and `path` makes a class at every look."""
    dataset = small.open()
    fragments = dataset.get_fragments()
    assert dataset._ds.count_fragments() == len(fragments)
    files = [file for fragment in fragments for file in fragment.metadata.files]
    assert [file._path for file in files] == [str(file.path) for file in files]


def test_described_fragments_can_be_sent_between_processes(small: PinnedFolder) -> None:
    """`StagedFragments` is pickled on its way from a task of Spark."""
    written = write_fragments(small.open().to_table(), small.open())
    again = pickle.loads(pickle.dumps(written))
    assert again == written
    assert [file._path for item in again for file in item.files]
