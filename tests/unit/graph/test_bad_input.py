"""What is no graph, is damaged, missing or refuses: a typed error that says what to do, nothing changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.errors import (
    AlreadyExists,
    BadInput,
    CorruptState,
    FormatTooNew,
    HistoricalVersionReclaimed,
    InvalidName,
    NotAGraph,
    NotFound,
    OmniError,
    ReadOnly,
    StorageMissing,
)
from omnigraph.graph.manifest import layout
from support.graphs import SCHEMA, contents, fingerprint
from support.read_only import run_on_read_only_disk
from support.s3 import S3
from support.writes import work


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A graph with a branch."""
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.commit_work(work("many", "first"))
    graph.branches.create("topic")
    graph.commit_work(work("many", "topic"), branch="topic")
    return tmp_path / "graph"


def refused(folder: Path, kind: type[OmniError], says: str, call: Callable[[], object]) -> None:
    """Check the error's class and advice, and that nothing under the folder changed."""
    before = fingerprint(folder)
    with pytest.raises(kind, match=says) as raised:
        call()
    assert type(raised.value) is kind
    assert fingerprint(folder) == before


@pytest.mark.parametrize("read_only", [True, False])
def test_an_address_with_nothing_there_is_not_a_graph(read_only: bool, tmp_path: Path) -> None:
    refused(tmp_path, NotAGraph, "omnigraph init", lambda: og.open(tmp_path / "none", read_only=read_only))


