"""Files that processes share are replaced whole, and changed by one at a time."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from omnigraph.storage.files.shared_files import hold_lock, replace_file


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    replace_file(tmp_path / "a", b"one", keeps_readers=True)
    assert ((tmp_path / "a").read_bytes(), mode_of(tmp_path / "a")) == (b"one", 0o600)


@pytest.mark.parametrize(("keeps_readers", "mode"), [(False, 0o600), (True, 0o644)])
def test_a_replaced_file_is_for_who_could_read_it_where_that_is_asked_for(
    tmp_path: Path, keeps_readers: bool, mode: int
) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "a").chmod(0o644)
    replace_file(tmp_path / "a", b"two", keeps_readers)
    assert ((tmp_path / "a").read_bytes(), mode_of(tmp_path / "a")) == (b"two", mode)


def test_what_cannot_be_replaced_stays_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError("the disk is full")

    (tmp_path / "a").write_bytes(b"one")
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="full"):
        replace_file(tmp_path / "a", b"two")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"one")]


@pytest.mark.parametrize("name", ["lock", ""])
def test_a_file_or_a_folder_is_locked_by_one_at_a_time(tmp_path: Path, name: str) -> None:
    with hold_lock(tmp_path / name) as first, hold_lock(tmp_path / name, waits=False) as second:
        assert (first, second) == (True, False)
    with hold_lock(tmp_path / name, waits=False) as third:
        assert third
