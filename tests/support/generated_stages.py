"""Random stages of a read (`with`), and random unions of reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from support.generated_conditions import NUMBERS, Conditions, Scope, Value, Variable

_RESULTS = {"count": "I64", "sum": "F64", "avg": "F64"}
"""The type of an aggregate that does not keep the one of its argument."""


@dataclass
class Stages:
    """Draws stages; what they list becomes the scope."""

    draw: st.DrawFn
    conditions: Conditions
    new_name: Callable[..., str]

    def chance(self, one_in: int) -> bool:
        """Return True once in so many times; False is the simpler."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def pick(self, items: Iterable[Any]) -> Any:
        """Return one of some things; the first is the simplest."""
        return self.draw(st.sampled_from(list(items)))

    def stage(self, scope: Scope) -> str:
        """Return a `with`, and put what it lists into the scope instead of what was there."""
        grouped = self.chance(2)
        items, kept = self.kept(scope)
        known: list[Variable] = list(kept)
        for _ in range(self.draw(st.integers(0, 2))):
            self.add(items, known, scope, self.conditions.read_value(scope))
        for _ in range(self.draw(st.integers(1, 2)) if grouped else 0):
            self.add(items, known, scope, self.aggregate(scope))
        if not any(item.kind != "value" or not item.is_shaped for item in known):
            self.add(items, known, scope, Value("count(*)", "I64") if grouped else Value("1", "I64"))
        distinct = not grouped and self.chance(4)
        tail = self.having(known) if grouped and self.chance(3) else ""
        tail += self.page(scope, known, grouped or distinct)
        scope[:] = known
        return f"with {'distinct ' * distinct}{{ {', '.join(items)} }}\n{tail}"

    def kept(self, scope: Scope) -> tuple[list[str], list[Variable]]:
        """Return nodes, edges and values that go on, some with another name."""
        items: list[str] = []
        found: list[Variable] = []
        for item in scope:
            if self.chance(3) or item.kind == "path":
                continue  # of a path only what is read of it goes on
            name = item.name
            if self.chance(6):
                name = self.new_name([*scope, *found])
            items.append(f"${item.name}" + (f" as ${name}" if name != item.name else ""))
            if item.kind == "length":
                found.append(Variable(name, "value", None, base="I64"))
            else:
                found.append(Variable(name, item.kind, item.type, item.types, item.base, item.is_list))
        return items, found

    def add(self, items: list[str], known: list[Variable], scope: Scope, value: Value) -> None:
        """List a value under a new name."""
        if any(value.text == f"${item.name}" for item in scope if item.kind == "node"):
            value = Value(f"{value.text}.id", "String")  # a bare node would stay one
        name = self.new_name([*scope, *known])
        items.append(f"{value.text} as ${name}")
        known.append(Variable(name, "value", None, base=value.base, is_list=value.is_list))

    def aggregate(self, scope: Scope) -> Value:
        """Return an aggregate of what is in the scope."""
        function = self.pick(["count", "min", "collect", "sum", "max", "avg"])
        value = self.conditions.argument(scope, function)
        if value is None or value.score:
            return Value("count(*)", "I64")
        base = _RESULTS.get(function, value.base)
        return Value(f"{function}({value.text})", base, function == "collect")

    def having(self, known: list[Variable]) -> str:
        """Return conditions over groups, by names and by aggregates."""
        values = [f"${item.name} is not null" for item in known if item.kind == "value"]
        return f"having {{ {self.pick(['count(*) > 1', 'count(*) % 2 = 0 or count(*) > 4', *values])} }}\n"

    def page(self, scope: Scope, known: list[Variable], by_column: bool) -> str:
        """Return an order, and perhaps a page: only what is ordered is cut at a place that is known."""
        if not self.chance(3):
            return ""
        keys = [f"${item.name}" for item in known if item.kind != "edge" and not item.is_shaped]
        names = {item.name for item in known}
        if not by_column:
            hidden = [item for item in scope if item.name not in names]
            keys += [value.text for value in self.conditions.sort_values(hidden)] if hidden else []
        if not keys:
            return ""
        chosen = self.draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2, unique=True))
        order = f"order {{ {', '.join(key + self.pick(['', ' desc']) for key in chosen)} }}\n"
        if self.chance(2):
            order += f"limit {self.pick([2, 1, 5, 0])} "
        return order + (f"skip {self.pick([1, 2])} " if self.chance(4) else "") + "\n"

    def union(self, part: Callable[[Scope], str]) -> str:
        """Return two or three reads with the same columns; `part` draws what stands before `return`."""
        scope: Scope = []
        before = part(scope)
        columns = [self.conditions.read_value(scope) for _ in range(self.draw(st.integers(1, 3)))]
        parts = [f"{before}\nreturn {self.listed(columns)}"]
        for _ in range(self.draw(st.integers(1, 2))):
            scope = []
            before = part(scope)
            parts.append(f"{before}\nreturn {self.listed([self.like(item, scope) for item in columns])}")
        keeps = self.chance(2)
        names = [f"r{number}" for number, item in enumerate(columns) if item.is_sortable]
        order = ""
        if names and not self.chance(3):
            chosen = self.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
            order = f"order {{ {', '.join(name + self.pick(['', ' desc']) for name in chosen)} }}\n"
            order += f"limit {self.pick([3, 1])}" if self.chance(3) else ""
        return f"\nunion{' all' * keeps}\n".join(parts) + "\n" + order

    def listed(self, columns: list[Value]) -> str:
        """Return columns under the same names in every part."""
        return f"{{ {', '.join(f'{item.text} as r{number}' for number, item in enumerate(columns))} }}"

    def like(self, column: Value, scope: Scope) -> Value:
        """Return a value of a type that goes with a column, or null."""
        known = [*self.conditions.properties(scope), *self.conditions.plain_values(scope)]
        fitting = [item for item in known if _go_together(item, column)]
        return self.pick(fitting) if fitting and not self.chance(6) else Value("null", column.base)


def _go_together(one: Value, other: Value) -> bool:
    if one.base == "Map" or one.is_list != other.is_list:
        return False
    # The type of a column is the one that its first parts have together.
    signed = ("I32", "I64")
    numbers = one.base in NUMBERS and other.base in signed and one.base in signed and not one.is_list
    return one.base == other.base or numbers
