"""Random values and conditions over the variables that a query has bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from support.generated_expressions import expression
from support.generated_graphs import COMPONENTS, VALUES, Property, Type

NUMBERS = ("I32", "I64", "U32", "U64", "F32", "F64")
_INTEGERS = NUMBERS[:4]
_LARGEST = 2**63 - 1
"""The largest integer that a literal or a parameter holds."""
_SEARCHED = ("dogs", "run fox", "DOG café", "the", "", "cafe", "ärger fox", "lait 日本", "dgo", "b q dog")
_COMPARATORS = ("!=", "=", "<", "<=", ">", ">=")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n"}


@dataclass(frozen=True)
class Variable:
    """A bound variable: a node, an edge, a path or its length, or a value of an earlier stage."""

    name: str
    kind: str
    type: Type | None
    types: tuple[str, ...] = ()
    """The names of its types if it has several, and `type` what they share."""
    base: str = ""
    """The type of a value, without list, or of the cost of a path."""
    is_list: bool = False

    @property
    def is_shaped(self) -> bool:
        """Whether it is a value that is a list, a vector or a map."""
        return self.is_list or self.base.startswith("Vector") or self.base == "Map"

    @property
    def is_united(self) -> bool:
        """Whether it ranges over several types."""
        return len(self.types) > 1


Scope = list[Variable]


@dataclass(frozen=True)
class Value:
    """An expression and its type."""

    text: str
    base: str
    is_list: bool = False
    score: str = ""
    default_name: bool = False
    """Whether a column of it may go without a name."""

    @property
    def is_shaped(self) -> bool:
        """Whether it is a list or a vector."""
        return self.is_list or self.base.startswith("Vector") or self.base == "Map"

    @property
    def is_sortable(self) -> bool:
        """Whether rows can be sorted by it."""
        return not self.is_shaped


@dataclass
class Conditions:
    """Draws values and conditions, and declares the parameters that they use."""

    draw: st.DrawFn
    params: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Type and value by name; `...` for a value that is left out."""

    def chance(self, one_in: int) -> bool:
        """Return True once in so many times; False is the simpler."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def pick(self, items: Iterable[Any]) -> Any:
        """Return one of some things; the first is the simplest."""
        return self.draw(st.sampled_from(list(items)))

    # Constants

    def parameter(self, type_: str, value: Any) -> str:
        """Declare a parameter and return it."""
        name = f"u{len(self.params)}"
        self.params[name] = (type_, value)
        return f"${name}"

    def constant(self, base: str) -> str:
        """Return a literal or a parameter of a type, or of another numeric one; sometimes null."""
        written = "String" if base.startswith("enum") else base
        if base in NUMBERS:
            base = written = self.pick([base, *NUMBERS])
        values = [value for value in VALUES[base] if base not in _INTEGERS or value <= _LARGEST]
        if self.chance(16):
            absent = self.pick(["null", None, ...])
            return "null" if absent == "null" else self.parameter(f"{written}?", absent)
        if self.chance(3):
            return self.parameter(written + "?" * self.chance(4), self.pick(values))
        return literal(base, self.pick(values))

    def constants(self, base: str) -> str:
        """Return a list of a type, as a literal or a parameter."""
        written = "String" if base.startswith("enum") else base
        if base in NUMBERS:
            base = written = self.pick([base, *NUMBERS])
        values = [value for value in VALUES[base] if base not in _INTEGERS or value <= _LARGEST]
        chosen = self.draw(st.lists(st.sampled_from(values), max_size=3))
        if self.chance(3):
            return self.parameter(f"[{written}]", chosen)
        return f"[{', '.join(literal(base, value) for value in chosen)}]"

    def beside(self, item: Property) -> str:
        """Return what can stand beside a property in a binding."""
        if item.base == "DateTime" and not item.is_list and self.chance(4):
            return "now()"
        text = self.constant(item.base)
        return literal(item.base, VALUES[item.base][0]) if text == "null" and not item.is_nullable else text

    def vector(self, base: str) -> str:
        """Return a query vector, as a literal or a parameter."""
        width = int(base[7:-1])
        numbers = self.draw(st.lists(st.sampled_from(COMPONENTS), min_size=width, max_size=width))
        if self.chance(12):
            return self.parameter(f"{base}?", None)
        if self.chance(2):
            return self.parameter(base, numbers)
        return f"[{', '.join(map(str, numbers))}]"

    def words(self) -> str:
        """Return a text to search for."""
        text = self.pick(_SEARCHED)
        if self.chance(12):
            return self.parameter("String?", None)
        return self.parameter("String", text) if self.chance(3) else literal("String", text)

    # Values of variables

    def properties(self, scope: Scope) -> list[Value]:
        """Return every property that the scope's variables have."""
        return [
            Value(f"${item.name}.{one.name}", one.base, one.is_list, default_name=True)
            for item in scope
            if item.type is not None
            for one in item.type.properties
        ]

    def plain_values(self, scope: Scope) -> list[Value]:
        """Return ids, ends and path lengths."""
        found = []
        for item in scope:
            if item.kind == "length":
                found.append(Value(f"${item.name}", "I64", default_name=True))
            elif item.kind == "value":
                found.append(Value(f"${item.name}", item.base, item.is_list, default_name=True))
            elif item.kind == "path":
                found.append(Value(f"length(${item.name})", "I64"))
                found.append(Value(f"cost(${item.name})", item.base))
                found += [
                    Value(f"{part}(${item.name})", "String", is_list=True) for part in ("nodes", "edges")
                ]
            else:
                names = ("id", "from", "to") if item.kind == "edge" else ("id",)
                found += [Value(f"${item.name}.{name}", "String", default_name=True) for name in names]
                if item.is_united:
                    found.append(Value(f"type(${item.name})", "String"))
        return found

    def read_value(self, scope: Scope) -> Value:
        """Return what may be a group key: a node, a path length, or something that is stored."""
        if self.chance(5) and (made := self.computed(scope)):
            return made
        nodes = [Value(f"${item.name}", "String") for item in scope if item.kind == "node"]
        found: Value = self.pick([*self.properties(scope), *self.plain_values(scope), *nodes])
        return found

    def computed(self, scope: Scope) -> Value | None:
        """Return an expression, or None when nothing fits."""
        made = expression(self, scope)
        return Value(*made) if made else None

    def sort_values(self, scope: Scope) -> list[Value]:
        """Return what rows can be sorted by, scores aside."""
        nodes = [Value(f"${item.name}", "String") for item in scope if item.kind == "node"]
        known = [*self.properties(scope), *self.plain_values(scope), *nodes]
        if self.chance(4) and (made := self.computed(scope)):
            known.append(made)
        return [value for value in known if value.is_sortable]

    def any_value(self, scope: Scope) -> Value:
        """Return any value that can be returned."""
        if not self.chance(4):
            return self.read_value(scope)
        found: Value | None = self.pick(
            [
                lambda: Value(self.parameter("I64", 7), "I64", default_name=True),
                lambda: Value('"text"', "String", default_name=True),
                lambda: Value("-2.5", "F64", default_name=True),
                lambda: Value("null", "String"),
                lambda: Value("now()", "DateTime"),
                lambda: self.score(scope, "nearest"),
                lambda: self.score(scope, "bm25"),
                lambda: self.score(scope, "rrf"),
                lambda: self.search(scope),
                lambda: self.whole(scope),
            ]
        )()
        return found or self.read_value(scope)

    def argument(self, scope: Scope, function: str) -> Value | None:
        """Return an argument that an aggregate takes, or None."""
        known = [*self.properties(scope), *self.plain_values(scope)]
        if function in ("sum", "avg"):
            known = [value for value in known if value.base in NUMBERS and not value.is_shaped]
        elif function in ("min", "max", "collect"):
            known = [value for value in known if not value.is_shaped]
        if function in ("count", "collect") and self.chance(6) and (made := self.whole(scope)):
            return made
        if function in ("sum", "max") and self.chance(6):
            return self.score(scope, "nearest") or self.score(scope, "bm25")
        return self.pick(known) if known else None

    def whole(self, scope: Scope) -> Value | None:
        """Return a whole node or edge, or None."""
        known = [item for item in scope if item.kind in ("node", "edge")]
        return Value(f"entity(${self.pick(known).name})", "Map") if known else None

    # Search

    def texts(self, scope: Scope) -> list[Value]:
        """Return the texts of nodes; those of edges cannot be searched."""
        return [
            value
            for value in self.properties(_searched(scope))
            if value.base == "String" and not value.is_list
        ]

    def score(self, scope: Scope, kind: str) -> Value | None:
        """Return a search score, or None when nothing can be searched so."""
        nodes = _searched(scope)
        if kind == "rrf":
            for item in nodes:
                parts = [self.score([item], name) for name in ("nearest", "bm25")]
                known = [part.text for part in parts if part]
                if known:
                    k = f", {self.pick([1, 60, 7])}" if self.chance(3) else ""
                    return Value(f"rrf({known[0]}, {known[-1]}{k})", "F64", score="rrf")
            return None
        if kind == "bm25":
            fields = self.texts(nodes)
            if not fields:
                return None
            text = self.words() if not self.chance(10) else self.pick(fields).text
            return Value(f"bm25({self.pick(fields).text}, {text})", "F64", score="bm25")
        vectors = [value for value in self.properties(nodes) if value.base.startswith("Vector")]
        if not vectors:
            return None
        value = self.pick(vectors)
        equal = [other.text for other in vectors if other.base == value.base]
        query = self.pick(equal) if self.chance(10) else self.vector(value.base)
        return Value(f"nearest({value.text}, {query})", "F64", score="nearest")

    def search(self, scope: Scope) -> Value | None:
        """Return a text predicate as a value."""
        fields = self.texts(scope)
        if not fields:
            return None
        found = self.pick(fields).text
        function = self.pick(["search", "match_text", "fuzzy"])
        edits = f", {self.pick([0, 1, 2])}" if function == "fuzzy" and self.chance(2) else ""
        text = self.pick(fields).text if self.chance(10) else self.words()
        return Value(f"{function}({found}, {text}{edits})", "Bool")

    # Conditions

    def clause(self, scope: Scope, plain: bool = False) -> str:
        """Return a filter; a plain one surely mentions a variable of the scope itself."""
        if plain:
            return f"({self.comparison(scope)})"
        text = self.condition(scope, 2)
        # A clause that begins with a bare variable could be a traversal.
        return f"({text})" if text.startswith("$") and "." not in text.split()[0] else text

    def condition(self, scope: Scope, depth: int) -> str:
        """Return a condition, combined or not."""
        if depth and self.chance(3):
            how = self.pick(["and", "or", "not"])
            if how == "not":
                return f"not ({self.condition(scope, depth - 1)})"
            left, right = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return f"({left}) {how} {right if self.chance(3) else f'({right})'}"
        makers: list[Callable[[], str | None]] = [
            lambda: self.comparison(scope),
            lambda: self.membership(scope),
            lambda: self.searching(scope),
            lambda: self.null_test(scope),
            lambda: self.scored(scope),
        ]
        return self.pick(makers)() or self.comparison(scope)

    def comparison(self, scope: Scope) -> str:
        """Return a comparison of a value with another or with a constant."""
        known = [*self.properties(scope), *self.plain_values(scope)]
        scalars = [value for value in known if not value.is_shaped]
        made = self.computed(scope) if self.chance(5) else None
        left = made if made and not made.is_shaped else self.pick(scalars)
        others = [value.text for value in scalars if _fits(value.base, left.base)]
        if left.base == "DateTime" and self.chance(5):
            right = "now()"
        else:
            right = self.pick(others) if others and self.chance(3) else self.constant(left.base)
        operators = list(_COMPARATORS)
        if _is_text(left.base):
            operators += ["contains", "starts_with"]
        operator = self.pick(operators)
        if operator in ("contains", "starts_with") and self.chance(2):
            right = literal("String", self.pick(["", "d", "dog", "%", "_", "a", "é", "z"]))
        # A null literal takes on the other side's type, so both sides can stand anywhere.
        return f"{right} {operator} {left.text}" if self.chance(4) else f"{left.text} {operator} {right}"

    def membership(self, scope: Scope) -> str:
        """Return a test for a member of a list."""
        known = [*self.properties(scope), *self.plain_values(scope)]
        lists = [value for value in known if value.is_list and value.base != "Map"]
        scalars = [value for value in known if not value.is_shaped]
        if lists and self.chance(2):
            held = self.pick(lists)
            fitting = [value.text for value in scalars if _fits(value.base, held.base)]
            item = self.pick(fitting) if fitting and self.chance(3) else self.constant(held.base)
            if item == "null":
                item = self.parameter(f"{held.base}?", None)
            return f"{held.text} contains {item}" if self.chance(2) else f"{item} in {held.text}"
        value = self.pick(scalars)
        return f"{value.text} in {self.constants(value.base)}"

    def null_test(self, scope: Scope) -> str:
        """Return a test for NULL."""
        nodes = [Value(f"${item.name}", "String") for item in scope if item.kind == "node"]
        known = [*self.properties(scope), *nodes, *self.plain_values(scope)]
        return f"{self.pick(known).text} is {self.pick(['null', 'not null'])}"

    def searching(self, scope: Scope) -> str | None:
        """Return a text predicate."""
        found = self.search(scope)
        return found.text if found else None

    def scored(self, scope: Scope) -> str | None:
        """Return a comparison of a score; nothing scores exactly what it is compared with."""
        found = self.score(scope, self.pick(["nearest", "bm25", "rrf"]))
        if found is None:
            return None
        bound = {"nearest": "0.61803", "bm25": "0.31831", "rrf": "0.01623"}[found.score]
        return f"{found.text} {self.pick(['<', '>', '<=', '>='])} {bound}"


def literal(base: str, value: Any) -> str:
    """Return a value as it is written in a query."""
    if base in ("Date", "DateTime"):
        return f'{base.lower()}("{value}")'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:f}" if value != 0.10000000149011612 else "0.10000000149011612"
    if isinstance(value, int):
        return str(value)
    return '"' + "".join(_ESCAPES.get(letter, letter) for letter in value) + '"'


def _is_text(base: str) -> bool:
    return base == "String" or base.startswith("enum")


def _fits(one: str, other: str) -> bool:
    return one == other or (one in NUMBERS and other in NUMBERS) or (_is_text(one) and _is_text(other))


def _searched(scope: Scope) -> Scope:
    """Return the variables whose texts and vectors can be searched: nodes of one type."""
    return [item for item in scope if item.kind == "node" and not item.is_united]
