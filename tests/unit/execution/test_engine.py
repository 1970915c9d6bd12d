"""Which engine runs: the rule, case by case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import omnigraph as og
from omnigraph.execution.engine import (
    Availability,
    Engine,
    EngineChoice,
    Estimate,
    check_engine,
    choose_engine,
    spark_missing,
)

SMALL = Estimate("the source has", 1234, "byte", 5000)
AT_LIMIT = Estimate("the source has", 5000, "byte", 5000)
LARGE = Estimate("the tables have", 2_500_000.4, "row", 5000)
UNKNOWN = Estimate("the source has", None, "byte", 0)
FRAME = EngineChoice(Engine.SPARK, "the source is a Spark data frame")
RUNNING = Availability(True, "a session is running")
ABSENT = Availability(False, "no Spark session is running or configured")


def _never() -> Any:
    raise AssertionError("this decides nothing here and may cost requests or seconds")


@pytest.mark.parametrize(
    ("wanted", "estimate", "spark", "engine", "reason"),
    [
        ("local", _never, _never, "local", "asked for"),
        ("spark", _never, _never, "spark", "asked for"),
        ("local", _never, None, "local", "only this process is available"),
        ("auto", _never, None, "local", "only this process is available"),
        ("auto", lambda: SMALL, _never, "local", "the source has 1,234 bytes, fewer than 5,000"),
        ("auto", lambda: UNKNOWN, _never, "local", "the source has an unknown number of bytes"),
        (
            "auto",
            lambda: AT_LIMIT,
            lambda: RUNNING,
            "spark",
            "the source has 5,000 bytes, 5,000 or more, and a session is running",
        ),
        (
            "auto",
            lambda: LARGE,
            lambda: ABSENT,
            "local",
            "the tables have 2,500,000 rows, 5,000 or more, but no Spark session is running or configured",
        ),
        ("auto", lambda: FRAME, _never, "spark", "the source is a Spark data frame"),
    ],
)
def test_an_engine_is_what_was_asked_for_or_what_suits_the_size(
    wanted: str,
    estimate: Callable[[], Estimate | EngineChoice],
    spark: Callable[[], Availability] | None,
    engine: str,
    reason: str,
) -> None:
    choice = choose_engine(wanted, estimate, spark)
    assert (choice.engine, choice.reason) == (engine, reason)
    assert choice.is_spark == (engine == "spark")


def test_a_spark_that_is_not_there_is_refused_and_not_replaced() -> None:
    with pytest.raises(og.SparkMissing) as told:
        choose_engine("spark", _never, None)
    assert str(told.value) == str(spark_missing("use 'auto' or 'local'"))
    assert str(told.value).startswith("engine 'spark' is not available here: ")


@pytest.mark.parametrize("word", ["flink", "", "Spark", "AUTO", None, 1, [], ("spark",)])
def test_another_word_is_refused_with_those_that_exist(word: Any) -> None:
    for check in (check_engine, lambda wanted: choose_engine(wanted, _never, None)):
        with pytest.raises(og.BadInput) as told:
            check(word)
        assert str(told.value) == f"engine {word!r} does not exist: use 'auto', 'local' or 'spark'"
        assert told.value.engine == word


def test_the_words_are_strings() -> None:
    assert [check_engine(word) for word in ("auto", "local", "spark")] == ["auto", "local", "spark"]
    assert check_engine(Engine.SPARK) is Engine.SPARK
