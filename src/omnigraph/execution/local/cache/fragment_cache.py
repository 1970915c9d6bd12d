"""Cached columns of a table's fragments, and what is derived from them; versions of a table share them.

Files never change, so what was read from them, or derived from that, is valid for every version with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.cancellation import checkpoint
from omnigraph.execution.local.frame import Positions
from omnigraph.storage.format.fragments import Fragment
from omnigraph.storage.tables.table import Table

_MAX_TEXT_BYTES = 2**31 - 1
"""Bytes that a string array with 32-bit offsets can hold."""
_RUN = "run"
"""The kind of a column's array for a whole run of fragments."""
_PIECES = "pieces"
"""The kind of a column's arrays for the fragments of a run, not joined."""
_WRITES_AT_ONCE = 8
"""What an older version has made of a run is extended by so many fragments at most."""
_ROWS_READ_TOGETHER = 1024
"""Of a fragment with at most so many rows all columns that are in use are read at once."""
_NONE: Positions = np.empty(0, dtype=np.int64)
_LARGE_FRAGMENT_ROWS = 4096
_LARGE_FRAGMENT_SHARE = 256
"""A fragment is large, and expected to stay, if it has so many rows and one n-th of the table."""


@dataclass(frozen=True, slots=True)
class Run:
    """Adjacent fragments: those up to the last large one, or the small ones after it."""

    start: int
    fragments: tuple[Fragment, ...]
    is_large: bool
    rows: int
    """How many rows they hold, deleted ones included."""
    files: tuple[tuple[str, ...], ...]
    """The files of the fragments, which identify them."""

    @staticmethod
    def of(start: int, fragments: tuple[Fragment, ...], is_large: bool) -> Run:
        """Make a run of fragments whose first row has a position."""
        rows = sum(fragment.rows for fragment in fragments)
        return Run(start, fragments, is_large, rows, tuple(fragment.files for fragment in fragments))


@dataclass(frozen=True, slots=True)
class Pieces:
    """Arrays of a column one after the other, and how much memory they take."""

    arrays: tuple[pa.Array, ...]
    nbytes: int

    def plus(self, more: Sequence[pa.Array]) -> Pieces:
        """Return these and more arrays; the memory of each is asked for once."""
        return Pieces((*self.arrays, *more), self.nbytes + sum(array.nbytes for array in more))


_NO_PIECES = Pieces((), 0)


@dataclass(frozen=True, slots=True)
class CachedPart:
    """Something derived from a column of some fragments with their deletions."""

    made: Any
    fragments: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class KnownParts:
    """What a view has cached that another version of its table may use."""

    parts: dict[tuple[str, int, Any], CachedPart]
    deleted: dict[tuple[tuple[str, ...], Any], Positions]


