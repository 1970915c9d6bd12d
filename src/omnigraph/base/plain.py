"""The JSON form of frozen dataclasses, made from their fields and types alone.

A value is an object of its fields; a field that has its default is left out, so that new fields cost
nothing. A class that is marked `@listed` is a list of its fields in their order instead, cut where only
defaults follow. `field(metadata=json_name("class"))` gives a field another name there, `NOT_STORED` leaves
it out. A class with a `to_json` and a `from_json` of its own is asked for its form. Sets are sorted: equal
values give equal bytes.

`read_json` reads the text of any JSON that others may have written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Value = TypeVar("Value")
_Convert = Callable[[Any], Any]

_NAME = "plain"
NOT_STORED: Mapping[str, Any] = {_NAME: None}
_JSON_TYPES = (str, int, float, bool, object, Any)
_listed: set[type] = set()


def read_json(text: str | bytes) -> Any:
    """Return the value of a JSON text, or raise `ValueError`, also for one that is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def json_name(name: str) -> Mapping[str, Any]:
    """Return the metadata of a field that has another name in the JSON form."""
    return {_NAME: name}


def listed(cls: type[Value]) -> type[Value]:
    """Mark a dataclass whose JSON form is a list of its fields."""
    _listed.add(cls)
    return cls


def to_plain(value: Any) -> Any:
    """Return the JSON form of a dataclass, as short as can be: this is how it is stored."""
    form = _forms(type(value))
    return form.to_list(value) if form.is_list else form.to_object(value)


def to_full_object(value: Any) -> dict[str, Any]:
    """Return the JSON form of a dataclass with all its fields: this is how it is shown."""
    return _forms(type(value)).to_object(value, with_defaults=True)


def from_plain(cls: type[Value], data: Any) -> Value:
    """Build a dataclass from its JSON form; what is missing has its default, what is unknown is ignored."""
    form = _forms(cls)
    return form.from_list(data) if form.is_list else form.from_object(data)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Field:
    attribute: str
    name: str
    default: Any
    """MISSING when the field must be there."""
    encode: _Convert | None
    """None when a value is its own JSON form."""
    decode: _Convert | None


@dataclass(frozen=True, slots=True)
class _Form:
    cls: type
    parts: tuple[_Field, ...]
    is_list: bool

    def to_object(self, value: Any, with_defaults: bool = False) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for part in self.parts:
            item = getattr(value, part.attribute)
            if with_defaults or part.default is MISSING or item != part.default:
                data[part.name] = item if part.encode is None else part.encode(item)
        return data

    def from_object(self, data: Mapping[str, Any]) -> Any:
        given = {
            part.attribute: data[part.name] if part.decode is None else part.decode(data[part.name])
            for part in self.parts
            if part.name in data
        }
        return self.cls(**given)

    def to_list(self, value: Any) -> list[Any]:
        items = [getattr(value, part.attribute) for part in self.parts]
        while items and items[-1] == self.parts[len(items) - 1].default:
            items.pop()
        return [
            item if part.encode is None else part.encode(item)
            for part, item in zip(self.parts, items, strict=False)
        ]

    def from_list(self, data: list[Any]) -> Any:
        return self.cls(
            *(
                item if part.decode is None else part.decode(item)
                for part, item in zip(self.parts, data, strict=False)
            )
        )


def _build_form(cls: type) -> _Form:
    hints = get_type_hints(cls)
    parts = [
        _Field(
            item.name,
            item.metadata.get(_NAME, item.name),
            _default(item),
            _encoder(hints[item.name]),
            _decoder(hints[item.name]),
        )
        for item in fields(cls)
        if item.metadata.get(_NAME, item.name) is not None
    ]
    return _Form(cls, tuple(parts), cls in _listed)


_forms: Callable[[type], _Form] = cache(_build_form)


def _default(item: Field[Any]) -> Any:
    return item.default if item.default_factory is MISSING else item.default_factory()


def _encoder(hint: Any) -> _Convert | None:
    """Return what makes JSON data of a value of a type; None when it is JSON data already."""
    if (hint_of_some := _without_none(hint)) is not None:
        return _unless_none(_encoder(hint_of_some))
    if (origin := _class_of(hint)) is None:
        return None
    if issubclass(origin, Enum):
        return lambda value: value.value
    if is_dataclass(origin):
        return getattr(origin, "to_json", to_plain)
    if issubclass(origin, Mapping):
        return _each_value(_encoder(get_args(hint)[1]))
    return sorted if issubclass(origin, AbstractSet) else _each(list, _encoder(get_args(hint)[0]))


def _decoder(hint: Any) -> _Convert | None:
    """Return what makes a value of a type of JSON data; None when the data is the value."""
    if (hint_of_some := _without_none(hint)) is not None:
        return _unless_none(_decoder(hint_of_some))
    if (origin := _class_of(hint)) is None:
        return None
    if issubclass(origin, Enum):
        return origin
    if is_dataclass(origin):
        return getattr(origin, "from_json", partial(from_plain, origin))
    if issubclass(origin, Mapping):
        return _each_value(_decoder(get_args(hint)[1]))
    return _each(frozenset if issubclass(origin, AbstractSet) else tuple, _decoder(get_args(hint)[0]))


def _without_none(hint: Any) -> Any:
    """Return the type that an optional one is when it is not None; None for a type that is not optional."""
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    return next((item for item in members if item is not NoneType), None) if len(members) == 2 else None


def _class_of(hint: Any) -> type[Any] | None:
    """Return the class of a type that has a JSON form of its own; None for what JSON has as it is."""
    origin = get_origin(hint) or hint
    return origin if isinstance(origin, type) and origin not in _JSON_TYPES else None


def _unless_none(convert: _Convert | None) -> _Convert | None:
    return None if convert is None else lambda item: None if item is None else convert(item)


def _each(make: _Convert, convert: _Convert | None) -> _Convert:
    return make if convert is None else lambda items: make(map(convert, items))


def _each_value(convert: _Convert | None) -> _Convert:
    return dict if convert is None else lambda items: {key: convert(item) for key, item in items.items()}
