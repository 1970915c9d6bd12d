"""Reading one commit: streams while others write, snapshots that are asked, handles that are shared."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph as og
from omnigraph.execution.local.steps import expand, match
from support.processes import run_in_threads

SCHEMA = "node Person { name: String @key  n: I64? }\nedge Knows: Person -> Person"
NAMES = "query q() { match { $p: Person } return { $p.name } order { $p.name } }"
COUNT = "query n() { match { $p: Person } return { count($p) as n } }"
PAIRS = "query q() { match { $p: Person  $q: Person } return { $p.name, $q.name as other } }"
EVERYBODY = "query q() { delete Person where id is not null }"


def _people(*names: str) -> list[dict[str, Any]]:
    return [{"type": "Person", "data": {"name": name}} for name in names]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load(_people("ada", "bob"), mode="append")
    return graph


# Streams.


def test_batches_have_the_rows_that_are_asked_for(graph: og.Graph) -> None:
    graph.load(_people(*(f"p{n}" for n in range(8))), mode="append")
    stream = graph.stream(PAIRS, batch_rows=30)
    assert stream.columns == ["p.name", "other"]
    assert stream.commit_id == graph.snapshot().commit_id
    assert [batch.num_rows for batch in stream] == [30, 30, 30, 10]
    assert list(stream) == [], "a stream is gone through once"


@pytest.mark.parametrize("batch_rows", [0, -1, "10", None, True, 1.0])
def test_a_batch_has_at_least_one_row(graph: og.Graph, batch_rows: Any) -> None:
    with pytest.raises(og.BadInput, match="batch_rows"):
        graph.stream(PAIRS, batch_rows=batch_rows)


def test_a_batch_may_be_larger_than_any_result(graph: og.Graph) -> None:
    whole = graph.query(PAIRS).to_arrow().num_rows
    for most in (2**31, 2**63, 2**70):
        assert [batch.num_rows for batch in graph.stream(PAIRS, batch_rows=most)] == [whole]


@pytest.mark.parametrize("name", [5, ["q"], True, b"q", {"q": 1}])
def test_the_name_of_a_query_is_a_text(graph: og.Graph, name: Any) -> None:
    for ask in (
        graph.query,
        graph.stream,
        graph.explain,
        graph.prepare,
        graph.mutate,
        graph.snapshot().query,
    ):
        with pytest.raises(og.BadInput, match="the name of a query must be a string"):
            ask(PAIRS, name=name)


def test_mistakes_are_told_before_the_first_batch(graph: og.Graph) -> None:
    with pytest.raises(og.TypeCheckError):
        graph.stream("query q() { match { $p: Pirson } return { $p } }")
    with pytest.raises(og.BadInput):
        graph.stream("query q($n: String) { match { $p: Person { name: $n } } return { $p } }", {})


def test_the_first_batch_comes_before_the_rest_is_computed(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expand, "PIECE_ROWS", 100)
    graph.load(_people(*(f"p{n}" for n in range(98))), mode="append")
    taken: list[int] = []
    take = match.Matcher._take

    def counted(self: match.Matcher, *arguments: Any) -> Any:
        frame = take(self, *arguments)
        taken.append(frame.rows)
        return frame

    monkeypatch.setattr(match.Matcher, "_take", counted)
    batches = iter(graph.stream(PAIRS))
    assert next(batches).num_rows == 100
    assert sum(taken) <= 100 + 100, "the scan and one piece"
    assert sum(batch.num_rows for batch in batches) == 100 * 100 - 100
    assert len(taken) == 1 + 100


def test_a_limit_without_an_order_stops_early(graph: og.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "PIECE_ROWS", 100)
    graph.load(_people(*(f"p{n}" for n in range(98))), mode="append")
    told = graph.explain(PAIRS.replace("as other }", "as other } limit 7"), analyze=True)
    assert told.rows == 7
    assert told.tree[1].rows == 100, "one piece of the ten thousand pairs"


def test_a_stream_keeps_its_commit_while_others_write(
    graph: og.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expand, "PIECE_ROWS", 100)
    graph.load(_people(*(f"p{n}" for n in range(98))), mode="append")
    expected = graph.query(PAIRS).to_arrow()
    batches = iter(graph.stream(PAIRS, batch_rows=64))
    found = [next(batches)]
    other = og.open(graph.uri)
    other.load(_people("new"), mode="append")
    graph.mutate(EVERYBODY)
    found += batches
    assert pa.Table.from_batches(found).equals(expected)
    assert graph.query(COUNT).rows == [{"n": 0}]


def test_a_stream_outlives_the_handle_that_is_closed(graph: og.Graph) -> None:
    stream = graph.stream(NAMES)
    graph.close()
    assert [batch.num_rows for batch in stream] == [2]
    assert graph.query(COUNT).rows == [{"n": 2}]


# Snapshots.


def test_a_snapshot_answers_like_the_graph_did(graph: og.Graph) -> None:
    before = graph.snapshot()
    graph.load(_people("cyd"), mode="append")
    assert isinstance(before, og.Snapshot)
    assert [row["p.name"] for row in before.query(NAMES)] == ["ada", "bob"]
    assert before.query(NAMES).commit_id == before.commit_id
    assert before.stream(NAMES).to_reader().read_all().num_rows == 2
    assert before.query(COUNT, optimise=False).rows == before.query(COUNT).rows == [{"n": 2}]
    assert before.explain(COUNT).statistics == {"node:Person": 2}
    assert before.explain(COUNT, optimise=False).optimised is False
    assert graph.snapshot().explain(COUNT, analyze=True).rows == 1


def test_a_snapshot_is_named_by_branch_commit_version_or_tag(graph: og.Graph) -> None:
    graph.branches.create("side")
    graph.load(_people("cyd"), mode="append", branch="side")
    graph.tags.create("two")
    first, second = graph.snapshot(version=1), graph.snapshot()
    graph.mutate(EVERYBODY)
    counts = {
        "branch": graph.snapshot("side").query(COUNT),
        "commit": graph.snapshot(commit=second.commit_id).query(COUNT),
        "version": graph.snapshot(version=first.version).query(COUNT),
        "tag": graph.snapshot(tag="two").query(COUNT),
        "head": graph.snapshot().query(COUNT),
        "branch by name": graph.query(COUNT, branch="side"),
        "commit by id": graph.query(COUNT, snapshot=second.commit_id),
        "tag by name": graph.query(COUNT, snapshot="two"),
        "snapshot": graph.query(COUNT, snapshot=second),
        "prepared": graph.prepare(COUNT)(snapshot=second),
    }
    found = {what: result.rows[0]["n"] for what, result in counts.items()}
    assert found == {
        "branch": 3, "commit": 2, "version": 0, "tag": 2, "head": 0, "branch by name": 3, "commit by id": 2,
        "tag by name": 2, "snapshot": 2, "prepared": 2,
    }  # fmt: skip


def test_a_snapshot_has_the_schema_of_its_commit(graph: og.Graph) -> None:
    before = graph.snapshot()
    graph.schema.apply(SCHEMA.replace("n: I64?", "n: I64?  city: String?"))
    gq = "query q() { match { $p: Person } return { $p.city } }"
    assert len(graph.query(gq)) == 2
    with pytest.raises(og.TypeCheckError):
        before.query(gq)


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ({"branch": "main", "snapshot": "x"}, og.BadInput),
        ({"branch": "ghost"}, og.NotFound),
        ({"snapshot": "ghost"}, og.NotFound),
        ({"snapshot": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, og.NotFound),
        ({"engine": "quantum"}, og.BadInput),
    ],
)
def test_a_place_that_is_not_there_is_refused(
    graph: og.Graph, where: dict[str, Any], error: type[og.OmniError]
) -> None:
    with pytest.raises(error):
        graph.query(COUNT, **where)


def test_a_read_only_handle_reads_in_every_way_and_follows_the_writer(graph: og.Graph) -> None:
    reader = og.open(graph.uri, read_only=True)
    prepared, held = reader.prepare(COUNT), reader.snapshot()
    graph.load(_people("cyd"), mode="append")
    assert prepared().rows == reader.query(COUNT).rows == [{"n": 3}]
    assert reader.stream(NAMES).to_reader().read_all().num_rows == 3
    assert reader.explain(COUNT, analyze=True).statistics == {"node:Person": 3}
    assert held.query(COUNT).rows == [{"n": 2}]


# Threads.


def test_threads_that_share_a_handle_see_whole_commits_while_another_writes(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load(_people("hub"), mode="append")
    strangers = "query q() { match { $p: Person  not { $p knows $h } } return { $p.name } }"
    counted = 'query q() { match { $h: Person { name: "hub" }  $p knows $h } return { count($p) as n } }'
    done = threading.Event()

    def write() -> int:
        try:
            for number in range(25):
                edge = {"edge": "Knows", "from": f"p{number}", "to": "hub"}
                graph.load([*_people(f"p{number}"), edge], mode="append")
        finally:
            done.set()
        return 0

    def read() -> int:
        seen = [0]
        while not done.is_set():
            assert graph.query(strangers).rows == [{"p.name": "hub"}]
            seen.append(graph.query(counted).rows[0]["n"])
            assert sum(batch.num_rows for batch in graph.stream(NAMES)) >= seen[-1] + 1
        assert seen == sorted(seen), "a handle never goes back"
        return len(seen)

    asked = run_in_threads(lambda work: work(), [(write,), *[(read,)] * 8])
    assert all(count > 1 for count in asked[1:])
    assert graph.query(counted).rows == [{"n": 25}]
