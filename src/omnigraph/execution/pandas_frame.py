"""The rows of a result as a pandas data frame whose columns keep their values."""

from __future__ import annotations

from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.base.errors import BadInput
from omnigraph.execution.optional import import_optional

PandasTypes = Literal["nullable", "arrow", "numpy"]
"""Which types the columns of a pandas data frame get."""

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The days since 1970 of 0001-01-01 and 9999-12-31, which Python's own dates reach."""


def make_frame(table: pa.Table, dtypes: PandasTypes) -> Any:
    """Return a table as a data frame; dates that Python has none for are those of numpy."""
    if dtypes not in get_args(PandasTypes):
        raise BadInput(f"dtypes is {dtypes!r}: use one of {', '.join(get_args(PandasTypes))}")
    pandas = import_optional("pandas", "a pandas data frame", extra="pandas")
    if dtypes == "arrow":
        return table.to_pandas(types_mapper=pandas.ArrowDtype)
    mapper = _nullable_types(pandas).get if dtypes == "nullable" else None
    far = [name for name, column in zip(table.column_names, table.columns, strict=True) if _is_far(column)]
    near = [name for name in table.column_names if name not in far]
    frame = table.select(near).to_pandas(types_mapper=mapper)
    for name in far:
        frame.insert(table.column_names.index(name), name, _far_dates(pandas, table[name]))
    return frame


def _nullable_types(pandas: Any) -> dict[pa.DataType, Any]:
    return {
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
        pa.uint32(): pandas.UInt32Dtype(),
        pa.uint64(): pandas.UInt64Dtype(),
        pa.bool_(): pandas.BooleanDtype(),
    }


def _is_far(column: pa.ChunkedArray) -> bool:
    """Return whether a column holds dates before the year 1 or after 9999."""
    days = column.combine_chunks()
    if pa.types.is_list(days.type):
        days = days.flatten()
    if not pa.types.is_date32(days.type):
        return False
    bounds = pc.min_max(days.view(pa.int32())).as_py()
    return bounds["min"] is not None and (bounds["min"] < _FIRST_DAY or bounds["max"] > _LAST_DAY)


def _far_dates(pandas: Any, column: pa.ChunkedArray) -> Any:
    """Return dates as objects: Python's where there are such, and numpy's, which print and compare."""
    if pa.types.is_list(column.type):
        return column.to_pandas(date_as_object=False)
    days = column.combine_chunks()
    numbers = days.view(pa.int32()).to_pylist()
    exact = days.to_numpy(zero_copy_only=False)
    near = [day is not None and _FIRST_DAY <= day <= _LAST_DAY for day in numbers]
    values = [
        None if day is None else at.item() if is_near else at
        for day, at, is_near in zip(numbers, exact, near, strict=True)
    ]
    return pandas.Series(values, dtype=object)
