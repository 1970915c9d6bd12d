"""Writers that another overtakes between staging and publishing: nothing is misplaced, nothing is lost."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import Failpoint
from support.care import at_once
from support.interleaving import at

PAIRS = "node Pair { name: String @key  a: String?  b: String? }\nnode Other { name: String @key }"
WITHOUT_B = "node Pair { name: String @key  a: String? }\nnode Other { name: String @key }"
WITHOUT_PAIR = "node Other { name: String @key }"
SWAPPED = [
    PAIRS.replace("a: String?", 't: String? @rename_from("a")'),
    PAIRS.replace("a: String?  b: String?", 't: String?  a: String? @rename_from("b")'),
    PAIRS.replace("a: String?  b: String?", 'b: String? @rename_from("t")  a: String?'),
]


@pytest.fixture
def uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    at_once(monkeypatch)
    yield str(tmp_path / "graph")
    failpoints._armed.clear()


@pytest.mark.parametrize(
    "schemas", [[WITHOUT_B, PAIRS], SWAPPED, [WITHOUT_PAIR, PAIRS]], ids=["column", "swap", "type"]
)
def test_a_row_staged_before_the_schema_was_changed_and_changed_back_is_stored_as_it_was_given(
    uri: str, schemas: list[str]
) -> None:
    graph = og.init(uri, PAIRS)
    graph.load([{"type": "Pair", "data": {"name": "old", "a": "A0", "b": "B0"}}], mode="append")

    def change() -> None:
        for schema in schemas:
            assert og.open(uri).schema.apply(schema, allow_drop=True).applied

    at(Failpoint.PUBLISH_BEFORE_RECORD, change)
    graph.mutate('query q() { insert Pair { name: "new" a: "A" b: "B" } }')
    gq = 'query q() { match { $p: Pair { name: "new" } } return { $p.a as a, $p.b as b } }'
    assert og.open(uri).query(gq).rows == [{"a": "A", "b": "B"}]
    assert {item.code for item in og.open(uri).repair(scrub=True).findings} <= {"files_unused"}


DOCS = "node Doc { name: String @key  body: Blob?  n: I64? }"


def _body(text: str) -> str:
    return "base64:" + base64.b64encode(text.encode()).decode()


def _set_body(text: str) -> str:
    return f'query q() {{ update Doc set {{ body: "{_body(text)}" }} where name = "a" }}'


@pytest.mark.parametrize("mine", [_set_body("mine"), 'query q() { delete Doc where name = "a" }'])
def test_a_blob_that_another_writer_has_changed_is_a_conflict(uri: str, mine: str) -> None:
    graph = og.init(uri, DOCS)
    graph.load([{"type": "Doc", "data": {"name": "a", "body": _body("old"), "n": 1}}], mode="append")
    at(Failpoint.PUBLISH_BEFORE_RECORD, lambda: og.open(uri).mutate(_set_body("theirs")))
    with pytest.raises(og.ExpectedVersionMismatch):
        graph.mutate(mine)
    [record] = og.open(uri).export()
    assert record["data"]["body"] == _body("theirs")


def test_a_blob_that_stays_is_no_conflict(uri: str) -> None:
    graph = og.init(uri, DOCS)
    graph.load([{"type": "Doc", "data": {"name": "a", "body": _body("old"), "n": 1}}], mode="append")
    other = 'query q() { update Doc set { n: 2 } where name = "a" }'
    at(Failpoint.PUBLISH_BEFORE_RECORD, lambda: og.open(uri).mutate(other))
    assert graph.mutate(_set_body("mine")).affected_nodes == 1
    gq = "query q() { match { $d: Doc } return { $d.n as n } }"
    assert og.open(uri).query(gq).rows == [{"n": 2}]


def test_a_node_without_edges_that_two_delete_is_a_conflict(uri: str) -> None:
    graph = og.init(uri, "node Person { name: String @key }\nedge Knows: Person -> Person")
    graph.load([{"type": "Person", "data": {"name": "dan"}}], mode="append")
    gq = 'query q() { delete Person where name = "dan" }'
    at(Failpoint.PUBLISH_BEFORE_RECORD, lambda: og.open(uri).mutate(gq))
    with pytest.raises(og.ExpectedVersionMismatch):
        graph.mutate(gq)


@pytest.mark.parametrize("hint", ["gone", "zeros", "stale"])
def test_a_lost_record_is_found_whatever_the_hint_says(uri: str, hint: str) -> None:
    graph = og.init(uri, "node P { name: String @key }")
    [place] = Path(uri).glob("__manifest/hints/*")
    for number in range(20):
        graph.mutate(f'query q() {{ insert P {{ name: "n{number}" }} }}')
        if number == 12:
            old = place.read_bytes()
    left = {"gone": b"", "zeros": bytes(len(old)), "stale": old}[hint]
    sorted(Path(uri).glob("__manifest/chains/*/*/*"))[15].unlink()
    place.write_bytes(left) if left else place.unlink()
    with pytest.raises(og.CorruptState, match="lost"):
        og.open(uri).snapshot()
    with pytest.raises(og.CorruptState, match="lost"):
        og.open(uri).mutate('query q() { insert P { name: "b" } }')


def test_a_writer_does_not_fill_the_place_of_a_lost_record(uri: str) -> None:
    graph = og.init(uri, "node P { name: String @key }")
    held = og.open(uri)
    held.mutate('query q() { insert P { name: "a" } }')
    for number in range(4):
        graph.mutate(f'query q() {{ insert P {{ name: "n{number}" }} }}')
    [place] = Path(uri).glob("__manifest/hints/*")
    place.unlink()
    records = sorted(Path(uri).glob("__manifest/chains/*/*/*"))
    records[2].unlink()  # the one after what the held handle knows
    with pytest.raises(og.CorruptState, match="lost"):
        held.mutate('query q() { insert P { name: "b" } }')
    assert sorted(Path(uri).glob("__manifest/chains/*/*/*")) == [*records[:2], *records[3:]]
