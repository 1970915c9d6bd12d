"""The rule for columns and the rule for values agree: what the first takes, the second takes as the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.execution.load.parse.text_cells import cells_to_stored, read_text, to_python_values
from omnigraph.graph.model.arrow_values import to_plain
from omnigraph.graph.model.columns import arrow_type
from omnigraph.graph.model.stored_columns import NeedsStrictReader, to_stored
from omnigraph.graph.write.integrity.convert import convert

SCALARS = [scalar for scalar in Scalar if scalar is not Scalar.BLOB]
TYPES = [
    *(
        PropertyType(scalar, nullable=True, is_list=is_list)
        for scalar in SCALARS
        for is_list in (False, True)
    ),
    PropertyType(Scalar.F32, nullable=True, vector=2),
    PropertyType(Scalar.STRING, nullable=True, enum=("a", "b")),
]
EDGES = [
    sign * 2**power + step for power in (0, 24, 31, 32, 53, 63, 64) for sign in (1, -1) for step in (-1, 0, 1)
]
DATES = st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True) | st.dates().map(str)
TIMES = st.from_regex(
    r"[T t][0-2][0-9]:[0-5][0-9](:[0-6][0-9](\.[0-9]{1,9})?)?(Z|z|\+0[0-9]:?30|-01)?", fullmatch=True
)
TEXTS = st.one_of(
    st.text(max_size=3),
    DATES,
    st.tuples(DATES, TIMES).map("".join),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.sampled_from(EDGES).map(str),
    st.floats().map(str),
    st.from_regex(r"[+-]?[0-9]{0,3}\.?[0-9]{0,3}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(
        ["true", "TRUE", "False", "1", "0", "yes", "", " ", " 7 ", "07", "-0", "1e999", "2024-02-30"]
    ),
)
DECIMALS = st.decimals(-(10**20), 10**20, allow_nan=False, places=3) | st.sampled_from(EDGES).map(Decimal)


def integers(bits: int, low: int | None = None) -> st.SearchStrategy[int]:
    """Return integers that a signed number of some bits holds, with a taste for the ends of all widths."""
    low, high = (-(2 ** (bits - 1)) if low is None else low), 2 ** (bits - 1 if low is None else bits) - 1
    return st.sampled_from([edge for edge in EDGES if low <= edge <= high]) | st.integers(low, high)


def viewed(numbers: pa.DataType, as_: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    """Return what makes a column of a temporal type from its bare numbers."""
    return lambda values: pa.array(values, numbers).view(as_)


def typed(type_: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    """Return what makes a column of a type."""
    return lambda values: pa.array(values, type_)


SOURCES: dict[str, tuple[st.SearchStrategy[Any], Callable[[list[Any]], pa.Array]]] = {
    "bool": (st.booleans(), typed(pa.bool_())),
    "int8": (integers(8), typed(pa.int8())),
    "int32": (integers(32), typed(pa.int32())),
    "int64": (integers(64), typed(pa.int64())),
    "uint64": (integers(64, 0), typed(pa.uint64())),
    "float": (st.floats(width=32), typed(pa.float32())),
    "double": (st.floats() | st.sampled_from(EDGES).map(float), typed(pa.float64())),
    "decimal": (DECIMALS, typed(pa.decimal128(38, 3))),
    "string": (TEXTS, typed(pa.string())),
    "large string": (TEXTS, typed(pa.large_string())),
    "dictionary": (TEXTS, typed(pa.dictionary(pa.int32(), pa.string()))),
    "binary": (st.binary(max_size=2), typed(pa.binary())),
    "date32": (integers(32) | st.integers(-(10**5), 10**5), viewed(pa.int32(), pa.date32())),
    "date64": (integers(64) | st.integers(-(10**12), 10**12), viewed(pa.int64(), pa.date64())),
    **{
        f"timestamp {unit}": (
            integers(64) | st.integers(-(10**9) * per, 10**9 * per),
            viewed(pa.int64(), pa.timestamp(unit, zone)),
        )
        for unit, per, zone in (
            ("s", 1, None),
            ("ms", 10**3, "UTC"),
            ("us", 10**6, None),
            ("ns", 10**9, None),
        )
    },
    "time": (st.integers(0, 10**6), typed(pa.time64("us"))),
}


@st.composite
def columns(draw: st.DrawFn, lists: bool) -> pa.Array:
    """Draw a column of some type, with nulls, or one of lists of any kind."""
    values, make = SOURCES[draw(st.sampled_from(sorted(SOURCES)))]
    if not lists:
        return make(draw(st.lists(values | st.none(), max_size=4)))
    size = draw(st.sampled_from([1, 2, 2]))
    rows = draw(st.lists(st.none() | st.lists(values, min_size=size, max_size=size), max_size=3))
    members = make([value for row in rows for value in (row if row is not None else [])])
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + len(row or []))
    column = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), members, mask=pa.array([row is None for row in rows], pa.bool_())
    )
    form = draw(st.sampled_from([column.type, pa.large_list(members.type), pa.list_(members.type, size)]))
    return column if pa.types.is_dictionary(members.type) else column.cast(form)


def said_by_values(values: list[Any], type_: PropertyType) -> list[Any]:
    """Return what the rule for values says: what is stored, or the reason."""
    found = []
    for value in values:
        try:
            found.append(convert(value, type_))
        except ValueError as error:
            found.append(error)
    return found


def assert_same(stored: pa.Array, type_: PropertyType, expected: list[Any]) -> None:
    """Compare a column that was taken with the values that are stored one by one."""
    assert stored.type == arrow_type(type_)
    stored.validate()
    plain = to_plain(stored, type_)
    for found, wanted in zip(plain, expected, strict=True):
        if isinstance(wanted, ValueError):
            # Left to the rules over a batch, which refuse it too.
            members = found if isinstance(found, tuple) else (found,)
            assert type_.scalar.is_float, (found, wanted)
            assert not all(map(math.isfinite, members)), (found, wanted)
        else:
            assert found == wanted
            assert repr(found) == repr(wanted)


@pytest.mark.parametrize("type_", TYPES, ids=str)
@settings(max_examples=60)
@given(data=st.data())
def test_a_column_is_stored_as_its_values_are(type_: PropertyType, data: st.DataObject) -> None:
    column = data.draw(columns(lists=type_.is_list or type_.is_vector))
    column = column.slice(data.draw(st.integers(0, len(column)), label="offset"))
    try:
        stored = to_stored(column, type_)
    except NeedsStrictReader:
        return
    assert_same(stored, type_, said_by_values(to_python_values(column, type_), type_))


@pytest.mark.parametrize("type_", TYPES, ids=str)
@settings(max_examples=40)
@given(texts=st.lists(TEXTS | st.none(), max_size=3))
@example(texts=["1e999"])
@example(texts=["2024-02-29T23:59:59.999999Z"])
def test_a_column_of_cells_is_stored_as_its_values_are(type_: PropertyType, texts: list[str | None]) -> None:
    try:
        stored = cells_to_stored(pa.array(texts, pa.string()), type_)
    except NeedsStrictReader:
        return
    assert_same(stored, type_, said_by_values([read_text(text, type_) for text in texts], type_))


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("is_list", [False, True])
def test_every_nanosecond_is_a_moment_the_first_too(is_list: bool, zone: str | None) -> None:
    # The first is what pandas calls missing; in a column of Arrow it is a moment like the others.
    numbers = pa.array([-(2**63), None, 1 - 2**63, -1, 0, 1, 2**63 - 1], pa.int64())
    column = numbers.view(pa.timestamp("ns", zone))
    if is_list:
        members = column.drop_null()
        column = pa.ListArray.from_arrays(pa.array([0, 2, None, 2, len(members)], pa.int32()), members)
    type_ = PropertyType(Scalar.DATETIME, nullable=True, is_list=is_list)
    for part in (column, column.slice(1)):
        said = said_by_values(to_python_values(part, type_), type_)
        assert_same(to_stored(part, type_), type_, said)


PLAIN = [
    (Scalar.STRING, ["a", "é"], pa.string()),
    (Scalar.BOOL, [True, False], pa.bool_()),
    (Scalar.I32, [2**31 - 1, -(2**31)], pa.int64()),
    (Scalar.I64, [2**63 - 1], pa.int64()),
    (Scalar.U32, [2**32 - 1], pa.int64()),
    (Scalar.U64, [2**64 - 1], pa.uint64()),
    (Scalar.F32, [0.1, 1e39], pa.float64()),
    (Scalar.F64, [0.1], pa.float64()),
    (Scalar.DATE, ["2024-02-29", "0001-01-01"], pa.string()),
    (Scalar.DATETIME, ["2024-02-29"], pa.string()),
    (Scalar.DATETIME, ["2024-02-29T12:00:00.5Z", "2024-02-29 12:00:00"], pa.string()),
]


@pytest.mark.parametrize(("scalar", "values", "source"), PLAIN)
@pytest.mark.parametrize("is_list", [False, True])
def test_a_plain_column_is_taken_without_doubt(
    scalar: Scalar, values: list[Any], source: pa.DataType, is_list: bool
) -> None:
    type_ = PropertyType(scalar, nullable=True, is_list=is_list)
    given_ = [[value] for value in values] if is_list else values
    stored = to_stored(pa.array([None, *given_], pa.list_(source) if is_list else source), type_)
    assert_same(stored, type_, said_by_values([None, *given_], type_))
