"""What an answer looks like as JSON Schema: of each class that travels, the form that `encode` gives it."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bytes: {"type": "string", "description": "`base64:…`"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    NoneType: {"type": "null"},
}
_PLACE = "#/components/schemas/"


class SchemaBook:
    """Schemas by the names of their classes; each class is described once, and named wherever it stands."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}
        self._classes: dict[str, type] = {}

    def describe(self, hint: Any) -> Schema:
        """Return the schema of what is encoded of a type."""
        if hint in (Any, object):
            return {}
        if isinstance(hint, type) and hint in _PLAIN:
            return dict(_PLAIN[hint])
        origin, given = get_origin(hint) or hint, get_args(hint)
        if origin is typing.Annotated or origin in (typing.Required, typing.NotRequired):
            return self.describe(given[0])
        if origin in (Union, UnionType):
            return {"anyOf": [self.describe(item) for item in given]}
        if origin is Literal:
            return {"enum": list(given)}
        if is_typeddict(origin) or is_dataclass(origin):
            return self._name(origin)
        assert isinstance(origin, type), f"{hint!r} has no schema"
        if issubclass(origin, Enum):
            return {"enum": [item.value for item in origin]}
        return self._describe_many(origin, given)

    def _describe_many(self, origin: type, given: tuple[Any, ...]) -> Schema:
        if issubclass(origin, Mapping):
            values = self.describe(given[1]) if given else {}
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        assert issubclass(origin, Sequence | AbstractSet), f"{origin!r} has no schema"
        if issubclass(origin, tuple) and given and given[-1] is not Ellipsis:
            items = [self.describe(item) for item in given]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        return {"type": "array", "items": self.describe(given[0]) if given else {}}

    def _name(self, cls: Any) -> Schema:
        """Return the place of a class's schema, which is made when it is named for the first time."""
        name = cls.__name__
        if name not in self._classes:
            self._classes[name], self.schemas[name] = cls, {}
            self.schemas[name].update(self._describe_class(cls))
        assert self._classes[name] is cls, f"there are two classes {name}"
        return {"$ref": _PLACE + name}

    def _describe_class(self, cls: Any) -> Schema:
        hints = get_type_hints(cls, include_extras=True)
        if is_typeddict(cls):
            needed = [name for name, hint in hints.items() if get_origin(hint) is not typing.NotRequired]
        else:
            needed = [item.name for item in fields(cls)]
            hints = {name: hints[name] for name in needed}
        said = (cls.__doc__ or "").strip().splitlines()
        return {
            "type": "object",
            **({"description": said[0]} if said else {}),
            "required": needed,
            "properties": {name: self.describe(hint) for name, hint in hints.items()},
        }
