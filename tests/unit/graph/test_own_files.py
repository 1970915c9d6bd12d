"""Only our own files: where a graph may be made, what a cleanup may remove, where an export may go."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.errors import AlreadyExists, ForeignLinks
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.manifest import layout
from omnigraph.storage.objects import open_store
from support.care import INSERT as CARE_INSERT
from support.care import PEOPLE, at_once, fill
from support.s3 import S3

SCHEMA = "node A { k: String @key }"
INSERT = 'query q() { insert A { k: "1" } }'


@pytest.mark.parametrize("name", ["notes.txt", "nodes/mine.csv", "__manifest/mine", ".hidden", "a/b/c"])
def test_a_root_with_files_of_others_is_refused_and_left_as_it_is(tmp_path: Path, name: str) -> None:
    root = tmp_path / "graph"
    (root / name).parent.mkdir(parents=True)
    (root / name).write_text("mine")
    with pytest.raises(AlreadyExists, match=name) as caught:
        og.init(root, SCHEMA)
    assert caught.value.found == [name]
    assert [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()] == [name]
    assert og.init(root, SCHEMA, force=True).snapshot().version == 1
    assert (root / name).read_text() == "mine"


def test_force_never_makes_a_graph_over_another(tmp_path: Path) -> None:
    og.init(tmp_path / "graph", SCHEMA)
    with pytest.raises(AlreadyExists, match="there is a graph"):
        og.init(tmp_path / "graph", SCHEMA, force=True)


def test_a_folder_with_a_link_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph/nodes").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AlreadyExists, match="nodes"):
        og.init(tmp_path / "graph", SCHEMA)


def test_empty_folders_are_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "graph/a/b").mkdir(parents=True)
    assert og.init(tmp_path / "graph", SCHEMA).snapshot().version == 1


@pytest.mark.parametrize(
    "point", [Failpoint.INIT_AFTER_SCHEMA, Failpoint.INIT_AFTER_TABLES, Failpoint.INIT_AFTER_GENESIS]
)
def test_what_an_unfinished_init_left_is_no_hindrance(tmp_path: Path, point: Failpoint) -> None:
    for _ in range(2):
        with failpoints.arm_temporarily(point, "raise"), pytest.raises(failpoints.InjectedFault):
            og.init(tmp_path / "graph", SCHEMA)
    assert og.init(tmp_path / "graph", SCHEMA).snapshot().version == 1


@pytest.mark.s3
def test_a_bucket_with_objects_of_others_is_refused(s3: S3) -> None:
    open_store(f"{s3.uri}/root", s3.options).put("mine", b"1")
    with pytest.raises(AlreadyExists, match="mine"):
        og.init(f"{s3.uri}/root", SCHEMA, storage_options=s3.options)
    og.init(f"{s3.uri}/roo", SCHEMA, storage_options=s3.options)
    og.init(f"{s3.uri}/root", SCHEMA, storage_options=s3.options, force=True)


# Files of others among ours

CONTROL = [
    "chains/*",
    "chains/*/*",
    "cleanup/condemned",
    "branches",
    "tags",
    "hints",
    "floors",
    "forks/*",
    "schemas",
]
FOREIGN = [".DS_Store", "1.json~", "Thumbs.db"]


def make_varied(root: Path) -> og.Graph:
    """Make a graph that has every kind of control object."""
    graph = og.init(root, PEOPLE)
    fill(graph, 3)
    graph.branches.create("dev")
    fill(graph, 1, 10, "dev")
    graph.branches.create("kid", from_branch="dev")
    graph.tags.create("v1")
    graph.cleanup(keep=1)
    graph.mutate(CARE_INSERT, {"n": "keyed", "t": ""}, idempotency_key="k")
    return graph


@pytest.mark.parametrize("place", [*CONTROL, "keys", "keys/*", "../__recovery"])
def test_nothing_stumbles_over_foreign_files_among_the_control_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    at_once(monkeypatch)
    root = tmp_path / "graph"
    make_varied(root)
    folder = next(iter(root.glob(f"__manifest/{place}")), root / "__recovery")
    folder.mkdir(exist_ok=True)
    for name in FOREIGN:
        (folder / name).write_text("mine")
    graph = og.open(root)
    assert graph.cleanup(keep=1).files == 0, "it makes work for no cleanup"
    found = graph.repair().findings
    assert [(item.code, item.where) for item in found] == [
        ("not_ours", os.path.relpath(folder / name, root)) for name in FOREIGN
    ]
    assert graph.branches.list() == ["main", "dev", "kid"]
    assert [tag.name for tag in graph.tags.list()] == ["v1"]
    assert graph.backup(tmp_path / "backup").commits
    assert graph.branches.merge("kid").outcome
    fill(graph, 1, 20)
    graph.branches.delete("kid")
    graph.branches.delete("dev")
    graph.cleanup(keep=1)
    assert {(folder / name).read_text() for name in FOREIGN} == {"mine"}


@pytest.mark.s3
def test_a_foreign_object_after_the_records_of_a_bucket_is_no_record(s3: S3) -> None:
    graph = og.init(f"{s3.uri}/root", SCHEMA, storage_options=s3.options)
    graph.mutate(INSERT)
    store = open_store(f"{s3.uri}/root", s3.options)
    chain = next(store.list(layout.CHAINS)).path.rsplit("/", 1)[0]
    store.put(f"{chain}/Thumbs.db", b"mine")
    again = og.open(f"{s3.uri}/root", storage_options=s3.options)
    assert again.snapshot().version == 2
    again.cleanup(keep=1)


@pytest.mark.parametrize("before", [True, False])
def test_cleanup_leaves_what_is_not_of_a_table_and_repair_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    at_once(monkeypatch)
    root = tmp_path / "graph"
    mine = ["nodes/photos/2026/cat.jpg", "nodes/photos/dog.jpg", "nodes/readme.txt", "edges/data/a.lance"]

    def put(names: list[str]) -> None:
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("mine")

    if before:
        put(mine)
    graph = og.init(root, SCHEMA, force=before)
    (table,) = root.glob("nodes/*-*")
    inside = os.path.relpath(table, root)
    put([*mine, f"{inside}/notes.txt", f"{inside}/mine/a.txt"])
    graph.mutate(INSERT)
    graph.cleanup(keep=1)
    for name in (*mine, f"{inside}/notes.txt", f"{inside}/mine/a.txt"):
        assert (root / name).read_text() == "mine", name
    repaired = graph.repair()
    assert repaired.ok
    places = ["edges/data", f"{inside}/mine", f"{inside}/notes.txt", "nodes/photos", "nodes/readme.txt"]
    assert [(item.code, item.where) for item in repaired.findings] == [("not_ours", it) for it in places]
    assert "2 files" in repaired.findings[3].what


# Links


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of somebody else, with old files."""
    folder = tmp_path / "precious/0000000000000009-0000000000000009/data"
    folder.mkdir(parents=True)
    for name in ("a.lance", "b.lance"):
        (folder / name).write_text("precious")
        os.utime(folder / name, (0, 0))
    return tmp_path / "precious"


