"""What only a disk can do: permissions, full disks, killed writers, locks, flushing."""

from __future__ import annotations

import os
import signal
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from omnigraph.base.errors import (
    AccessDenied,
    AlreadyExists,
    InvalidName,
    NotFound,
    PreconditionFailed,
    ReadOnly,
    Unavailable,
)
from omnigraph.storage.objects import open_store, swaps
from omnigraph.storage.objects.local import LocalStore
from omnigraph.storage.objects.swaps import Swaps, _Claim, _follow
from support import read_only
from support.object_workers import (
    die_while_creating,
    die_while_holding_the_lock,
    increment_impatiently,
    stop_inside,
    stop_while_claiming,
    try_everything,
    write_beyond_a_limit,
)
from support.processes import run_and_wait, run_together, run_unprivileged, stopped_process


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(str(tmp_path / "root"))


def staging(store: LocalStore) -> list[str]:
    return os.listdir(f"{store.root_uri}/.og/staging")


# Permissions, as root and as anyone else


def set_modes(root: Path, mode: int) -> None:
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        folder.chmod(mode)


@pytest.mark.parametrize("has_own_folder", [True, False])
def test_a_read_only_folder_refuses_every_write_and_serves_every_read(
    tmp_path: Path, has_own_folder: bool
) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a/b").write_bytes(b"1")
    if has_own_folder:
        open_store(str(root)).put("warm", b"")
    set_modes(root, 0o555)
    try:
        said = run_unprivileged(try_everything, str(root))
    finally:
        folders = [root, root / "a", root / ".og", root / ".og/staging", root / ".og/swaps"]
        for folder in folders:
            if folder.exists():
                folder.chmod(0o755)
    writes = {name: type(said[name]) for name in ("create", "put", "replace", "delete", "move")}
    assert writes == dict.fromkeys(writes, ReadOnly)
    assert [said[name] for name in ("get", "exists", "exists_prefix", "list")] == [None] * 4
    assert "open the graph read-only" in str(said["create"])
    assert (root / "a/b").read_bytes() == b"1"
    assert not (root / "new").exists()


WRITE_AND_READ = """
import sys
from omnigraph.base.errors import ReadOnly
from omnigraph.storage.objects import open_store
store = open_store(sys.argv[1])
print(store.get("a/b"), [found.path for found in store.list()])
for write in (store.create, store.put):
    try:
        write("new", b"")
    except ReadOnly as error:
        print("refused:", error)
"""


@pytest.mark.parametrize("mounts_allowed", [True, False])
def test_a_read_only_disk_refuses_every_write_and_serves_every_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts_allowed: bool
) -> None:
    open_store(str(tmp_path)).put("a/b", b"1")
    if not mounts_allowed:
        monkeypatch.setattr(read_only, "_namespace", lambda root: None)
    done = read_only.run_on_read_only_disk(tmp_path, WRITE_AND_READ)
    lines = done.stdout.splitlines()
    assert lines[0] == "b'1' ['a/b']", done.stderr
    assert len(lines) == 3
    assert all("open the graph read-only" in line for line in lines[1:])
    assert [found.path for found in open_store(str(tmp_path)).list()] == ["a/b"]


def test_to_be_refused_is_an_error_and_never_absence(tmp_path: Path) -> None:
    root = tmp_path / "root"
    open_store(str(root)).put("a/b", b"1")
    (root / "a").chmod(0o000)
    try:
        said = run_unprivileged(try_everything, str(root))
    finally:
        (root / "a").chmod(0o755)
    reads = {name: type(said[name]) for name in ("get", "exists", "exists_prefix", "list")}
    assert reads == dict.fromkeys(reads, AccessDenied)


# A disk that is full


@pytest.mark.parametrize("how", ["create", "put", "replace"])
def test_a_write_that_runs_out_of_space_changes_nothing(tmp_path: Path, how: str) -> None:
    said, residue = run_unprivileged(write_beyond_a_limit, str(tmp_path), how)
    assert "no space" in said
    assert residue == []
    store = open_store(str(tmp_path))
    assert [found.path for found in store.list()] == ["a"]
    assert store.get("a") == b"old"


# Killed writers


def test_a_killed_writer_leaves_a_staging_file_that_can_be_removed(store: LocalStore) -> None:
    assert run_and_wait(die_while_creating, store.root_uri, {}) == -signal.SIGKILL
    assert len(staging(store)) == 1
    assert store.remove_residue(timedelta(hours=1)) == 0
    assert store.remove_residue(timedelta(seconds=-1)) == 1
    assert staging(store) == []
    assert not store.exists("object")


def test_removing_residue_of_a_root_that_is_not_there_creates_nothing(store: LocalStore) -> None:
    assert store.remove_residue(timedelta(0)) == 0
    assert not Path(store.root_uri).exists()


def test_a_writer_that_is_killed_inside_the_swap_holds_no_lock(store: LocalStore) -> None:
    store.put("counter", b"0")
    assert run_and_wait(die_while_holding_the_lock, store.root_uri, {}) == -signal.SIGKILL
    store.replace("counter", b"1", store.get_versioned("counter").etag)
    assert store.get("counter") == b"1"


