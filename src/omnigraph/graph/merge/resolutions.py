"""Answers to conflicts: one by one or by rule, from a list or from a saved and edited conflict file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.combine.clashes import SIDES
from omnigraph.compiler.catalog.model import END_COLUMNS, TableType
from omnigraph.graph.merge.conflicts import CAUSES, ConflictKind, Image, MergeConflict
from omnigraph.graph.merge.equality import same
from omnigraph.graph.write.integrity.convert import convert

ANY = "*"
SCHEMA = "schema"
QUERY = "query"
_DEFINITIONS = (SCHEMA, QUERY)
_LISTS = ("conflicts", "resolutions")
_MEMBERS = (
    "kind",
    "entity_kind",
    "type_name",
    "entity_id",
    "take",
    "image",
    "same_as",
    "values",
    "message",
    "properties",
    "entities",
    *CAUSES,
    *SIDES,
)
_STALE = " (an answer was given for other images than these, and was not used)"
_USELESS = " (the answer that was given does not settle this)"
_NOBODYS = " (an answer cannot settle this, and was not used)"
_CROWD = " (an answer cannot settle this, and was not used: answer for one of its edges by its id)"


class Take(StrEnum):
    """Which image an entity gets."""

    BASE = "base"
    OURS = "ours"
    THEIRS = "theirs"
    CUSTOM = "custom"
    SAME = "same"
    """It is a duplicate of another one, which stays."""
    DIFFERENT = "different"
    """It is not: both stay."""


_ABOUT_DUPLICATES = (Take.SAME, Take.DIFFERENT)


class KeptValues(StrEnum):
    """Whose values a node gets that others are combined into."""

    FILL = "fill"
    """Those of what stays; where it has none, those of what goes."""
    KEEP = "keep"
    """Those of what stays."""
    NEWEST = "newest"
    """Those of what was changed last; where it has none, those of the other."""


@dataclass(frozen=True)
class Resolution:
    """One answer. What it does not name, it is for: without an id it is a rule for many conflicts."""

    take: Take
    kind: str = ANY
    entity_kind: str = ANY
    type_name: str = ANY
    entity_id: str | None = None
    image: Image | None = None
    """The image to take with `custom`; None deletes the entity."""
    seen: Mapping[str, Image | None] | None = None
    """The images that the answer was given for, when it says so."""
    same_as: str | None = None
    """With `same`, the id of what stays."""
    values: KeptValues = KeptValues.FILL

    def is_for(self, conflict: MergeConflict) -> bool:
        """Return whether this answers a conflict."""
        return (
            self.kind in (ANY, conflict.kind)
            and self.entity_kind in (ANY, conflict.entity_kind)
            and self.type_name in (ANY, conflict.type_name)
            and (self.entity_id is None or self.entity_id == conflict.entity_id)
            and (conflict.entity_kind not in _DEFINITIONS or self._is_about(conflict))
            and (self.take in _ABOUT_DUPLICATES) is (conflict.kind == ConflictKind.POSSIBLE_DUPLICATE)
            and (self.entity_id is None or self.same_as in (None, *conflict.entities[1:]))
        )

    def _is_about(self, conflict: MergeConflict) -> bool:
        """Return whether this says that it is for schemas, or queries: a rule for entities drops neither."""
        return self.entity_kind == conflict.entity_kind or self.kind == conflict.kind

    @property
    def is_forced(self) -> bool:
        """Whether this names an entity that need not be in conflict by itself to be settled so."""
        is_named = self.entity_id is not None and ANY not in (self.type_name, self.entity_kind)
        return (
            is_named
            and self.kind == ANY
            and self.entity_kind not in _DEFINITIONS
            and self.take not in _ABOUT_DUPLICATES
        )

    @property
    def combines_nodes(self) -> bool:
        """Whether this names two entities that become one, whoever has found them."""
        return self.take is Take.SAME and self.entity_id is not None and self.same_as is not None

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        """The order in which answers are looked at: those that say more of what they are for come first."""
        return self.entity_id is None, self.kind == ANY, self.seen is None

    def is_stale(self, images: Mapping[str, Image | None]) -> bool:
        """Return whether an image that the answer was given for is no longer what stands there."""
        return self.seen is not None and not all(
            same(images[side], image) for side, image in self.seen.items()
        )

    def contradicts(self, other: Resolution) -> bool:
        """Return whether another answer for the same entity in the same case asks for something else."""
        return (
            self.entity_id is not None
            and (self.entity_id, self.kind, self.seen) == (other.entity_id, other.kind, other.seen)
            and _overlap(self.entity_kind, other.entity_kind)
            and _overlap(self.type_name, other.type_name)
            and (self.take in _ABOUT_DUPLICATES) is (other.take in _ABOUT_DUPLICATES)
            and (self.take, self.image, self.same_as) != (other.take, other.image, other.same_as)
        )


class Resolutions:
    """All answers: those that say more of what they are for come first; then the first that fits counts."""

    def __init__(self, answers: Sequence[Resolution] = ()) -> None:
        self._answers = sorted(answers, key=lambda answer: answer.rank)

    def __bool__(self) -> bool:
        return bool(self._answers)

    @property
    def forced(self) -> list[Resolution]:
        """The answers for entities that need not be in conflict by themselves."""
        return [answer for answer in self._answers if answer.is_forced]

    @property
    def combining(self) -> list[Resolution]:
        """The answers that combine two nodes."""
        return [answer for answer in self._answers if answer.combines_nodes]

    def answer(self, conflict: MergeConflict) -> Resolution | None:
        """Return the answer to a conflict, if there is one; where its own is stale, a rule is none."""
        if _is_nobodys(conflict):
            return None
        fitting = [answer for answer in self._answers if answer.is_for(conflict)]
        own = [answer for answer in fitting if answer.entity_id is not None]
        images: dict[str, Image | None] = {side: getattr(conflict, side) for side in SIDES}
        return next((answer for answer in own or fitting if not answer.is_stale(images)), None)

    def describe_left(self, conflict: MergeConflict) -> MergeConflict:
        """Return a conflict that is left, with what became of the answers that were given to it."""
        if not any(answer.is_for(conflict) for answer in self._answers):
            return conflict
        if _is_nobodys(conflict):
            note = _CROWD if conflict.kind == ConflictKind.CARDINALITY_VIOLATION else _NOBODYS
        else:
            note = _STALE if self.answer(conflict) is None else _USELESS
        return replace(conflict, message=conflict.message + note)


def _is_nobodys(conflict: MergeConflict) -> bool:
    return conflict.entity_id is None


def _overlap(one: str, two: str) -> bool:
    return one == two or ANY in (one, two)


def read_resolutions(given: Any) -> Resolutions:
    """Return the answers in a list, or in a file of JSON (such as a conflict file with `take` added)."""
    if given is None:
        return Resolutions()
    answers = {
        place: found
        for place, item in enumerate(list_members(given))
        if (found := _read(place, item)) is not None
    }
    by_id: dict[str | None, list[int]] = {}
    for place, answer in answers.items():
        for earlier in by_id.setdefault(answer.entity_id, []) if answer.entity_id is not None else ():
            if answer.contradicts(answers[earlier]):
                name = " ".join(text for text in (answer.entity_kind, answer.type_name) if text != ANY)
                raise BadInput(
                    f"resolutions {earlier + 1} and {place + 1} answer differently for "
                    f"{name or 'the entity'} {answer.entity_id!r}: leave one of them out",
                    place=place,
                )
        by_id.setdefault(answer.entity_id, []).append(place)
    return Resolutions(list(answers.values()))


def list_members(given: Any) -> Sequence[Any]:
    """Return the members of a list of answers or conflicts, or of a file that holds one, as they are."""
    if isinstance(given, str | os.PathLike):
        given = _read_file(Path(given))
    if isinstance(given, Mapping):
        _refuse_unknown(given, _LISTS, "a list of resolutions")
        if len(given) > 1:
            raise BadInput("a list of resolutions has both `conflicts` and `resolutions`: put all into one")
        given = next(iter(given.values()), None)
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise BadInput("resolutions must be a list of objects, or a file that holds one")
    return given


def custom_row(table: TableType, image: Image | None, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the row that a custom image asks for; what it does not name is as in `row`."""
    if image is None:
        return None
    if table.kind == "node" and "endpoints" in image:
        raise BadInput(f"a resolution for node {table.name} has endpoints, which only edges have")
    found: dict[str, Any] = {item.name: None for item in table.properties} | dict(row or {})
    properties = image.get("properties", {})
    unknown = sorted(set(properties) - set(table.by_name))
    if unknown:
        raise BadInput(
            f"a resolution for {table.name} names {unknown[0]!r}, which it does not have", type=table.name
        )
    key = table.key or ()
    for name, value in properties.items():
        try:
            given = convert(value, table.by_name[name].type)
        except ValueError as error:
            raise BadInput(
                f"a resolution for {table.name}: {name} {error}", type=table.name, property=name
            ) from None
        if name in key and given != found[name]:
            raise _another_key(table, name)
        found[name] = given
    if table.kind == "edge":
        ends = image.get("endpoints", {})
        for name, column in END_COLUMNS.items():
            before, found[column] = found.get(column), ends.get(name, found.get(column))
            if not isinstance(found[column], str):
                raise BadInput(f"a resolution for edge {table.name} needs endpoints.{name}", type=table.name)
            if column in key and before not in (None, found[column]):
                raise _another_key(table, name)
    return found


