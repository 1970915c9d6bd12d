"""Blobs are values: bytes go in, `is null` asks for them, and ranges of them come out, at any commit."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.sdk.entities.blob import PIECE_BYTES

SCHEMA = """
node Paper { name: String @key  body: Blob?  scan: Blob?  n: I64? }
node Sealed { name: String @key  body: Blob }
edge Cites: Paper -> Paper { proof: Blob?  @key(src, dst) }
"""
LARGE = bytes(range(256)) * (PIECE_BYTES // 256 + 5)
BODIES = {"a": b"hello, world", "empty": b"", "large": LARGE, "none": None}


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "graph", SCHEMA)
    papers = [{"type": "Paper", "data": {"name": name, "body": body}} for name, body in BODIES.items()]
    cited = [
        {"edge": "Cites", "from": "a", "to": "none", "data": {"proof": bytearray(b"proof")}},
        {"edge": "Cites", "from": "a", "to": "empty"},
    ]
    graph.load([*papers, {"type": "Sealed", "data": {"name": "s", "body": b"x"}}, *cited], mode="append")
    return graph


def _names(graph: og.Graph, match: str) -> list[str]:
    rows = graph.query(
        f"query q() {{ match {{ $p: Paper {match} }} return {{ $p.name as n }} order {{ n }} }}"
    )
    return [row["n"] for row in rows]


def _bodies(graph: og.Graph) -> dict[str, bytes | None]:
    handles = {name: graph.blob("node", "Paper", name, "body") for name in _names(graph, "")}
    return {name: None if held.is_null else held.read() for name, held in handles.items()}


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview])
def test_a_parameter_takes_bytes_in_insert_update_and_upsert(form: type, graph: og.Graph) -> None:
    gq = """query q($b: Blob?) {
        insert Paper { name: "new" body: $b }
        update Paper set { body: $b } where name = "a"
        upsert Paper { name: "none" body: $b }
    }"""
    graph.mutate(gq, {"b": form(b"\x00\xff")})
    assert _bodies(graph) == BODIES | dict.fromkeys(("new", "a", "none"), b"\x00\xff")
    graph.mutate(gq, {"b": None})
    assert _bodies(graph) == BODIES | dict.fromkeys(("new", "a", "none"))


def test_bytes_are_not_a_string_and_a_number_is_no_blob(graph: og.Graph) -> None:
    with pytest.raises(og.ParseError, match="must be bytes or a string for type Blob, found an integer"):
        graph.mutate('query q($b: Blob) { insert Paper { name: "x" body: $b } }', {"b": 3})
    with pytest.raises(og.ParseError, match="must be a string for type String, found a Python bytes"):
        graph.mutate("query q($n: String) { insert Paper { name: $n } }", {"n": b"x"})
    with pytest.raises(og.ValidationError, match=r"Paper\.body needs bytes or a string, found an integer"):
        graph.load([{"type": "Paper", "data": {"name": "x", "body": 3}}], mode="append")


def test_a_read_asks_whether_there_is_a_blob(graph: og.Graph) -> None:
    assert _names(graph, "$p.body is null") == ["none"]
    assert _names(graph, "$p.body is not null") == ["a", "empty", "large"]
    assert _names(graph, '($p.body is null or $p.name = "a")') == ["a", "none"]
    assert _names(graph, "$o: Paper $o $c: cites $p $c.proof is null") == ["empty"]
    assert _names(graph, "optional { $p cites $o } $o.body is null") == ["a", "empty", "large", "none"]


def test_a_mutation_asks_it_of_the_rows_that_it_changes(graph: og.Graph) -> None:
    assert graph.mutate("query q() { update Paper set { n: 1 } where body is not null }").affected_nodes == 3
    assert graph.mutate("query q() { delete Cites where proof is null }").affected_edges == 1
    graph.mutate("query q() { delete Paper where body is null or n is null }")
    assert _bodies(graph) == {name: body for name, body in BODIES.items() if name != "none"}


def test_a_blob_is_compared_with_nothing(graph: og.Graph) -> None:
    with pytest.raises(og.TypeCheckError, match=r"T24.*\n(.*\n)*.*is null.*g\.blob"):
        _names(graph, '$p.body = "x"')
    with pytest.raises(og.TypeCheckError, match="T11"):
        graph.mutate('query q() { delete Paper where body = "x" }')


def test_ranges_of_a_blob_are_read(graph: og.Graph) -> None:
    held = graph.blob("node", "Paper", "a", "body")
    assert (held.size, held.is_null, held.commit_id) == (12, False, graph.snapshot().commit_id)
    assert (held.read(), held.read(7), held.read(0, 5), held.read(7, 99)) == (
        b"hello, world",
        b"world",
        b"hello",
        b"world",
    )
    assert (held.read(12), held.read(3, 0), list(held.pieces(3, 0))) == (b"", b"", [])
    large = graph.blob("node", "Paper", "large", "body")
    pieces = list(large.pieces(1))
    assert [len(piece) for piece in pieces] == [PIECE_BYTES, len(LARGE) - 1 - PIECE_BYTES]
    assert b"".join(pieces) == LARGE[1:]
    assert b"".join(large.pieces(5, 7)) == LARGE[5:12]
    edge = graph.query(
        "query q() { match { $a: Paper $a $c: cites $b $c.proof is not null } return { $c.id } }"
    )
    assert graph.blob("edge", "Cites", edge.rows[0]["c.id"], "proof").read() == b"proof"


@pytest.mark.parametrize("wrong", [{"offset": 13}, {"offset": -1}, {"length": -1}, {"offset": 1.5}])
def test_a_range_that_is_none_is_refused(wrong: dict[str, int], graph: og.Graph) -> None:
    with pytest.raises(og.BadInput, match=r"offset is|length is"):
        graph.blob("node", "Paper", "a", "body").read(**wrong)


def test_null_has_no_bytes_and_empty_has_none_of_them(graph: og.Graph) -> None:
    assert graph.blob("node", "Paper", "empty", "body").read() == b""
    none = graph.blob("node", "Paper", "none", "body")
    assert (none.size, none.is_null) == (None, True)
    for read in (none.read, lambda: list(none.pieces())):
        with pytest.raises(og.NotFound, match=r"Paper\.body of 'none' is null"):
            read()


def test_what_is_not_there_is_named(graph: og.Graph) -> None:
    for words, error, said in [
        (("thing", "Paper", "a", "body"), og.BadInput, "neither 'node' nor 'edge'"),
        (("node", "Papr", "a", "body"), og.NotFound, "did you mean 'Paper'"),
        (("node", "Paper", "a", "bdy"), og.NotFound, "did you mean 'body'"),
        (("node", "Paper", "a", "n"), og.BadInput, "not a Blob"),
        (("node", "Paper", "zz", "body"), og.NotFound, "no node Paper with the id 'zz'"),
    ]:
        with pytest.raises(error, match=said):
            graph.blob(*words)


def test_put_and_clear_are_commits_and_older_ones_keep_their_bytes(graph: og.Graph) -> None:
    before = graph.snapshot()
    graph.tags.create("v1")
    held = graph.blob("node", "Paper", "a", "body")
    done = held.put(b"other", message="why")
    assert (held.read(), held.commit_id) == (b"other", done.commit_id)
    assert graph.commits.show(done.commit_id).message == "why"
    assert (
        graph.blob("node", "Paper", "a", "scan").size,
        graph.blob("node", "Paper", "large", "body").size,
    ) == (
        None,
        len(LARGE),
    )
    held.clear()
    assert held.is_null
    old = before.blob("node", "Paper", "a", "body")
    assert old.read() == graph.blob("node", "Paper", "a", "body", snapshot="v1").read() == b"hello, world"
    for write in (old.clear, lambda: graph.blob("node", "Paper", "a", "body", snapshot="v1").put(b"x")):
        with pytest.raises(og.ReadOnly, match="snapshot"):
            write()


def test_a_blob_is_put_on_the_branch_that_is_named(graph: og.Graph) -> None:
    graph.branches.create("side")
    graph.blob("node", "Paper", "a", "body", branch="side").put(b"side")
    assert graph.blob("node", "Paper", "a", "body").read() == b"hello, world"
    graph.branches.merge("side")
    assert graph.blob("node", "Paper", "a", "body").read() == b"side"


def test_a_required_blob_cannot_be_cleared_and_nothing_is_put_for_none(graph: og.Graph) -> None:
    held = graph.blob("node", "Sealed", "s", "body")
    with pytest.raises(og.ValidationError, match=r"Sealed\.body is required"):
        held.clear()
    with pytest.raises(og.BadInput, match=r"clear\(\)"):
        held.put(None)  # type: ignore[arg-type]
    assert held.read() == b"x"


def test_a_row_that_is_gone_is_not_written(graph: og.Graph) -> None:
    held = graph.blob("node", "Paper", "a", "body")
    graph.mutate('query q() { delete Paper where name = "a" }')
    assert held.read() == b"hello, world"
    with pytest.raises(og.NotFound, match="'a'"):
        held.put(b"late")
