"""Catalogs written down: the text compiles to the same catalog."""

from __future__ import annotations

from hypothesis import given, settings

from omnigraph.compiler.catalog.declare import declare
from omnigraph.compiler.frontend import compile_schema
from omnigraph.compiler.schema.printer import print_schema
from support.examples import examples
from support.schemas import schema_texts, without_ids

EVERYTHING = """
interface Named { name: String @key @description("its name")  mail: String? @unique  rank: I32 @index }
interface Aged { age: I32? }
node Person @description("somebody") @instruction("be kind") @owner("hr", since=3) implements Named, Aged {
  nick: String? @unique @index
  state: enum(open, done) @default(open)
  born: Date? @default("2000-01-31")
  seen: DateTime?
  tags: [String]? @merge(union) @default(["a", "b"])
  score: F64 @default(0.5) @merge(max)
  text: String
  face: Vector(2)? @embed(text, model="m") @index
  photo: Blob?
  gone: I32? @default(null)
  other: String? @note("x\\"y")
  @unique(nick, text)
  @index(score, text)
  @range(age, 0..150)
  @range(score, ..1.5)
  @check(nick, "^[a-z\\\\d]+$")
}
node Place { x: I32  y: I32  @key(y, x) }
edge Visited: Person -> Place @card(1..3) @description("went") { at: Date? @index  @unique(src, dst, at) }
edge Rated: Person -> Place { z: I32  kind: String  @key(dst, src, z, kind) }
"""


def test_every_part_of_a_catalog_is_written_down() -> None:
    catalog = compile_schema(EVERYTHING)
    text = print_schema(declare(catalog))
    assert without_ids(compile_schema(text)) == without_ids(catalog)
    assert print_schema(declare(compile_schema(text))) == text


@given(schema_texts())
@settings(deadline=None, max_examples=examples(100))
def test_a_written_catalog_compiles_to_itself(text: str) -> None:
    catalog = compile_schema(text)
    assert without_ids(compile_schema(print_schema(declare(catalog)))) == without_ids(catalog)
