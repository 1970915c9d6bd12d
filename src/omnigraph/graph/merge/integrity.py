"""The rules of the schema over a merged graph: the same rules as for every write, all violations at once."""

from __future__ import annotations

from collections.abc import Set

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.merge.conflicts import ConflictKind
from omnigraph.graph.write.integrity.cardinality import check_cardinality
from omnigraph.graph.write.integrity.delta import Deltas
from omnigraph.graph.write.integrity.edges import check_kept_edges, check_new_ends
from omnigraph.graph.write.integrity.key_rule import find_misnamed
from omnigraph.graph.write.integrity.problems import Problem
from omnigraph.graph.write.integrity.stored import StoredData
from omnigraph.graph.write.integrity.uniqueness import check_uniques
from omnigraph.graph.write.integrity.values import check_values

_CONFLICT_OF_RULE = {
    "unique": ConflictKind.UNIQUE_VIOLATION,
    "endpoint": ConflictKind.ORPHAN_EDGE,
    "card": ConflictKind.CARDINALITY_VIOLATION,
}


Broken = tuple[str, Problem]
"""A table's key, and a rule that one of its rows breaks."""


def violations(catalog: Catalog, deltas: Deltas, whole: Set[str], stored: StoredData) -> list[Broken]:
    """Return every rule that the changes would break on top of what is stored (E6).

    Tables that are not among `whole` are another branch's as they are, under the same rules: by themselves
    they are right, and only what they mean together with other tables is looked at.
    """
    broken: list[Broken] = []
    for key in sorted(whole):
        delta = deltas[key]
        broken += ((key, found) for found in check_values(delta.table, delta.rows, delta.place))
        broken += ((key, found) for found in check_uniques(delta, stored))
        broken += ((key, found) for found in find_misnamed(delta.table, delta.rows))
    for check in (check_new_ends, check_kept_edges, check_cardinality):
        broken += ((f"edge:{found.type_name}", found) for found in check(catalog, deltas, stored))
    return broken


def kind_of(problem: Problem) -> ConflictKind:
    """Return the kind of conflict that a broken rule is."""
    return _CONFLICT_OF_RULE.get(problem.rule, ConflictKind.VALUE_CONSTRAINT_VIOLATION)


def entities_of(problem: Problem) -> tuple[str, ...]:
    """Return the ids of the entities that break a rule together, those to blame first."""
    if problem.rule not in ("card", "unique"):
        return ()
    return tuple(
        dict.fromkeys(str(place) for place in (*problem.list_places(), *problem.beside, *problem.stored))
    )


def entity_of(problem: Problem) -> str | None:
    """Return the id of the entity that breaks the rule; a cardinality belongs to none."""
    if problem.rule == "card":
        return None
    return problem.entity_id or (str(problem.place) if problem.place is not None else None)
