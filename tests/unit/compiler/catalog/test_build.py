"""What a schema means once compiled."""

from __future__ import annotations

import pytest

from omnigraph.base.errors import ParseError
from omnigraph.compiler.catalog.build import build_draft
from omnigraph.compiler.catalog.identity import assign_ids
from omnigraph.compiler.catalog.model import Cardinality, Catalog, Default, Range
from omnigraph.compiler.frontend import compile_schema
from omnigraph.compiler.schema import ast
from omnigraph.compiler.schema.parser import parse_schema
from omnigraph.compiler.schema.problems import SchemaProblems
from omnigraph.compiler.source import SourceText
from omnigraph.compiler.types import PropertyType, Scalar


def test_ids_are_given_to_types_then_properties_then_tables() -> None:
    catalog = compile_schema(
        "edge E: B -> A { w: I32 }\nnode B { y: I32  x: I32 }\nnode A { z: I32 }\ninterface I { p: I32 }"
    )
    assert [catalog.interfaces[0].id, *(item.id for item in catalog.tables)] == [1, 2, 3, 4]
    assert catalog.interfaces[0].properties[0].id == 5
    assert [(item.name, item.id) for table in catalog.tables for item in table.properties] == [
        ("z", 6),
        ("x", 7),
        ("y", 8),
        ("w", 9),
    ]
    assert [table.table_id for table in catalog.tables] == [10, 11, 12]
    assert catalog.last_id == 12


def test_a_key_implies_an_index_and_orders_its_members_by_id() -> None:
    node = compile_schema("node A { b: I32  a: I32  @key(b, a, b) }").nodes[0]
    assert node.key == ("a", "b")
    assert node.indexes == (("a", "b"),)
    assert node.uniques == ()


def test_marks_on_properties_are_constraints_of_one_property() -> None:
    marked = compile_schema("node A { a: I32 @key  b: I32 @unique  c: I32 @index }").nodes[0]
    body = compile_schema("node A { a: I32  b: I32  c: I32  @key(a)  @unique(b)  @index(c) }").nodes[0]
    assert (marked.key, marked.uniques, marked.indexes) == (body.key, body.uniques, body.indexes)


def test_an_interface_gives_its_properties_with_their_annotations() -> None:
    catalog = compile_schema(
        'interface I { k: String @key @description("d") }\nnode A implements I { x: I32 }'
    )
    node = catalog.nodes[0]
    assert node.key == ("k",)
    assert node.by_name["k"].from_interface == "I"
    assert node.by_name["k"].description == "d"
    assert node.by_name["x"].from_interface is None


def test_a_property_declared_again_does_not_get_the_interface_annotations() -> None:
    node = compile_schema("interface I { k: String @key }\nnode A implements I { k: String }").nodes[0]
    assert node.key is None
    assert node.by_name["k"].from_interface is None


def test_two_interfaces_may_offer_the_same_property() -> None:
    text = "interface I { x: I32 @index }\ninterface J { x: I32 @index }\nnode A implements I, J, I { }"
    node = compile_schema(text).nodes[0]
    assert node.implements == ("I", "J")
    assert node.indexes == (("x",),)


def test_an_open_lower_bound_leaves_the_upper_one() -> None:
    node = compile_schema("node A { x: I32  @range(x, ..9) }").nodes[0]
    assert node.ranges == (Range("x", None, 9),)


def test_enum_values_are_sorted() -> None:
    (item,) = compile_schema("node A { x: enum(b, a, 3-c)? }").nodes[0].properties
    assert item.type == PropertyType(Scalar.STRING, True, enum=("3-c", "a", "b"))
    assert str(item.type) == "enum(3-c, a, b)?"


def test_a_cardinality_may_be_open() -> None:
    catalog = compile_schema("node A {}\nedge E: A -> A @card(1..)\nedge F: A -> A")
    assert [edge.cardinality for edge in catalog.edges] == [Cardinality(1, None), Cardinality(0, None)]


