"""ULIDs: sortable by time, unique, and read back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from omnigraph.base import clock, ids
from support.seeded_clock import SeededClock


@pytest.fixture
def seeded() -> Iterator[SeededClock]:
    installed = SeededClock(3)
    before = clock.install(installed)
    yield installed
    clock.install(before)


def test_a_ulid_has_26_letters_of_the_alphabet() -> None:
    ulid = ids.new_ulid()
    assert len(ulid) == ids.ULID_LENGTH == 26
    assert set(ulid) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    assert ids.is_ulid(ulid)


def test_ulids_are_unique() -> None:
    assert len({ids.new_ulid() for _ in range(10_000)}) == 10_000


def test_a_later_ulid_sorts_after_an_earlier_one(seeded: SeededClock) -> None:
    made = []
    for _ in range(50):
        made.append(ids.new_ulid())
        seeded.sleep(0.001)
    assert made == sorted(made)


def test_a_ulid_tells_the_millisecond_of_its_birth(seeded: SeededClock) -> None:
    moment = seeded.now_us()
    assert ids.ulid_time_us(ids.new_ulid()) == moment // 1000 * 1000


def test_a_seed_gives_the_same_ulids() -> None:
    made = []
    for _ in range(2):
        before = clock.install(SeededClock(9))
        made.append([ids.new_ulid() for _ in range(5)])
        clock.install(before)
    assert made[0] == made[1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0" * 25,
        "0" * 27,
        "8" + "0" * 25,
        "0" * 25 + "I",
        "0" * 25 + "a",
        "0" * 25 + " ",
        "../" + "0" * 23,
    ],
)
def test_other_text_is_not_a_ulid(text: str) -> None:
    assert not ids.is_ulid(text)