def _another_key(table: TableType, name: str) -> BadInput:
    return BadInput(
        f"a resolution for {table.name} changes {name}, which is part of its key: another key is "
        "another entity",
        type=table.name,
        property=name,
    )


def _read_file(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"the resolutions in {path} cannot be read: {error}", path=str(path)) from error


def _read(place: int, item: Any) -> Resolution | None:
    if isinstance(item, Resolution):
        return item
    if isinstance(item, MergeConflict):
        return None
    if not isinstance(item, Mapping):
        raise BadInput(f"resolution {place + 1} is not an object", place=place)
    _refuse_unknown(item, _MEMBERS, f"resolution {place + 1}")
    if (said := take_of(item)) is None:
        return None  # a conflict of a saved list that nobody has answered yet
    try:
        take = Take(said)
    except ValueError:
        words = ", ".join(Take)
        raise BadInput(f"resolution {place + 1} takes {said!r}: use one of {words}", place=place) from None
    if take is Take.CUSTOM and "image" not in item:
        raise BadInput(f"resolution {place + 1} takes a custom image and has no `image`", place=place)
    for member in ("image", *SIDES):
        _check_image(item.get(member), member, place)
    seen: dict[str, Image | None] = {side: item[side] for side in SIDES if side in item}
    found = Resolution(
        take,
        _text(item, "kind", place, tuple(ConflictKind)),
        _text(item, "entity_kind", place, ("node", "edge", *_DEFINITIONS)),
        _text(item, "type_name", place),
        None if item.get("entity_id") is None else _text(item, "entity_id", place),
        item.get("image"),
        seen or None,
        None if same_as_of(item) is None else _text({"same_as": same_as_of(item)}, "same_as", place),
        _values(item, place),
    )
    if take is Take.SAME and found.entity_id is not None:
        _check_pair(found, place)
    return found


