"""Whole nodes and edges as Arrow structs: type, id, the ends of an edge, and a struct of properties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.compiler.types import PropertyType
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.model.columns import PROPERTIES, arrow_type, fixed_fields, property_names

Convert = Callable[[pa.Array, PropertyType], pa.Array]


def make_maps(fixed: Sequence[pa.Array], properties: Sequence[pa.Array], type_: PropertyType) -> pa.Array:
    """Return maps from their type, id and ends, and the values of each property; NULL without an id."""
    assert type_.map is not None
    absent = fixed[1].is_null()
    inner = _struct(properties, property_names(type_.map), absent)
    return _struct([*fixed, inner], [*fixed_fields(type_.map), PROPERTIES], absent).cast(arrow_type(type_))


def convert_maps(
    maps: pa.Array, type_: PropertyType, convert: Convert, names: Sequence[str] = ()
) -> pa.Array:
    """Return maps, or lists of them, with each property converted; with `names`, fields are called so."""
    shape = type_.map
    assert shape is not None
    if type_.is_list:
        members = PropertyType(type_.scalar, nullable=True, map=shape)
        whole = pa.concat_arrays([maps, maps.slice(0, 0)])  # Arrow cannot give a slice other members
        found = convert_maps(whole.values, members, convert, names)
        return pa.ListArray.from_arrays(
            whole.offsets, found, type=pa.list_(pa.field("item", found.type)), mask=whole.is_null()
        )
    absent = maps.is_null()
    count = len(fixed_fields(shape))
    stored = maps.field(count)
    properties = [convert(stored.field(at), item.type) for at, item in enumerate(shape.fields)]
    inner = _struct(properties, _names_for(property_names(shape), names), absent)
    fixed = [maps.field(at) for at in range(count)]
    return _struct([*fixed, inner], _names_for([*fixed_fields(shape), PROPERTIES], names), absent)


def maps_to_plain(maps: pa.Array, type_: PropertyType) -> list[Any]:
    """Return maps, or lists of them, as dictionaries; their properties are a list of plain values."""
    shape = type_.map
    assert shape is not None
    if type_.is_list:
        whole = pa.concat_arrays([maps, maps.slice(0, 0)])
        members = maps_to_plain(whole.values, PropertyType(type_.scalar, nullable=True, map=shape))
        borders = zip(whole.offsets.to_pylist()[:-1], whole.offsets.to_pylist()[1:], strict=True)
        known = whole.is_valid().to_pylist()
        return [tuple(members[a:b]) if here else None for (a, b), here in zip(borders, known, strict=True)]
    names = fixed_fields(shape)
    whole = pa.concat_arrays([maps, maps.slice(0, 0)])
    stored = whole.field(len(names))
    fixed = [whole.field(at).to_pylist() for at in range(len(names))]
    columns = [to_plain(stored.field(at), item.type) for at, item in enumerate(shape.fields)]
    rows = zip(*columns, strict=True) if columns else ((),) * len(whole)
    return [
        None if head[0] is None else {**dict(zip(names, head, strict=True)), PROPERTIES: list(row)}
        for head, row in zip(zip(*fixed, strict=True), rows, strict=True)
    ]


def _names_for(own: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    return names[: len(own)] if names else own


def _struct(arrays: Sequence[pa.Array], names: Sequence[str], absent: pa.Array) -> pa.Array:
    if not arrays:
        return pa.array([None if gone else {} for gone in absent.to_pylist()], pa.struct([]))
    fields = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
    if not np.asarray(absent.to_numpy(zero_copy_only=False)).any():
        return pa.StructArray.from_arrays(arrays, fields=fields)
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=absent)