# Stopped writers


@pytest.mark.parametrize("how", ["replace", "put", "delete"])
def test_a_writer_that_stops_inside_the_swap_holds_nobody_up_and_changes_nothing_newer(
    store: LocalStore, how: str
) -> None:
    store.put("a", b"0")
    tag = store.get_versioned("a").etag
    with stopped_process(stop_inside, store.root_uri, how, tag) as go_on:
        began = time.monotonic()
        store.replace("a", b"1", tag)
        assert time.monotonic() - began < 30
        store.put("a", b"2")
        store.delete("a")
        store.create("a", b"3")
        came = go_on()
    # Put and delete ask for nothing, so they are made again; a replace finds that it is too late.
    expected = {"replace": ("PreconditionFailed", b"3"), "put": ("done", b"late"), "delete": ("done", None)}
    assert (came, store.get_many(["a"])[0]) == expected[how]
    assert staging(store) == []


def test_nobody_waits_for_a_writer_that_stops_inside_create(store: LocalStore) -> None:
    with stopped_process(stop_inside, store.root_uri, "create", "") as go_on:
        store.create("new", b"1")
        assert go_on() == "AlreadyExists"
    assert store.get("new") == b"1"


def test_a_writer_whose_staging_file_was_taken_for_residue_writes_it_again(store: LocalStore) -> None:
    with stopped_process(stop_inside, store.root_uri, "create", "") as go_on:
        assert store.remove_residue(timedelta(seconds=-1)) == 1
        assert go_on() == "done"
    assert store.get("new") == b"late"


@pytest.mark.parametrize("how", ["put", "delete"])
def test_a_writer_whose_claim_was_taken_for_residue_begins_again(store: LocalStore, how: str) -> None:
    store.put("a", b"0")
    with stopped_process(stop_while_claiming, store.root_uri, how) as go_on:
        assert store.remove_residue(timedelta(seconds=-1)) == 2
        assert go_on() == "done"
    assert store.get_many(["a"]) == [b"late" if how == "put" else None]
    assert staging(store) == []


def test_no_increment_is_lost_among_processes_that_overtake_each_other(store: LocalStore) -> None:
    store.put("counter", b"0")
    lost = run_together(increment_impatiently, [(store.root_uri, 40)] * 4)
    assert store.get("counter") == b"160", lost
    assert staging(store) == []


def test_claims_do_not_pile_up(store: LocalStore) -> None:
    for number in range(200):
        store.put("a", b"%d" % number)
    folders = list(Path(store.root_uri, ".og/swaps").iterdir())
    assert len(folders) == 1
    assert len(os.listdir(folders[0])) <= 16