@pytest.mark.parametrize("read_only", [True, False])
def test_an_empty_folder_is_not_a_graph(read_only: bool, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(tmp_path, NotAGraph, "omnigraph init", lambda: og.open(tmp_path / "empty", read_only=read_only))


@pytest.mark.parametrize("read_only", [True, False])
def test_a_folder_of_other_things_is_not_a_graph(read_only: bool, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    refused(tmp_path, NotAGraph, "omnigraph init", lambda: og.open(tmp_path / "other", read_only=read_only))


@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_is_not_a_graph(read_only: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    refused(tmp_path, NotAGraph, "omnigraph init", lambda: og.open(tmp_path / "file", read_only=read_only))


def test_a_file_cannot_become_a_graph(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for uri in (tmp_path / "file", tmp_path / "file" / "below"):
        refused(tmp_path, AlreadyExists, "file is a file, not a folder", lambda uri=uri: og.init(uri, SCHEMA))


def test_a_folder_that_cannot_be_made_is_missing_storage() -> None:
    with pytest.raises(StorageMissing, match="/proc/nope does not exist and cannot be made"):
        og.init("/proc/nope", SCHEMA)


@pytest.mark.parametrize("uri", ["a\ud800b", "a\udc80b", "file:///a\ud800b", "s3://bucket/a\ud800b"])
def test_an_address_that_is_not_text_is_bad_input(uri: str, tmp_path: Path) -> None:
    refused(tmp_path, BadInput, "half of a surrogate pair", lambda: og.init(uri, SCHEMA))
    refused(tmp_path, BadInput, "half of a surrogate pair", lambda: og.open(uri))


@pytest.mark.parametrize("uri", ["ftp://host/graph", "s3://", "memory://", ""])
def test_an_address_that_means_nothing_is_bad_input(uri: str, tmp_path: Path) -> None:
    refused(tmp_path, BadInput, "scheme|does not name|not a path", lambda: og.open(uri))


@pytest.mark.parametrize("uri", [None, 5, b"graph", ["graph"]])
def test_an_address_that_is_no_text_is_bad_input(uri: Any, tmp_path: Path) -> None:
    refused(tmp_path, BadInput, "not the address of a graph", lambda: og.open(uri))
    refused(tmp_path, BadInput, "not the address of a graph", lambda: og.init(uri, SCHEMA))


def test_no_graph_lives_in_memory(tmp_path: Path) -> None:
    refused(tmp_path, BadInput, "use a folder", lambda: og.init("memory://graph", SCHEMA))
    refused(tmp_path, BadInput, "use a folder", lambda: og.open("memory://graph"))


@pytest.mark.parametrize("schema", [None, 5, b"node A {}", ["node A {}"]])
def test_a_schema_of_another_kind_makes_nothing(schema: Any, tmp_path: Path) -> None:
    refused(tmp_path, BadInput, "give a string", lambda: og.init(tmp_path / "graph", schema))


@pytest.mark.parametrize("options", [5, "fsync", ["fsync"]])
def test_storage_options_of_another_kind_are_bad_input(options: Any, root: Path) -> None:
    refused(root, BadInput, "dictionary", lambda: og.open(root, storage_options=options))


@pytest.mark.parametrize("text", [5, 0, b"ada", ["ada"], {1, 2}, "\ud800"])
def test_an_actor_or_message_that_no_record_can_hold_is_refused_before_anything_is_written(
    text: Any, root: Path
) -> None:
    refused(root, BadInput, "actor", lambda: og.open(root, actor=text))
    graph = og.open(root, embedding="mock")
    head = graph.snapshot().commit_id
    for call in (
        lambda: graph.commit_work(work("many", "next"), message=text),
        lambda: graph.mutate('query q() { insert Person { name: "x" } }', message=text),
        lambda: graph.load([{"type": "Person", "data": {"name": "x"}}], mode="append", message=text),
        lambda: graph.schema.apply(graph.schema.source + "\nnode Extra { name: String @key }", message=text),
        lambda: graph.branches.merge("topic", message=text),
        lambda: graph.commits.revert(head, message=text),
        lambda: graph.commits.cherry_pick(head, onto="topic", message=text),
        lambda: graph.cleanup(keep=1, message=text),
        lambda: graph.cleanup(keep=1, message=text, dry_run=True),
        lambda: graph.embed(message=text),
    ):
        refused(root, BadInput, "message", call)


@pytest.mark.parametrize("number", ["1", 1.0, True, [], float("nan")])
def test_versions_and_limits_are_whole_numbers(number: Any, root: Path) -> None:
    graph = og.open(root)
    refused(root, BadInput, "whole number", lambda: graph.snapshot(version=number))
    refused(root, BadInput, "whole number", lambda: graph.commits.list(limit=number))


@pytest.mark.parametrize("commit", [5, b"x", [], "", "x", "01m7f79v92ejnm18b7ytdch5xu"])
def test_what_is_no_commit_id_is_not_found(commit: Any, root: Path) -> None:
    graph = og.open(root)
    refused(root, NotFound, "26 capital letters", lambda: graph.snapshot(commit=commit))
    refused(root, NotFound, "26 capital letters", lambda: graph.commits.show(commit))


def test_a_scan_of_what_the_table_does_not_have_says_what_that_is(root: Path) -> None:
    table = og.open(root).snapshot().table("node:Person")
    refused(root, BadInput, "nonsense", lambda: table.scan(columns=["nonsense"]))


def test_a_graph_is_not_made_twice(root: Path) -> None:
    refused(root, AlreadyExists, "open it, or choose another", lambda: og.init(root, SCHEMA))


def test_a_schema_that_does_not_compile_makes_nothing(tmp_path: Path) -> None:
    refused(tmp_path, og.ParseError, "expected", lambda: og.init(tmp_path / "graph", "node {"))


def test_a_schema_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    refused(tmp_path, BadInput, r"none\.pg", lambda: og.init(tmp_path / "graph", tmp_path / "none.pg"))


@pytest.mark.parametrize("read_only", [True, False])
def test_a_graph_of_a_newer_format_says_upgrade(read_only: bool, root: Path) -> None:
    stamp = root / "__manifest/graph.json"
    stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "format": 99}))
    refused(root, FormatTooNew, "upgrade OmniGraph", lambda: og.open(root, read_only=read_only))


DAMAGE = [b"", b"{", b"\x00\x01garbage\xff", b"[]", b'{"format": 3}']


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("data", DAMAGE)
def test_a_damaged_stamp_is_named_with_advice(data: bytes, read_only: bool, root: Path) -> None:
    (root / "__manifest/graph.json").write_bytes(data)
    refused(root, CorruptState, "stamp .*backup", lambda: og.open(root, read_only=read_only))


def _opened(root: Path, branch: str, read_only: bool) -> object:
    """Open a branch; for reading, where damage is told when it is met (and by `repair`), look at its head."""
    graph = og.open(root, branch=branch, read_only=read_only)
    return graph.snapshot() if read_only else graph


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("data", DAMAGE)
def test_a_damaged_record_is_named_with_advice(data: bytes, read_only: bool, root: Path) -> None:
    head = og.open(root, read_only=True).internals.read_state().head
    record = root / layout.record_path(head.incarnation, head.seq)
    record.write_bytes(data)
    refused(root, CorruptState, f"{record.name}.*backup", lambda: _opened(root, "main", read_only))


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("data", DAMAGE)
def test_a_damaged_ref_is_named_with_advice_and_other_branches_work(
    data: bytes, read_only: bool, root: Path
) -> None:
    (root / "__manifest/branches/topic.json").write_bytes(data)
    refused(root, CorruptState, "topic.json.*backup", lambda: _opened(root, "topic", read_only))
    assert contents(og.open(root, read_only=read_only).snapshot())


def test_an_edited_schema_is_named_with_advice(root: Path) -> None:
    (schema,) = (root / "__manifest/schemas").iterdir()
    schema.write_text(schema.read_text().replace("Person", "Parson"))
    graph = og.open(root, read_only=True)
    refused(root, CorruptState, "edited or damaged.*backup", lambda: graph.snapshot().catalog)


def test_a_missing_schema_is_named_with_advice(root: Path) -> None:
    shutil.rmtree(root / "__manifest/schemas")
    graph = og.open(root, read_only=True)
    refused(root, CorruptState, "missing.*backup", lambda: graph.snapshot().catalog)


def test_missing_records_are_corrupt_state(root: Path) -> None:
    shutil.rmtree(root / "__manifest/chains")
    refused(root, CorruptState, "is lost", lambda: og.open(root))


def test_a_missing_table_file_is_said_to_be_gone(root: Path) -> None:
    shutil.rmtree(root / "nodes")
    graph = og.open(root)
    refused(root, HistoricalVersionReclaimed, "gone", lambda: contents(graph.snapshot()))
    # A write may create files before it fails; what the graph says stays.
    head = graph.snapshot().commit_id
    with pytest.raises(OmniError):
        graph.commit_work(work("append", "x"))
    assert graph.snapshot().commit_id == head


def test_a_damaged_plan_is_put_aside_named_and_stops_nobody(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (root / "__recovery").mkdir()
    (root / "__recovery/broken.json").write_text("{")
    with caplog.at_level("WARNING", "omnigraph"):
        graph = og.open(root)
    assert "__recovery/broken.json cannot be read" in caplog.text
    assert (root / "__quarantine/broken.json").read_text() == "{"
    graph.commit_work(work("append", "goes on"))
    (found,) = [item for item in graph.repair().findings if item.code == "plan_quarantined"]
    assert found.where == "__quarantine/broken.json"


def test_a_branch_that_does_not_exist_is_an_error_at_the_open(root: Path) -> None:
    refused(root, NotFound, "no branch 'none'", lambda: og.open(root, branch="none"))


@pytest.mark.parametrize(
    "call",
    [
        lambda graph: graph.branches.create("a..b"),
        lambda graph: graph.branches.create("main"),
        lambda graph: graph.branches.delete("main"),
        lambda graph: graph.snapshot("a//b"),
    ],
)
def test_a_name_that_is_not_allowed_changes_nothing(call: Callable[[og.Graph], object], root: Path) -> None:
    graph = og.open(root)
    refused(root, InvalidName, "not a branch name|cannot be", lambda: call(graph))


def test_a_handle_for_reading_refuses_to_write(root: Path) -> None:
    graph = og.open(root, read_only=True)
    for call in (
        lambda: graph.commit_work(work("append", "x")),
        lambda: graph.branches.create("new"),
        lambda: graph.branches.delete("topic"),
    ):
        refused(root, ReadOnly, "read_only=False", call)


@pytest.mark.s3
def test_a_bucket_that_does_not_exist_is_named(s3: S3) -> None:
    for call in (
        lambda: og.open("s3://no-such-bucket/graph", storage_options=s3.options),
        lambda: og.open("s3://no-such-bucket/graph", storage_options=s3.options, read_only=True),
        lambda: og.init("s3://no-such-bucket/graph", SCHEMA, storage_options=s3.options),
    ):
        with pytest.raises(StorageMissing, match="no-such-bucket"):
            call()


@pytest.mark.s3
def test_an_empty_bucket_is_not_a_graph(s3: S3) -> None:
    with pytest.raises(NotAGraph, match="omnigraph init"):
        og.open(f"{s3.uri}/graph", storage_options=s3.options)
    assert list(s3.store("").list()) == []


@pytest.mark.s3
def test_a_bucket_that_may_only_be_read_serves_reads_and_refuses_writes(s3: S3) -> None:
    uri = f"{s3.uri}/graph"
    og.init(uri, SCHEMA, storage_options=s3.options).commit_work(work("many", "first"))
    before = [(found.path, found.size) for found in s3.store().list()]
    graph = og.open(uri, storage_options=s3.as_reader())
    assert contents(graph.snapshot())
    for call in (
        lambda: graph.commit_work(work("append", "x")),
        lambda: graph.commit_work(work("append", "x"), durable=True),
        lambda: graph.branches.create("new"),
        lambda: og.init(f"{s3.uri}/other", SCHEMA, storage_options=s3.as_reader()),
    ):
        with pytest.raises(ReadOnly, match=r"read-only|permissions|read_only"):
            call()
    assert [(found.path, found.size) for found in s3.store().list()] == before


ON_A_READ_ONLY_DISK = """
import sys
sys.path.insert(0, TESTS)
import omnigraph as og
from support.graphs import SCHEMA, contents
from support.writes import work
graph = og.open(sys.argv[1])
assert contents(graph.snapshot()) == contents(og.open(sys.argv[1], read_only=True).snapshot())
calls = {
    "write": lambda: graph.commit_work(work("many", "x")),
    "durable write": lambda: graph.commit_work(work("many", "x"), durable=True),
    "delete rows": lambda: graph.commit_work(work("overwrite", "x")),
    "create": lambda: graph.branches.create("new"),
    "delete": lambda: graph.branches.delete("topic"),
    "init": lambda: og.init(sys.argv[1] + "/inner", SCHEMA),
}
for name, call in calls.items():
    try:
        call()
        print(name, "succeeded")
    except og.ReadOnly as error:
        print(name, "refused")
"""


def test_a_read_only_disk_serves_reads_and_refuses_every_write(root: Path) -> None:
    before = fingerprint(root)
    tests = str(Path(__file__).parents[2])
    done = run_on_read_only_disk(root, ON_A_READ_ONLY_DISK.replace("TESTS", repr(tests)))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{name} refused" for name in ("write", "durable write", "delete rows", "create", "delete", "init")
    ]
    after = {name: hash_ for name, hash_ in fingerprint(root).items() if name != "probe"}
    assert after == before
