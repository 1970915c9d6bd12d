"""Stored catalogs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from omnigraph.base.errors import CorruptState, FormatTooNew
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_schema

TEXT = """
interface I { p: String @index }
node A @description("d") @note(1, k="v") implements I {
  k: I32 @key  u: F64? @unique @default(1)  v: Vector(2) @embed(p, model="m")  t: [String] @merge(union)
  @range(u, -1.5..)  @check(p, "x")
}
edge E: A -> A @card(1..2) { w: enum(b, a) @default(a)  @unique(src, dst) }
"""


def stored(catalog: Catalog) -> Catalog:
    """Return what is read of the bytes that a catalog becomes."""
    return codec.from_json(json.loads(json.dumps(codec.to_json(catalog), allow_nan=False)))


def test_a_catalog_comes_back_as_it_was() -> None:
    catalog = compile_schema(TEXT)
    assert stored(catalog) == catalog


def test_whole_numbers_and_fractions_stay_apart() -> None:
    text = "node A { x: F64 @a(1)  y: F64 @a(1.0)  @range(x, 0..1.0) }"
    node = stored(compile_schema(text)).nodes[0]
    assert [type(item.annotations[0].value) for item in node.properties] == [int, float]
    assert [type(node.ranges[0].low), type(node.ranges[0].high)] == [int, float]


def test_equal_catalogs_are_equal_data_whatever_their_text() -> None:
    one = codec.to_json(compile_schema(TEXT))
    assert one == codec.to_json(compile_schema("// a comment\n" + TEXT.replace("  ", "\n")))
    assert one != codec.to_json(compile_schema(TEXT.replace("1..2", "1..3")))


def test_a_later_format_is_refused() -> None:
    data = codec.to_json(compile_schema(TEXT)) | {"format": codec.CATALOG_FORMAT + 1}
    with pytest.raises(FormatTooNew) as caught:
        codec.from_json(data)
    assert (caught.value.found, caught.value.supported) == (codec.CATALOG_FORMAT + 1, codec.CATALOG_FORMAT)


def _damage(path: list[Any], value: Any) -> Any:
    data = codec.to_json(compile_schema(TEXT))
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"format": True},
        {"format": 1},
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
def test_damaged_data_is_called_corrupt(data: Any) -> None:
    with pytest.raises(CorruptState):
        codec.from_json(data)