def test_a_claim_under_a_number_that_was_used_and_freed_does_not_count(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.mkdir()
    claims = Swaps(str(tmp_path / "claims"), str(tokens), 0.0)
    for number in range(40):
        claims.claim("a", f"over{number}")
    (folder,) = (tmp_path / "claims").iterdir()
    numbers = sorted(int(name) for name in os.listdir(folder))
    assert numbers[0] > 1
    # What a process believes that looked when there were few claims, and slept since.
    stale = _Claim(2, "over1")
    (tokens / "late").touch()
    (tokens / "late.claim").write_text("late")
    assert not _follow(str(folder), stale, str(tokens / "late.claim"))
    assert (folder / "3").read_text() == "late"
    claims.claim("a", "next")
    assert (tokens / "late").exists(), "a claim that does not count is nobody's to overtake"


@pytest.mark.parametrize("name", [".nfs00000000deadbeef", ".DS_Store", "007", "7~"])
def test_foreign_names_among_the_claims_hold_nobody_up(store: LocalStore, name: str) -> None:
    for number in range(64):
        folder = Path(store.root_uri, f".og/swaps/{number:02x}")
        folder.mkdir(parents=True)
        (folder / name).touch()
    for number in range(20):
        store.put("a", b"%d" % number)
    store.delete("a")
    assert not store.exists("a")


def test_claims_whose_bytes_a_power_cut_has_taken_are_over(store: LocalStore) -> None:
    store.put("a", b"1")
    (folder,) = Path(store.root_uri, ".og/swaps").iterdir()
    for content in (b"", b"\0" * 16, b"\xff\xfe"):
        newest = max(folder.iterdir(), key=lambda file: int(file.name))
        newest.write_bytes(content)
        store.put("a", content)
        assert store.get("a") == content


def test_a_folder_that_never_can_be_claimed_is_an_error_and_not_a_wait(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swaps, "_newest", lambda folder: None)
    with pytest.raises(Unavailable, match="could not be claimed"):
        store.put("a", b"1")
    assert staging(store) == []


def test_no_write_leaves_anything_in_staging(store: LocalStore) -> None:
    store.put("a", b"1")
    store.create("b", b"1")
    store.replace("a", b"2", store.get_versioned("a").etag)
    with pytest.raises(AlreadyExists):
        store.create("b", b"2")
    with pytest.raises(PreconditionFailed):
        store.replace("a", b"3", "stale")
    assert staging(store) == []


# Compare and swap


def test_a_tag_is_not_fooled_by_equal_size_and_time(store: LocalStore) -> None:
    store.put("a", b"one")
    name = f"{store.root_uri}/a"
    before, tag = os.stat(name), store.get_versioned("a").etag
    store.put("a", b"two")
    os.utime(name, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(PreconditionFailed):
        store.replace("a", b"three", tag)
    assert store.get("a") == b"two"


@pytest.mark.parametrize("other", ["put", "delete"])
def test_nothing_comes_between_the_comparison_and_the_swap(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    store.put("a", b"1")
    tag = store.get_versioned("a").etag
    compare = store._etag_of
    act = (lambda: store.put("a", b"other")) if other == "put" else (lambda: store.delete("a"))
    rival = threading.Thread(target=act)

    def compare_while_a_rival_acts(path: str) -> str | None:
        found = compare(path)
        rival.start()
        rival.join(0.1)
        assert rival.is_alive(), "the rival did not wait for the swap"
        return found

    monkeypatch.setattr(store, "_etag_of", compare_while_a_rival_acts)
    store.replace("a", b"2", tag)
    rival.join()
    assert store.get_many(["a"]) == [b"other" if other == "put" else None]


def test_a_listing_after_a_path_enters_no_folder_before_it(
    store: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in range(20):
        store.put(f"chain/{folder:02d}/{folder:02d}0.json", b"")
    entered, scan = [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: entered.append(Path(path).name) or scan(path))
    assert [info.path for info in store.list("chain", after="chain/18/180.json")] == ["chain/19/190.json"]
    assert entered == ["chain", "18", "19"]


# Flushing


@pytest.mark.parametrize("how", ["create", "put", "replace"])
def test_with_fsync_the_file_is_flushed_before_it_is_visible_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    store = open_store(str(tmp_path / "root"), {"fsync": "true"})
    if how == "replace":
        store.put("a/b", b"0")
    etag = store.get_versioned("a/b").etag if how == "replace" else ""
    steps: list[str] = []
    fsync, link, replace = os.fsync, os.link, os.replace

    def log_fsync(descriptor: int) -> None:
        steps.append(f"flush {os.readlink(f'/proc/self/fd/{descriptor}')}")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", log_fsync)
    monkeypatch.setattr(os, "link", lambda *names: (link(*names), steps.append("visible")))
    monkeypatch.setattr(os, "replace", lambda *names: (replace(*names), steps.append("visible")))
    if how == "create":
        store.create("a/b", b"1")
    elif how == "put":
        store.put("a/b", b"1")
    else:
        store.replace("a/b", b"1", etag)
    visible = steps.index("visible")
    assert "/.og/staging/" in steps[visible - 1]
    assert f"flush {tmp_path}/root/a" in steps[visible:]
    if how != "replace":
        assert f"flush {tmp_path}/root" in steps[visible:]


def test_without_fsync_nothing_is_flushed(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("flushed"))
    store.create("a/b", b"1")
    store.put("a/b", b"2")
    store.delete("a/b")


def test_with_fsync_a_folder_that_another_process_made_is_flushed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root/a/b").mkdir(parents=True)  # by one that was killed before it flushed anything
    store = open_store(str(tmp_path / "root"), {"fsync": "true"})
    flushed: list[str] = []
    fsync = os.fsync

    def log(descriptor: int) -> None:
        flushed.append(os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), tmp_path))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", log)
    store.create("a/b/c", b"1")
    assert sorted(flushed[1:]) == [".", "root", "root/a", "root/a/b"]
    flushed.clear()
    store.create("a/b/d", b"1")
    assert flushed[1:] == ["root/a/b"], "what is durable once is not flushed again"
    flushed.clear()
    (tmp_path / "root/a/b/e").write_bytes(b"2")
    store.discard("a/b/c")
    store.sync(["a/b/e", "a/b/c"])
    assert sorted(flushed) == ["root/a/b", "root/a/b/e"]


# Names that clash with folders


def test_an_object_cannot_lie_under_another_object(store: LocalStore) -> None:
    store.put("a", b"1")
    for write in (store.create, store.put):
        with pytest.raises(AlreadyExists, match="part of it"):
            write("a/b", b"")
    assert staging(store) == []


def test_an_object_cannot_take_the_path_of_a_folder(store: LocalStore) -> None:
    store.put("a/b", b"1")
    for write in (store.create, store.put):
        with pytest.raises(AlreadyExists):
            write("a", b"")
    with pytest.raises(NotFound):
        store.get("a")


def test_a_segment_longer_than_the_disk_allows_is_an_invalid_name(store: LocalStore) -> None:
    with pytest.raises(InvalidName, match="too long"):
        store.create("x" * 300, b"")


def test_a_root_that_is_a_file_holds_nothing_and_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = open_store(str(tmp_path / "file"))
    assert not store.exists("")
    assert list(store.list()) == []
    with pytest.raises(NotFound):
        store.get("a")
    with pytest.raises(AlreadyExists):
        store.put("a", b"")


def test_an_empty_folder_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    store = open_store(str(tmp_path))
    assert not store.exists("a")
    assert list(store.list()) == []
