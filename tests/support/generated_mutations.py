"""Random mutations over a random schema, as text and parameters: every form of a statement and of a value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from omnigraph.compiler.catalog.model import EdgeType, NodeType, Property, TableType
from omnigraph.compiler.types import PropertyType, Scalar
from support.reference_graph import MemoryGraph

COMPUTED: dict[str, list[str]] = {
    **{
        name: [f"{name} + 1", f"{name} * 7", f"-{name}", f"10 - {name}", f"div({name}, 2)", "size([1, null])"]
        for name in ("r", "n", "m")
    },
    **{name: [f"{name} * 2.5", f"1 / {name}", f"{name} % 2", "1 + 2"] for name in ("f", "g")},
    **{
        name: [f'{name} + "x"', f"upper({name})", f"substring({name}, 1)", f'coalesce({name}, "n")']
        for name in ("s", "c", "q")
    },
    **{name: [f"{name} + 1", f"{name} - 30"] for name in ("d", "t")},
    "b": ["(not b)", "(b is null)", "(b = true)"],
    "l": ["slice(l, 1)", "[1, 2 + 3]", "coalesce(l, [7])", "[7, null]", "case when size(l) > 1 then [9] end"],
    "ld": ["slice(ld, 0, 1)", 'coalesce(ld, [date("2020-02-29")])', '[date("2020-02-29"), null]'],
    "ls": ['split("a-b", "-")', "slice(ls, 1)", '["x", null]', 'coalesce(ls, ["none"])', "[]"],
    "v": ["[0.5, 1]", "[1, 2.5]", "[1, 2, 3]", "null"],
}
"""What may be computed for a property, from the row or from nothing; of some values it has no result."""
_FROM_OTHERS = {
    "l": ["[r]", "[r, 3]", "[m, r]", "[r, m, null]"],
    "ls": ["[s]", "[q, s]", 'split(s, "")', 'split(q, "d")'],
    "ld": ["[d]", "[d, d + 1]"],
    "r": ["m", "size(l)", "l[0]", "length(s)", "size(ls)", "year(d)", "case when b then 1 else m end"],
    "m": ["r", "coalesce(r, 3)", "coalesce(l[5], 4)", "size(ls)"],
    "s": ["c", "q", "ls[0]", "to_string(r)", "s + q"],
    "n": ["r", "big", "n + r", "size(ld)"],
    "f": ["g", "f + r", "n / 2", "v[0]"],
    "q": ["s", "coalesce(s, q)", "coalesce(ls[0], q)"],
}
"""The same from other properties of the row, where the type has them."""
_WORD, _NO_WORDS = re.compile(r"\b[a-z]+\b(?!\()"), re.compile(r'"[^"]*"|\$\w+')
_KEYWORDS = {"case", "when", "then", "else", "end", "null", "is", "not", "true", "false"}
_LITERAL = (Scalar.STRING, Scalar.I32, Scalar.I64, Scalar.F64, Scalar.F32, Scalar.BOOL)


@dataclass
class Mutations:
    """Draws statements over what a graph holds, and collects their parameters."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    graph: MemoryGraph
    values: Callable[[TableType, str], Sequence[Any]]
    """What may be given for a property of a type."""
    end: Callable[[str], str]
    """Draws the id of a node of a type, rarely of none."""
    params: dict[str, Any] = field(default_factory=dict)
    declared: list[str] = field(default_factory=list)

    def pick(self, options: Iterable[Any]) -> Any:
        """Return one of some things."""
        return self.draw(st.sampled_from(list(options)))

    def chance(self, one_in: int) -> bool:
        """Return True once in so many times."""
        return bool(self.draw(st.integers(0, one_in - 1)) == one_in - 1)

    def query(self, statements: Iterable[str], match: str = "") -> str:
        """Return the text of a mutation."""
        before = f"match {{ {match} }} " if match else ""
        return f"query q({', '.join(self.declared)}) {{ {before}{' '.join(statements)} }}"

    def statement(self, kind: str) -> str | None:
        """Return a statement of a kind, or None where the type has nothing for it."""
        tables: list[TableType] = [*self.graph.catalog.tables]
        if kind in ("node", "edge"):
            tables = [table for table in tables if table.kind == kind]
        table = self.pick(tables)
        match kind:
            case "node" | "edge":
                return self._insert(table)
            case "upsert":
                return self._upsert(table)
            case "delete":
                return f"delete {table.name} where {self.condition(table)}"
        names = self._settable(table)
        if not names:
            return None
        chosen = self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        parts = [f"{name}: {self._assigned(table, name, reads=True)}" for name in chosen]
        return f"update {table.name} set {{ {', '.join(parts)} }} where {self.condition(table)}"

    # Values

    def parameter(self, type_: str, value: Any) -> str:
        """Return a new parameter."""
        name = f"v{len(self.declared)}"
        self.declared.append(f"${name}: {type_}")
        self.params[name] = value
        return f"${name}"

    def given(self, table: TableType, name: str, nullable: bool = True) -> str:
        """Return a value for a property, as a parameter or as a literal."""
        type_ = table.by_name[name].type
        value = self.pick([*self.values(table, name), *([None] if type_.nullable and nullable else [])])
        if self.chance(3) and (literal := _literal(value, type_)) is not None:
            return literal
        return self.parameter(f"{_parameter_type(type_)}{'?' if type_.nullable else ''}", value)

    def _assigned(self, table: TableType, name: str, reads: bool) -> str:
        """Return a value for a property that may be computed, from the row if a statement can read it."""
        if not self.chance(2):
            return self.given(table, name)
        known = set(table.by_name) if reads else set()
        options = [*COMPUTED.get(name, ()), *_FROM_OTHERS.get(name, ())]
        usable = [text for text in options if _named(text) <= known]
        return str(self.pick(usable)) if usable else self.given(table, name)

    # Conditions

    def condition(self, table: TableType, depth: int = 0) -> str:
        """Return a condition on a row."""
        if depth < 2 and self.chance(4):
            word = self.pick(["and", "or", "not"])
            if word == "not":
                return f"not ({self.condition(table, depth + 1)})"
            return f"({self.condition(table, depth + 1)}) {word} ({self.condition(table, depth + 1)})"
        makers: list[Callable[[], str | None]] = [lambda: self._comparison(table)] * 3
        makers += [lambda: self._of_list(table), lambda: self._of_names(table), lambda: self._null(table)]
        return self.pick(makers)() or self._of_names(table)

    def _comparison(self, table: TableType) -> str | None:
        known = [item for item in table.properties if _is_plain(item.type)]
        if not known:
            return None
        item = self.pick(known)
        operator = self.pick(["=", "=", "!=", "<", ">=", ">"])
        if item.type.scalar is Scalar.BOOL:
            operator = self.pick(["=", "!="])
        own = [text for text in COMPUTED.get(item.name, ()) if _named(text) == {item.name}]
        if own and item.name != "b" and self.chance(2):
            return f"{self.pick(own)} {operator} {item.name}"
        if self.chance(4):
            values = [self.given(table, item.name, nullable=False) for _ in range(2)]
            return f"{item.name} in [{', '.join(values)}]"
        return f"{item.name} {operator} {self.given(table, item.name, nullable=False)}"

    def _of_list(self, table: TableType) -> str | None:
        options = {
            "l": ["l contains 1", "size(l) > 1", "any($x in l where $x > 2)", "l[0] = 3"],
            "ls": ['ls contains "a"', "none($x in ls where length($x) > 1)", "size(ls) = 0"],
            "ld": ['ld contains date("2024-02-29")', "all($x in ld where year($x) > 2000)"],
            "s": ['s starts_with "b"', 's contains "d"', 'matches(s, "^[a-e]+$")', "length(s) = 1"],
        }
        known = [text for name, texts in options.items() if name in table.by_name for text in texts]
        return self.pick(known) if known else None

    def _of_names(self, table: TableType) -> str:
        """Return a condition on the id of a row, or on an end of an edge."""
        if isinstance(table, EdgeType):
            word, node = self.pick([("from", table.source), ("to", table.target)])
            ids = [self.parameter("String", self.end(node)) for _ in range(2)]
            return self.pick([f"{word} = {ids[0]}", f"{word} in [{', '.join(ids)}]", f"{word} != {ids[0]}"])
        return f"id = {self.parameter('String', self.end(table.name))}"

    def _null(self, table: TableType) -> str | None:
        known = [item.name for item in table.properties]
        return f"{self.pick(known)} is {self.pick(['', 'not '])}null" if known else None

    # Statements

    def _insert(self, table: TableType) -> str | None:
        names = {item.name for item in table.properties if _is_required(item)}
        if table.by_name:
            most = self.draw(
                st.sets(
                    st.sampled_from(sorted(table.by_name)), min_size=min(2, len(table.by_name)), max_size=6
                )
            )
            names |= most
        parts = [f"{name}: {self._value_of_new(table, name)}" for name in sorted(names)]
        if isinstance(table, EdgeType):
            parts += self._ends(table)
        return f"insert {table.name} {{ {' '.join(parts)} }}" if parts else None

    def _value_of_new(self, table: TableType, name: str) -> str:
        if name in (table.key or ()):
            return self.given(table, name)
        return self._assigned(table, name, reads=False)

    def _upsert(self, table: TableType) -> str:
        """Return an upsert of a stored row or of another one, with any of its properties."""
        names = set(table.key or ()) & set(table.by_name)
        if table.by_name:
            names |= self.draw(st.sets(st.sampled_from(sorted(table.by_name)), max_size=3))
        parts = []
        for name in sorted(names):
            is_key = name in (table.key or ())
            parts.append(
                f"{name}: {self.given(table, name) if is_key else self._assigned(table, name, True)}"
            )
        if isinstance(table, EdgeType):
            parts += self._ends(table)
        if not table.key:
            is_node = isinstance(table, NodeType)
            stored: Iterable[str] = (self.graph.nodes if is_node else self.graph.edges)[table.name]
            known = self.pick(["i1", "i2", *sorted(stored)[:3]])
            parts.append(f"id: {self.parameter('String', known)}")
        return f"upsert {table.name} {{ {' '.join(parts)} }}"

    def _ends(self, table: EdgeType) -> list[str]:
        sides = (("from", table.source), ("to", table.target))
        return [f"{word}: {self.parameter('String', self.end(node))}" for word, node in sides]

    def _settable(self, table: TableType) -> list[str]:
        return [item.name for item in table.properties if item.name not in (table.key or ())]

    # What a match finds

    def of_match(self) -> str | None:
        """Return a mutation that writes what a pattern finds, or None where it would write nothing."""
        edge = self.pick(self.graph.catalog.edges)
        word = f"{edge.name[0].lower()}{edge.name[1:]}"
        pattern = f"$a: {edge.source} $a $e:{word} $b"
        if self.chance(3):
            pattern = f"$a: {edge.source} optional {{ $a {word} $b }}"
        variables = {"$a": self.graph.catalog.node(edge.source), "$b": self.graph.catalog.node(edge.target)}
        if "$e" in pattern:
            variables["$e"] = edge
        kind = self.pick(["insert", "node", "update", "update", "delete", "upsert"])
        statements = [self._for_matched(kind, edge, variables) for _ in range(self.draw(st.integers(1, 2)))]
        found = [text for text in statements if text is not None]
        return self.query(found, pattern) if found else None

    def _for_matched(self, kind: str, edge: EdgeType, variables: dict[str, Any]) -> str | None:
        name = self.pick(variables)
        table: TableType = variables[name]
        match kind:
            case "delete":
                return f"delete {name}"
            case "insert":
                if any(_is_required(item) for item in edge.properties):
                    return None
                return f"insert {edge.name} {{ from: $a, to: $b }}"
            case "update":
                names = self._settable(table)
                if not names:
                    return None
                chosen = self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
                parts = [f"{item}: {self._from_matched(table, item, variables)}" for item in chosen]
                return f"update {name} set {{ {', '.join(parts)} }}"
        target = self.pick(self.graph.catalog.nodes)
        names = {item.name for item in target.properties if _is_required(item)} | set(target.key or ())
        if not target.key and (kind == "upsert" or not names):
            return None
        names |= self.draw(st.sets(st.sampled_from(sorted(target.by_name)), max_size=2))
        parts = [f"{item}: {self._from_matched(target, item, variables, False)}" for item in sorted(names)]
        return f"{'upsert' if kind == 'upsert' else 'insert'} {target.name} {{ {', '.join(parts)} }}"

    def _from_matched(
        self, table: TableType, name: str, variables: dict[str, Any], reads: bool = True
    ) -> str:
        wanted = table.by_name[name].type
        same = [
            f"{variable}.{other.name}"
            for variable, kind in variables.items()
            for other in kind.properties
            if other.type.scalar is wanted.scalar and other.type.is_list == wanted.is_list
            and other.type.vector == wanted.vector and wanted.scalar is not Scalar.BLOB
        ]  # fmt: skip
        if same and not self.chance(3):
            return str(self.pick(same))
        return (
            self._assigned(table, name, reads) if name not in (table.key or ()) else self.given(table, name)
        )


