"""What is wrong with data: which record, which property, which value, which rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.errors import KeyConflict, OmniError, ValidationError
from omnigraph.graph.write.integrity.json_values import as_json
from omnigraph.graph.write.integrity.places import RecordPlace, RowPlace

SHOWN_PROBLEMS = 20
_MAX_VALUE_CHARACTERS = 80
_MAX_INTEGER_BITS = 256
_MAX_SHOWN_MEMBERS = 8
_MAX_VALUE_LEVELS = 8


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule."""

    rule: str
    type_name: str
    message: str
    property: str | None = None
    value: Any = None
    place: RecordPlace | str | None = None
    """Where the record stands: in a source, or in which statement."""
    entity_id: str | None = None
    """The stored row that stands in the way, when it is not the one at `place`."""
    others: tuple[RecordPlace | str, ...] = ()
    """Further records that break the rule together with the one at `place`."""
    beside: tuple[RecordPlace | str, ...] = ()
    """Records that stand in the way and are not to blame."""
    stored: tuple[str, ...] = ()
    """The ids of stored rows that stand in the way and are not to blame."""

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message

    def list_places(self) -> tuple[RecordPlace | str, ...]:
        """Return the records that break the rule."""
        return self.others if self.place is None else (self.place, *self.others)

    def to_json(self) -> dict[str, Any]:
        """Return the problem as plain JSON data."""
        return {
            "rule": self.rule,
            "type": self.type_name,
            "property": self.property,
            "value": show_value(self.value),
            "place": None if self.place is None else str(self.place),
            "entity_id": self._find_id(),
            "entities": list(self._list_ids()),
            "message": self.message,
        }

    def _find_id(self) -> str | None:
        return self.entity_id or (self.place.id if isinstance(self.place, RowPlace) else None)

    def _list_ids(self) -> dict[str, None]:
        """Return the ids of the rows that break the rule together, as far as rows have ids yet."""
        places = (self.place, *self.others, *self.beside)
        ids = (place.id for place in places if isinstance(place, RowPlace))
        found = self._find_id()
        return dict.fromkeys([*([] if found is None else [found]), *ids, *self.stored])


ProblemKind = tuple[str, str, str | None]


def kind_of(problem: Problem) -> ProblemKind:
    """Return the rule and what it is about: problems of one kind are alike."""
    return problem.rule, problem.type_name, problem.property


@dataclass
class Problems:
    """Problems in the order in which they were found: the first, one of each kind, and how many there are."""

    limit: int = SHOWN_PROBLEMS
    found: list[Problem] = field(default_factory=list)
    total: int = 0
    _kinds: set[ProblemKind] = field(default_factory=set)

    def add(self, problems: Iterable[Problem]) -> None:
        """Take more problems."""
        for problem in problems:
            self.total += 1
            is_new = kind_of(problem) not in self._kinds
            if len(self.found) < self.limit or (is_new and len(self._kinds) < self.limit):
                self.found.append(problem)
            self._kinds.add(kind_of(problem))

    def raise_if_any(self) -> None:
        """Raise the error for what was found; nothing has been written."""
        if self.total:
            raise as_error(select_shown(self.found, self.limit), self.total)


def select_shown(problems: Sequence[Problem], limit: int) -> list[Problem]:
    """Return so many problems at most, in their order: the first of each kind, and the first others."""
    firsts: dict[ProblemKind, int] = {}
    for at, problem in enumerate(problems):
        firsts.setdefault(kind_of(problem), at)
    chosen = set(sorted(firsts.values())[:limit])
    for at in range(len(problems)):
        if len(chosen) >= limit:
            break
        chosen.add(at)
    return [problems[at] for at in sorted(chosen)]


def as_error(problems: Sequence[Problem], total: int) -> OmniError:
    """Return the error that tells these problems."""
    lines = [str(problem) for problem in problems]
    if total > len(problems):
        lines.append(f"and {total - len(problems)} more")
    kind = KeyConflict if all(problem.rule == "key" for problem in problems) else ValidationError
    return kind("\n".join(lines), problems=[problem.to_json() for problem in problems], total=total)


def _cut_below(value: Any, depth: int) -> Any:
    """Return a value without what is nested deeper."""
    if not isinstance(value, Mapping | list | tuple):
        return value
    if not depth:
        return "…"
    if isinstance(value, Mapping):
        some = list(value.items())[:_MAX_SHOWN_MEMBERS]
        return {name: _cut_below(item, depth - 1) for name, item in some}
    return [_cut_below(item, depth - 1) for item in value[:_MAX_SHOWN_MEMBERS]]


def show_value(value: Any, depth: int = _MAX_VALUE_LEVELS) -> Any:
    """Return a value as JSON data that is short enough for a message, however deep it is nested."""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, str):
        return value if len(value) <= _MAX_VALUE_CHARACTERS else value[:_MAX_VALUE_CHARACTERS] + "…"
    if isinstance(value, tuple | list):
        return [
            *(show_value(item, depth - 1) for item in value[: _MAX_SHOWN_MEMBERS if depth else 0]),
            *(["…"] if len(value) > (_MAX_SHOWN_MEMBERS if depth else 0) else []),
        ]
    if isinstance(value, Mapping):
        return show_value(str(_cut_below(value, depth)))
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        return f"an integer of {value.bit_length()} bits"
    plain = as_json(value)
    return plain if plain is value or not isinstance(plain, str | list) else show_value(plain)
