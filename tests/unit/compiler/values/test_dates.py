"""Dates and times as text and as epoch numbers."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.compiler.values.dates import format_date, format_datetime, parse_date, parse_datetime


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-01", 0),
        ("1970-01-11", 10),
        ("1969-12-31", -1),
        ("2024-02-29", 19782),
        ("0000-03-01", -719468),
    ],
)
def test_a_date_is_days_since_1970(text: str, days: int) -> None:
    assert parse_date(text) == days
    assert format_date(days) == text


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2023-02-29", "2024-13-01", "2024-00-10", "2024-1-1", "2024-01-01T00:00", "20240101"],
)
def test_other_text_is_no_date(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00", 0),
        ("1970-01-01T00:00:01.5Z", 1500),
        ("1970-01-01 00:00:01", 1000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:00:00-0100", 0),
        ("1970-01-01T00:00:00.123456789Z", 123),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_a_datetime_is_milliseconds_in_utc(text: str, millis: int) -> None:
    assert parse_datetime(text) == millis


@pytest.mark.parametrize(
    "text",
    ["", "now", "2024-01-01T24:00", "2024-01-01T10:60", "2024-01-01T10:00:60", "2024-01-01T10:00+25:00"],
)
def test_other_text_is_no_datetime(text: str) -> None:
    assert parse_datetime(text) is None


@given(st.dates())
def test_dates_agree_with_the_standard_library(date: datetime.date) -> None:
    days = (date - datetime.date(1970, 1, 1)).days
    assert parse_date(date.isoformat()) == days
    assert format_date(days) == date.isoformat()


@given(st.integers(-(10**14), 10**14))
def test_a_datetime_survives_its_text(millis: int) -> None:
    assert parse_datetime(format_datetime(millis)) == millis


def test_years_beyond_four_digits_have_a_sign() -> None:
    assert format_date(3_000_000) == "+10183-09-27" or parse_date(format_date(3_000_000)) == 3_000_000
    assert format_datetime(-63_000_000_000_000).startswith("-0027-")


def test_the_first_and_last_that_can_be_stored_survive_their_texts() -> None:
    for days in (-(2**31), 2**31 - 1):
        assert parse_date(format_date(days)) == days
    for millis in (-(2**63), 2**63 - 1):
        assert parse_datetime(format_datetime(millis)) == millis
    assert parse_date(format_date(2**31)) is None
    assert parse_datetime(format_datetime(2**63)) is None
