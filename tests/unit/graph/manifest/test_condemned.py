"""Condemned lists: their numbers are used once."""

from __future__ import annotations

import pytest

from omnigraph.base.errors import Contention
from omnigraph.graph.manifest.condemned import KEPT_LISTS, Condemned, CondemnedLists
from omnigraph.storage.objects import open_store


def test_a_number_whose_list_is_not_kept_any_more_is_not_free() -> None:
    store = open_store("memory://condemned")
    lists = CondemnedLists(store)
    for number in range(1, KEPT_LISTS + 2):
        lists.write(Condemned(number))
    for path in lists.find_outdated():
        store.delete(path)
    assert lists.read(1) is None
    with pytest.raises(Contention, match="another cleanup"):
        lists.write(Condemned(1))


def test_a_list_whose_answer_was_lost_is_written_once() -> None:
    lists = CondemnedLists(open_store("memory://condemned-twice"))
    lists.write(Condemned(1))
    lists.write(Condemned(1))
    assert lists.newest() == 1
