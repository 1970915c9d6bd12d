"""What all records of a load mean together with what is stored: one judgement for every engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.execution.load.mode import Mode
from omnigraph.graph.write.integrity.check import check_sets
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problems
from omnigraph.graph.write.integrity.stored import Stored


class Keyed(Protocol):
    """The records of one table as rules see them."""

    @property
    def table(self) -> TableType:
        """Their type."""

    def keys(self) -> pa.Table:
        """Return key columns, place and whether the id was given, in the order of the source."""


def images_of(
    tables: Mapping[str, Keyed], mode: Mode, place: Callable[[int], RecordPlace]
) -> dict[str, TableImage]:
    """Return the final image of every table, in the order of the keys."""
    return {key: TableImage(tables[key].table, tables[key].keys(), mode, place) for key in sorted(tables)}


def judge(catalog: Catalog, images: Mapping[str, TableImage], stored: Stored, problems: Problems) -> None:
    """Collect what is wrong: ids that clash, or else the rules of the schema over the final images."""
    for image in images.values():
        problems.add(image.clashes(stored))
    if not problems.total:
        check_sets(catalog, {key: image.delta for key, image in images.items()}, stored, problems)
