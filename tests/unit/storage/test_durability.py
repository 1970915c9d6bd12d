"""Which files a commit brings, and that all of them are flushed before its record."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.base.errors import CorruptState
from omnigraph.graph.maintenance.cleanup.marking import table_files
from omnigraph.storage.namespace import Pin, PinnedTable
from omnigraph.storage.objects import ObjectStore, open_store
from omnigraph.storage.versions.durability import sync_versions
from omnigraph.storage.versions.introduced import find_introduced
from support.graphs import PERSON, SCHEMA, rows
from support.row_changes import Append, RowChanges, Upsert

WITH_BLOBS = """
node Person { note: String? @index }
node File { content: Blob? }
edge Has: Person -> File
"""


def existing(store: ObjectStore, location: str, paths: set[str]) -> set[str]:
    """Return the files among paths of files and folders."""
    found = {info.path.removeprefix(f"{location}/") for info in store.list(location)}
    bare = {path.rstrip("/") for path in paths}
    return {path for path in found if path in bare or "/".join(path.split("/")[:2]) in bare}


def versions(graph: og.Graph) -> list[dict[str, tuple[str, PinnedTable]]]:
    """Return the tables of all commits of main, the oldest first."""
    truth = graph.internals.core.truth
    head = graph.internals.read_state().head
    records = truth.chains.records(head.incarnation, range(1, head.seq + 1))
    return [{key: (item.key, item.pinned) for key, item in record.tables.items()} for record in records]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    """A graph with appended, updated and deleted rows (few and many), joined files, indexes and blobs."""
    graph = og.init(tmp_path / "graph", WITH_BLOBS)
    graph.commit_work(RowChanges([Append(PERSON, rows(PERSON, (f"p{n}" for n in range(12000)), "one"))]))
    graph.commit_work(RowChanges([Upsert(PERSON, rows(PERSON, ["p1", "new"], "two"))]))
    graph.mutate('query q() { delete Person where id = "p2" }')
    graph.commit_work(RowChanges([Upsert(PERSON, rows(PERSON, (f"p{n}" for n in range(6000)), "three"))]))
    content = {"id": ["f"], "content": [b"x" * 200_000]}
    graph.load(pa.table(content), mode="append", type="File")
    graph.optimize()
    graph.commit_work(RowChanges([Upsert(PERSON, rows(PERSON, ["p5"], "four"))]))
    graph.schema.apply(WITH_BLOBS.replace("note: String? @index", "note: String? @index\n    age: I64?"))
    return graph


def test_what_a_version_brings_is_what_it_needs_and_the_one_before_does_not(graph: og.Graph) -> None:
    store = open_store(graph.uri)
    kinds: set[str] = set()
    for older, newer in pairwise(versions(graph)):
        for identity, (key, after) in newer.items():
            _, before = older.get(identity, (key, None))
            needed = existing(store, after.location, set(table_files(store, key, after).paths()))
            if before is not None:
                needed -= existing(store, before.location, set(table_files(store, key, before).paths()))
            brought = {
                path.removeprefix(f"{after.location}/") for path in find_introduced(store, before, after)
            }
            assert existing(store, after.location, brought) == needed
            kinds |= {f"{path.split('/')[0]}/{path[-4:]}" for path in needed}
    assert {"data/ance", "data/blob", "_deletions/rrow", "_deletions/.bin", "_indices/ance"} <= kinds
    assert {"_transactions/.txn", "_pins/fest"} <= kinds


def test_a_table_that_is_taken_over_as_it_is_brings_nothing(graph: og.Graph) -> None:
    for _, table in versions(graph)[-1].values():
        assert find_introduced(open_store(graph.uri), table, table) == []


def test_a_manifest_that_is_not_one_is_damage_and_not_a_guess(graph: og.Graph) -> None:
    store = open_store(graph.uri)
    store.put("nodes/x/_pins/u/1.manifest", b"not a manifest at all")
    with pytest.raises(CorruptState, match="is damaged"):
        find_introduced(store, None, PinnedTable("nodes/x", Pin(1, "_pins/u/1.manifest")))


def test_everything_of_a_commit_is_flushed_before_its_record_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA, storage_options={"fsync": "true"})
    graph.commit_work(RowChanges([Append(PERSON, rows(PERSON, ["a"], "one"))]))
    flushed: list[str] = []
    fsync = os.fsync

    def log(descriptor: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}").removeprefix(f"{tmp_path}/graph"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", log)
    graph.commit_work(RowChanges([Append(PERSON, rows(PERSON, ["b"], "two"))]))
    kinds = [name.split("/")[3] if name.startswith("/nodes/") else name.split("/")[1] for name in flushed]
    # A pin is a manifest and the sums of its files, in a folder of its own.
    assert sorted(kinds[:-2]) == ["_pins"] * 4 + ["_transactions"] * 2 + ["data"] * 2
    assert len(set(flushed)) == len(flushed)
    assert kinds[-2:] == [".og", "__manifest"], "the record, then its folder"


def test_a_commit_without_fsync_reads_no_manifest_for_it(graph: og.Graph) -> None:
    store = open_store(graph.uri, {"fsync": "false"})
    sync_versions(store, [(None, PinnedTable("nodes/none", Pin(1, "_pins/none/1.manifest")))])
