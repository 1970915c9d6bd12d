"""Property types as Spark types, and stored columns as Spark columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.types import PropertyType, Scalar

_SCALARS: dict[Scalar, DataType] = {
    Scalar.STRING: StringType(),
    Scalar.BOOL: BooleanType(),
    Scalar.I32: IntegerType(),
    Scalar.I64: LongType(),
    Scalar.U32: LongType(),
    Scalar.U64: DecimalType(20, 0),  # Spark has no unsigned integers
    Scalar.F32: FloatType(),
    Scalar.F64: DoubleType(),
    Scalar.DATE: DateType(),
    Scalar.DATETIME: TimestampType(),
    Scalar.BLOB: BinaryType(),
}

_PROPERTY_NAME = re.compile("[a-z_][A-Za-z0-9_]*")
_WORDS = {
    "string": "String",
    "boolean": "Bool",
    "tinyint": "I32",
    "smallint": "I32",
    "int": "I32",
    "bigint": "I64",
    "float": "F32",
    "double": "F64",
    "date": "Date",
    "timestamp": "DateTime",
    "timestamp_ntz": "DateTime",
    "binary": "Blob",
    "decimal(20,0)": "U64",
}


def spark_type(type_: PropertyType) -> DataType:
    """Return the Spark type of a property's column."""
    scalar = _SCALARS[type_.scalar]
    return ArrayType(scalar) if type_.is_list or type_.is_vector else scalar


def name_in_schema(column: str) -> str:
    """Return the name of a column if a property may have it: as text of a schema it could be anything."""
    if not _PROPERTY_NAME.fullmatch(column):
        raise BadInput(
            f"the column {column!r} cannot be a property: names start with a small letter or '_' and hold "
            "letters, digits and '_'; rename it",
            column=column,
        )
    return column


def type_in_schema(column: str, type_: DataType) -> str:
    """Return the type of a property that holds a column of Spark, as a schema says it."""
    if isinstance(type_, ArrayType):
        return f"[{type_in_schema(column, type_.elementType)}]"
    said = type_.simpleString()
    if said not in _WORDS:
        raise BadInput(
            f"the column {column} is {said}, which no property is: use one of {', '.join(_WORDS)}",
            column=column,
        )
    return _WORDS[said]


def spark_schema(table: TableType) -> StructType:
    """Return the columns of a type in Spark: id, the ends of an edge, then properties by name."""
    fixed = ("id",) if table.kind == "node" else ("id", "from", "to")
    fields = [StructField(name, StringType(), nullable=False) for name in fixed]
    return StructType(fields + [StructField(item.name, spark_type(item.type)) for item in table.properties])


def select_columns(whole: StructType, names: Iterable[str]) -> StructType:
    """Return the named columns of a schema, in the given order."""
    known = {item.name: item for item in whole.fields}
    wanted = [name.strip() for name in names if name.strip()]
    for name in wanted:
        if name not in known:
            raise BadInput(f"there is no column {name!r}: there are {', '.join(known)}", column=name)
        if wanted.count(name) > 1:
            raise BadInput(f"the column {name!r} is named twice: leave one out", column=name)
    return StructType([known[name] for name in wanted])


def check_columns_fit(given: StructType, whole: StructType) -> None:
    """Refuse a caller's schema with unknown columns, or columns of another type."""
    for item, known in zip(given.fields, select_columns(whole, given.fieldNames()).fields, strict=True):
        if item.dataType != known.dataType:
            found, right = item.dataType.simpleString(), known.dataType.simpleString()
            raise BadInput(f"column {item.name!r} is {right}, not {found}", column=item.name)


def spark_batches(rows: pa.Table, schema: StructType) -> Iterator[pa.RecordBatch]:
    """Yield rows in exactly the Arrow schema that Spark expects of a data source."""
    wanted = to_arrow_schema(schema, timezone="UTC")
    columns = [_cast(item.name, rows[item.name], item.type) for item in wanted]
    yield from pa.table(columns, schema=wanted).to_batches()


def _cast(name: str, column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    try:
        return column if column.type == wanted else pc.cast(column, wanted)
    except pa.ArrowInvalid as error:  # milliseconds reach a thousand times as far as Spark's microseconds
        raise BadInput(
            f"the column {name} has a value that Spark cannot hold ({error}): leave out the column or rows",
            column=name,
        ) from error