def take_of(item: Mapping[str, Any]) -> Any:
    """Return what an answer takes; one that only says what it is the same as takes that."""
    if "take" not in item and item.get("same_as") is not None:
        return Take.SAME.value
    return item.get("take")


def same_as_of(item: Mapping[str, Any]) -> Any:
    """Return what an answer says that an entity is the same as; of a conflict, what it was told with."""
    named = item.get("entities")
    if item.get("same_as") is None and isinstance(named, Sequence) and take_of(item) == Take.SAME:
        return next(iter(named[1:2]), None)
    return item.get("same_as")


def _check_pair(answer: Resolution, place: int) -> None:
    """Refuse an answer that does not name two nodes of one type."""
    where = f"resolution {place + 1}"
    if answer.same_as is None:
        raise BadInput(f"{where} says that {answer.entity_id!r} is the same: say as what, in `same_as`")
    if answer.type_name == ANY or answer.entity_kind not in (ANY, "node"):
        raise BadInput(f"{where} combines two nodes: name the `type_name` of both", place=place)
    if answer.entity_id == answer.same_as:
        raise BadInput(f"{where} says that {answer.entity_id!r} is the same as itself", place=place)


def _values(item: Mapping[str, Any], place: int) -> KeptValues:
    try:
        return KeptValues(item.get("values") or KeptValues.FILL)
    except ValueError:
        words = ", ".join(KeptValues)
        raise BadInput(
            f"resolution {place + 1}: values is {item['values']!r}: use one of {words}", place=place
        ) from None


def _check_image(image: Any, member: str, place: int) -> None:
    if image is None:
        return
    parts = ("properties", "endpoints")
    if not isinstance(image, Mapping) or not all(isinstance(image.get(name, {}), Mapping) for name in parts):
        raise BadInput(
            f"resolution {place + 1}: `{member}` must be null or an object with the objects `properties` "
            "and, for an edge, `endpoints`",
            place=place,
        )
    _refuse_unknown(image, parts, f"resolution {place + 1}: `{member}`")
    _refuse_unknown(
        image.get("endpoints", {}), ("from", "to"), f"resolution {place + 1}: `{member}.endpoints`"
    )


def _refuse_unknown(members: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    unknown = [name for name in members if name not in known]
    if unknown:
        raise BadInput(
            f"{where} has an unknown member {unknown[0]!r}: use {', '.join(known)}", member=str(unknown[0])
        )


def _text(item: Mapping[str, Any], member: str, place: int, among: Sequence[str] = ()) -> str:
    value = item.get(member, ANY)
    if not isinstance(value, str):
        raise BadInput(f"resolution {place + 1}: {member} must be a string", place=place)
    if among and value not in (ANY, *among):
        words = ", ".join(among)
        raise BadInput(f"resolution {place + 1}: {member} is {value!r}: use one of {words}", place=place)
    return value
