"""Credentials of storage stay on their machine: what is pickled names a file that only its owner reads."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from omnigraph.base.errors import BadInput
from omnigraph.base.handed.process_folders import CREDENTIALS, folders_of, remove_orphans
from omnigraph.base.handed.secrets import hand_over, take_over
from omnigraph.embedding.config import EmbeddingConfig
from omnigraph.embedding.embedder import Embedder
from omnigraph.storage.files.output_folders import output_folder
from omnigraph.storage.namespace import SnapshotNamespace
from omnigraph.storage.objects import open_store
from omnigraph.storage.objects.options import portable_options

SECRET = "planted-secret"
OPTIONS = {
    "aws_access_key_id": "owner",
    "aws_secret_access_key": SECRET,
    "aws_region": "us-east-1",
    "proxy_url": f"http://ada:{SECRET}@proxy",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_is_pickled_has_no_secret_and_means_the_same() -> None:
    store = open_store("s3://bucket/graph", OPTIONS)
    view = SnapshotNamespace(store.root_uri, store.lance_options(), {})
    for one in (store, view, output_folder("s3://bucket/out", OPTIONS)):
        assert SECRET.encode() not in pickle.dumps(one)
        assert SECRET not in repr(one)
    assert pickle.loads(pickle.dumps(store)).lance_options().items() >= store.lance_options().items()
    assert pickle.loads(pickle.dumps(view)).options.items() >= view.options.items()
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(view))))
    assert again.options == pickle.loads(pickle.dumps(view)).options


def test_the_key_of_a_provider_is_in_no_pickle_either() -> None:
    embedder = Embedder(EmbeddingConfig("openai", api_key=SECRET))
    data = pickle.dumps(embedder)
    assert SECRET.encode() not in data
    chosen = pickle.loads(data)._choice
    assert chosen.api_key is None and chosen.key() == SECRET


def test_what_the_environment_says_is_looked_up_where_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "owner")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    data = pickle.dumps(open_store("s3://bucket/graph"))
    assert SECRET.encode() not in data and not list(folder.iterdir())
    assert pickle.loads(data).lance_options()["aws_secret_access_key"] == SECRET
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    assert pickle.loads(data).lance_options()["aws_secret_access_key"] == "another"


def test_only_their_owner_reads_them_and_equal_ones_have_one_file() -> None:
    path = Path(hand_over({"api_key": SECRET}))
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert path == Path(hand_over({"api_key": SECRET}))
    assert path != Path(hand_over({"api_key": "another"}))
    assert take_over(str(path)) == {"api_key": SECRET}


def test_they_go_with_the_process_that_they_are_for(folder: Path) -> None:
    code = "from omnigraph.base.handed.secrets import hand_over; print(hand_over({'a': 'b'}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        check=True,
    )
    assert done.stdout and not list(folder.iterdir())
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    left = Path(hand_over({"a": "b"}, ended.pid))
    mine = Path(hand_over({"a": "b"}))
    remove_orphans()
    assert (left.exists(), mine.exists()) == (False, True)
    user, machine, _, number = mine.parent.name.removeprefix("omnigraph-credentials-").split("-")
    # A container with the same folder.
    elsewhere = folder / f"omnigraph-credentials-{user}-{machine}-1-{ended.pid}"
    elsewhere.mkdir()
    remove_orphans()
    assert elsewhere.exists() and int(number) == os.getpid()


def test_a_folder_that_somebody_else_has_made_is_not_used(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    Path(f"{folders_of(CREDENTIALS)}{os.getpid()}").symlink_to(elsewhere)
    with pytest.raises(BadInput, match="not a folder of yours alone"):
        hand_over({"a": "b"})
    assert not list(elsewhere.iterdir())


def test_a_file_of_credentials_takes_the_place_of_options(tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps(OPTIONS))
    file.chmod(0o600)
    options = {"credentials_file": str(file), "aws_region": "eu-central-1"}
    store = open_store("s3://bucket/graph", options)
    told = store.lance_options()
    assert (told["aws_secret_access_key"], told["aws_region"]) == (SECRET, "eu-central-1")
    assert portable_options(told) == options
    file.write_text(f"[{SECRET}]")
    with pytest.raises(BadInput, match="cannot be read") as error:
        open_store("s3://bucket/graph", options)
    assert SECRET not in str(error.value)


def test_a_file_that_everybody_may_write_is_refused_and_one_that_they_may_read_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps(OPTIONS))
    options = {"credentials_file": str(file)}
    for mode in (0o602, 0o666):
        file.chmod(mode)
        with pytest.raises(BadInput, match=f"everybody may write it .mode {mode:03o}.: chmod 600"):
            open_store("s3://bucket/graph", options)
    for mode, told in ((0o640, 0), (0o600, 0), (0o444, 1), (0o444, 0)):
        file.chmod(mode)
        assert open_store("s3://bucket/graph", options).lance_options()["aws_secret_access_key"] == SECRET
        assert [SECRET in record.getMessage() for record in caplog.records] == [False] * told
        caplog.clear()
    # Secrets of containers are mounted for reading only, often with a mode that nobody there can change.
    found = os.statvfs(tmp_path)
    read_only = os.statvfs_result([*found[:8], found.f_flag | os.ST_RDONLY, *found[9:]])
    monkeypatch.setattr(os, "fstatvfs", lambda _: read_only)
    file.chmod(0o644)
    assert open_store("s3://bucket/graph", options).lance_options()["aws_secret_access_key"] == SECRET
    assert not caplog.records


def test_what_is_given_beside_a_file_of_credentials_does_not_replace_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps({"aws_access_key_id": "owner", "aws_secret_access_key": SECRET}))
    file.chmod(0o600)
    beside = {"credentials_file": str(file), "aws_server_side_encryption": "AES256"}
    theirs = {**beside, "access_key_id": "another", "secret_access_key": "another"}
    for options in (beside, theirs):
        sent = portable_options(options)
        assert not set(sent.values()) & {SECRET, "another"}
        told, meant = (open_store("s3://bucket/graph", each).lance_options() for each in (sent, options))
        assert told.pop("credentials_file") != meant.pop("credentials_file")
        assert told == meant


def test_a_name_that_is_no_process_is_left_alone(folder: Path) -> None:
    strange = [Path(f"{folders_of(CREDENTIALS)}{name}") for name in ("abc", "²", "9" * 30)]
    for each in strange:
        each.mkdir()
    hand_over({"a": "b"})
    assert all(each.exists() for each in strange)


def test_elsewhere_it_is_told_that_they_did_not_come_along() -> None:
    view = SnapshotNamespace(
        "s3://bucket/graph", open_store("s3://bucket/graph", OPTIONS).lance_options(), {}
    )
    data = pickle.dumps(view)
    for file in Path(tempfile.gettempdir()).glob("omnigraph-credentials-*/*"):
        file.unlink()
    with pytest.raises(BadInput, match="is not on this machine"):
        _ = pickle.loads(data).options
