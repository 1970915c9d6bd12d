"""Random well-typed read queries over a random schema, as text and parameters: every feature of the language.

What is drawn first is the simplest, so that failures shrink to short queries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from support.generated_conditions import Conditions, Scope, Variable
from support.generated_graphs import Shape, Type, World
from support.generated_stages import Stages
from support.generated_types import SeveralTypes

_NAMES = ("m", "c", "z", "a", "k", "x", "d", "b")
_HOPS = re.compile(r"\{[0-9]")
_SCORES = ("nearest", "bm25", "rrf")
_JOINT = "⟨and⟩"
"""Between two filters that are written as one clause, and as two."""


@dataclass(frozen=True)
class Asked:
    """A query, and what it is asked with."""

    text: str
    params: dict[str, Any]
    apart: str = ""
    """The same query with filters that one clause joins by `and` as clauses of their own, if it has such."""


@st.composite
def queries(draw: st.DrawFn, shape: Shape) -> Asked:
    """Return reads over a schema."""
    return _Reads(draw, shape).query()


@st.composite
def searches(draw: st.DrawFn, shape: Shape) -> Asked:
    """Return reads that rank the nodes of a type, over a schema in which they can be searched."""
    return _Reads(draw, shape, searching=True).query()


def ties(world: World) -> Iterator[Asked]:
    """Yield reads of a library whose pages end between equal scores, which later keys tell apart."""
    docs = [record["data"] for record in world.records if record.get("type") == "Doc"]
    (vector, _), *_ = Counter(tuple(data["vec"]) for data in docs if "vec" in data).most_common(1)
    (text, _), *_ = Counter(data["text"] for data in docs if "text" in data).most_common(1)
    far, words = "nearest($d.vec, $v)", "bm25($d.text, $t)"
    for score in (far, words, f"rrf({far}, {words})"):
        for later in ("$d.p0 desc", "$d.p0, $d.key desc", "$e.p0 desc, $d"):
            pattern = "$d: Doc  optional { $d likes $e }" if "$e" in later else "$d: Doc"
            body = f"match {{ {pattern} }} return {{ $d.key }} order {{ {score}, {later} }} skip 1 limit 2"
            params = {"v": list(vector), "t": text}
            yield Asked(f"query q($v: Vector(3), $t: String) {{ {body} }}", params)


def conjunctions() -> Iterator[Asked]:
    """Yield rankings of a library by filters of the ranked variable, of another, and of both, joined."""
    far, words = "nearest($d.vec, [1, 1, 1])", 'bm25($d.text, "dog fox")'
    mine, other, both = "($d.p0 > 0)", "($e.p0 < 2)", "($d.p0 != $e.p0 or $e.text is null)"
    for score in (far, words, f"rrf({far}, {words})"):
        for filters in (_JOINT.join((mine, other)), _JOINT.join((other, both, mine))):
            match = f"$d: Doc  $d likes $e  {filters}"
            yield _asked(
                f"query q() {{ match {{ {match} }} return {{ $d.key, $e }} order {{ {score} }} limit 4 }}", {}
            )


def _asked(text: str, params: dict[str, Any]) -> Asked:
    apart = text.replace(_JOINT, "  ") if _JOINT in text else ""
    return Asked(text.replace(_JOINT, " and "), params, apart)


@dataclass(frozen=True)
class _Column:
    """A returned column; `name` is what `order` may call it, if anything."""

    text: str
    name: str | None
    is_sortable: bool
    score: str = ""
    is_count: bool = False


@dataclass
class _Reads:
    draw: st.DrawFn
    shape: Shape
    searching: bool = False
    """Whether to bind first, say little more, and rank."""
    conditions: Conditions = field(init=False)
    several: SeveralTypes = field(init=False)
    stages: Stages = field(init=False)

    def __post_init__(self) -> None:
        self.conditions = Conditions(self.draw)
        self.several = SeveralTypes(self.draw, self.shape, self.new_name)
        self.stages = Stages(self.draw, self.conditions, self.new_name)

    def chance(self, one_in: int) -> bool:
        """Return True once in so many times; False is the simpler."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def pick(self, items: Iterable[Any]) -> Any:
        """Return one of some things; the first is the simplest."""
        return self.draw(st.sampled_from(list(items)))

    # The pattern

    def query(self) -> Asked:
        """Draw a whole read."""
        if not self.searching and self.chance(8):
            body = self.stages.union(self.before)
        else:
            scope: Scope = []
            body = f"{self.before(scope)}\n{self.result(scope)}"
        declared = ", ".join(f"${name}: {type_}" for name, (type_, _) in self.conditions.params.items())
        params = {name: value for name, (_, value) in self.conditions.params.items() if value is not ...}
        return _asked(f"query q({declared}) {{\n{body}\n}}", params)

    def before(self, scope: Scope) -> str:
        """Return all that stands before `return`: a pattern, and perhaps stages."""
        parts = [self.pattern(scope, fresh=True)]
        while len(parts) < 3 and self.chance(4):
            parts[-1] += f"\n{self.stages.stage(scope)}"
            parts.append("" if self.chance(4) else self.pattern(scope, fresh=False))
        return "\n".join(parts)

    def pattern(self, scope: Scope, fresh: bool) -> str:
        """Return a `match`; a fresh one binds its first variable."""
        clauses = [self.first(scope) if fresh else self.clause(scope, depth=0)]
        if self.searching and self.chance(2):
            clauses.append(self.linked(scope))
        for _ in range(self.draw(st.integers(0, 2 if self.searching or not fresh else 4))):
            clauses.append(self.clause(scope, depth=0))
        if not scope:
            clauses.append(self.binding(scope))  # something must be returned
        pattern = chr(10).join(clauses)
        single = not _HOPS.search(pattern) and "as path" not in pattern
        apart = not self.searching and self.chance(8) and single
        word = "match distinct edges" if apart else "match"
        return f"{word} {{\n  {pattern}\n}}"

    def first(self, scope: Scope) -> str:
        if not self.searching and self.chance(6):
            return self.several.binding(scope) if self.chance(2) else self.traversal(scope)
        return self.binding(scope)

    def clause(self, scope: Scope, depth: int) -> str:
        makers: list[Callable[[], str]] = [
            lambda: self.traversal(scope),
            lambda: self.filter(scope),
            lambda: self.traversal(scope),
            lambda: self.several.traversal(scope) or self.traversal(scope),
        ]
        if self.searching:
            return self.filter(scope) if not self.chance(4) else self.negation(scope, depth)
        if len({item.name for item in scope if item.kind == "node"}) < 2 or self.chance(4):
            makers.append(lambda: self.several.binding(scope) if self.chance(3) else self.binding(scope))
        if depth < 2:
            makers += [lambda: self.negation(scope, depth), lambda: self.optional(scope, depth)]
        made: str = self.pick(makers)()
        return made

    def binding(self, scope: Scope) -> str:
        known = [item for item in scope if item.kind == "node" and not item.is_united]
        if known and self.chance(4):
            variable = self.pick(known)
        else:
            variable = Variable(self.new_name(scope), "node", self.pick(self.shape.nodes))
            scope.append(variable)
        matches = []
        assert variable.type is not None
        for item in variable.type.properties:
            if not item.is_vector and self.chance(9):
                matches.append(f"{item.name}: {self.conditions.beside(item)}")
        return f"${variable.name}: {variable.type.name}" + (f" {{ {', '.join(matches)} }}" if matches else "")

    def traversal(self, scope: Scope) -> str:
        edge: Type = self.pick(self.shape.edges)
        ends = (edge.source, edge.target)
        near, far = ends if not self.chance(3) else ends[::-1]
        source = self.end(scope, near, likely=True)
        target = self.end(scope, far, likely=False)
        if source is None and target is None:
            near, far = ends
        chains = edge.source == edge.target
        bounds, edge_name, length = "", "", ""
        if self.chance(3):
            low = self.draw(st.integers(1, 2))
            bounds = f"{{{low},{self.draw(st.integers(low, 4))}}}"
        elif self.chance(3):
            edge_name = "_" if self.chance(6) else self.new_name(scope)
        source_name = self.bound(scope, source, near, edge_name)
        target_name = self.bound(scope, target, far, edge_name, source_name if near == far else None)
        if edge_name not in ("", "_"):
            scope.append(Variable(edge_name, "edge", edge))
        if not edge_name and self.chance(3):
            length = self.several.path(scope, (edge,), free=bounds[:2] in ("", "{1"))
        elif self.chance(4):
            length = self.several.length(scope)
        word = edge.name.lower()
        if chains and self.chance(3):
            word = f"<{word}>"
        middle = f"${edge_name}:{word}" if edge_name else word
        return f"${source_name} {middle}{bounds} ${target_name}{length}"

    def end(self, scope: Scope, type_name: str, likely: bool) -> Variable | None:
        """Return a bound variable for one end of a traversal, or None for a new one."""
        known = [item for item in scope if item.kind == "node" and item.type and item.type.name == type_name]
        wanted = not self.chance(6) if likely else self.chance(4)
        found: Variable | None = self.pick(known) if known and wanted else None
        return found

    def bound(
        self, scope: Scope, found: Variable | None, type_name: str, taken: str, other: str | None = None
    ) -> str:
        if found is not None:
            return found.name
        if self.chance(8):
            return "_"
        if other is not None and other != "_" and self.chance(10):
            return other  # the same node at both ends
        name = self.new_name(scope, taken)
        scope.append(Variable(name, "node", self.shape.node(type_name)))
        return name

    def new_name(self, scope: Scope, *taken: str) -> str:
        """Return the first free name: after a `not { }` its names are free again."""
        used = {item.name for item in scope} | set(taken)
        return next(name for name in (*_NAMES, *(f"v{n}" for n in range(40))) if name not in used)

    def filter(self, scope: Scope) -> str:
        if not scope:
            return self.binding(scope)
        parts = [self.conditions.clause(scope)]
        while len(parts) < 3 and self.chance(3):
            parts.append(self.conditions.clause(scope))
        return parts[0] if len(parts) == 1 else _JOINT.join(f"({part})" for part in parts)

    def negation(self, scope: Scope, depth: int) -> str:
        if not scope:
            return self.binding(scope)
        if self.chance(3):
            return self.matches(scope, depth)
        return f"not {self.block(scope, depth)}"

    def matches(self, scope: Scope, depth: int) -> str:
        """Return a condition on the matches of a pattern, alone or beside another."""
        block = self.block(scope, depth)
        least = self.draw(st.integers(0, 3))
        test = f"exists {block}" if self.chance(2) else f"count {block} {self.pick(['>', '=', '<'])} {least}"
        word = self.pick(["", "not ", "or", "and"])
        if word in ("or", "and"):
            return f"{test} {word} ({self.conditions.clause(scope, plain=True)})"
        return word + test

    def block(self, scope: Scope, depth: int) -> str:
        """Return a pattern that is linked to the one around it."""
        inner = list(scope)
        first = self.linked(inner)
        rest = [self.clause(inner, depth + 1) for _ in range(self.draw(st.integers(0, 2)))]
        return "{ " + "  ".join([first, *rest]) + " }"

    def linked(self, scope: Scope) -> str:
        """Return a clause that mentions a variable of the scope, as a negation needs."""
        reachable = {item.type.name for item in scope if item.kind == "node" and item.type}
        edges = [edge for edge in self.shape.edges if reachable & {edge.source, edge.target}]
        if not edges or self.chance(3):
            return self.conditions.clause(scope, plain=True)
        edge = self.pick(edges)
        near = self.pick([name for name in (edge.source, edge.target) if name in reachable])
        source = self.pick([item for item in scope if item.kind == "node" and item.type.name == near])
        far = edge.target if near == edge.source else edge.source
        word = f"<{edge.name.lower()}>" if near == far and self.chance(4) else edge.name.lower()
        bounds = f"{{1,{self.draw(st.integers(1, 3))}}}" if self.chance(4) else ""
        return f"${source.name} {word}{bounds} ${self.bound(scope, None, far, '')}"

    def optional(self, scope: Scope, depth: int) -> str:
        inner = list(scope)
        clauses = [self.clause(inner, depth + 1) for _ in range(self.draw(st.integers(1, 2)))]
        scope.extend(item for item in inner if item not in scope)
        return "optional { " + "  ".join(clauses) + " }"

    # The result

    def result(self, scope: Scope) -> str:
        grouped = not self.searching and self.chance(3)
        distinct = not grouped and not self.searching and self.chance(4)
        columns = self.groups(scope) if grouped else self.columns(scope, unique=distinct)
        order, needs_limit = self.order(scope, columns, grouped or distinct)
        pages = self.pages(needs_limit)
        having = self.having(columns) if grouped and self.chance(3) else ""
        shown = ", ".join(column.text for column in columns)
        return f"return {'distinct ' * distinct}{{ {shown} }}\n{having}{order}{pages}"

    def having(self, columns: list[_Column]) -> str:
        """Return conditions over groups, by names of columns and by aggregates."""
        counts = [column.name for column in columns if column.is_count]
        known = [*(f"{name} {self.pick(['>', '=', '!='])} {self.pick('0123')}" for name in counts)]
        known += ["count(*) > 1", "count(*) % 2 = 0 or count(*) > 4", "not count(*) = 2"]
        known += [f"{column.name} is not null" for column in columns if column.name]
        chosen = self.draw(st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True))
        return f"having {{ {', '.join(chosen)} }}\n"

    def columns(self, scope: Scope, unique: bool) -> list[_Column]:
        found = []
        for number in range(self.draw(st.integers(1, 4))):
            value = self.conditions.any_value(scope)
            name = f"r{number}"
            if not self.searching and self.chance(12):
                found.append(_Column(f"{self.value_of_block(scope)} as {name}", name, True))
                continue
            # Names from the language itself must work as well; two of one name are one column.
            if not unique and value.default_name and self.chance(3):
                found.append(_Column(value.text, None, value.is_sortable, value.score))
            else:
                found.append(_Column(f"{value.text} as {name}", name, value.is_sortable, value.score))
        whole = [item.name for item in scope if item.type and item.type.properties]
        if whole and not unique and self.chance(6):
            found.append(_Column(f"${self.pick(whole)}.*", None, False))
        return found

    def value_of_block(self, scope: Scope) -> str:
        """Return what a pattern is as a value."""
        return f"{self.pick(['count', 'exists'])} {self.block(scope, 1)}"

    def groups(self, scope: Scope) -> list[_Column]:
        found = []
        for number in range(self.draw(st.integers(0, 2))):
            value = self.conditions.read_value(scope)
            found.append(_Column(f"{value.text} as g{number}", f"g{number}", value.is_sortable))
        for number in range(self.draw(st.integers(1, 3))):
            function = self.pick(["count", "sum", "min", "collect", "avg", "max"])
            value = self.conditions.argument(scope, function)
            if value is None:
                function, value = "count", self.conditions.any_value(scope)
            word = "distinct " if function in ("count", "collect") and self.chance(3) else ""
            if word and value.is_shaped:
                word = ""
            text = f"{function}({word}{value.text})"
            if function == "count" and self.chance(3):
                text = self.pick(["count(*)", f"{text} + 1", f"count(*) - {text}", f"{text} * 2 % 3"])
            elif function in ("sum", "avg") and self.chance(3):
                text = self.pick([f"{text} / count(*)", f"coalesce({text}, 0) - 1"])
            sortable, counts = function != "collect", function == "count"
            found.append(_Column(f"{text} as h{number}", f"h{number}", sortable, is_count=counts))
        return found

    def order(self, scope: Scope, columns: list[_Column], by_column: bool) -> tuple[str, bool]:
        """Return the clause, and whether it needs a limit."""
        if not self.searching and self.chance(3):
            return "", False
        scores = [] if by_column else [self.conditions.score(scope, kind) for kind in _SCORES]
        known = [value for value in scores if value is not None]
        if known and (self.searching or self.chance(2)):
            first = self.pick(known)
            return f"order {{ {', '.join([first.text, *self.later(scope)])} }}\n", first.score != "bm25"
        named = [column for column in columns if column.name and column.is_sortable]
        ranked = [column for column in named if column.score]
        if ranked and self.chance(2):
            column = self.pick(ranked)
            return f"order {{ {column.name} }}\n", column.score != "bm25"
        keys = [column.name for column in named if not column.score]
        if not by_column:
            keys += [value.text for value in self.conditions.sort_values(scope)]
        if not keys:
            return "", False
        chosen = self.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=3, unique=True))
        return f"order {{ {', '.join(key + self.pick(['', ' desc', ' asc']) for key in chosen)} }}\n", False

    def later(self, scope: Scope) -> list[str]:
        """Return sort keys behind a score, which tell apart what ties with the last of a page too."""
        keys = [value.text for value in self.conditions.sort_values(scope)]
        if not keys or not self.chance(2):
            return []
        chosen = self.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2, unique=True))
        return [key + self.pick(["", " desc"]) for key in chosen]

    def pages(self, needs_limit: bool) -> str:
        pages = []
        if needs_limit or self.chance(2 if self.searching else 3):
            pages.append(f"limit {self.count(0, 6)}")
        if self.chance(5):
            pages.append(f"skip {self.count(0, 3)}")
        return " ".join(reversed(pages) if self.chance(2) else pages)

    def count(self, low: int, high: int) -> str:
        number = self.draw(st.integers(low, high))
        return self.conditions.parameter("I32", number) if self.chance(4) else str(number)