@pytest.mark.parametrize(
    ("type_text", "literal", "value"),
    [
        ("I32", "-7", -7),
        ("U64", "18446744073709551615", 2**64 - 1),
        ("F64", "3", 3.0),
        ("F32", "-0.5", -0.5),
        ("Bool", "false", False),
        ("String", '"a\\n"', "a\n"),
        ("enum(dark, light)", "dark", "dark"),
        ("enum(dark, A-1)", '"A-1"', "A-1"),
        ("Date", '"2024-02-29"', "2024-02-29"),
        ("DateTime", '"2024-01-31"', "2024-01-31T00:00:00.000Z"),
        ("DateTime", '"2024-01-31T12:30:15.1239+01:30"', "2024-01-31T11:00:15.123Z"),
        ("DateTime", '"0999-01-31T12:30Z"', "0999-01-31T12:30:00.000Z"),
        ("[I32]", "[1, -2]", (1, -2)),
        ("[String]", "[]", ()),
        ("Vector(2)", "[1, 2.5]", (1.0, 2.5)),
        ("I32?", "null", None),
        ("[I32]?", "null", None),
    ],
)
def test_a_default_is_converted_to_the_type_of_its_property(
    type_text: str, literal: str, value: object
) -> None:
    (item,) = compile_schema(f"node A {{ x: {type_text} @default({literal}) }}").nodes[0].properties
    assert item.default == Default(value)  # type: ignore[arg-type]
    assert type(item.default.value) is type(value)


@pytest.mark.parametrize(
    ("type_text", "rule"),
    [("I32", "max"), ("Date", "max"), ("DateTime?", "max"), ("F64", "sum"), ("[String]", "union")]
    + [
        (type_text, rule)
        for type_text in ("String", "Blob", "[I32]")
        for rule in ("ours", "theirs", "manual")
    ],
)
def test_a_merge_rule_suits_its_property(type_text: str, rule: str) -> None:
    (item,) = compile_schema(f"node A {{ x: {type_text} @merge({rule}) }}").nodes[0].properties
    assert item.merge_rule == rule


def build_catalog(tree: ast.SchemaFile) -> Catalog:
    problems = SchemaProblems(SourceText(""))
    draft = build_draft(tree, problems)
    problems.raise_if_any()
    return assign_ids(draft.catalog)


def test_a_tree_built_in_code_compiles_without_a_text() -> None:
    tree = ast.SchemaFile(
        (ast.Node(ast.Name("A"), members=(ast.PropertyDeclaration(ast.Name("x"), ast.TypeExpr("I32")),)),)
    )
    assert build_catalog(tree) == compile_schema("node A { x: I32 }")
    wrong = ast.SchemaFile((ast.Node(ast.Name("A"), implements=(ast.Name("I"),)),))
    with pytest.raises(ParseError, match="unknown interface"):
        build_catalog(wrong)


def test_a_constraint_in_an_interface_tree_is_refused() -> None:
    wrong = ast.SchemaFile((ast.Interface(ast.Name("I"), (ast.Constraint("unique", (ast.Word("x"),)),)),))
    with pytest.raises(ParseError, match="properties only"):
        build_catalog(wrong)


def test_rename_hints_mean_nothing_in_a_new_graph() -> None:
    hinted = 'node B @rename_from("A") { y: I32 @rename_from("x") }'
    assert compile_schema(hinted) == compile_schema("node B { y: I32 }")


def test_declaration_order_does_not_matter() -> None:
    one = "node A { x: I32  y: I32  @unique(y, x)  @range(x, 0..)  @range(y, 0..) }\nnode B {}"
    other = "node B {}\nnode A { @range(y, 0..)  y: I32  @range(x, 0..)  x: I32  @unique(x, y) }"
    assert compile_schema(one) == compile_schema(other)


def test_parsing_and_building_apart_gives_the_same_catalog() -> None:
    text = "node A { x: I32 @key }"
    assert build_catalog(parse_schema(text)) == compile_schema(text)
