"""Damaged table files: what readers and writers do about each kind, and what a scrub says and mends."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import telemetry
from omnigraph.base.errors import BadInput, CorruptState, HistoricalVersionReclaimed
from omnigraph.storage.checksums.checking import forget
from omnigraph.storage.checksums.sums import Sums, sums_path
from omnigraph.storage.format.manifests import manifests
from support.s3 import S3
from support.workers import Worker

SCHEMA = """
node Doc { slug: String @key  title: String @index  rank: I32? @index  vec: Vector(2)? @index }
edge Links: Doc -> Doc
"""
RANKS = "query q() { match { $d: Doc } return { $d.slug, $d.rank } order { $d.slug } }"
WORDS = 'query q() { match { $d: Doc } return { $d.slug } order { bm25($d.title, "red") } limit 3 }'
LOOK_UP = 'query q() { match { $d: Doc { slug: "d3" } } return { $d.rank } }'
QUERIES = (RANKS, WORDS, LOOK_UP)


def _fill(graph: og.Graph) -> None:
    docs = [
        {
            "type": "Doc",
            "data": {"slug": f"d{n}", "title": f"red boat {n}", "rank": n, "vec": [1.0, float(n)]},
        }
        for n in range(20)
    ]
    graph.load([*docs, {"edge": "Links", "from": "d1", "to": "d2"}], mode="append")
    graph.optimize()
    graph.mutate('query q() { delete Doc where slug = "d5" }')
    graph.cleanup(keep=1)


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA)
    _fill(graph)
    return graph


def _one(graph: og.Graph, below: str) -> Path:
    """Return a file that the newest version of the table of docs needs."""
    entry = graph.snapshot().record.by_key()["node:Doc"]
    folder = Path(graph.uri, entry.location)
    sums = sums_path(entry.pin)
    files = [*Sums.decode((folder / sums).read_bytes()).files, entry.pin.path, sums]
    return folder / min(path for path in files if path.startswith(below) or path.endswith(below))


def _flip(path: Path, place: int = -30) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x40
    path.write_bytes(data)


def _lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x")


def _again(graph: og.Graph, **how: object) -> og.Graph:
    """Open a graph as a new process would."""
    forget()
    return og.open(graph.uri, **how)  # type: ignore[arg-type]


def _answers(graph: og.Graph) -> list[list[dict[str, object]]]:
    return [list(graph.query(gq)) for gq in QUERIES]


DAMAGE: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "a flipped data file": ("data/", _flip, "file_damaged"),
    "a data file with more at its end": ("data/", _lengthen, "file_damaged"),
    "a missing data file": ("data/", Path.unlink, "file_missing"),
    "a flipped deletion file": ("_deletions/", _flip, "deletions_damaged"),
    "a missing deletion file": ("_deletions/", Path.unlink, "file_missing"),
    "a flipped manifest": (".manifest", _flip, "manifest_damaged"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_a_typed_error_of_reads_and_writes_and_a_scrub_names_it(
    graph: og.Graph, kind: str
) -> None:
    pattern, break_it, code = DAMAGE[kind]
    path = _one(graph, pattern)
    break_it(path)
    error = HistoricalVersionReclaimed if "missing" in kind else CorruptState
    reader = _again(graph, read_only=True)
    for gq in QUERIES:
        with pytest.raises(error, match=path.name):
            reader.query(gq)
    with pytest.raises(error, match=path.name):
        _again(graph).mutate("query q() { update Doc set { rank: 0 } where rank = 3 }")
    found = _again(graph, read_only=True).repair(scrub=True)
    assert not found.ok
    where = str(path.relative_to(graph.uri))
    assert (code, where) in {(item.code, item.where) for item in found.findings}


def test_no_flip_in_the_footer_of_a_deletion_file_ends_the_process(graph: og.Graph) -> None:
    path = _one(graph, "_deletions/")
    sound = path.read_bytes()
    for place in range(1, 40):
        _flip(path, -place)
        with pytest.raises(CorruptState):
            _again(graph, read_only=True).query(RANKS)
        path.write_bytes(sound)
    assert len(list(_again(graph).query(RANKS))) == 19


@pytest.mark.parametrize("how", ["flip", "delete", "truncate"])
def test_a_damaged_index_is_left_aside_and_built_again(
    graph: og.Graph, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    right = _answers(graph)
    kept = list(Path(graph.uri).glob("nodes/*/_indices/*/*"))
    assert len(kept) >= 8, "of a number, a text, a vector and the ids"
    for path in kept:
        sound = path.read_bytes()
        {"flip": _flip, "delete": Path.unlink, "truncate": lambda it: os.truncate(it, 9)}[how](path)
        assert _answers(_again(graph, read_only=True)) == right, path
        path.write_bytes(sound)
    assert "an index is damaged and is left aside" in caplog.text
    (path.unlink() if how == "delete" else _flip(path, 3))
    writer = _again(graph)
    assert not writer.snapshot().table("node:Doc").indexes
    writer.mutate("query q() { update Doc set { rank: 100 } where rank = 3 }")
    assert [list(row.values()) for row in writer.query(LOOK_UP)] == [[100]]
    damaged = [item for item in writer.repair(scrub=True).findings if item.code == "index_damaged"]
    assert [item.where for item in damaged] == [str(path.relative_to(graph.uri))]
    assert "optimize" in damaged[0].advice
    done = writer.optimize()
    assert len(next(item for item in done.tables if item.type_key == "node:Doc").built) >= 3
    writer.cleanup(keep=1)
    found = _again(graph).repair(scrub=True)
    assert found.ok, found.findings
    assert len(_again(graph).snapshot().table("node:Doc").indexes) >= 3


@pytest.mark.parametrize("lost", [Path.unlink, _flip, lambda path: path.write_text("nonsense")])
def test_lost_sums_are_proved_by_the_files_and_written_again(
    graph: og.Graph, lost: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    path = _one(graph, "sums.json")
    sound = path.read_bytes()
    right = _answers(graph)
    lost(path)
    assert _answers(_again(graph, read_only=True)) == right
    assert "all files of the version were read and are sound" in caplog.text
    (found,) = [item for item in _again(graph).repair().findings if item.code == "sums_damaged"]
    assert found.where == str(path.relative_to(graph.uri))
    assert not found.mended
    done = _again(graph).repair(confirm=True)
    assert done.ok
    assert path.read_bytes() == sound
    assert _again(graph).repair(scrub=True).ok


def test_lost_sums_do_not_hide_a_damaged_file(graph: og.Graph) -> None:
    sums, data = _one(graph, "sums.json"), _one(graph, "data/")
    sums.unlink()
    _flip(data)
    with pytest.raises(CorruptState, match=r"sums\.json"):
        _again(graph).query(RANKS)
    done = _again(graph, read_only=True).repair(scrub=True)
    assert not done.ok
    assert "sums_damaged" in {item.code for item in done.findings}
    assert not sums.exists()


def test_a_damaged_transaction_stops_nobody_and_is_named(graph: og.Graph) -> None:
    right = _answers(graph)
    path = _one(graph, "_transactions/")
    _flip(path, 3)
    reader = _again(graph, read_only=True)
    assert _answers(reader) == right
    found = reader.repair(scrub=True)
    assert found.ok
    assert ("transaction_damaged", str(path.relative_to(graph.uri))) in {
        (item.code, item.where) for item in found.findings
    }


def test_beyond_the_budget_sizes_are_compared_and_only_a_scrub_reads_the_bytes(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_VERIFY_BYTES", "0")
    path = _one(graph, "data/")
    sound = path.read_bytes()
    _flip(path, len(sound) // 2)
    with telemetry.measure() as counts:
        _again(graph, read_only=True).snapshot().table("node:Doc")
    assert counts["sums.compared"] == 1, "the deletion file, whatever the budget"
    assert not [item for item in _again(graph).repair().findings if item.code == "file_damaged"]
    assert "file_damaged" in {item.code for item in _again(graph).repair(scrub=True).findings}
    path.write_bytes(sound[:-1])
    with pytest.raises(CorruptState, match=f"it has {len(sound) - 1} bytes, not {len(sound)}"):
        _again(graph).query(RANKS)


def test_a_process_compares_a_file_once_and_never_what_it_wrote(graph: og.Graph) -> None:
    forget()
    with telemetry.measure() as cold:
        og.open(graph.uri).query(RANKS)
    assert cold["sums.compared"] > 0
    with telemetry.measure() as warm:
        again = og.open(graph.uri)
        again.query(RANKS)
        again.mutate("query q() { update Doc set { rank: 0 } where rank = 3 }")
        og.open(graph.uri).query(RANKS)
    assert warm["sums.compared"] == 0


def test_what_another_process_commits_is_compared_and_what_was_there_before_is_not(
    graph: og.Graph, worker: Worker
) -> None:
    reader = _again(graph, read_only=True)
    reader.query(RANKS)
    worker.ask("mutate", graph.uri, 'query q() { insert Doc { slug: "new"  title: "blue" } }')
    with telemetry.measure() as counts:
        assert len(list(reader.query(RANKS))) == 20
    assert counts["sums.compared"] == 1


def test_a_scrub_tells_how_far_it_is(graph: og.Graph) -> None:
    seen: list[tuple[str, int, int]] = []
    graph.repair(scrub=True, progress=lambda *said: seen.append(said))
    assert [done for _, done, _ in seen] == list(range(1, len(seen) + 1))
    assert {total for *_, total in seen} == {len(seen)}
    with pytest.raises(BadInput):
        graph.repair(scrub=True, progress=3)  # type: ignore[arg-type]


@pytest.mark.s3
def test_over_s3_a_damaged_manifest_is_a_typed_error(s3: S3) -> None:
    graph = og.init(f"{s3.uri}/graph", SCHEMA, storage_options=s3.options)
    _fill(graph)
    entry = graph.snapshot().record.by_key()["node:Doc"]
    store, path = graph.internals.core.truth.store, f"{entry.location}/{entry.pin.path}"
    data = bytearray(store.get(path))
    data[len(data) // 2] ^= 0x40
    store.put(path, bytes(data))
    manifests.clear()
    reader = og.open(graph.uri, read_only=True, storage_options=s3.options)
    with pytest.raises(CorruptState, match="manifest"):
        reader.query(RANKS)
    assert ("manifest_damaged", path) in {(item.code, item.where) for item in reader.repair().findings}


@pytest.mark.s3
def test_over_s3_files_are_compared_when_a_setting_asks_for_it(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_VERIFY_REMOTE", "1")
    graph = og.init(f"{s3.uri}/graph", SCHEMA, storage_options=s3.options)
    _fill(graph)
    store, entry = graph.internals.core.truth.store, graph.snapshot().record.by_key()["node:Doc"]
    assert entry.pin.sums
    path = next(info.path for info in store.list(f"{entry.location}/data"))
    data = bytearray(store.get(path))
    data[len(data) // 2] ^= 0x40
    store.put(path, bytes(data))
    forget()
    reader = og.open(graph.uri, read_only=True, storage_options=s3.options)
    with pytest.raises(CorruptState, match=path.rsplit("/", 1)[1]):
        reader.query(RANKS)
    assert ("file_damaged", path) in {(item.code, item.where) for item in reader.repair(scrub=True).findings}


@pytest.mark.parametrize("name", ["tag", "fork"])
@pytest.mark.parametrize("damaged", [False, True])
def test_a_name_that_has_kept_a_table_beyond_a_drop_for_good_is_verified(
    tmp_path: Path, name: str, damaged: bool
) -> None:
    graph = og.init(tmp_path / "graph", "node A { name: String @key }\nnode B { name: String @key }")
    graph.load([{"type": "B", "data": {"name": "b"}}], mode="append")
    [data] = Path(graph.uri, graph.snapshot().record.by_key()["node:B"].location, "data").glob("*.lance")
    if name == "tag":
        graph.tags.create("v1")
    else:
        graph.branches.create("dev")
        graph.load([{"type": "B", "data": {"name": "c"}}], mode="overwrite", branch="dev")
    graph.mutate('query q() { insert A { name: "a" } }')
    graph.schema.apply("node A { name: String @key }", allow_data_loss=True)
    if damaged:
        _flip(data)
    found = og.open(graph.uri).repair(scrub=True)
    assert found.ok is not damaged
    assert [item.code for item in found.findings] == (["file_damaged"] if damaged else [])


def test_no_name_is_given_to_a_commit_that_a_drop_for_good_has_taken_a_table_of(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node A { name: String @key }\nnode B { name: String @key }")
    graph.load([{"type": "B", "data": {"name": "b"}}], mode="append")
    loaded = graph.snapshot().commit_id
    graph.schema.apply("node A { name: String @key }", allow_data_loss=True)
    with pytest.raises(HistoricalVersionReclaimed):
        graph.tags.create("v1", commit=loaded)
    with pytest.raises(HistoricalVersionReclaimed):
        graph.branches.create("dev", commit=loaded)
    assert og.open(graph.uri).repair(scrub=True).findings == ()
