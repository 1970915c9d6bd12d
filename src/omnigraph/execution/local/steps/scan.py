"""The nodes of a variable that pass some filters, found by the planned access path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from omnigraph.base.cancellation import chunks
from omnigraph.compiler.ir import conditions as ir
from omnigraph.compiler.ir.values import Constant, EntityId, PlainValue, PropertyValue
from omnigraph.execution.conditions import evaluate_on
from omnigraph.execution.local.cache.table_view import TableView
from omnigraph.execution.local.frame import Frame, Mask, Positions, distinct
from omnigraph.execution.local.pushdown import as_filter, is_long
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.plan.access import Access, AccessPath
from omnigraph.execution.plan.per_type import rewrite
from omnigraph.execution.plan.pushable import column_of, exact_value, find_text_match
from omnigraph.storage.filters import AllOf, Filter

_ROWS_PER_LOOKUP = 64
"""Values are looked up in the hash table if there is at most one for so many rows."""


class Scans:
    """Finds nodes of one snapshot, for one query."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self.taken: Access = Access.ALL
        """The access path that the last scan used."""

    def nodes(
        self, slot: int, paths: Sequence[AccessPath], conditions: Sequence[tuple[int, ir.Condition]]
    ) -> Positions:
        """Return the sorted nodes of a variable that pass some filters, by an access path for each type."""
        if len(paths) == 1:
            return self._nodes(slot, self._values.view(slot), paths[0], conditions)
        found = []
        for part, path in zip(self._values.united_tables(slot).parts, paths, strict=True):
            own = [(number, rewrite(condition, slot, part.owner)) for number, condition in conditions]
            found.append(self._nodes(slot, part.view, path, own, part.begin))
        return np.concatenate(found)

    def _nodes(
        self,
        slot: int,
        view: TableView,
        path: AccessPath,
        conditions: Sequence[tuple[int, ir.Condition]],
        begin: int = 0,
    ) -> Positions:
        """Return the nodes of one table that pass some filters; its positions start at `begin`."""
        if path.access is Access.HASH and len(conditions) == 1:
            self.taken, alone = Access.HASH, _look_up(view, conditions[0][1])
            if alone is not None:
                return alone + begin if begin else alone
        found, answered = self._find_by_path(view, path, dict(conditions))
        rest = [condition for number, condition in conditions if number not in answered]
        if path.access is not Access.HASH:
            self._note_exact(view, path, rest)
        if found is None:
            found = view.positions
        found = found + begin if begin else found
        frame, wanted = Frame(len(found), {slot: found}), None
        for condition in rest if len(found) else ():
            verdict = self.verdict(condition, frame)
            wanted = verdict if wanted is None else wanted & verdict
        return found if wanted is None else frame.keep(wanted).columns[slot]

    def filter_rows(self, condition: ir.Condition, frame: Frame) -> Frame:
        """Return the rows of a frame for which a condition is true."""
        return frame.keep(self.verdict(condition, frame)) if frame.rows else frame

    def verdict(self, condition: ir.Condition, frame: Frame) -> Mask:
        """Return for each row of a frame whether a condition is true."""
        wanted = np.empty(frame.rows, dtype=bool)
        for part in chunks(frame.rows):
            rows = frame if part.stop - part.start == frame.rows else frame.cut(part.start, part.stop)
            verdict = pc.fill_null(evaluate_on(condition, self._values.over(rows)), False)
            wanted[part] = verdict.to_numpy(zero_copy_only=False)
        return wanted

    def _find_by_path(
        self, view: TableView, path: AccessPath, conditions: dict[int, ir.Condition]
    ) -> tuple[Positions | None, frozenset[int]]:
        """Return the rows that the access path finds, None for all, and the filters it has answered."""
        self.taken = path.access
        match path.access:
            case Access.HASH:
                found = _look_up(view, conditions[path.by[0]])
                answered = frozenset(path.by)
            case Access.INDEX | Access.PUSHED:
                return self._find_in_storage(view, path, conditions)
            case Access.WORDS:
                found = _find_words(view, path, conditions[path.by[0]])
                answered = frozenset(path.by)
            case _:
                found, answered = None, frozenset()
        if found is None and path.access is not Access.ALL:
            self.taken = Access.MEMORY
        return (None, frozenset()) if found is None else (found, answered)

    def _find_in_storage(
        self, view: TableView, path: AccessPath, conditions: dict[int, ir.Condition]
    ) -> tuple[Positions | None, frozenset[int]]:
        filters: dict[int, Filter] = {}
        for number in path.by:
            filter = as_filter(conditions[number])
            if filter is not None:
                filters[number] = filter
        long = next((number for number, filter in filters.items() if is_long(filter)), None)
        if long is not None:
            filters = {long: filters[long]}
        if not filters:
            self.taken = Access.MEMORY
            return None, frozenset()
        parts = tuple(filters.values())
        whole = parts[0] if len(parts) == 1 else AllOf(parts)
        # A filter that cannot be pushed is evaluated on the rows that the others find.
        found = view.stored.find(whole, path.columns, path.access is Access.INDEX)
        return found, frozenset(filters)

    def _note_exact(self, view: TableView, path: AccessPath, rest: Sequence[ir.Condition]) -> None:
        """Note which columns were scanned for exact values, as a hash table may be worth making."""
        if path.access is not Access.MEMORY:
            return
        for condition in rest:
            equality = exact_value(condition)
            if equality is not None:
                view.note_exact_search(column_of(equality[0]))


def _look_up(view: TableView, condition: ir.Condition) -> Positions | None:
    """Return the rows with an exact value, or one of a list; None if a scan is better."""
    column, given = _sides_of_equality(condition)
    if isinstance(given, tuple):
        values = {item for item in given if item is not None}
        if len(values) * _ROWS_PER_LOOKUP > view.rows and len(values) > 1:
            return None
        if not all(_is_exact(item) for item in values):
            return None
        index = view.lookup(column)
        found = [index.find(item) for item in values if isinstance(item, str | int)]
        return distinct(*found) if found else np.empty(0, dtype=np.int64)
    if not isinstance(given, str | int) or isinstance(given, bool):
        return None
    return view.lookup(column).find(given)


def _sides_of_equality(condition: ir.Condition) -> tuple[str, PlainValue]:
    """Return the column, and the value or list, that a planned condition compares."""
    match condition:
        case ir.Compare(_, PropertyValue() | EntityId() as value, Constant(given)):
            return column_of(value), given
        case ir.Compare(_, Constant(given), PropertyValue() | EntityId() as value):
            return column_of(value), given
        case ir.ListContains(Constant(given), PropertyValue() | EntityId() as value):
            return column_of(value), given
    raise AssertionError("the plan looks up exact values only")


def _is_exact(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _find_words(view: TableView, path: AccessPath, condition: ir.Condition) -> Positions | None:
    """Return the rows whose text contains a word; None if all must be scanned."""
    match = find_text_match(condition)
    assert match is not None and isinstance(match.text, Constant)
    text = match.text.value
    if not isinstance(text, str):
        return None
    return view.stored.find_words(match.field.declared.name, text, path.columns)
