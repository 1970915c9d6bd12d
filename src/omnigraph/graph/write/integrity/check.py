"""All rules over a write's final image, in the order in which violations are reported."""

from __future__ import annotations

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.graph.write.integrity.cardinality import check_cardinality
from omnigraph.graph.write.integrity.delta import Deltas
from omnigraph.graph.write.integrity.edges import check_kept_edges, check_new_ends
from omnigraph.graph.write.integrity.problems import Problems
from omnigraph.graph.write.integrity.stored import StoredData
from omnigraph.graph.write.integrity.uniqueness import check_uniques
from omnigraph.graph.write.integrity.values import check_values


def check_rows(deltas: Deltas, problems: Problems) -> None:
    """Check every new and changed row by itself."""
    for key in sorted(deltas):
        delta = deltas[key]
        problems.add(check_values(delta.table, delta.rows, delta.place))


def check_sets(catalog: Catalog, deltas: Deltas, stored: StoredData, problems: Problems) -> None:
    """Check what rows mean together: unique tuples, ends of edges, cardinality (invariant 9)."""
    for key in sorted(deltas):
        problems.add(check_uniques(deltas[key], stored))
    problems.add(check_new_ends(catalog, deltas, stored))
    problems.add(check_kept_edges(catalog, deltas, stored))
    problems.add(check_cardinality(catalog, deltas, stored))
