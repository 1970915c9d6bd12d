"""Answers to conflicts: one by one or by rule, from a list or from a saved and edited conflict file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import NodeType, TableType
from omnigraph.graph.merge.conflicts import STRUCTURAL, Image, Kind, MergeConflict
from omnigraph.graph.write.integrity.convert import convert

ANY = "*"
_SIDES = ("base", "ours", "theirs")
_MEMBERS = frozenset(
    {"kind", "entity_kind", "type_name", "entity_id", "take", "image", "message", "properties", *_SIDES}
)


class Take(StrEnum):
    """Which image an entity gets."""

    BASE = "base"
    OURS = "ours"
    THEIRS = "theirs"
    CUSTOM = "custom"


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

    def is_for(self, conflict: MergeConflict) -> bool:
        """Say whether this answers a conflict."""
        return (
            self.kind in (ANY, conflict.kind)
            and self.entity_kind in (ANY, conflict.entity_kind)
            and self.type_name in (ANY, conflict.type_name)
            and (self.entity_id is None or self.entity_id == conflict.entity_id)
        )

    @property
    def is_forced(self) -> bool:
        """Say whether this names an entity that need not be in conflict by itself to be settled so."""
        named = self.entity_id is not None and ANY not in (self.type_name, self.entity_kind)
        return named and self.kind not in STRUCTURAL

    def is_stale(self, images: Mapping[str, Image | None]) -> bool:
        """Say whether an image that the answer was given for is no longer what stands there."""
        return self.seen is not None and any(images[side] != image for side, image in self.seen.items())


class Resolutions:
    """All answers: those for one entity come before rules, and among each the first that fits counts."""

    def __init__(self, answers: Sequence[Resolution] = ()) -> None:
        exact = [answer for answer in answers if answer.entity_id is not None]
        self._answers = [*exact, *(answer for answer in answers if answer.entity_id is None)]

    def __bool__(self) -> bool:
        return bool(self._answers)

    @property
    def forced(self) -> list[Resolution]:
        """The answers for entities that need not be in conflict by themselves."""
        return [answer for answer in self._answers if answer.is_forced]

    def answer(self, conflict: MergeConflict) -> Resolution | None:
        """Return the answer to a conflict, if there is one."""
        if conflict.kind == Kind.SCHEMA_DIVERGED or conflict.entity_id is None:
            return None
        return next((answer for answer in self._answers if answer.is_for(conflict)), None)


def read_resolutions(given: Any) -> Resolutions:
    """Return the answers in a list, or in a file of JSON (such as a conflict file with `take` added)."""
    if given is None:
        return Resolutions()
    if isinstance(given, str | os.PathLike):
        given = _read_file(Path(given))
    if isinstance(given, Mapping):
        given = given.get("conflicts", given.get("resolutions"))
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise BadInput("resolutions must be a list of objects, or a file that holds one")
    return Resolutions([found for place, item in enumerate(given) if (found := _read(place, item))])


def custom_row(table: TableType, image: Image | None, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the row that a custom image asks for; what it does not name is as in `row`."""
    if image is None:
        return None
    found: dict[str, Any] = {item.name: None for item in table.properties} | dict(row or {})
    properties = image.get("properties", {})
    unknown = sorted(set(properties) - set(table.by_name))
    if unknown:
        raise BadInput(
            f"a resolution for {table.name} names {unknown[0]!r}, which it does not have", type=table.name
        )
    key = (table.key or ()) if isinstance(table, NodeType) else ()
    for name, value in properties.items():
        try:
            given = convert(value, table.by_name[name].type)
        except ValueError as error:
            raise BadInput(
                f"a resolution for {table.name}: {name} {error}", type=table.name, property=name
            ) from None
        if name in key and given != found[name]:
            raise BadInput(
                f"a resolution for {table.name} changes {name}, which is part of its key: another key is "
                "another entity",
                type=table.name,
                property=name,
            )
        found[name] = given
    if table.kind == "edge":
        ends = image.get("endpoints", {})
        for column, name in (("src", "from"), ("dst", "to")):
            found[column] = ends.get(name, found.get(column))
            if not isinstance(found[column], str):
                raise BadInput(f"a resolution for edge {table.name} needs endpoints.{name}", type=table.name)
    return found


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
    unknown = sorted(set(item) - _MEMBERS)
    if unknown:
        raise BadInput(f"resolution {place + 1} has an unknown member {unknown[0]!r}", place=place)
    if item.get("take") is None:
        return None  # a conflict of a saved list that nobody has answered yet
    try:
        take = Take(item["take"])
    except ValueError:
        words = ", ".join(Take)
        raise BadInput(
            f"resolution {place + 1} takes {item['take']!r}: use one of {words}", place=place
        ) from None
    if take is Take.CUSTOM and "image" not in item:
        raise BadInput(f"resolution {place + 1} takes a custom image and has no `image`", place=place)
    if not _is_image(item.get("image")):
        raise BadInput(
            f"resolution {place + 1}: `image` must be null or an object with the objects `properties` and, "
            "for an edge, `endpoints`",
            place=place,
        )
    seen = {side: item[side] for side in _SIDES if side in item}
    return Resolution(
        take,
        _text(item, "kind", place, tuple(Kind)),
        _text(item, "entity_kind", place, ("node", "edge", "schema")),
        _text(item, "type_name", place),
        None if item.get("entity_id") in (None, ANY) else _text(item, "entity_id", place),
        item.get("image"),
        seen or None,
    )


def _is_image(image: Any) -> bool:
    if image is None:
        return True
    parts = (
        [image.get(name, {}) for name in ("properties", "endpoints")] if isinstance(image, Mapping) else []
    )
    return bool(parts) and all(isinstance(part, Mapping) for part in parts)


def _text(item: Mapping[str, Any], member: str, place: int, among: Sequence[str] = ()) -> str:
    value = item.get(member, ANY)
    if not isinstance(value, str):
        raise BadInput(f"resolution {place + 1}: {member} must be a text", place=place)
    if among and value not in (ANY, *among):
        words = ", ".join(among)
        raise BadInput(f"resolution {place + 1}: {member} is {value!r}: use one of {words}", place=place)
    return value
