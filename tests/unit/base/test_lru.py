"""Values within bounds."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.lru import Lru


def test_the_least_recently_used_goes_first() -> None:
    cache: Lru[str, int] = Lru(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)


def test_a_value_that_is_put_again_replaces_the_first_and_is_new() -> None:
    cache: Lru[str, int] = Lru(2)
    for key, value in [("a", 1), ("b", 2), ("a", 3), ("c", 4)]:
        cache.put(key, value)
    assert (cache.get("a"), cache.get("b")) == (3, None)


def test_the_first_value_stays_when_it_is_only_wanted_by_default() -> None:
    cache: Lru[str, list[int]] = Lru(2)
    first: list[int] = []
    assert cache.setdefault("a", first) is first
    assert cache.setdefault("a", [1]) is first
    cache.put("b", [])
    cache.setdefault("a", [2])
    cache.put("c", [])
    assert cache.get("a") is first
    assert cache.get("b") is None


def test_what_is_popped_or_cleared_is_gone_and_weighs_nothing() -> None:
    cache: Lru[str, str] = Lru(6, len)
    cache.put("a", "xxx")
    assert cache.pop("a") == "xxx"
    assert cache.pop("a") is None
    cache.put("b", "xxx")
    cache.clear()
    assert cache.get("b") is None
    cache.put("c", "xxx")
    cache.put("d", "xxx")
    assert (cache.get("c"), cache.get("d")) == ("xxx", "xxx")


def test_what_is_heavier_than_all_may_be_is_not_kept() -> None:
    cache: Lru[str, str] = Lru(3, len)
    cache.put("a", "xx")
    cache.put("b", "xxxx")
    assert (cache.get("a"), cache.get("b")) == (None, None)
    cache.put("c", "xxx")
    assert cache.get("c") == "xxx"


_steps = st.lists(
    st.tuples(
        st.sampled_from(["get", "put", "setdefault", "pop"]), st.sampled_from("abcde"), st.text(max_size=4)
    )
)


@given(st.integers(0, 9), _steps)
def test_it_is_a_list_of_the_newest_that_together_are_light_enough(
    capacity: int, steps: list[tuple[str, str, str]]
) -> None:
    cache: Lru[str, str] = Lru(capacity, len)
    model: list[tuple[str, str]] = []
    for call, key, text in steps:
        held = dict(model).get(key)
        rest = [item for item in model if item[0] != key]
        if call == "get":
            assert cache.get(key) == held
        elif call == "pop":
            assert cache.pop(key) == held
            held = None
        elif call == "put":
            cache.put(key, text)
            held = text
        else:
            held = text if held is None else held
            assert cache.setdefault(key, text) == held
        model = rest if held is None else [*rest, (key, held)]
        while sum(len(value) for _, value in model) > capacity:
            del model[0]
    assert {key: cache.get(key) for key in "abcde"} == {key: dict(model).get(key) for key in "abcde"}


def test_threads_may_share_it() -> None:
    cache: Lru[int, bytes] = Lru(64, len)

    def work(start: int) -> None:
        for number in range(start, start + 4_000):
            cache.put(number % 97, bytes(number % 5))
            cache.get(number % 89)
            cache.pop(number % 83)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(97):
        cache.pop(number)
    cache.put(200, bytes(64))
    assert cache.get(200) == bytes(64), "no weight is left over"
    cache.put(201, bytes(1))
    assert cache.get(200) is None, "and none was lost"
