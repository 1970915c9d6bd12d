"""Room that is kept for a full disk, on a disk that is really full."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.storage.files.reserve import RESERVE_BYTES, keep_reserve, release_reserve, reserve_released
from omnigraph.storage.objects import open_store
from support.s3 import S3

SCHEMA = "node A { k: String @key\n note: String? }"
FILL = """
import os, sys
from omnigraph.base.errors import OmniError
import omnigraph as og
from omnigraph.storage.files import reserve
root = sys.argv[1]
graph = og.init(root, sys.argv[2])
print("reserve", os.stat(f"{root}/.og/reserve").st_blocks * 512)
rows = [{"k": str(n), "note": os.urandom(500).hex()} for n in range(400)]
graph.load([{"type": "A", "data": row} for row in rows], mode="append")
for n in range(3):
    graph.mutate(f'query q() {{ update A set {{ note: "{n}" }} where k = "1" }}')
graph.optimize()
# Fill what is left to the last byte, as somebody else would.
with open(f"{root}/../junk", "wb", buffering=0) as junk:
    try:
        while True:
            junk.write(bytes(512))
    except OSError as error:
        print("full", error.errno)
try:
    graph.mutate('query q() { insert A { k: "more", note: "x" } }')
except OmniError as error:
    print("write", error.code)
free = os.statvfs(root).f_bavail
keep = reserve.release_reserve
reserve.release_reserve = lambda store: None
try:
    graph.cleanup(keep=1)
    print("cleanup without reserve: done")
except OmniError as error:
    print("cleanup without reserve:", error.code)
reserve.release_reserve = keep
found = graph.cleanup(keep=1)
print("cleanup", found.commits_dropped > 0, os.statvfs(root).f_bavail > free)
print("kept", os.path.exists(f"{root}/.og/reserve"))
graph.mutate('query q() { insert A { k: "more", note: "x" } }')
print("rows", graph.snapshot().tables[0].rows)
print("damage", [item.what for item in graph.repair().findings if item.severity == "damage"])
"""


def small_disk(folder: Path) -> list[str]:
    """Return the command that gives a program a disk of 8 MiB at a folder, in a namespace of its own."""
    mount = 'mount -t tmpfs -o size=8m tmpfs "$1" && shift && exec "$@"'
    for flags in (["--mount"], ["--mount", "--map-root-user"]):
        command = ["unshare", *flags, "sh", "-c", mount, "sh", str(folder)]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    raise AssertionError("this test needs the right to mount a disk in memory (root, or user namespaces)")


@pytest.mark.long
def test_a_cleanup_runs_on_a_full_disk(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OMNIGRAPH_CLEANUP_GRACE_SECONDS": "0",
    }
    done = subprocess.run(
        [*small_disk(tmp_path), sys.executable, "-c", FILL, str(tmp_path / "graph"), SCHEMA],
        capture_output=True, text=True, check=False, env=environment, timeout=120,
    )  # fmt: skip
    said = done.stdout.splitlines()
    assert said == [
        f"reserve {RESERVE_BYTES}",
        f"full {errno.ENOSPC}",
        "write unavailable",
        "cleanup without reserve: unavailable",
        "cleanup True True",
        "kept True",
        "rows 401",
        "damage []",
    ], done.stderr


def test_the_reserve_is_made_by_init_and_given_back_and_made_again(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    store, file = open_store(graph.uri), tmp_path / "graph/.og/reserve"
    assert file.stat().st_size == RESERVE_BYTES
    assert file.stat().st_blocks * 512 >= RESERVE_BYTES
    with reserve_released(store):
        assert not file.exists()
    assert file.exists()
    release_reserve(store)
    release_reserve(store)
    graph.cleanup()
    assert file.exists()
    assert keep_reserve(store)


def test_a_dry_run_leaves_the_reserve_alone(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    before = (tmp_path / "graph/.og/reserve").stat()
    graph.cleanup(dry_run=True)
    assert os.path.samestat(before, (tmp_path / "graph/.og/reserve").stat())


@pytest.mark.s3
def test_object_storage_needs_none(s3: S3) -> None:
    store = open_store(f"{s3.uri}/root", s3.options)
    assert not keep_reserve(store)
    release_reserve(store)
    assert list(store.list()) == []
