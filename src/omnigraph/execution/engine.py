"""Which engine runs an operation, and why: the one place that decides between this process and Spark.

Callers pass the estimate and the availability of Spark as functions, called only if the answer matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from omnigraph.base.errors import BadInput, SparkMissing


class Engine(StrEnum):
    """What a caller may ask for; `auto` is never what runs."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


_ENGINES = {engine.value: engine for engine in Engine}


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine that runs an operation, and the reason in plain words."""

    engine: Engine
    reason: str

    @property
    def is_spark(self) -> bool:
        """Whether Spark runs it."""
        return self.engine is Engine.SPARK


class Estimate(NamedTuple):
    """How large an operation is, and the size from which Spark is worth starting."""

    what: str
    """The subject of the sentence that reports it, with its verb: `the files have`."""
    amount: float | None
    """None when it is not known before the work is done."""
    unit: str
    limit: int

    @property
    def is_large(self) -> bool:
        """Whether the operation is one for Spark."""
        return self.amount is not None and self.amount >= self.limit

    def __str__(self) -> str:
        if self.amount is None:
            return f"{self.what} an unknown number of {self.unit}s"
        counted = f"{self.what} {self.amount:,.0f} {self.unit}{'' if round(self.amount) == 1 else 's'}"
        return counted + (f", {self.limit:,} or more" if self.is_large else f", fewer than {self.limit:,}")


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether `auto` may take Spark, and why or why not."""

    is_available: bool
    reason: str


def check_engine(wanted: str) -> Engine:
    """Return the engine that a caller asks for; refuse an unknown name."""
    found = _ENGINES.get(wanted) if isinstance(wanted, str) else None
    if found is None:
        raise BadInput(f"engine {wanted!r} does not exist: use 'auto', 'local' or 'spark'", engine=wanted)
    return found


def choose_engine(
    wanted: str,
    estimate: Callable[[], Estimate | EngineChoice],
    spark: Callable[[], Availability] | None,
) -> EngineChoice:
    """Return the engine of an operation: the one that is asked for, or for `auto` the one for its size.

    `estimate` returns a choice where something other than the size decides. `spark` is None where Spark
    cannot be chosen.
    """
    engine = check_engine(wanted)
    if spark is None:
        if engine is Engine.SPARK:
            raise spark_missing("use 'auto' or 'local'")
        return EngineChoice(Engine.LOCAL, "only this process is available")
    if engine is not Engine.AUTO:
        return EngineChoice(engine, "asked for")
    size = estimate()
    if isinstance(size, EngineChoice):
        return size
    if not size.is_large:
        return _stay_local(size)
    found = spark()
    if not found.is_available:
        return EngineChoice(Engine.LOCAL, f"{size}, but {found.reason}")
    return EngineChoice(Engine.SPARK, f"{size}, and {found.reason}")


@lru_cache(maxsize=1024)
def _stay_local(size: Estimate) -> EngineChoice:
    """Return the choice for a small operation; that of a query is made each time that it runs."""
    return EngineChoice(Engine.LOCAL, str(size))


def spark_missing(reason: str, **details: Any) -> SparkMissing:
    """Return the error for a Spark that cannot be used, with what to do about it."""
    return SparkMissing(f"engine 'spark' is not available here: {reason}", **details)
