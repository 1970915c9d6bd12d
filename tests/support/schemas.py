"""Hypothesis strategies for schema texts that compile, drawn from few names so that two of them overlap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from omnigraph.compiler.catalog.model import Catalog, EdgeType, InterfaceType, NodeType

_Type = TypeVar("_Type", InterfaceType, NodeType, EdgeType)

_PLAIN = ("String", "Bool", "I32", "I64", "U32", "F32", "F64", "Date", "DateTime", "enum(a)", "enum(a, b)")
_OTHER = ("Blob", "Vector(2)", "Vector(3)", "[String]", "[I32]")
_DEFAULTS = {
    "String": '"x"',
    "Bool": "true",
    "I32": "-3",
    "I64": "5",
    "U32": "5",
    "F32": "1.5",
    "F64": "2",
    "Date": '"2024-01-31"',
    "DateTime": '"2024-01-31T10:00:00+01:00"',
    "enum(a)": "a",
    "enum(a, b)": '"b"',
    "Vector(2)": "[1, -2.5]",
    "[String]": '["a", "b"]',
    "[I32]": "[]",
}


@dataclass(frozen=True)
class DrawnProperty:
    """A property as text, with what constraints need to know of it."""

    name: str
    base: str
    nullable: bool
    text: str


@st.composite
def _property(draw: DrawFn, name: str, hints: bool) -> DrawnProperty:
    base = draw(st.sampled_from(_PLAIN + _OTHER))
    nullable = draw(st.booleans())
    parts = [f"{name}: {base}{'?' if nullable else ''}"]
    if base in _DEFAULTS and draw(st.booleans()):
        parts.append(f"@default({_DEFAULTS[base]})")
    if base in _PLAIN and draw(st.integers(0, 3)) == 0:
        parts.append("@unique")
    if base in _PLAIN and draw(st.integers(0, 3)) == 0:
        parts.append("@index")
    if draw(st.integers(0, 3)) == 0:
        parts.append(f'@description("{draw(st.sampled_from("pq"))}")')
    if draw(st.integers(0, 5)) == 0:
        parts.append(draw(st.sampled_from(("@merge(ours)", "@custom", "@custom(1)", "@custom(w, k=true)"))))
    if hints and draw(st.integers(0, 3)) == 0:
        parts.append(f'@rename_from("{draw(st.sampled_from("abcd"))}")')
    return DrawnProperty(name, base, nullable, " ".join(parts))


@st.composite
def _properties(draw: DrawFn, names: str, hints: bool) -> list[DrawnProperty]:
    chosen = draw(st.sets(st.sampled_from(names)))
    return [draw(_property(name, hints)) for name in sorted(chosen)]


@st.composite
def _rules(draw: DrawFn, properties: list[DrawnProperty], on_node: bool) -> list[str]:
    plain = [item.name for item in properties if item.base in _PLAIN]
    rules: list[str] = []
    keys = [item.name for item in properties if item.base in _PLAIN and not item.nullable]
    if on_node and keys and draw(st.booleans()):
        rules.append(f"@key({', '.join(draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2)))})")
    if plain and draw(st.booleans()):
        rules.append(f"@unique({', '.join(draw(st.lists(st.sampled_from(plain), min_size=1)))})")
    if not on_node and draw(st.booleans()):
        rules.append("@unique(src, dst)")
    for item in properties:
        if on_node and item.base in ("F32", "F64") and draw(st.booleans()):
            rules.append(f"@range({item.name}, {draw(st.sampled_from(('..5', '-1.5..', '0..9')))})")
        if on_node and item.base == "String" and draw(st.booleans()):
            rules.append(f'@check({item.name}, "x")')
    return rules


@st.composite
def schema_texts(draw: DrawFn, hints: bool = False) -> str:
    """Draw a schema that compiles; with `hints`, some declarations bear `@rename_from`."""
    interfaces = sorted(draw(st.sets(st.sampled_from("IJ"))))
    nodes = sorted(draw(st.sets(st.sampled_from("ABCD"), min_size=1)))
    lines = []
    for name in interfaces:
        offered = draw(_properties("pq" if name == "I" else "rs", False))
        lines.append(f"interface {name} {{ {'  '.join(item.text for item in offered)} }}")
    for name in nodes:
        properties = draw(_properties("abcd", hints))
        implements = sorted(draw(st.sets(st.sampled_from(interfaces)))) if interfaces else []
        hint = f' @rename_from("{draw(st.sampled_from("ABCD"))}")' if hints and draw(st.booleans()) else ""
        note = draw(st.sampled_from(("", ' @description("d")', ' @instruction("i")', " @note")))
        clause = f" implements {', '.join(implements)}" if implements else ""
        body = [item.text for item in properties] + draw(_rules(properties, True))
        lines.append(f"node {name}{hint}{note}{clause} {{ {'  '.join(body)} }}")
    for name in sorted(draw(st.sets(st.sampled_from("EFG")))):
        properties = draw(_properties("abc", hints))
        ends = f"{draw(st.sampled_from(nodes))} -> {draw(st.sampled_from(nodes))}"
        card = draw(st.sampled_from(("", " @card(0..)", " @card(0..2)", " @card(1..)")))
        body = [item.text for item in properties] + draw(_rules(properties, False))
        lines.append(f"edge {name}: {ends}{card} {{ {'  '.join(body)} }}")
    return "\n".join(draw(st.permutations(lines))) + "\n"


def without_ids(catalog: Catalog) -> Catalog:
    """Return the catalog with every id set to 0, and without the form of `@unique`."""
    return Catalog(
        tuple(_bare(item) for item in catalog.interfaces),
        tuple(
            replace(_bare(item), table_id=0, key=tuple(sorted(item.key)) if item.key else None)
            for item in catalog.nodes
        ),
        tuple(replace(_bare(item), table_id=0) for item in catalog.edges),
    )


def _bare(item: _Type) -> _Type:
    return replace(
        item, id=0, properties=tuple(replace(each, id=0, inline_unique=False) for each in item.properties)
    )


def all_ids(catalog: Catalog) -> list[int]:
    """Return every id in use: types, tables and properties."""
    types = [*catalog.interfaces, *catalog.nodes, *catalog.edges]
    return [
        *(item.id for item in types),
        *(table.table_id for table in catalog.tables),
        *(each.id for item in types for each in item.properties),
    ]