def _is_required(item: Property) -> bool:
    return not item.type.nullable and item.default is None


def _is_plain(type_: PropertyType) -> bool:
    return not (type_.is_list or type_.is_vector or type_.scalar is Scalar.BLOB)


def _parameter_type(type_: PropertyType) -> str:
    if type_.is_vector:
        return f"Vector({type_.vector})"
    text = "String" if type_.enum is not None else str(type_.scalar.value)
    return f"[{text}]" if type_.is_list else text


def _literal(value: Any, type_: PropertyType) -> str | None:
    """Return a value as it is written in a query, if it can be."""
    if value is None:
        return "null"
    if type_.is_list or type_.is_vector:
        members = [_literal(item, PropertyType(type_.scalar)) for item in value]
        return None if None in members else f"[{', '.join(map(str, members))}]"
    if type_.scalar in (Scalar.DATE, Scalar.DATETIME):
        return f'{"date" if type_.scalar is Scalar.DATE else "datetime"}("{value}")'
    if type_.scalar not in _LITERAL:
        return None
    text = json.dumps(value, ensure_ascii=False)
    return None if "e+" in text or ("e" in text.lower() and type_.scalar.is_float) else text


def _named(text: str) -> set[str]:
    """Return the properties that an expression names."""
    return {word for word in _WORD.findall(_NO_WORDS.sub("", text)) if word not in _KEYWORDS}
