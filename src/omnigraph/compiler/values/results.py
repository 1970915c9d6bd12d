"""Result values to JSON."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from omnigraph.compiler.types import EntityShape, PropertyType, Scalar
from omnigraph.compiler.values.dates import epoch_days, epoch_millis, format_date, format_datetime

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


def to_json(value: Any, type_: PropertyType) -> Json:
    """Return a result value as JSON data; dates may be epoch numbers or Python's own types."""
    if value is None:
        return None
    if type_.is_vector:
        return [float(item) if item is not None and math.isfinite(item) else None for item in value]
    if type_.is_list:
        return [None if item is None else _item(item, type_) for item in value]
    return _item(value, type_)


def _item(value: Any, type_: PropertyType) -> Json:
    return _scalar(value, type_.scalar) if type_.map is None else _map(value, type_.map)


def _map(value: Any, shape: EntityShape) -> Json:
    """Return the map of a node or edge, with the properties of its own type."""
    numbers = dict(shape.fields_by_type)[value["type"]]
    stored = value["properties"]
    properties = {
        item.name: to_json(stored[number], item.type)
        for number, item in ((number, shape.fields[number]) for number in numbers)
    }
    fixed: dict[str, Json] = {name: value[name] for name in value if name != "properties"}
    return {**fixed, "properties": properties}


def _scalar(value: Any, scalar: Scalar) -> Json:
    if scalar is Scalar.DATE:
        return format_date(epoch_days(value))
    if scalar is Scalar.DATETIME:
        return format_datetime(epoch_millis(value))
    if scalar is Scalar.BOOL:
        return bool(value)
    if scalar.is_float:
        return _number(float(value))
    if scalar.is_integer:
        return int(value)
    return str(value)


def _number(value: float) -> Json:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
