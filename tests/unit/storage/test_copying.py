"""Files are copied whole between all kinds of storage, and hashed on the way."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from omnigraph.base.errors import NotFound
from omnigraph.storage.files.copying import Content, content_of, side_by_side, transfer
from omnigraph.storage.objects import ObjectStore, open_store

LARGE = os.urandom(9 * 2**20 + 7)


@pytest.mark.parametrize("data", [b"", b"small", LARGE], ids=["empty", "small", "large"])
def test_a_file_goes_from_any_store_to_any_other(any_store: ObjectStore, tmp_path: Path, data: bytes) -> None:
    local = open_store(str(tmp_path / "local"))
    local.put("a/b", data)
    told: list[Content] = []

    def place(content: Content) -> str:
        told.append(content)
        return "there/x"

    for source, path, target in ((local, "a/b", any_store), (any_store, "there/x", local)):
        assert transfer(source, path, len(data), target, place) == Content.of(data)
        assert target.get("there/x") == data
        assert content_of(target, "there/x") == Content.of(data)
    assert told == [Content.of(data)] * 2


def test_nothing_is_written_when_it_goes_nowhere(any_store: ObjectStore, tmp_path: Path) -> None:
    local = open_store(str(tmp_path / "local"))
    local.put("a", b"x")
    assert transfer(local, "a", 1, any_store, lambda content: None) == Content.of(b"x")
    assert list(any_store.list()) == []


def test_what_is_not_there_is_not_found(any_store: ObjectStore, tmp_path: Path) -> None:
    for size in (1, len(LARGE)):
        with pytest.raises(NotFound):
            transfer(any_store, "nothing", size, open_store(str(tmp_path / "local")), lambda content: "x")
    with pytest.raises(NotFound):
        content_of(any_store, "nothing")


def test_a_disk_that_cannot_copy_by_itself_is_copied_through_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> int:
        raise OSError(errno.EXDEV, "another disk")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    source, target = open_store(str(tmp_path / "a")), open_store(str(tmp_path / "b"))
    source.put("x", LARGE)
    transfer(source, "x", len(LARGE), target, lambda content: "y")
    assert target.get("y") == LARGE
    assert list((tmp_path / "b" / ".og" / "staging").iterdir()) == []


def test_the_first_failure_ends_what_runs_side_by_side(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    done: list[int] = []

    def act(number: int) -> int:
        if number == 5:
            raise NotFound("five")
        done.append(number)
        return number

    with pytest.raises(NotFound, match="five"):
        list(side_by_side([store], act, range(1000)))
    assert len(done) < 1000
    assert sorted(side_by_side([store], abs, range(-20, 0))) == list(range(1, 21))
