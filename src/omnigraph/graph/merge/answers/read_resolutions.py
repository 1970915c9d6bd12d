"""Reading answers: from a list, or from a conflict file that was saved and edited."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.base.plain import read_json
from omnigraph.compiler.catalog.combine.clashes import SIDES
from omnigraph.compiler.catalog.model import END_COLUMNS
from omnigraph.graph.merge.answers.resolutions import (
    ANY,
    DEFINITIONS,
    KeptValues,
    Resolution,
    Resolutions,
    Take,
)
from omnigraph.graph.merge.conflicts import CAUSES, ConflictKind, Image, MergeConflict

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


def _read_file(path: Path) -> Any:
    try:
        return read_json(path.read_text(encoding="utf-8"))
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
        _text(item, "entity_kind", place, ("node", "edge", *DEFINITIONS)),
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
        image.get("endpoints", {}), tuple(END_COLUMNS), f"resolution {place + 1}: `{member}.endpoints`"
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
