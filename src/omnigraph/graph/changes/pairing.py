"""Which column of one version of a table is which column of another: decided by property identity."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from omnigraph.compiler.catalog.identity import is_common
from omnigraph.compiler.catalog.model import Property, TableType
from omnigraph.compiler.types import Scalar
from omnigraph.graph.model.columns import arrow_type
from omnigraph.graph.schema_apply.columns import filler


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column of the newer version, and what the older rows have there."""

    new: str
    old: str | None
    """The column of the older version; None where the property was added since."""
    added: Property | None = None
    """The property that was added; older rows have its default, as a migration gives it to them."""
    cast: pa.DataType | None = None
    """The type that older values are widened to."""

    def default_values(self, rows: int) -> pa.Array:
        """Return what older rows have in an added column."""
        assert self.added is not None
        if self.added.default is not None:
            return filler(self.added)(rows)
        return pa.nulls(rows, arrow_type(self.added.type))


def pair_columns(old: TableType, new: TableType, common_id: int | None = None) -> list[ColumnPair]:
    """Return the columns to compare: endpoints, then the properties of the newer version.

    Properties that were dropped are in no pair: what is left of a row may still be the same. Two branches
    that count may give one number to two properties: beyond `common_id`, the last one given out before they
    parted, the names must agree as well.
    """
    known = {item.id: item for item in old.properties}
    pairs = [ColumnPair(name, name) for name in (("src", "dst") if new.kind == "edge" else ())]
    for item in new.properties:
        former = known.get(item.id)
        if former is None or not _is_same_property(former, item, common_id):
            pairs.append(ColumnPair(item.name, None, added=item))
        else:
            pairs.append(ColumnPair(item.name, former.name, cast=_cast(former, item)))
    return pairs


def files_decide(pairs: list[ColumnPair]) -> bool:
    """Return whether rows in a data file that both versions name can be equal without being looked at.

    A column that is added and not in the file is null there, and older rows would have a default instead.
    """
    return all(pair.added is None or pair.added.default is None for pair in pairs)


def same_columns(old: TableType, new: TableType) -> bool:
    """Return whether two versions have the same properties, of the same types, whatever their names."""
    return [(item.id, item.type) for item in sorted(old.properties, key=lambda item: item.id)] == [
        (item.id, item.type) for item in sorted(new.properties, key=lambda item: item.id)
    ]


def _is_same_property(old: Property, new: Property, common_id: int | None) -> bool:
    alike = (old.type.is_list, old.type.vector) == (new.type.is_list, new.type.vector)
    kind = old.type.scalar is new.type.scalar or (old.type.scalar.is_numeric and new.type.scalar.is_numeric)
    known = common_id is None or is_common(new.id, common_id) or old.name == new.name
    return alike and kind and known


def _cast(old: Property, new: Property) -> pa.DataType | None:
    if new.type.scalar is Scalar.BLOB or arrow_type(old.type) == arrow_type(new.type):
        return None
    return arrow_type(new.type)
