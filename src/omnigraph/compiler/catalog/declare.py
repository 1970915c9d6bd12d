"""Catalog to syntax tree: the schema text of a catalog that nobody has written down."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.compiler.catalog.annotations import MARKS
from omnigraph.compiler.catalog.model import (
    EDGE_ENDS,
    Annotation,
    Catalog,
    EdgeType,
    InterfaceType,
    LiteralValue,
    NodeType,
    Property,
    TableType,
)
from omnigraph.compiler.schema import ast
from omnigraph.compiler.types import PropertyType


def declare(catalog: Catalog) -> ast.SchemaFile:
    """Return a tree that compiles to this catalog, ids apart."""
    interfaces = {item.name: item for item in catalog.interfaces}
    return ast.SchemaFile(
        (
            *(declare_type(item, interfaces) for item in catalog.interfaces),
            *(declare_type(item, interfaces) for item in catalog.nodes),
            *(declare_type(item, interfaces) for item in catalog.edges),
        )
    )


def declare_type(
    item: InterfaceType | NodeType | EdgeType, interfaces: dict[str, InterfaceType]
) -> ast.Declaration:
    """Return the declaration of one type; `interfaces` are those of its catalog, by name."""
    name = ast.Name(item.name)
    if isinstance(item, InterfaceType):
        return ast.Interface(name, tuple(declare_property(each) for each in item.properties))
    members: tuple[ast.Member, ...] = (*_properties(item), *_constraints(item, interfaces))
    header = tuple(_header(item))
    if isinstance(item, NodeType):
        return ast.Node(name, header, tuple(ast.Name(each) for each in item.implements), members)
    card = None
    if not item.cardinality.is_default:
        card = ast.Card(item.cardinality.low, item.cardinality.high)
    return ast.Edge(name, ast.Name(item.source), ast.Name(item.target), card, header, members)


def declare_property(item: Property, marks: tuple[str, ...] = ()) -> ast.PropertyDeclaration:
    """Return the declaration of one property; `marks` are those that its type asks for."""
    notes = [_note(word) for word in marks]
    if item.embed is not None:
        model = item.embed.model
        keywords = () if model is None else (ast.Keyword(ast.Name("model"), ast.Literal(model)),)
        notes.append(ast.AnnotationExpr(ast.Name("embed"), ast.Literal(item.embed.source), keywords))
    if item.default is not None:
        notes.append(ast.AnnotationExpr(ast.Name("default"), _argument(item.default.value)))
    if item.merge_rule is not None:
        notes.append(ast.AnnotationExpr(ast.Name("merge"), ast.Word(item.merge_rule)))
    if item.description is not None:
        notes.append(_note("description", item.description))
    notes += map(_custom, item.annotations)
    return ast.PropertyDeclaration(ast.Name(item.name), _type(item.type), tuple(notes))


def _properties(item: TableType) -> Iterator[ast.PropertyDeclaration]:
    for each in item.properties:
        if each.from_interface is None:
            yield declare_property(each, tuple(_marks(item, each)))


def _marks(item: TableType, each: Property) -> Iterator[str]:
    if isinstance(item, NodeType) and item.key == (each.name,):
        yield "key"
    if each.inline_unique and (each.name,) in item.uniques:
        yield "unique"
    is_key = isinstance(item, NodeType) and item.key == (each.name,)
    if (each.name,) in item.indexes and not is_key and not each.type.is_list:
        yield "index"


def _constraints(item: TableType, interfaces: dict[str, InterfaceType]) -> Iterator[ast.Constraint]:
    """Yield what no mark on a property says, neither here nor in an interface."""
    said = {
        (mark, (each.name,))
        for each in item.properties
        for mark in (_marks(item, each) if each.from_interface is None else _given_marks(each, interfaces))
    }
    ends = EDGE_ENDS if isinstance(item, EdgeType) else ()
    key = (*ends, *sorted(set(item.key) - set(ends))) if item.key else None
    if key is not None and ("key", key) not in said:
        yield _columns("key", key)
    for columns in item.uniques:
        if ("unique", columns) not in said:
            yield _columns("unique", columns)
    for columns in item.indexes:
        if columns != key and ("index", columns) not in said:
            yield _columns("index", columns)
    if isinstance(item, NodeType):
        for limits in item.ranges:
            bounds = ast.RangeBounds(_bound_literal(limits.low), _bound_literal(limits.high))
            yield ast.Constraint("range", (ast.Word(limits.property), bounds))
        for check in item.checks:
            yield ast.Constraint("check", (ast.Word(check.property), ast.Literal(check.pattern)))


def _given_marks(each: Property, interfaces: dict[str, InterfaceType]) -> list[str]:
    """Return the marks that an interface puts on a property of a node type."""
    source = interfaces[each.from_interface or ""]
    declared = next(item for item in source.properties if item.name == each.name)
    return [note.name for note in declared.annotations if note.name in MARKS]


def _header(item: TableType) -> Iterator[ast.AnnotationExpr]:
    if item.description is not None:
        yield _note("description", item.description)
    if item.instruction is not None:
        yield _note("instruction", item.instruction)
    yield from map(_custom, item.annotations)


def _type(item: PropertyType) -> ast.TypeExpr:
    enum = None if item.enum is None else tuple(ast.Name(value) for value in item.enum)
    return ast.TypeExpr(item.scalar.value, item.nullable, item.is_list, enum, item.vector)


def _custom(item: Annotation) -> ast.AnnotationExpr:
    keywords = tuple(
        ast.Keyword(ast.Name(name), value)
        for name, given in item.arguments
        if isinstance(value := _argument(given), ast.Literal)
    )
    argument = None if item.value is None else _argument(item.value)
    return ast.AnnotationExpr(ast.Name(item.name), argument, keywords)


def _note(word: str, text: str | None = None) -> ast.AnnotationExpr:
    return ast.AnnotationExpr(ast.Name(word), None if text is None else ast.Literal(text))


def _argument(value: LiteralValue) -> ast.Scalar | ast.ListArgument:
    if value is None:
        return ast.Word("null")
    if isinstance(value, tuple):
        items = tuple(item for item in map(_argument, value) if not isinstance(item, ast.ListArgument))
        return ast.ListArgument(items)
    return ast.Literal(value)


def _columns(kind: ast.ConstraintKind, names: tuple[str, ...]) -> ast.Constraint:
    return ast.Constraint(kind, tuple(ast.Word(name) for name in names))


def _bound_literal(value: int | float | None) -> ast.Literal | None:
    return None if value is None else ast.Literal(value)
