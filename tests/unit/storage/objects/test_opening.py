"""Which URIs and options name a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.base.errors import BadInput, InvalidName
from omnigraph.storage.objects import open_store


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("folder/graph")
    assert store.root_uri == str(tmp_path / "folder/graph")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.put("a", b"1")
    assert (tmp_path / "folder/graph/a").read_bytes() == b"1"


def test_one_folder_has_one_root_however_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    names = [f"{tmp_path}/real", f"{tmp_path}/link", f"{tmp_path}/link/", f"{tmp_path}/x/../real"]
    names += [f"file://{tmp_path}/link", f"file://localhost{tmp_path}/real/", f"FILE://{tmp_path}/real"]
    assert {open_store(name).root_uri for name in names} == {str(tmp_path / "real")}


def test_a_symlinked_root_works(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    open_store(f"{tmp_path}/link").create("a/b", b"1")
    assert open_store(f"{tmp_path}/real").get("a/b") == b"1"


def test_a_bare_path_is_taken_literally_and_a_file_uri_is_decoded(tmp_path: Path) -> None:
    assert open_store(f"{tmp_path}/a%20b").root_uri == f"{tmp_path}/a%20b"
    assert open_store(f"file://{tmp_path}/a%20b").root_uri == f"{tmp_path}/a b"
    assert open_store(f"file://{tmp_path}/a#b?c").root_uri == f"{tmp_path}/a#b?c"


def test_opening_creates_nothing(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "graph"))
    assert not store.exists("")
    assert list(store.list()) == []
    store.delete("a")
    assert list(tmp_path.iterdir()) == []


def test_a_memory_store_is_shared_by_name() -> None:
    open_store("memory://opening-one").put("a", b"1")
    assert open_store("memory://opening-one").get("a") == b"1"
    assert not open_store("memory://opening-two").exists("a")


def test_a_local_disk_flushes_unless_it_is_told_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMNIGRAPH_FSYNC")
    assert open_store(str(tmp_path)).flushes
    assert not open_store(str(tmp_path), {"fsync": "false"}).flushes
    monkeypatch.setenv("OMNIGRAPH_FSYNC", "0")
    assert not open_store(str(tmp_path)).flushes
    assert open_store(str(tmp_path), {"fsync": "true"}).flushes
    assert not open_store("memory://flushes").flushes


def test_the_scheme_says_where_the_objects_are(tmp_path: Path) -> None:
    local, memory, s3 = open_store(str(tmp_path)), open_store("memory://x"), open_store("s3://bucket/x/")
    assert [(store.scheme, store.is_local) for store in (local, memory, s3)] == [
        ("file", True),
        ("memory", False),
        ("s3", False),
    ]
    assert (memory.root_uri, s3.root_uri) == ("shared-memory://x", "s3://bucket/x")


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("", "path"),
        ("a\0b", "path"),
        ("ftp://host/x", "unknown scheme 'ftp'"),
        ("file://host/x", "file:///absolute/path"),
        ("file://", "file:///absolute/path"),
        ("memory://", "name"),
        ("s3://", "bucket"),
        ("s3:///x", "bucket"),
        ("s3://bucket/a#b", "'#'"),
        ("s3://bucket/a?b", r"'\?'"),
        ("s3://bucket/a%20b", "'%20'"),
    ],
)
def test_a_uri_that_names_no_store_is_bad_input(uri: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        open_store(uri)


def test_a_prefix_must_be_a_path_of_objects() -> None:
    with pytest.raises(InvalidName):
        open_store("s3://bucket/a/../b")


@pytest.mark.parametrize(
    ("uri", "options", "says"),
    [
        ("folder", {"fsnyc": "true"}, "fsnyc"),
        ("folder", {"fsync": "maybe"}, "'true' or 'false'"),
        ("memory://x", {"fsync": "true"}, "fsync"),
        ("s3://bucket", {"aws_endpont": "http://x"}, "endpont"),
        ("s3://bucket", {"aws_endpoint": "nonsense"}, "https://host"),
        ("s3://bucket", {"aws_endpoint": "http://"}, "https://host"),
        ("s3://bucket", {"aws_endpoint": "http://host:port"}, "https://host"),
        ("s3://bucket", {"timeout": "soon"}, "soon"),
        ("s3://bucket", {"client_max_retries": "few"}, "few"),
    ],
)
def test_an_option_that_is_not_one_is_bad_input(uri: str, options: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        open_store(uri, options)
