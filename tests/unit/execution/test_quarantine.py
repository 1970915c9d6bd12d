"""`on_error="quarantine"`: what is right is loaded, what is wrong waits in a file with its reasons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I32?  mail: String? @unique  @range(age, 0..150) }
edge Knows: Person -> Person @card(0..1)
"""
LINES = [
    '{"type":"Person","data":{"name":"ada","age":36,"mail":"a@x"}}',
    '{"type":"Person","data":{"name":"bob","age":300}}',
    "this is not json",
    '{"type":"Person","data":{"name":"ada"}}',
    '{"type":"Person","data":{"name":"cyd","mail":"a@x"}}',
    '{"edge":"Knows","from":"ada","to":"bob"}',
    '{"edge":"Knows","from":"ada","to":"ada"}',
    '{"type":"Person","data":{"name":"dan","aeg":1}}',
    '{"edge":"Knows","from":"eve","to":"eve"}',
    '{"type":"Person","data":{"name":"eve"}}',
]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "people.ndjson"
    path.write_text("\n".join(LINES) + "\n")
    return path


def _names(graph: og.Graph) -> list[str]:
    return sorted(graph.snapshot().table("node:Person").scan(["name"])["name"].to_pylist())


def test_without_quarantine_nothing_is_written_and_the_first_problems_are_told(
    graph: og.Graph, lines: Path
) -> None:
    before = graph.snapshot().commit_id
    with pytest.raises(og.ValidationError) as caught:
        graph.load(lines, mode="append")
    assert graph.snapshot().commit_id == before
    assert {problem["place"] for problem in caught.value.problems} == {f"{lines}:{n}" for n in (2, 3, 8)}
    assert caught.value.total == 3


def test_good_records_are_loaded_and_bad_ones_are_put_away_with_reasons(graph: og.Graph, lines: Path) -> None:
    done = graph.load(lines, mode="append", on_error="quarantine")
    assert _names(graph) == ["ada", "eve"]
    assert (done.nodes, done.edges, done.rejected) == ({"Person": 2}, {"Knows": 2}, 6)
    assert done.rejected_path is not None
    kept = [json.loads(line) for line in Path(done.rejected_path).read_text().splitlines()]
    reasons = {json.dumps(item.get("data", item.get("_raw"))): item["_problems"] for item in kept}
    assert "@range" in reasons['{"name": "bob", "age": 300}'][0]
    assert "JSON" in reasons['"this is not json"'][0]
    assert "@unique" in reasons['{"name": "ada"}'][0]
    assert "@unique" in reasons['{"name": "cyd", "mail": "a@x"}'][0]
    assert "did you mean 'age'" in reasons['{"name": "dan", "aeg": 1}'][0]
    edge = next(item for item in kept if "edge" in item)
    assert edge["to"] == "bob"
    assert "not found" in edge["_problems"][0]


def test_a_mended_file_can_be_loaded_as_it_is(graph: og.Graph, lines: Path) -> None:
    done = graph.load(lines, mode="append", on_error="quarantine")
    assert done.rejected_path is not None
    path = Path(done.rejected_path)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    bob = next(item for item in records if item.get("data", {}).get("name") == "bob")
    bob["data"]["age"] = 30
    path.write_text(json.dumps(bob) + "\n")
    graph.load(path, mode="append")
    assert _names(graph) == ["ada", "bob", "eve"]


def test_a_load_without_mistakes_leaves_no_file(graph: og.Graph, tmp_path: Path) -> None:
    target = tmp_path / "rejected.ndjson"
    done = graph.load(
        [{"type": "Person", "data": {"name": "ada"}}],
        mode="append",
        on_error="quarantine",
        rejected_to=target,
    )
    assert (done.rejected, done.rejected_path) == (0, None)
    assert not target.exists()


def test_what_is_stored_counts_when_records_are_judged(graph: og.Graph, tmp_path: Path) -> None:
    graph.load([{"type": "Person", "data": {"name": "ada", "mail": "a@x"}}], mode="append")
    records = [
        {"type": "Person", "data": {"name": "ada"}},
        {"type": "Person", "data": {"name": "bob", "mail": "a@x"}},
        {"type": "Person", "data": {"name": "cyd"}},
    ]
    done = graph.load(records, mode="append", on_error="quarantine", rejected_to=tmp_path / "rejected.ndjson")
    assert done.rejected == 2
    assert _names(graph) == ["ada", "cyd"]


def test_only_the_edges_past_the_limit_of_their_source_are_put_away(graph: og.Graph, tmp_path: Path) -> None:
    records = [{"type": "Person", "data": {"name": name}} for name in ("ada", "bob")]
    edges = [{"edge": "Knows", "from": "ada", "to": name} for name in ("ada", "bob", "bob")]
    bad = tmp_path / "rejected.ndjson"
    done = graph.load([*records, *edges], mode="append", on_error="quarantine", rejected_to=bad)
    assert (done.nodes, done.edges, done.rejected) == ({"Person": 2}, {"Knows": 1}, 2)
    kept = graph.snapshot().table("edge:Knows").scan(["dst"])["dst"].to_pylist()
    assert kept == ["ada"]
    assert ["record 5" in json.loads(line)["_problems"][0] for line in bad.read_text().splitlines()] == [
        True
    ] * 2


def test_what_no_record_is_to_blame_for_is_an_error(graph: og.Graph, tmp_path: Path) -> None:
    records = [{"type": "Person", "data": {"name": "ada"}}, {"edge": "Knows", "from": "ada", "to": "ada"}]
    graph.load(records, mode="append")
    with pytest.raises(og.ValidationError, match="stored edge"):
        graph.load(
            [{"type": "Person", "data": {"name": "bob"}}],
            mode="overwrite",
            on_error="quarantine",
            rejected_to=tmp_path / "rejected.ndjson",
        )
    assert _names(graph) == ["ada"]


def test_rejected_records_never_go_where_they_cannot_or_must_not(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    file = tmp_path / "people.jsonl"
    file.write_text("\n".join(LINES))
    (tmp_path / "link.jsonl").symlink_to(file)
    for wrong in (tmp_path / "nowhere" / "f", tmp_path, file, tmp_path / "link.jsonl"):
        with pytest.raises(og.BadInput, match="rejected records cannot go to"):
            graph.load(file, mode="append", on_error="quarantine", rejected_to=wrong)
    assert file.read_text() == "\n".join(LINES)
    assert graph.snapshot().version == 1
