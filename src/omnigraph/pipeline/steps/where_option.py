"""The option `where`: conditions as JSON, translated into filters of storage.

Spark 4.3 keeps the filters that it pushes into a Python data source with the frame, not with the scan
(`tests/spark/test_spark_surface.py`). So frames are filtered by Spark, and filters for storage are given
when the frame is made.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.base.plain import read_json
from omnigraph.compiler.catalog.model import END_COLUMNS, TableType
from omnigraph.compiler.source import suggest
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.graph.model.arrow_values import to_arrow
from omnigraph.graph.write.integrity.convert import convert
from omnigraph.storage.filters import ComparedColumn, Filter, NullColumn, OneOf, Operator

_FIXED = {"id": "id", **END_COLUMNS}
_OPERATORS: dict[str, Operator] = {"=": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_IS_NULL = "is null"
_FORM = 'write it as JSON: [["age", ">=", 30], ["name", "in", ["ada", "bob"]], ["mail", "is null"]]'


def filters_of(table: TableType, text: str) -> tuple[Filter, ...]:
    """Return the filters of a JSON string; all of them must hold."""
    try:
        said = read_json(text)
    except ValueError as error:
        raise BadInput(f"the option where is not JSON ({error}): {_FORM}") from error
    if not isinstance(said, list) or not all(map(_is_condition, said)):
        raise BadInput(f"the option where is not a list of conditions: {_FORM}")
    return tuple(_filter(table, *item) for item in said)


def _is_condition(item: Any) -> bool:
    if not isinstance(item, list) or not all(isinstance(word, str) for word in item[:2]):
        return False
    return len(item) == (2 if item[1:2] == [_IS_NULL] else 3)


def _filter(table: TableType, name: str, operator: str, value: Any = None) -> Filter:
    column, type_ = _column(table, name)
    if operator == _IS_NULL:
        return NullColumn(column)
    if operator == "in" and isinstance(value, list):
        return OneOf(column, _values(name, value, type_))
    if operator in _OPERATORS:
        return ComparedColumn(column, _OPERATORS[operator], _values(name, [value], type_)[0])
    raise BadInput(f"{operator!r} is not an operator of the option where: {_FORM}")


def _column(table: TableType, name: str) -> tuple[str, PropertyType]:
    declared = table.by_name.get(name)
    if declared is None and name in _FIXED and (name == "id" or table.kind == "edge"):
        return _FIXED[name], PropertyType(Scalar.STRING)
    if declared is None:
        hint = suggest(name, table.by_name)
        raise BadInput(f"{table.name} has no property {name!r}" + (f": {hint}" if hint else ""), column=name)
    if not declared.type.is_plain:
        raise BadInput(f"{table.name}.{name} is {declared.type}, which cannot be filtered by", column=name)
    return declared.name, PropertyType(declared.type.scalar)


def _values(name: str, values: list[Any], type_: PropertyType) -> pa.Array:
    try:
        return to_arrow([convert(value, type_) for value in values], type_)
    except ValueError as error:
        raise BadInput(f"the option where: the value of {name} {error}", column=name) from error
