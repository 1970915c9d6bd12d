"""The exact check of the rules between records, and with stored rows; the same for every engine."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.graph.write.integrity.check import check_sets
from omnigraph.graph.write.integrity.problems import Problems
from omnigraph.graph.write.integrity.stored import StoredData


def check_exactly(
    catalog: Catalog, images: Mapping[str, TableImage], stored: StoredData, problems: Problems
) -> None:
    """Collect clashing ids or, if there are none, violations of the schema by the final images."""
    for image in images.values():
        problems.add(image.find_clashes(stored))
    if not problems.total:
        check_sets(catalog, {key: image.delta for key, image in images.items()}, stored, problems)


def check_all_kinds(
    catalog: Catalog, images: Mapping[str, TableImage], stored: StoredData, problems: Problems
) -> None:
    """Collect clashing ids, and violations by other records: what a person should hear at once.

    An edge that is told because of a clash is a consequence, and so is one whose count a clash changes.
    """
    for image in images.values():
        problems.add(image.find_clashes(stored))
    blamed = {place for problem in problems.found for place in problem.list_places()}
    has_clashes = problems.total > 0
    others = Problems(problems.limit)
    check_sets(catalog, {key: image.delta for key, image in images.items()}, stored, others)
    problems.add(
        problem
        for problem in others.found
        if not (has_clashes and (problem.rule == "card" or blamed & set(problem.list_places())))
    )
    if not has_clashes:
        problems.total += others.total - len(others.found)
