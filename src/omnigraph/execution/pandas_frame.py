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
_DAY_MILLIS = 86_400_000


def make_frame(table: pa.Table, dtypes: PandasTypes) -> Any:
    """Return a table as a data frame; moments that Python has none for are those of numpy."""
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
    """Return whether a column holds dates or datetimes before the year 1 or after 9999."""
    moments = column.combine_chunks()
    if pa.types.is_list(moments.type):
        moments = moments.flatten()
    if not (pa.types.is_date32(moments.type) or pa.types.is_timestamp(moments.type)):
        return False
    return not all(number is None or _is_near(number, moments.type) for number in _ends(moments))


def _ends(moments: pa.Array) -> list[int | None]:
    bounds = pc.min_max(_numbers(moments)).as_py()
    return [bounds["min"], bounds["max"]]


def _numbers(moments: pa.Array) -> pa.Array:
    """Return days or milliseconds since 1970."""
    return moments.view(pa.int32() if pa.types.is_date32(moments.type) else pa.int64())


def _is_near(number: int, type_: pa.DataType) -> bool:
    day = number if pa.types.is_date32(type_) else number // _DAY_MILLIS
    return _FIRST_DAY <= day <= _LAST_DAY


def _far_dates(pandas: Any, column: pa.ChunkedArray) -> Any:
    """Return moments as objects: the usual ones where there are such, else numpy's, which can be printed."""
    if pa.types.is_list(column.type):
        return column.to_pandas(date_as_object=False)
    moments = column.combine_chunks()
    numbers = _numbers(moments).to_pylist()
    exact = moments.to_numpy(zero_copy_only=False)

    def usual(at: Any) -> Any:
        return at.item() if pa.types.is_date32(moments.type) else pandas.Timestamp(at, tz="UTC")

    values = [
        None if number is None else usual(at) if _is_near(number, moments.type) else at
        for number, at in zip(numbers, exact, strict=True)
    ]
    return pandas.Series(values, dtype=object)
