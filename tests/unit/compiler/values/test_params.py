"""Parameters from JSON: what each type takes, and what is refused."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from omnigraph.base.errors import BadInput, ParameterError, ParseError
from omnigraph.compiler.types import PropertyType, Scalar
from omnigraph.compiler.values.params import decode_params


def decode(value: Any, scalar: Scalar, **kind: Any) -> Any:
    return decode_params({"p": value}, [("p", PropertyType(scalar, **kind))])["p"]


@pytest.mark.parametrize(
    ("value", "scalar", "kind", "decoded"),
    [
        ("text", Scalar.STRING, {}, "text"),
        (-5, Scalar.I32, {}, -5),
        ("9223372036854775807", Scalar.I64, {}, 2**63 - 1),
        ("-7", Scalar.I32, {}, -7),
        (2**63 - 1, Scalar.U64, {}, 2**63 - 1),
        (3, Scalar.F64, {}, 3.0),
        (0.1, Scalar.F32, {}, 0.10000000149011612),
        (True, Scalar.BOOL, {}, True),
        ("2024-02-29", Scalar.DATE, {}, 19782),
        (datetime.date(1970, 1, 2), Scalar.DATE, {}, 1),
        ("1970-01-01T00:00:01Z", Scalar.DATETIME, {}, 1000),
        (datetime.datetime(1970, 1, 1, 0, 0, 1), Scalar.DATETIME, {}, 1000),
        ("base64:AA==", Scalar.BLOB, {}, "base64:AA=="),
        ([1, "2"], Scalar.I32, {"is_list": True}, (1, 2)),
        ([], Scalar.STRING, {"is_list": True}, ()),
        ([1, 0.5], Scalar.F32, {"vector": 2}, (1.0, 0.5)),
        (None, Scalar.I32, {"nullable": True}, None),
        (np.int64(3), Scalar.I64, {}, 3),
        (np.uint8(3), Scalar.U64, {}, 3),
        (np.float32(0.5), Scalar.F64, {}, 0.5),
        (np.int32(3), Scalar.F64, {}, 3.0),
        (np.bool_(True), Scalar.BOOL, {}, True),
        (np.str_("x"), Scalar.STRING, {}, "x"),
        (np.datetime64("1970-01-02"), Scalar.DATE, {}, 1),
        (np.datetime64("1970-01-01T00:00:01.000000001"), Scalar.DATETIME, {}, 1000),
        (np.datetime64("NaT"), Scalar.DATETIME, {"nullable": True}, None),
        (pd.NaT, Scalar.DATETIME, {"nullable": True}, None),
        (pd.NaT, Scalar.DATE, {"nullable": True}, None),
        (pd.Timestamp(1, unit="s"), Scalar.DATETIME, {}, 1000),
        (np.array([1, 2]), Scalar.I32, {"is_list": True}, (1, 2)),
        ([np.int64(1)], Scalar.I32, {"is_list": True}, (1,)),
        (np.array([1.0, 0.5], np.float32), Scalar.F32, {"vector": 2}, (1.0, 0.5)),
    ],
)
def test_accepted_values(value: Any, scalar: Scalar, kind: dict[str, Any], decoded: Any) -> None:
    assert decode(value, scalar, **kind) == decoded


@pytest.mark.parametrize(
    ("value", "scalar", "kind", "part"),
    [
        (1, Scalar.STRING, {}, "must be a string"),
        (1.5, Scalar.I32, {}, "must be an integer"),
        (1.0, Scalar.I32, {}, "must be an integer"),
        ("1.0", Scalar.I32, {}, "must be an integer"),
        (True, Scalar.I64, {}, "must be an integer"),
        (2**31, Scalar.I32, {}, "exceeds"),
        (-1, Scalar.U32, {}, "exceeds"),
        (2**63, Scalar.U64, {}, "exceeds"),
        (10**400, Scalar.I64, {}, "exceeds"),
        ("1", Scalar.F64, {}, "must be a number"),
        (1e39, Scalar.F32, {}, "exceeds"),
        (10**400, Scalar.F64, {}, "exceeds"),
        (float("nan"), Scalar.F64, {}, "NaN is not allowed"),
        ([1.0, float("nan")], Scalar.F32, {"vector": 2}, "NaN is not allowed"),
        ([1.0, float("inf")], Scalar.F32, {"vector": 2}, "exceeds"),
        (1, Scalar.BOOL, {}, "must be a boolean"),
        (5, Scalar.DATE, {}, "must be a string"),
        (datetime.datetime(2024, 1, 1, 12, 30), Scalar.DATE, {}, "needs a date, found a datetime"),
        ([datetime.datetime(2024, 1, 1)], Scalar.DATE, {"is_list": True}, "needs a date, found a datetime"),
        (np.datetime64("2024-01-01T12:30"), Scalar.DATE, {}, "the time would be lost"),
        ("x", Scalar.I32, {"is_list": True}, "must be an array"),
        ([1.5], Scalar.I32, {"is_list": True}, "must be an integer"),
        ([None], Scalar.I32, {"is_list": True}, "must be an integer"),
        ([1.0], Scalar.F32, {"vector": 2}, "exactly 2 numbers"),
        (3, Scalar.F32, {"vector": 2}, "an array of numbers"),
        (None, Scalar.I32, {}, "not nullable"),
        ("a\ud800", Scalar.STRING, {}, "half of a surrogate pair"),
    ],
)
def test_refused_values(value: Any, scalar: Scalar, kind: dict[str, Any], part: str) -> None:
    with pytest.raises(ParseError) as raised:
        decode(value, scalar, **kind)
    assert part in str(raised.value)


def test_a_bad_date_text_is_refused_where_it_would_be_used() -> None:
    with pytest.raises(BadInput, match="invalid Date text"):
        decode("yesterday", Scalar.DATE)


def test_a_missing_parameter_is_null_only_when_it_may_be() -> None:
    assert decode_params(None, [("p", PropertyType(Scalar.I32, nullable=True))]) == {"p": None}
    with pytest.raises(BadInput, match="not provided"):
        decode_params({}, [("p", PropertyType(Scalar.I32))])


def test_undeclared_members_are_refused_with_a_hint() -> None:
    declared = [("name", PropertyType(Scalar.STRING)), ("limit", PropertyType(Scalar.I32, nullable=True))]
    for data, hint in (
        ({"name": "ada", "limt": 3}, "did you mean 'limit'?"),
        ({"nam": "ada", "limit": 3}, "did you mean 'name'?"),
        ({"$name": "ada"}, "write 'name' without the $"),
        ({"name": "ada", "zzz": None}, "it declares name, limit"),
    ):
        with pytest.raises(ParameterError, match="declares no parameter") as raised:
            decode_params(data, declared)
        assert hint in str(raised.value)
        assert raised.value.code == "bad_parameter"
    with pytest.raises(ParameterError, match="it declares none") as raised:
        decode_params({"x": [1]}, [])
    assert raised.value.parameter == "x"
    with pytest.raises(ParameterError, match="object"):
        decode_params({"x": {}}, [])
    with pytest.raises(ParameterError, match="string"):
        decode_params({3: 4}, [])


@pytest.mark.parametrize(
    ("data", "type_"),
    [
        ({}, PropertyType(Scalar.I32)),
        ({"p": "x"}, PropertyType(Scalar.I32)),
        ({"p": "yesterday"}, PropertyType(Scalar.DATE)),
        ({"p": None}, PropertyType(Scalar.I32)),
        ({"p": 1, "q": 2}, PropertyType(Scalar.I32)),
    ],
)
def test_every_wrong_parameter_is_one_class_that_names_it(data: Any, type_: PropertyType) -> None:
    with pytest.raises(ParameterError) as raised:
        decode_params(data, [("p", type_)])
    assert type(raised.value) is ParameterError
    assert raised.value.parameter in ("p", "q")
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.diagnostics) == (str(raised.value), raised.value.diagnostics)


@pytest.mark.parametrize("data", [[], "x", 3])
def test_parameters_must_be_an_object(data: Any) -> None:
    with pytest.raises(ParseError, match="JSON object"):
        decode_params(data, [])


@pytest.mark.parametrize(
    ("value", "scalar"),
    [
        (np.float64(3.0), Scalar.I64),
        (np.bool_(True), Scalar.I64),
        (np.int64(1), Scalar.BOOL),
        (np.array([1]), Scalar.I64),
        (np.float64("nan"), Scalar.F64),
        (np.int64(2**40), Scalar.I32),
    ],
)
def test_values_of_a_data_library_are_judged_like_those_of_python(value: Any, scalar: Scalar) -> None:
    with pytest.raises(ParseError):
        decode(value, scalar)
