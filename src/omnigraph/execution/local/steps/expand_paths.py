"""Extending rows by paths, and what must be true of weights before a query runs."""

from __future__ import annotations

import numpy as np

from omnigraph.base.errors import ValidationError
from omnigraph.compiler.ir.pattern import Direction, Traverse, Variable
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.local.budget import QueryBudget
from omnigraph.execution.local.cache.exact_numbers import ExactNumbers
from omnigraph.execution.local.cache.snapshot_cache import Views
from omnigraph.execution.local.cache.united_tables import UnitedPart, UnitedTables
from omnigraph.execution.local.frame import NULL, Frame, Positions
from omnigraph.execution.local.paths.costs import Weights
from omnigraph.execution.local.paths.found import FoundPaths
from omnigraph.execution.local.paths.search import PathSearch
from omnigraph.execution.local.paths.space import EdgeLists, PathSpace
from omnigraph.execution.local.steps.traverse import direction_from, join
from omnigraph.execution.local.steps.values import Values
from omnigraph.execution.local.steps.ways import UnitedEdges, edges_of
from omnigraph.execution.plan.per_type import stored_property
from omnigraph.execution.plan.used_variables import parts_of

_SHOWN_ROWS = 3


def check_weights(query: ReadQuery, views: Views) -> None:
    """Raise ValidationError if an edge that a query may go over by weight has none, or a negative one.

    All edges of the types are looked at: which of them a search meets depends on its plan.
    """
    for step in parts_of(query, Traverse):
        if step.shortest is None or step.shortest.weight is None:
            continue
        for part, numbers in _weights_of(views, step):
            if len(numbers.bad) == 0:
                continue
            owner, shown = part.owner, numbers.bad[:_SHOWN_ROWS]
            ids = part.view.take("id", shown, False).to_pylist()
            name = step.shortest.weight.name
            more = f" and {len(numbers.bad) - len(ids):,} more" if len(numbers.bad) > len(ids) else ""
            raise ValidationError(
                f"a path cannot be short by {owner.name}.{name}: it is null or negative in the edges "
                f"{', '.join(map(repr, ids))}{more}; give them a weight",
                type_name=owner.name,
                property=name,
                ids=ids,
            )


class PathExpander:
    """Extends rows by paths, on one snapshot, for one query."""

    def __init__(self, query: ReadQuery, values: Values, views: Views, budget: QueryBudget) -> None:
        self._variables = query.variables
        self._values = values
        self._views = views
        self._budget = budget
        self._walks: dict[Traverse, PathWalk] = {}

    def walk(self, step: Traverse) -> PathWalk:
        """Return the search of a traversal; its paths are kept for as long as the query runs."""
        found = self._walks.get(step)
        if found is None:
            found = self._walks[step] = PathWalk(
                step, self._views, self._variables, self._values, self._budget
            )
        return found

    def follow(self, step: Traverse, frame: Frame, start: int) -> Frame:
        """Extend rows by the paths from the bound end, or between the two."""
        reverse = start == step.target and start != step.source
        end = step.source if reverse else step.target
        assert step.path is not None
        ends = frame.columns.get(end)
        places, far, paths = self.walk(step).follow(frame.columns[start], ends, reverse)
        bound = {end: far, step.path: paths}
        if step.length is not None:
            bound[step.length] = self._values.paths[step.path].lengths(paths)
        return join(frame, places, bound)

    def estimate(self, step: Traverse, frame: Frame, start: int) -> Positions:
        """Return how many paths are expected from each row."""
        end = step.source if start == step.target else step.target
        count = 1 if step.shortest is None else step.shortest.count
        each = 1 if end in frame.columns else max(1, self._values.rows(end))
        return np.full(frame.rows, each * count, dtype=np.int64)


class PathWalk:
    """The search of one traversal, in the positions of its variables."""

    def __init__(
        self,
        step: Traverse,
        views: Views,
        variables: tuple[Variable, ...],
        values: Values,
        budget: QueryBudget,
    ) -> None:
        assert step.path is not None
        self._united: UnitedEdges | None = None
        self._source, self._target = (
            views.united_tables(variables[slot]) for slot in (step.source, step.target)
        )
        space = self._space(step, views, variables)
        self.found = values.paths.setdefault(step.path, FoundPaths(space))
        self._search = PathSearch(step, space, self.found, budget)

    def follow(self, nodes: Positions, ends: Positions | None, backwards: bool) -> tuple[Positions, ...]:
        """Return the places of rows, the nodes at the other end, and the paths."""
        near, far = (self._target, self._source) if backwards else (self._source, self._target)
        entered = None if ends is None else self._enter(ends, far)
        places, other, paths = self._search.follow(self._enter(nodes, near), entered, backwards)
        found = self._leave(other, far)
        kept = np.flatnonzero(found != NULL)
        return places[kept], found[kept], paths[kept]

    def _space(self, step: Traverse, views: Views, variables: tuple[Variable, ...]) -> PathSpace:
        weights = None
        if step.shortest is not None and step.shortest.weight is not None:
            weights = Weights.of([numbers for _, numbers in _weights_of(views, step)])
        edges = views.united_tables(edges_of(step))
        edge = views.catalog.edge(step.edge_type)
        ends = (variables[step.source], variables[step.target])
        assert edge is not None
        if step.more or edge.source != edge.target or any(item.types != (edge.source,) for item in ends):
            united = self._united = UnitedEdges(views, step, variables)
            toward = (Direction.BACKWARD, Direction.FORWARD)
            return PathSpace(united.nodes, edges, lambda out: united.incident(toward[out]), weights)

        def lists(out: bool) -> EdgeLists:
            return views.adjacency(edge).incident(direction_from(step.direction, not out))

        return PathSpace(self._source, edges, lists, weights)

    def _enter(self, nodes: Positions, own: UnitedTables) -> Positions:
        return nodes if self._united is None else own.convert(nodes, self._united.nodes)

    def _leave(self, nodes: Positions, own: UnitedTables) -> Positions:
        return nodes if self._united is None else self._united.nodes.convert(nodes, own)


def _weights_of(views: Views, step: Traverse) -> list[tuple[UnitedPart, ExactNumbers]]:
    """Return the weights of each edge type of a search."""
    assert step.shortest is not None and step.shortest.weight is not None
    found = []
    for part in views.united_tables(edges_of(step)).parts:
        stored = stored_property(part.owner, step.shortest.weight)
        assert stored is not None
        found.append((part, part.view.exact_numbers(stored.name)))
    return found
