"""What is wrong between the records of a load beside those that are wrong by themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.executor import ReadTable
from omnigraph.execution.load.keys.load_image import TableImage
from omnigraph.execution.load.mode import Mode
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import Problem
from omnigraph.graph.write.write_state import WriteBase

_NEEDED = ("id", "src", "dst")


def images_without(
    tables: Mapping[str, ReadTable],
    wrong: Sequence[Problem],
    base: WriteBase,
    mode: Mode,
    locate: Callable[[int], RecordPlace],
) -> dict[str, TableImage]:
    """Return the final images of the records that are right by themselves."""
    bad = pa.array(
        sorted({item.place.at for item in wrong if isinstance(item.place, RecordPlace)}), pa.int64()
    )
    images = {}
    for key, part in sorted(tables.items()):
        keys = part.keys(base)
        kept = keys.filter(pc.invert(pc.is_in(keys["_place"], bad)))
        for name in _NEEDED:
            if name in kept.column_names:
                kept = kept.filter(pc.is_valid(kept[name]))
        images[key] = TableImage(part.table, kept, mode, locate)
    return images


def may_follow(problem: Problem, wrong_types: Collection[str], catalog: Catalog) -> bool:
    """Return whether a problem may only be there because records of other types were refused."""
    if problem.rule == "card":
        return True
    edge = catalog.edge(problem.type_name)
    return problem.rule == "endpoint" and (
        edge is None or edge.source in wrong_types or edge.target in wrong_types
    )
