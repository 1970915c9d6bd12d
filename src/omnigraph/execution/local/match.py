"""Evaluating a pattern: steps are taken as soon as they can be, cheap ones first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow.compute as pc

from omnigraph.base.errors import ResourceLimit
from omnigraph.compiler.ir.pattern import AntiJoin, Block, Filter, LeftJoin, Scan, Step, Traverse
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.conditions import evaluate_on
from omnigraph.execution.local.frame import NULL, START, Frame
from omnigraph.execution.local.slots import slots_of
from omnigraph.execution.local.traverse import follow
from omnigraph.execution.local.values import Values
from omnigraph.execution.local.views import Positions, Views


class Matcher:
    """Finds the assignments of a query's pattern on one snapshot."""

    def __init__(
        self, query: ReadQuery, views: Views, values: Values, row_limit: int, best: Mapping[int, Positions]
    ) -> None:
        """Take the query and its tables; `best` narrows variables to the nodes that a ranking has chosen."""
        self._query = query
        self._views = views
        self._values = values
        self._row_limit = row_limit
        self._best = best
        self._candidates: dict[tuple[int, bool], Positions] = {}

    def run(self) -> Frame:
        """Return all assignments of the top block."""
        return self._solve(self._query.match, START)

    def candidates(self, slot: int, steps: tuple[Step, ...]) -> Positions:
        """Return the nodes that a variable can be, by the filters of its block that mention nothing else."""
        key = (slot, slot in self._best)
        if key not in self._candidates:
            self._candidates[key] = self._narrowed(slot, steps)
        return self._candidates[key]

    def _narrowed(self, slot: int, steps: tuple[Step, ...]) -> Positions:
        found = np.arange(self._rows_of(slot), dtype=np.int64)
        if slot in self._best:
            found = self._best[slot]
        for step in steps:
            if isinstance(step, Filter) and slots_of(step.condition) == {slot}:
                found = self._filtered(step, Frame(len(found), {slot: found})).columns[slot]
        return found

    def _solve(self, block: Block, start: Frame) -> Frame:
        frame, waiting = start, list(block.steps)
        while waiting:
            step = self._choose(waiting, frame)
            waiting.remove(step)
            frame = self._take(step, frame, block)
            if frame.rows > self._row_limit:
                raise ResourceLimit(
                    f"the query has more than {self._row_limit} intermediate rows: narrow it, or raise "
                    "OMNIGRAPH_QUERY_ROWS",
                    resource="query_rows",
                    limit=self._row_limit,
                    actual=frame.rows,
                )
        return frame

    def _choose(self, waiting: list[Step], frame: Frame) -> Step:
        """Return the next step: what only narrows, then what follows edges, then the smallest scan."""
        bound = set(frame.columns)
        introduced = {slot for step in waiting for slot in _introduces(step)} - bound
        ranked = sorted(
            enumerate(waiting), key=lambda item: (self._cost(item[1], bound, introduced, waiting), item[0])
        )
        return ranked[0][1]

    def _cost(
        self, step: Step, bound: set[int], introduced: set[int], waiting: list[Step]
    ) -> tuple[int, float]:
        later = {
            slot
            for other in waiting
            if isinstance(other, LeftJoin) and other is not step
            for slot in other.introduces
        }
        if slots_of(step) & later:
            return (9, 0.0)  # what a left join introduces is used only after it
        match step:
            case Filter(condition):
                return (0, 0.0) if slots_of(condition) <= bound else (9, 0.0)
            case Scan(variable):
                if variable in bound:
                    return (0, 0.0)
                return (4, float(len(self.candidates(variable, tuple(waiting)))))
            case Traverse():
                ends = {step.source, step.target} & bound
                return (1, 0.0) if len(ends) == 2 else (3, 0.0) if ends else (5, 0.0)
            case AntiJoin(block):
                # What the outer block will still bind, the inner one must not bind for itself.
                return (2, 0.0) if not (slots_of(block) & introduced) else (8, 0.0)
            case LeftJoin(block, introduces):
                others = introduced - set(introduces)
                return (6, 0.0) if not (slots_of(block) & others) else (8, 0.0)

    def _take(self, step: Step, frame: Frame, block: Block) -> Frame:
        match step:
            case Filter():
                return self._filtered(step, frame)
            case Scan(variable):
                return self._scanned(variable, frame, block)
            case Traverse():
                return self._followed(step, frame, block)
            case AntiJoin(inner):
                _, places = self._inner(inner, frame)
                without = np.ones(frame.rows, dtype=bool)
                without[places] = False
                return frame.keep(without)
            case LeftJoin(inner, introduces):
                return self._left_joined(inner, introduces, frame)

    def _filtered(self, step: Filter, frame: Frame) -> Frame:
        if frame.rows == 0:
            return frame
        verdict = evaluate_on(step.condition, self._values.over(frame))
        return frame.keep(np.asarray(pc.fill_null(verdict, False).to_numpy(zero_copy_only=False), dtype=bool))

    def _scanned(self, variable: int, frame: Frame, block: Block) -> Frame:
        if variable in frame.columns:
            kept = frame.columns[variable] != NULL
            if variable in self._best:
                kept &= np.isin(frame.columns[variable], self._best[variable])
            return frame.keep(kept)
        nodes = self.candidates(variable, block.steps)
        places = np.repeat(np.arange(frame.rows, dtype=np.int64), len(nodes))
        return frame.take(places, {variable: np.tile(nodes, frame.rows)})

    def _followed(self, step: Traverse, frame: Frame, block: Block) -> Frame:
        edge = self._views.catalog.edge(step.edge_type)
        assert edge is not None
        if not {step.source, step.target} & set(frame.columns):
            frame = self._scanned(step.source, frame, block)
        start = step.source if step.source in frame.columns else step.target
        return follow(step, frame, self._views.adjacency(edge), start)

    def _inner(self, block: Block, frame: Frame) -> tuple[Frame, Positions]:
        """Solve a block for every row; return its solutions and the row that each extends."""
        places = np.arange(frame.rows, dtype=np.int64)
        found = self._solve(block, frame.with_column(_PLACE, places))
        return found, found.columns[_PLACE]

    def _left_joined(self, block: Block, introduces: tuple[int, ...], frame: Frame) -> Frame:
        found, places = self._inner(block, frame)
        missing = np.setdiff1d(np.arange(frame.rows, dtype=np.int64), places)
        nothing = np.full(len(missing), NULL, dtype=np.int64)
        rest = frame.take(missing, dict.fromkeys(introduces, nothing))
        slots = [slot for slot in rest.columns if slot in found.columns]
        joined = {slot: np.concatenate([found.columns[slot], rest.columns[slot]]) for slot in slots}
        return Frame(found.rows + rest.rows, joined)

    def _rows_of(self, slot: int) -> int:
        variable = self._query.variables[slot]
        return self._views.table(f"{variable.kind.value}:{variable.type_name}").rows


_PLACE = -1
"""The slot under which an inner block carries the row that it was started from."""


def _introduces(step: Step) -> set[int]:
    match step:
        case Scan(variable):
            return {variable}
        case Traverse():
            return {slot for slot in (step.source, step.target, step.edge, step.length) if slot is not None}
        case LeftJoin(_, introduces):
            return set(introduces)
    return set()
