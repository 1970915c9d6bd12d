"""What a backup decides, without any storage."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from omnigraph.base.errors import CorruptState
from omnigraph.graph.backup.manifest import HeldChain, HeldCommit, Manifest, decode_manifest, manifest_path
from omnigraph.graph.backup.plan import Copied, Folders, files_of_version, floor_of
from omnigraph.graph.backup.target import object_path
from omnigraph.graph.manifest.record import CommitRef
from omnigraph.graph.manifest.stamp import Stamp
from omnigraph.storage.files.copying import Content
from omnigraph.storage.objects import ObjectInfo
from omnigraph.storage.versions.reachable import TableFiles

NOW = datetime.fromtimestamp(0, UTC)


def _content(text: str) -> Content:
    return Content.of(text.encode())


def _commit(seq: int, *pins: str) -> HeldCommit:
    merged = CommitRef("M", "other", 3) if seq == 2 else None
    return HeldCommit(
        seq, f"C{seq}", 1000 + seq, _content(f"record {seq}"), "s1", frozenset(pins), merged, seq == 9
    )


def _chain(*seqs: int, fork: CommitRef | None = None, tables: dict[str, int] | None = None) -> HeldChain:
    return HeldChain("chain", "dev", fork, {seq: _commit(seq) for seq in seqs}, tables or {})


def test_a_complete_chain_has_no_floor() -> None:
    assert floor_of(_chain(1, 2, 3)) is None
    assert floor_of(_chain(5, 6, fork=CommitRef("F", "main", 4))) is None


def test_a_floor_says_which_commits_of_a_chain_are_held() -> None:
    floor = floor_of(_chain(2, 3, 7, 8))
    assert floor is not None
    assert (floor.below, floor.since) == (7, 1007)
    assert [seq for seq in range(1, 10) if floor.holds(seq)] == [2, 3, 7, 8, 9]
    snapshot = floor_of(_chain(6))
    assert snapshot is not None
    assert [seq for seq in range(1, 8) if snapshot.holds(seq)] == [6, 7]


def test_a_table_that_was_dropped_for_good_is_noted_as_long_as_a_commit_is_older() -> None:
    floor = floor_of(_chain(1, 2, 3, tables={"t": 3, "u": 1}))
    assert floor is not None
    assert floor.tables == {"t": 3}
    assert floor.holds(1)


def test_the_files_of_a_version_are_what_it_needs_and_what_lies_in_its_folders() -> None:
    found = [
        ObjectInfo(path, 1, NOW)
        for path in (
            "nodes/a/_pins/x/1.manifest",
            "nodes/a/data/d1.lance",
            "nodes/a/_indices/i1/part/page.lance",
            "nodes/a/_indices/i2/page.lance",
            "nodes/b/_indices/i1/page.lance",
        )
    ]
    needed = {"data/d1.lance": None, "data/gone.lance": None}
    files = TableFiles("_pins/x/1.manifest", 1, 1, needed, frozenset({"_indices/i1", "_transactions/t.txn"}))
    assert files_of_version(files, "nodes/a", Folders.of(found)) == {
        "nodes/a/_pins/x/1.manifest",
        "nodes/a/data/d1.lance",
        "nodes/a/data/gone.lance",
        "nodes/a/_indices/i1/part/page.lance",
    }


def test_a_manifest_is_read_as_it_was_written() -> None:
    pins = [f"nodes/t/_pins/{number}/m" for number in range(3)]
    files = {path: _content(path) for path in [*pins, "nodes/t/data/a", "nodes/t/data/b"]}
    commits = {1: _commit(1, pins[0]), 2: _commit(2, pins[0], pins[1]), 9: _commit(9, pins[2])}
    fork = CommitRef("F", "main", 0)
    manifest = Manifest(
        id="01B",
        created_at=5,
        actor="act-ada",
        scope="graph",
        stamp=Stamp("G", "chain", 1),
        heads={"main": CommitRef("C9", "chain", 9)},
        chains={"chain": HeldChain("chain", "main", fork, commits, {"t": 2})},
        schemas={"s1": _content("schema")},
        files=files,
        versions={
            pins[0]: frozenset({pins[0], "nodes/t/data/a"}),
            pins[1]: frozenset({pins[1], "nodes/t/data/a", "nodes/t/data/b"}),
            pins[2]: frozenset({pins[2], "nodes/t/data/b"}),
        },
        texts={"__manifest/tags/v1.json": "{}"},
        since="C1",
        keys={"__manifest/keys/chain/k.json": _content("claim")},
    )
    assert decode_manifest(manifest.encode(), manifest_path(manifest.id)) == manifest
    assert manifest.holds("C2") and not manifest.holds("C3")
    assert len(manifest.objects()) == len(files) + 1 + len(commits) + 1


def test_equal_content_lies_in_one_place_whatever_its_name() -> None:
    assert object_path(_content("same")) == object_path(_content("same"))
    assert object_path(_content("same")) != object_path(_content("other"))


def test_what_neither_the_graph_nor_the_target_has_is_named() -> None:
    with pytest.raises(CorruptState, match="nodes/t/data/a"):
        Copied({}, {}).content("nodes/t/data/a")
