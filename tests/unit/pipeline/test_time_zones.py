"""Wall-clock times become the moments that Java, and so Spark, takes them for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.pipeline.steps.time_zone import place_batches_in_zone, place_column, zone_of

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia", "UTC")


@example(zone="Europe/Berlin", wall=datetime(2024, 3, 31, 2, 30))
@example(zone="Europe/Berlin", wall=datetime(2024, 10, 27, 2, 30))
@example(zone="Australia/Lord_Howe", wall=datetime(2024, 10, 6, 2, 15))
@example(zone="Pacific/Apia", wall=datetime(2011, 12, 30, 12))
@given(zone=st.sampled_from(ZONES), wall=st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)))
def test_a_wall_clock_time_is_taken_at_the_offset_before_a_change(zone: str, wall: datetime) -> None:
    # Python's rule for fold=0 is Java's: the earlier of two, and of none what the offset before makes of it.
    wanted = wall.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)
    placed = place_column(pa.array([wall, None], pa.timestamp("us")), zone_of(zone))
    assert placed.type == pa.timestamp("us", "UTC")
    since = (wanted - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert placed.cast(pa.int64()).to_pylist() == [since, None]


@pytest.mark.parametrize(
    ("said", "minutes"),
    [
        ("Z", 0),
        ("GMT", 0),
        ("GMT+2", 120),
        ("UTC-02:30", -150),
        ("UT+0230", 150),
        ("+2", 120),
        ("-08:00", -480),
    ],
)
def test_a_zone_of_java_is_known_by_its_name(said: str, minutes: int) -> None:
    (placed,) = place_column(pa.array([0], pa.timestamp("us")), zone_of(said)).cast(pa.int64()).to_pylist()
    assert placed == -minutes * 60_000_000
    for unknown in ("PST", "America", "../etc/passwd", "+99:00"):
        with pytest.raises((LookupError, ValueError)):
            zone_of(unknown)


def test_a_year_beyond_python_s_calendar_has_the_offsets_of_its_place_in_four_centuries() -> None:
    summer, winter = datetime(2399, 7, 1), datetime(2399, 1, 1)
    century = timedelta(days=146_097) // timedelta(microseconds=1) * 100
    since = [(wall - datetime(1970, 1, 1)) // timedelta(microseconds=1) for wall in (summer, winter)]
    near, far = (
        place_column(pa.array([at + more for at in since]).cast(pa.timestamp("us")), zone_of("Europe/Berlin"))
        for more in (0, century)
    )
    assert [at + century for at in near.cast(pa.int64()).to_pylist()] == far.cast(pa.int64()).to_pylist()
    assert [at - moment for at, moment in zip(since, near.cast(pa.int64()).to_pylist(), strict=True)] == [
        2 * 3_600_000_000, 3_600_000_000,
    ]  # fmt: skip
    first = pa.array([-(2**62)]).cast(pa.timestamp("us"))
    assert place_column(first, zone_of("Europe/Berlin")).type == pa.timestamp("us", "UTC")


def test_members_of_lists_are_wall_clock_times_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "omnigraph.pipeline.steps.time_zone._zone_of_task", lambda _: zone_of("Europe/Berlin")
    )
    noon = datetime(2026, 1, 31, 12)
    lists = pa.array([[noon], None, [noon, noon], []], pa.list_(pa.timestamp("us")))
    for part in (lists, lists.slice(1)):
        (placed,) = place_batches_in_zone([pa.record_batch({"at": part, "n": range(len(part))})])
        moment = noon.replace(hour=11, tzinfo=UTC)
        wanted = [None if item is None else [moment] * len(item) for item in part.to_pylist()]
        assert placed["at"].to_pylist() == wanted
