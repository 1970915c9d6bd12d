"""The `data:` section of a policy, as it was written: everything that is wrong with it, with its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.policy.cedar_text import CedarProblem, is_cedar, read_policies
from omnigraph.policy.data.names import entities_in
from omnigraph.policy.data.section import ACTION, ACTOR, ASKED_ACTIONS, DataPolicy, HiddenProperties

_FIELDS = ("rows", "hidden")
_HIDDEN_FIELDS = ("properties", "from", "except")
_GROUP = "Group"

SectionPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SectionProblem:
    """Something that is wrong, and where it stands."""

    code: str
    message: str
    path: SectionPath
    """Below `data`."""
    line: int = 0
    """Of the text at the path, from 0."""


@dataclass
class SectionReader:
    """Reads a section; what is wrong is collected in `problems`."""

    groups: Collection[str]
    actors: Collection[str]
    problems: list[SectionProblem] = field(default_factory=list)

    def read(self, section: Any) -> DataPolicy:
        """Return the rules that a section says; they are to be used only if there are no problems."""
        said = self._mapping(section, (), _FIELDS, "data")
        rows = said.get("rows", "")
        if not isinstance(rows, str):
            self._say("bad_type", "data.rows is Cedar policies as one text", ("rows",))
            rows = ""
        elif not self._check_cedar(rows):
            rows = ""
        listed = said.get("hidden", [])
        if not isinstance(listed, list):
            self._say("bad_type", "data.hidden is a list", ("hidden",))
            listed = []
        found = [self._read_hidden(item, ("hidden", at)) for at, item in enumerate(listed)]
        return DataPolicy(rows, tuple(item for item in found if item is not None))

    def _check_cedar(self, rows: str) -> bool:
        told = read_policies(rows)
        if isinstance(told, CedarProblem):
            line = _find_line(rows) if told.code == "not_cedar" else 0
            self._say(told.code, f"data.rows {told.message}", ("rows",), line)
            return False
        for kind, known, what in (
            (_GROUP, self.groups, "the group {!r}, which the policy does not have"),
            (ACTOR, self.actors, "the actor {!r}, whom the policy does not know"),
            (ACTION, ASKED_ACTIONS, f"the action {{!r}}: use {', '.join(ASKED_ACTIONS)}"),
        ):
            for name in sorted(set(entities_in(told, kind)) - set(known)):
                line = next((at for at, text in enumerate(rows.split("\n")) if f'"{name}"' in text), 0)
                self._say("unknown_name", f"data.rows names {what.format(name)}", ("rows",), line)
        return True

    def _read_hidden(self, item: Any, path: SectionPath) -> HiddenProperties | None:
        place = f"data.hidden[{path[-1]}]"
        said = self._mapping(item, path, _HIDDEN_FIELDS, place)
        properties = []
        for at, name in enumerate(self._names(said, "properties", path, place)):
            type_, dot, property_ = name.partition(".")
            if not (type_ and dot and property_):
                text = f"{name!r} is not a property: write Type.property, or *.property for every type"
                self._say("bad_property", text, (*path, "properties", at))
            properties.append((type_, property_))
        if not properties and isinstance(item, Mapping):
            self._say("empty", f"{place} names no properties", path)
        found = {
            key: frozenset(self._groups(said, key, path, place)) for key in ("from", "except") if key in said
        }
        if self.problems:
            return None
        return HiddenProperties(tuple(properties), found.get("from"), found.get("except", frozenset()))

    def _groups(self, said: Mapping[str, Any], key: str, path: SectionPath, place: str) -> list[str]:
        named = self._names(said, key, path, place)
        for at, group in enumerate(named):
            if group not in self.groups:
                text = f"{place}.{key} names the group {group!r}, which the policy does not have"
                self._say("unknown_group", text, (*path, key, at))
        return named

    def _names(self, said: Mapping[str, Any], key: str, path: SectionPath, place: str) -> list[str]:
        value = said.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            self._say("bad_type", f"{place}.{key} is a list of names", (*path, key))
            return []
        return value

    def _mapping(
        self, value: Any, path: SectionPath, known: tuple[str, ...], place: str
    ) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self._say("bad_type", f"{place} is a mapping of {', '.join(known)}", path)
            return {}
        for name in value:
            if name not in known:
                said = f"{name!r} is not a member of {place}: there are {', '.join(known)}"
                self._say("unknown_field", said, (*path, name))
        return value

    def _say(self, code: str, message: str, path: SectionPath, line: int = 0) -> None:
        self.problems.append(SectionProblem(code, message, path, line))


def parse_section(section: Any, groups: Collection[str], actors: Collection[str]) -> DataPolicy:
    """Return the rules that a section says; BadInput when it is wrong."""
    reader = SectionReader(groups, actors)
    found = reader.read(section)
    if reader.problems:
        raise BadInput("; ".join(problem.message for problem in reader.problems))
    return found


def _find_line(rows: str) -> int:
    """Return the line on which the first policy begins that is not Cedar: Cedar itself names no place."""
    begins = 0
    for at, letter in enumerate(rows):
        if letter == ";" and is_cedar(rows[: at + 1]):
            begins = at + 1
    rest = rows[begins:]
    return rows.count("\n", 0, begins + len(rest) - len(rest.lstrip()))
