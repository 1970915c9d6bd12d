"""What all records of a load mean together with what is stored: one judgement for every engine."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.graph.write.integrity.check import check_sets
from omnigraph.graph.write.integrity.problems import Problems
from omnigraph.graph.write.integrity.stored import Stored


def check_exactly(
    catalog: Catalog, images: Mapping[str, TableImage], stored: Stored, problems: Problems
) -> None:
    """Collect what is wrong: ids that clash, or else the rules of the schema over the final images."""
    for image in images.values():
        problems.add(image.find_clashes(stored))
    if not problems.total:
        check_sets(catalog, {key: image.delta for key, image in images.items()}, stored, problems)
