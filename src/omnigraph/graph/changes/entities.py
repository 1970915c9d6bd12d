"""The stream of changes between two commits: table by table, by id, with images as they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.errors import HistoricalVersionReclaimed, NotFound
from omnigraph.compiler.catalog.identity import is_common
from omnigraph.compiler.catalog.model import Catalog, TableType
from omnigraph.compiler.source import suggest
from omnigraph.graph.changes.descent import grew
from omnigraph.graph.changes.model import OPS, Change, ChangeFilter, Json
from omnigraph.graph.changes.rows import ChangedRows, find_changed_pieces
from omnigraph.graph.changes.table_version import TableVersion
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.manifest.merge_base import merge_base
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.schemas import same_schema
from omnigraph.graph.model.json_rows import properties_of
from omnigraph.graph.opening import Core

_CHANGES_PER_READ = 256
"""Images that are read at a time."""


class Order(Enum):
    """In which order tables come; within a table, changes come by id."""

    COMMIT = "nodes before edges, then by type id"
    DIFF = "edges before nodes, then by type name"


@dataclass(frozen=True, slots=True)
class _Pair:
    """One table of the older commit, of the newer one, or the same table in both."""

    identity: str
    old: TableType | None
    new: TableType | None

    @property
    def type(self) -> TableType:
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def type_id(self) -> str:
        return f"{self.type.id:08x}{self.type.table_id:08x}"

    def is_wanted_by(self, only: ChangeFilter) -> bool:
        return only.wants_type(self.type.kind, [item.name for item in (self.old, self.new) if item])


@dataclass(frozen=True, slots=True)
class _EntityLine:
    """Changes of one table in the order of ids: what happened, and the row ids of both versions."""

    ids: pa.Array
    ops: NDArray[np.int8]
    old: NDArray[np.uint64]
    new: NDArray[np.uint64]

    def part(self, of: slice) -> _EntityLine:
        return _EntityLine(self.ids[of], self.ops[of], self.old[of], self.new[of])


@dataclass(frozen=True)
class EntityComparison:
    """Two commits whose difference is wanted; without an older one all is new."""

    core: Core
    before: CommitRecord | None
    after: CommitRecord
    only: ChangeFilter
    order: Order
    images: bool = True

    def check_types(self) -> Self:
        """Refuse a filter that names a type which neither commit has."""
        tables = [*self._catalog(self.before).tables, *self._catalog(self.after).tables]
        known = {name for table in tables for name in (table.name, table.table_key)}
        for name in sorted(self.only.types or ()):
            if name not in known:
                hint = suggest(name, sorted(known))
                raise NotFound(f"there is no type {name!r}" + (f": {hint}" if hint else ""), type=name)
        return self

    def stream(self, skip: int = 0) -> Iterator[Change]:
        """Yield the changes, without the first `skip` of them, which cost no images."""
        for pair in self._pairs():
            for rows in self._pieces(pair):
                line = self._in_order(rows)
                passed = min(skip, len(line.ids))
                skip -= passed
                for start in range(passed, len(line.ids), _CHANGES_PER_READ):
                    yield from self._changes(pair, rows, line.part(slice(start, start + _CHANGES_PER_READ)))

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many changes there are, by table key and kind of change."""
        found: dict[str, dict[str, int]] = {}
        for pair in self._pairs():
            counts = dict.fromkeys(OPS, 0)
            for rows in self._pieces(pair):
                for op, ids in zip(OPS, (rows.inserted, rows.updated, rows.deleted), strict=True):
                    counts[op] += len(ids) if self.only.wants_op(op) else 0
            if any(counts.values()):
                key = pair.type.table_key
                known = found.setdefault(key, dict.fromkeys(OPS, 0))
                found[key] = {op: known[op] + counts[op] for op in OPS}
        return found

    def _pairs(self) -> list[_Pair]:
        """Return the tables to look at: all but those that both commits have with the same rows."""
        old, new = _tables(self._catalog(self.before)), _tables(self._catalog(self.after))
        pairs = []
        for identity in sorted(old.keys() | new.keys()):
            pair = _Pair(identity, old.get(identity), new.get(identity))
            if pair.old and pair.new and not self._is_one_table(pair.old, pair.new):
                pairs += [_Pair(identity, pair.old, None), _Pair(identity, None, pair.new)]
            elif not self._is_same(identity):
                pairs.append(pair)
        wanted = [pair for pair in pairs if pair.is_wanted_by(self.only)]
        if self.order is Order.COMMIT:
            return sorted(wanted, key=lambda pair: (pair.type.kind != "node", pair.type_id, bool(pair.new)))
        return sorted(
            wanted, key=lambda pair: (pair.type.kind != "edge", pair.type.name, pair.type_id, bool(pair.new))
        )

    def _is_same(self, identity: str) -> bool:
        if self.before is None:
            return False
        old, new = self.before.tables.get(identity), self.after.tables.get(identity)
        if old is None or new is None or old.changed_by != new.changed_by:
            return False
        if not same_schema(self.before.schema, self.after.schema):
            return False
        if self.core.sight is None:
            return True
        return self.core.view(self.before).sight(old.key) == self.core.view(self.after).sight(new.key)

    def _is_one_table(self, old: TableType, new: TableType) -> bool:
        if old.kind != new.kind:
            return False
        common = self._common_id(old, new)
        return old.name == new.name or common is None or is_common(new.id, common)

    def _pieces(self, pair: _Pair) -> Iterator[ChangedRows]:
        before = after = None
        if pair.old is not None and self.before is not None:
            before = TableVersion.of(self.core, self.before, pair.identity)
        if pair.new is not None:
            after = TableVersion.of(self.core, self.after, pair.identity)
        one_lineage = False
        if before is not None and after is not None and self.before is not None:
            one_lineage = grew(self.core.truth.chains, self.before, self.after, pair.identity)
        common = self._common_id(pair.old, pair.new) if pair.old and pair.new else None
        return find_changed_pieces(
            before,
            after,
            one_lineage=one_lineage,
            common_id=common,
            origin=lambda: self._origin(pair.identity),
        )

    def _origin(self, identity: str) -> TableVersion | None:
        """Return a table at the commit where two lines parted, when it has only grown along both since."""
        assert self.before is not None
        chains = self.core.truth.chains
        try:
            base = merge_base(chains, self.before, self.after)
        except HistoricalVersionReclaimed:
            return None
        if not all(grew(chains, base, tip, identity) for tip in (self.before, self.after)):
            return None
        return TableVersion.of(self.core, base, identity)

    def _common_id(self, old: TableType, new: TableType) -> int | None:
        """Return the last number given out before the commits parted; None where it does not matter.

        It matters where numbers and names disagree: a rename on one side, or two things that were given one
        number on two branches.
        """
        assert self.before is not None
        if same_schema(self.before.schema, self.after.schema):
            return None
        names = {item.id: item.name for item in old.properties}
        agree = old.name == new.name and all(
            names.get(item.id, item.name) == item.name for item in new.properties
        )
        if agree:
            return None
        try:
            base = merge_base(self.core.truth.chains, self.before, self.after)
        except HistoricalVersionReclaimed:
            return None
        if base.commit in (self.before.commit, self.after.commit):
            return None
        return self._catalog(base).last_id

    def _catalog(self, record: CommitRecord | None) -> Catalog:
        return self.core.catalog_at(record) if record is not None else Catalog()

    def _in_order(self, rows: ChangedRows) -> _EntityLine:
        """Return the wanted changes of a piece, sorted by id."""
        wanted = [self.only.wants_op(op) for op in OPS]
        lists = [
            ids if want else ids.slice(0, 0)
            for want, ids in zip(wanted, (rows.inserted, rows.updated, rows.deleted), strict=True)
        ]
        sizes = [len(part) for part in lists]
        nothing = [np.zeros(size, np.uint64) for size in sizes]
        old = [nothing[0], rows.updated_rows[0][: sizes[1]], rows.deleted_rows[: sizes[2]]]
        new = [rows.inserted_rows[: sizes[0]], rows.updated_rows[1][: sizes[1]], nothing[2]]
        ids = pa.concat_arrays(lists)
        order = pc.sort_indices(ids)
        places = np.asarray(order)
        ops = np.repeat(np.arange(3, dtype=np.int8), sizes)
        return _EntityLine(
            ids.take(order), ops[places], np.concatenate(old)[places], np.concatenate(new)[places]
        )

    def _changes(self, pair: _Pair, rows: ChangedRows, line: _EntityLine) -> Iterator[Change]:
        befores: Iterator[Json] = iter(())
        afters: Iterator[Json] = iter(())
        had, has = line.ops != OPS.index("insert"), line.ops != OPS.index("delete")
        if self.images and rows.before is not None and had.any():
            befores = iter(images_of_rows(rows.before.type, rows.before.images(line.old[had])))
        if self.images and rows.after is not None and has.any():
            afters = iter(images_of_rows(rows.after.type, rows.after.images(line.new[has])))
        for id_, op in zip(line.ids.to_pylist(), line.ops.tolist(), strict=True):
            yield Change(
                kind=pair.type.kind,
                type_id=pair.type_id,
                type_name=pair.type.name,
                id=id_,
                op=OPS[op],
                version=self.after.seq,
                before=next(befores, None) if OPS[op] != "insert" else None,
                after=next(afters, None) if OPS[op] != "delete" else None,
            )


def _tables(catalog: Catalog) -> dict[str, TableType]:
    return {table_identity(table): table for table in catalog.tables}


def images_of_rows(table: TableType, rows: pa.Table) -> list[Json]:
    """Return the properties of rows, and the ends of edges, as JSON data in the form of a load."""
    images: list[Json] = [{"properties": properties} for properties in properties_of(table, rows)]
    if table.kind == "edge":
        ends = zip(rows["src"].to_pylist(), rows["dst"].to_pylist(), strict=True)
        for image, (source, target) in zip(images, ends, strict=True):
            image["endpoints"] = {"from": source, "to": target}
    return images
