"""The canonical text of key values."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import ValidationError
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.canonical import canonical_key, canonical_text, round_f32


def of(scalar: Scalar) -> PropertyType:
    return PropertyType(scalar)


@pytest.mark.parametrize(
    ("value", "scalar", "text"),
    [
        ("as is", Scalar.STRING, "as is"),
        (-7, Scalar.I32, "-7"),
        (2**64 - 1, Scalar.U64, "18446744073709551615"),
        (True, Scalar.BOOL, "true"),
        (10, Scalar.DATE, "10"),
        (-1500, Scalar.DATETIME, "-1500"),
        (1.0, Scalar.F64, "1"),
        (0.25, Scalar.F64, "0.25"),
        (-0.0, Scalar.F64, "0"),
        (1e21, Scalar.F64, "1000000000000000000000"),
        (1.5e-7, Scalar.F64, "0.00000015"),
        (0.1, Scalar.F64, "0.1"),
        (0.1, Scalar.F32, "0.1"),
        (round_f32(0.1), Scalar.F32, "0.1"),
        (16777216.0, Scalar.F32, "16777216"),
        (1e-45, Scalar.F32, "0." + "0" * 44 + "1"),
    ],
)
def test_the_text_of_a_value(value: str | int | float, scalar: Scalar, text: str) -> None:
    assert canonical_text(value, of(scalar)) == text


def test_several_values_make_a_compact_array() -> None:
    assert canonical_key([7, "nörd"], [of(Scalar.I32), of(Scalar.STRING)]) == '["7","nörd"]'
    assert canonical_key(["a"], [of(Scalar.STRING)]) == "a"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_f64_reads_back(value: float) -> None:
    text = canonical_text(value, of(Scalar.F64))
    assert float(text) == value
    assert "e" not in text


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_text_of_f32_reads_back_at_its_width_and_is_not_longer_than_needed(value: float) -> None:
    text = canonical_text(value, of(Scalar.F32))
    assert struct.pack("<f", float(text)) == struct.pack("<f", value + 0.0)
    digits = text.replace("-", "").replace(".", "").strip("0")
    assert len(digits) <= 9


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(ValidationError):
        canonical_text(value, of(Scalar.F64))


@pytest.mark.parametrize("type_", [PropertyType(Scalar.BLOB), PropertyType(Scalar.I32, is_list=True)])
def test_lists_vectors_and_blobs_cannot_be_keys(type_: PropertyType) -> None:
    with pytest.raises(ValidationError):
        canonical_text("x", type_)


def test_the_array_is_valid_json() -> None:
    assert json.loads(canonical_key(['"', "\\"], [of(Scalar.STRING)] * 2)) == ['"', "\\"]
