"""Cached columns of a table's fragments, and what is derived from them; versions of a table share them.

Files never change, so what was read from them, or derived from that, is valid for every version with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph.base.cancellation import checkpoint
from omnigraph.execution.local.frame import Mask
from omnigraph.storage.tables.table import Fragment, Table

_MAX_TEXT_BYTES = 2**31 - 1
"""Bytes that a string array with 32-bit offsets can hold."""
_LARGE_FRAGMENT_ROWS = 4096
_LARGE_FRAGMENT_SHARE = 256
"""A fragment is large, and expected to stay, if it has so many rows and one n-th of the table."""


@dataclass(frozen=True, slots=True)
class Run:
    """Adjacent fragments: those up to the last large one, or the small ones after it."""

    start: int
    fragments: tuple[Fragment, ...]
    is_large: bool

    @property
    def rows(self) -> int:
        """How many rows they hold, deleted ones included."""
        return sum(fragment.rows for fragment in self.fragments)

    @property
    def files(self) -> tuple[tuple[str, ...], ...]:
        """The files of the fragments, which identify them."""
        return tuple(fragment.files for fragment in self.fragments)


@dataclass(frozen=True, slots=True)
class CachedPart:
    """Something derived from a column of some fragments with their deletions."""

    made: Any
    fragments: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class KnownParts:
    """What a view has cached that another version of its table may use."""

    parts: dict[tuple[str, int, Any], CachedPart]
    masks: dict[tuple[tuple[str, ...], Any], Mask]


class Parts:
    """The columns of one version's fragments, and what is derived from them run by run."""

    def __init__(self, table: Table, fragments: tuple[Fragment, ...], older: Parts | None) -> None:
        """Take some fragments; what an older version has read from their files is not read again."""
        self._table = table
        self._fragments = fragments
        self.runs = _split_runs(fragments)
        self._older = older._find_known(fragments) if older is not None else KnownParts({}, {})
        self._parts: dict[tuple[str, int, Any], CachedPart] = {}
        self._masks: dict[tuple[tuple[str, ...], Any], Mask] = {}

    def has(self, kind: str, number: int) -> bool:
        """Return whether something derived from a column is cached, by this version or an older one."""
        return any(
            made == kind and column == number
            for known in (self._parts, self._older.parts)
            for made, column, _ in list(known)
        )

    def whole(self, name: str, number: int) -> pa.Array:
        """Return a whole column; its cached parts become slices of it, so that nothing is held twice."""
        found = self._concatenate(name, [self._read_column(name, number, item) for item in self._fragments])
        start = 0
        for fragment in self._fragments:
            place = ("column", number, (fragment.files,))
            self._parts[place] = replace(self._parts[place], made=found.slice(start, fragment.rows))
            start += fragment.rows
        return found

    def by_run(
        self, kind: str, name: str, number: int, make: Callable[[pa.Array], Any], whole: pa.Array | None
    ) -> list[Any]:
        """Return what is derived from a column run by run; large fragments rarely change."""

        def column(run: Run) -> pa.Array:
            if whole is not None:
                return whole.slice(run.start, run.rows)
            return self._concatenate(name, [self._read_column(name, number, item) for item in run.fragments])

        def make_part(run: Run) -> Any:
            return self._make_once(kind, number, run.fragments, lambda: make(column(run)))

        return [make_part(run) for run in self.runs]

    def live(self) -> Mask | None:
        """Return which rows are not deleted; None for all."""
        if all(item.deletion is None for item in self._fragments):
            return None
        return np.concatenate([self._live_in(item) for item in self._fragments])

    @property
    def nbytes(self) -> int:
        """How much memory masks take, and parts of an older version that this one may still use."""
        masks = [*list(self._masks.values()), *list(self._older.masks.values())]
        older = [part.made for part in list(self._older.parts.values())]
        return sum(int(item.nbytes) for item in (*masks, *older))

    def _find_known(self, fragments: tuple[Fragment, ...]) -> KnownParts:
        """Return what is cached of some fragments, for another version with them."""
        files = {fragment.files for fragment in fragments}
        parts = {**self._older.parts, **self._parts}
        masks = {**self._older.masks, **self._masks}
        return KnownParts(
            {place: part for place, part in parts.items() if files.issuperset(place[2])},
            {place: mask for place, mask in masks.items() if place[0] in files},
        )

    def _read_column(self, name: str, number: int, fragment: Fragment) -> pa.Array:
        return self._make_once(
            "column", number, (fragment,), lambda: self._table.stored_column(name, fragment)
        )

    def _concatenate(self, name: str, arrays: list[pa.Array]) -> pa.Array:
        if not arrays:
            return pa.nulls(0, self._table.schema.field(name).type)
        if len(arrays) == 1:
            return arrays[0]
        if pa.types.is_string(arrays[0].type) and sum(array.nbytes for array in arrays) > _MAX_TEXT_BYTES:
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
        here = {fragment.files: fragment for fragment in self._fragments}
        for fragment in part.fragments:
            if fragment.deletion not in (None, here[fragment.files].deletion):
                mask = self._older.masks.get((fragment.files, fragment.deletion))
                if mask is None or bool((self._live_in(here[fragment.files]) & ~mask).any()):
                    return False
        return True

    def _live_in(self, fragment: Fragment) -> Mask:
        if fragment.deletion is None:
            return np.ones(fragment.rows, dtype=bool)
        place = (fragment.files, fragment.deletion)
        if place not in self._masks:
            known = self._older.masks.get(place)
            self._masks[place] = self._table.live_rows(fragment) if known is None else known
        return self._masks[place]


def _split_runs(fragments: tuple[Fragment, ...]) -> list[Run]:
    """Split fragments into those up to the last large one, and the small ones after it."""
    total = sum(fragment.rows for fragment in fragments)
    least = max(_LARGE_FRAGMENT_ROWS, total // _LARGE_FRAGMENT_SHARE)
    large = [at for at, fragment in enumerate(fragments) if fragment.rows >= least]
    border = large[-1] + 1 if large else 0
    first = Run(0, fragments[:border], is_large=True)
    rest = Run(first.rows, fragments[border:], is_large=False)
    return [run for run in (first, rest) if run.fragments]