class Parts:
    """The columns of one version's fragments, and what is derived from them run by run."""

    def __init__(self, table: Table, fragments: tuple[Fragment, ...], older: Parts | None) -> None:
        """Take some fragments; what an older version has read from their files is not read again."""
        self._table = table
        self._fragments = fragments
        self._here = {fragment.files: fragment for fragment in fragments}
        self.runs = _split_runs(fragments)
        self._older = older._find_known(fragments) if older is not None else KnownParts({}, {})
        self._parts: dict[tuple[str, int, Any], CachedPart] = {}
        self._deleted: dict[tuple[tuple[str, ...], Any], Positions] = {}

    def has(self, kind: str, number: int) -> bool:
        """Return whether something derived from a column is cached, by this version or an older one."""
        return any(
            made == kind and column == number
            for known in (self._parts, self._older.parts)
            for made, column, _ in list(known)
        )

    def by_runs(self, name: str, number: int) -> list[pa.Array]:
        """Return a column as an array for each run of fragments."""
        return [self._run_column(name, number, run) for run in self.runs]

    def pieces(self, name: str, number: int) -> Pieces:
        """Return a column as an array of the large run and one of each fragment after it."""
        if len(self.runs) != 2:
            return _NO_PIECES.plus(self.by_runs(name, number))
        large, small = self.runs
        first = self._run_column(name, number, large)
        joined = self._parts.get((_RUN, number, small.files))
        if joined is not None:
            return _NO_PIECES.plus([first, joined.made])

        def extend(before: Pieces, later: Sequence[Fragment]) -> Pieces:
            return before.plus([self._read_column(name, number, item) for item in later])

        after: Pieces = self._make_once(
            _PIECES,
            number,
            small.fragments,
            lambda: self._extend_known(_PIECES, number, small, _NO_PIECES, extend),
        )
        return Pieces((first, *after.arrays), first.nbytes + after.nbytes)

    def whole(self, name: str, number: int) -> pa.Array:
        """Return a whole column; its cached parts become slices of it, so that nothing is held twice."""
        found = self._concatenate(name, self.by_runs(name, number))
        if len(self.runs) > 1:
            for run in self.runs:
                self._hold(number, run.fragments, found.slice(run.start, run.rows))
        return found

    def by_run(
        self,
        kind: str,
        name: str,
        number: int,
        make: Callable[[pa.Array], Any],
        grow: Callable[[Any, pa.Array], Any] | None = None,
    ) -> list[Any]:
        """Return what is derived from a column run by run; large fragments rarely change.

        With `grow`, that of a run of small ones is made from that of an older version, None for nothing, and
        the values of a fragment, one after the other.
        """

        def extend(before: Any, later: Sequence[Fragment]) -> Any:
            assert grow is not None
            for fragment in later:
                before = grow(before, self._read_column(name, number, fragment))
            return before

        def make_part(run: Run) -> Any:
            def make_now() -> Any:
                if grow is not None and not run.is_large:
                    return self._extend_known(kind, number, run, None, extend)
                return make(self._run_column(name, number, run))

            return self._make_once(kind, number, run.fragments, make_now)

        return [make_part(run) for run in self.runs]

    def deleted_positions(self) -> Positions:
        """Return the sorted positions of the deleted rows."""
        found, start = [_NONE], 0
        for fragment in self._fragments:
            if fragment.deletion is not None:
                found.append(self._deleted_positions_of(fragment) + start)
            start += fragment.rows
        return np.concatenate(found)

    @property
    def nbytes(self) -> int:
        """How much memory deletions take, and parts of an older version that this one may still use."""
        deleted = [*list(self._deleted.values()), *list(self._older.deleted.values())]
        # The array of a run has the same memory as those of its fragments.
        older = [
            part.made for (kind, *_), part in list(self._older.parts.items()) if kind not in (_RUN, _PIECES)
        ]
        return sum(int(item.nbytes) for item in (*deleted, *older))

    def _find_known(self, fragments: tuple[Fragment, ...]) -> KnownParts:
        """Return what is cached of some fragments, for another version with them."""
        files = {fragment.files for fragment in fragments}
        parts = {**self._older.parts, **self._parts}
        deleted = {**self._older.deleted, **self._deleted}
        return KnownParts(
            {place: part for place, part in parts.items() if files.issuperset(place[2])},
            {place: rows for place, rows in deleted.items() if place[0] in files},
        )

    def _run_column(self, name: str, number: int, run: Run) -> pa.Array:
        if len(run.fragments) == 1:
            return self._read_column(name, number, run.fragments[0])

        def join() -> pa.Array:
            *before, last = run.fragments
            most = self._older.parts.get((_RUN, number, run.files[:-1]))
            if most is not None and self._has_all(most):
                return self._concatenate(name, [most.made, self._read_column(name, number, last)])
            found = [self._read_column(name, number, item) for item in before]
            return self._concatenate(name, [*found, self._read_column(name, number, last)])

        place = (_RUN, number, run.files)
        known = place in self._parts
        found: pa.Array = self._make_once(_RUN, number, run.fragments, join)
        if not known:
            self._hold(number, self._parts[place].fragments, found)
        return found

    def _extend_known(
        self,
        kind: str,
        number: int,
        run: Run,
        nothing: Any,
        extend: Callable[[Any, Sequence[Fragment]], Any],
    ) -> Any:
        """Return what an older version has made of the first fragments of a run, extended by the others."""
        for later in range(1, min(_WRITES_AT_ONCE, len(run.fragments) - 1) + 1):
            known = self._older.parts.get((kind, number, run.files[:-later]))
            if known is not None and self._has_all(known):
                return extend(known.made, run.fragments[-later:])
        return extend(nothing, run.fragments)

    def _hold(self, number: int, fragments: tuple[Fragment, ...], column: pa.Array) -> None:
        """Hold the parts of a column as slices of one array of some fragments."""
        files = tuple(fragment.files for fragment in fragments)
        run = self._parts.get((_RUN, number, files))
        if run is not None:
            self._parts[_RUN, number, files] = replace(run, made=column)
        start = 0
        for fragment in fragments:
            place = ("column", number, (fragment.files,))
            known = self._parts.get(place)
            origin = (fragment,) if known is None else known.fragments
            self._parts[place] = CachedPart(column.slice(start, fragment.rows), origin)
            self._older.parts.pop(place, None)
            start += fragment.rows

    def _read_column(self, name: str, number: int, fragment: Fragment) -> pa.Array:
        place = ("column", number, (fragment.files,))
        if place not in self._parts and fragment.rows <= _ROWS_READ_TOGETHER:
            known = self._older.parts.get(place)
            if known is None or not self._has_all(known):
                self._read_together(name, fragment)
        return self._make_once(
            "column", number, (fragment,), lambda: self._table.stored_columns([name], fragment)[0]
        )

    def read_ahead(self, names: Sequence[str]) -> None:
        """Read columns that are not known yet, with one scan of each fragment."""
        for fragment in self._fragments:
            unknown = [name for name in names if not self._knows(self._table.column_ids[name], fragment)]
            if len(unknown) > 1:
                self._scan(unknown, fragment)

    def _knows(self, number: int, fragment: Fragment) -> bool:
        place = ("column", number, (fragment.files,))
        known = self._older.parts.get(place)
        return place in self._parts or (known is not None and self._has_all(known))

    def _read_together(self, name: str, fragment: Fragment) -> None:
        """Read a column of a new fragment, and those that were read of others, with one scan."""
        known = {number for kind, number, _ in (*self._older.parts, *self._parts) if kind == "column"}
        names = [other for other, number in self._table.column_ids.items() if number in known]
        self._scan([name, *(other for other in names if other != name)], fragment)

    def _scan(self, names: Sequence[str], fragment: Fragment) -> None:
        checkpoint()
        found = self._table.stored_columns(names, fragment)
        for other, column in zip(names, found, strict=True):
            place = ("column", self._table.column_ids[other], (fragment.files,))
            self._parts[place] = CachedPart(column, (fragment,))
            self._older.parts.pop(place, None)

    def _concatenate(self, name: str, arrays: list[pa.Array]) -> pa.Array:
        if not arrays:
            return pa.nulls(0, self._table.schema.field(name).type)
        if len(arrays) == 1:
            return arrays[0]
        wide = any(pa.types.is_large_string(array.type) for array in arrays)
        narrow = pa.types.is_string(arrays[0].type)
        if wide or (narrow and sum(array.nbytes for array in arrays) > _MAX_TEXT_BYTES):
            arrays = [array.cast(pa.large_string()) for array in arrays]
        return pa.concat_arrays(arrays)

    def _make_once(
        self, kind: str, number: int, fragments: tuple[Fragment, ...], make: Callable[[], Any]
    ) -> Any:
        """Return something derived from a column of some fragments, from the cache if possible."""
        place = (kind, number, tuple(fragment.files for fragment in fragments))
        found = self._parts.get(place)
        if found is None:
            found = self._older.parts.get(place)
            if found is None or not self._has_all(found):
                checkpoint()
                found = CachedPart(make(), fragments)
            self._parts[place] = found
            self._older.parts.pop(place, None)
        return found.made

    def _has_all(self, part: CachedPart) -> bool:
        """Return whether a part of another version has every live row of this one."""
        for fragment in part.fragments:
            if fragment.deletion is not None and fragment.deletion != self._here[fragment.files].deletion:
                deleted = self._older.deleted.get((fragment.files, fragment.deletion))
                now = self._deleted_positions_of(self._here[fragment.files])
                if deleted is None or len(np.setdiff1d(deleted, now, assume_unique=True)):
                    return False
        return True

    def _deleted_positions_of(self, fragment: Fragment) -> Positions:
        if fragment.deletion is None:
            return _NONE
        place = (fragment.files, fragment.deletion)
        if place not in self._deleted:
            known = self._older.deleted.get(place)
            self._deleted[place] = self._table.deleted_rows(fragment) if known is None else known
        return self._deleted[place]


def _split_runs(fragments: tuple[Fragment, ...]) -> list[Run]:
    """Split fragments into those up to the last large one, and the small ones after it."""
    total = sum(fragment.rows for fragment in fragments)
    least = max(_LARGE_FRAGMENT_ROWS, total // _LARGE_FRAGMENT_SHARE)
    large = [at for at, fragment in enumerate(fragments) if fragment.rows >= least]
    border = large[-1] + 1 if large else 0
    first = Run.of(0, fragments[:border], is_large=True)
    rest = Run.of(first.rows, fragments[border:], is_large=False)
    return [run for run in (first, rest) if run.fragments]
