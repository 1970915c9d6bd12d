"""Stored catalogs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from omnigraph.base.errors import CorruptState, FormatTooNew
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.frontend import compile_schema

TEXT = """
interface I { p: String @index }
node A @description("d") @note(1, k="v") implements I {
  k: I32 @key  u: F64? @unique @default(1)  v: Vector(2) @embed(p, model="m")  t: [String] @merge(union)
  @range(u, -1.5..)  @check(p, "x")
}
edge E: A -> A @card(1..2) { w: enum(b, a) @default(a)  @unique(src, dst) }
"""


def test_a_catalog_comes_back_as_it_was() -> None:
    catalog = compile_schema(TEXT)
    assert codec.decode(codec.encode(catalog)) == catalog


def test_whole_numbers_and_fractions_stay_apart() -> None:
    decoded = codec.decode(
        codec.encode(compile_schema("node A { x: F64 @a(1)  y: F64 @a(1.0)  @range(x, 0..1.0) }"))
    )
    node = decoded.nodes[0]
    assert [type(item.annotations[0].value) for item in node.properties] == [int, float]
    assert [type(node.ranges[0].low), type(node.ranges[0].high)] == [int, float]


def test_equal_catalogs_have_one_address_whatever_their_text() -> None:
    one = codec.content_address(compile_schema(TEXT))
    other = codec.content_address(compile_schema("// a comment\n" + TEXT.replace("  ", "\n")))
    assert one == other
    assert len(one) == 64
    assert one != codec.content_address(compile_schema(TEXT.replace("1..2", "1..3")))


def test_a_later_format_is_refused() -> None:
    data = codec.to_json(compile_schema(TEXT)) | {"format": codec.FORMAT + 1}
    with pytest.raises(FormatTooNew) as caught:
        codec.decode(json.dumps(data).encode())
    assert (caught.value.found, caught.value.supported) == (codec.FORMAT + 1, codec.FORMAT)


def _damage(path: list[Any], value: Any) -> bytes:
    data = codec.to_json(compile_schema(TEXT))
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"format": true}',
        b'{"format": 1}',
        b"[" * 100_000,
        _damage(["nodes"], 3),
        _damage(["nodes", 0], []),
        _damage(["nodes", 0, "id"], "1"),
        _damage(["nodes", 0, "surprise"], 1),
        _damage(["nodes", 0, "key"], "k"),
        _damage(["nodes", 0, "key"], [1]),
        _damage(["nodes", 0, "properties", 0, "type", "scalar"], "Int"),
        _damage(["nodes", 0, "properties", 0, "type", "nullable"], "yes"),
        _damage(["nodes", 0, "properties", 1, "annotations"], [{"name": "a", "value": {}}]),
        _damage(["nodes", 0, "ranges", 0, "low"], "1"),
        _damage(["edges", 0, "cardinality"], [1]),
        _damage(["edges", 0, "cardinality"], ["1", None]),
        _damage(["last_id"], None),
    ],
)
def test_damaged_data_is_called_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptState):
        codec.decode(data)