@pytest.mark.parametrize("place", ["nodes/link", "edges/link", "__manifest/chains/link", ".og/staging/link"])
def test_cleanup_refuses_a_graph_with_links_and_removes_nothing_through_them(
    tmp_path: Path, precious: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.mutate(INSERT)
    link = tmp_path / "graph" / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(precious)
    with pytest.raises(ForeignLinks, match=place) as caught:
        graph.cleanup(keep=1)
    assert caught.value.links == [place]
    found = [(item.code, item.where) for item in graph.repair().findings if item.code == "link"]
    assert found == [("link", place)]
    assert len(list(precious.rglob("*.lance"))) == 2
    link.unlink()
    graph.cleanup(keep=1)
    assert graph.query("query q() { match { $a: A } return { $a.k } }").rows == [{"a.k": "1"}]


def test_a_table_folder_that_is_a_link_is_not_swept(
    tmp_path: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_CLEANUP_GRACE_SECONDS", "0")
    graph = og.init(tmp_path / "graph", SCHEMA)
    (tmp_path / "graph/nodes/0000000000000009-0000000000000009").symlink_to(
        precious / "0000000000000009-0000000000000009"
    )
    with pytest.raises(ForeignLinks):
        graph.cleanup()
    assert len(list(precious.rglob("*.lance"))) == 2


def test_a_listing_does_not_follow_links_and_a_delete_takes_none_away(tmp_path: Path, precious: Path) -> None:
    store = open_store(str(tmp_path / "root"))
    store.put("a/b", b"1")
    (tmp_path / "root/a/link").symlink_to(precious)
    (tmp_path / "root/a/file").symlink_to(next(precious.rglob("a.lance")))
    assert [info.path for info in store.list()] == ["a/b"]
    store.delete("a/file")
    store.discard("a/file")
    assert (tmp_path / "root/a/file").is_symlink()
    assert store.remove_residue(timedelta(seconds=-1)) == 0


# Exports


@pytest.mark.parametrize("inside", ["out.ndjson", "nodes/out.ndjson", "deep/er/out.ndjson"])
def test_an_export_into_a_graph_is_refused(tmp_path: Path, inside: str) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    other = og.init(tmp_path / "other", SCHEMA)
    (tmp_path / "graph" / inside).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "link").symlink_to(tmp_path / "graph")
    for target in (tmp_path / "graph" / inside, tmp_path / "link" / inside):
        for source in (graph, other):
            with pytest.raises(og.BadInput, match="lies inside the graph"):
                source.export(target)
            with pytest.raises(og.BadInput, match="lies inside the graph"):
                source.export(target, format="parquet")
    assert not (tmp_path / "graph" / inside).exists()
    graph.export(tmp_path / "out.ndjson")


@pytest.mark.s3
def test_an_export_into_a_graph_in_a_bucket_is_refused(s3: S3) -> None:
    graph = og.init(f"{s3.uri}/a/graph", SCHEMA, storage_options=s3.options)
    for target in ("a/graph/out", "a/graph/nodes/out", "a/graph"):
        with pytest.raises(og.BadInput, match="lies inside the graph"):
            graph.export(f"{s3.uri}/{target}", format="parquet")
    graph.export(f"{s3.uri}/a/out", format="parquet")


@pytest.mark.parametrize("force", [False, True])
def test_a_graph_that_has_lost_its_stamp_is_told_so_and_not_made_again(tmp_path: Path, force: bool) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.mutate(INSERT)
    stamp = tmp_path / "graph/__manifest/graph.json"
    stamp.rename(tmp_path / "stamp")
    with pytest.raises(og.CorruptState, match="lost its stamp"):
        og.open(tmp_path / "graph")
    with pytest.raises(AlreadyExists, match="stamp is lost"):
        og.init(tmp_path / "graph", SCHEMA, force=force)
    (tmp_path / "stamp").rename(stamp)
    assert og.open(tmp_path / "graph").query("query q() { match { $a: A } return { $a.k } }").rows
