"""Condemned lists: what each cleanup may remove, written down before anything is removed.

Cleanups are numbered. The list of number `c` is created once, and only by one run; it names every file and
control object that this run will ever remove. Fences carry the number onto every live branch afterwards, so a
writer that meets a fence can look up whether anything that it is about to name was condemned: no clock
decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from omnigraph.base.errors import Contention, NotFound
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.objects.lost_answers import put_over

KEPT_LISTS = 16
"""Lists of so many of the newest cleanups stay; a write that began before the oldest is made again."""


@dataclass(frozen=True)
class Condemned:
    """What one cleanup may remove."""

    number: int
    files: frozenset[str] = frozenset()
    """Paths below the root: files of tables, schemas."""
    records: Mapping[str, str] = field(default_factory=dict)
    """The paths of commit records, each with the commit that it was found to be of."""

    def encode(self) -> bytes:
        """Return the list as stored."""
        return stored_format.encode_value(self, layout.condemned_path(self.number))


def at_work(**details: object) -> Contention:
    """Return the error for a cleanup that another one has come between."""
    return Contention("another cleanup of this graph is at work: wait for it and try again", **details)


class CondemnedLists:
    """The lists of one graph."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def newest(self) -> int:
        """Return the number of the newest cleanup, 0 when there was none."""
        return max(self._numbers(), default=0)

    def write(self, condemned: Condemned) -> None:
        """Store the list of the next cleanup; another one that has come between makes this fail."""
        path = layout.condemned_path(condemned.number)
        if put_over(self._store, path, condemned.encode(), None) is None:
            raise at_work(number=condemned.number)
        # A number is free again once its list is too old to be kept: fences beyond it stand already then.
        if self.newest() != condemned.number:
            raise at_work(number=condemned.number)

    def read(self, number: int) -> Condemned | None:
        """Return a list, or None when there is none of this number, or not any more."""
        path = layout.condemned_path(number)
        try:
            return decode_list(self._store.get(path), path)
        except NotFound:
            return None

    def spare(self, paths: Iterable[str], after: int, up_to: int) -> bool:
        """Return whether no cleanup of the numbers `after` + 1 to `up_to` has condemned any of these paths.

        A path may be a folder of a table, which stands for everything in it.
        """
        wanted = frozenset(paths)
        for number in range(up_to, after, -1):
            condemned = self.read(number)
            if condemned is None or any(_names(path, wanted) for path in condemned.files):
                return False
        return up_to <= after or self._were_kept(after)

    def read_since(self, after: int) -> tuple[int, frozenset[str]] | None:
        """Return the newest cleanup and all that those after a number have condemned.

        None when there were too many of them: then nothing tells what some had condemned.
        """
        newest = self.newest()
        if after < newest - KEPT_LISTS:
            return None
        found = [self.read(number) for number in range(after + 1, newest + 1)]
        if any(condemned is None for condemned in found) or not self._were_kept(after):
            return None
        return newest, frozenset().union(*(condemned.files for condemned in found if condemned is not None))

    def _were_kept(self, after: int) -> bool:
        """Return whether the lists after a number that were just read are those of their numbers.

        A number is free again once its list is too old to be kept, and a cleanup that was frozen for long may
        put its own there.
        """
        return after >= self.newest() - KEPT_LISTS

    def find_removed(self, fence: int) -> dict[str, str] | None:
        """Return the commits that removed records were of, by path; None when a list is not kept any more.

        Only lists after the fence are read: those before it cannot name what came later. The first one
        that names a path tells what stood there; what a later one names was put into the hole.
        """
        found: dict[str, str] = {}
        for number in range(fence + 1, self.newest() + 1):
            condemned = self.read(number)
            if condemned is None:
                return None
            found = {**condemned.records, **found}
        return found if self._were_kept(fence) else None

    def find_outdated(self) -> list[str]:
        """Return the paths of lists that are not kept any more."""
        numbers = sorted(self._numbers())
        return [layout.condemned_path(number) for number in numbers[:-KEPT_LISTS]]

    def _numbers(self) -> list[int]:
        listed = layout.own(self._store.list(layout.CONDEMNED))
        return [layout.number_of_list(info.path) for info in listed]


class CondemnedWatch:
    """What cleanups have condemned since a write began, read while their lists were kept.

    A list never changes and names all that its run will ever remove. So files that none of the lists up to a
    number names are as good as files that were written after it.
    """

    def __init__(self, lists: CondemnedLists, after: int) -> None:
        self._lists = lists
        self._seen: tuple[int, frozenset[str]] = (after, frozenset())

    def look(self) -> None:
        """Read the lists that have come since the last look; who looks too seldom learns nothing more."""
        number, files = self._seen
        found = self._lists.read_since(number)
        if found is not None:
            self._seen = (found[0], files | found[1])

    def spared_up_to(self, paths: Iterable[str]) -> int | None:
        """Return the number of the last list that was read; None if one of the lists names a path."""
        wanted, (number, files) = frozenset(paths), self._seen
        return None if any(_names(path, wanted) for path in files) else number

    @property
    def number(self) -> int:
        """The last cleanup whose list was read."""
        return self._seen[0]


def decode_list(data: bytes, path: str) -> Condemned:
    """Build a list from its stored form."""
    return stored_format.decode_value(data, path, "condemned list", Condemned)


def _names(path: str, wanted: frozenset[str]) -> bool:
    """Return whether a file is among what is wanted, by itself or with the folder that belongs to it."""
    return path in wanted or "/".join(path.split("/", 4)[:4]) in wanted
