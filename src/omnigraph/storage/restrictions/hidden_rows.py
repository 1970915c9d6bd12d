"""Which rows of a table version a restriction hides, fragment by fragment; kept, since files never change."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnigraph.base.cancellation import checkpoint
from omnigraph.base.lru import Lru
from omnigraph.storage.format.version_files import path_of
from omnigraph.storage.lance_errors import translate_errors
from omnigraph.storage.numbers import unite
from omnigraph.storage.restrictions.restriction import Reference, Restriction, RowRule

_KEPT_BYTES = 256 << 20
_ADDRESS = "_rowaddr"

RowOffsets = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class HiddenRows:
    """The hidden rows of one fragment: their sorted places, and their ids."""

    offsets: RowOffsets
    ids: pa.Array
    digest: bytes

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return int(self.offsets.nbytes + self.ids.nbytes) + 256


_known: Lru[tuple[Any, ...], HiddenRows] = Lru(_KEPT_BYTES, lambda item: item.nbytes)
"""By the table's folder, the fragment's files and deletions, and everything that decides."""


@dataclass(frozen=True, slots=True)
class HiddenIds:
    """The ids of all hidden rows of a table version."""

    ids: pa.Array
    digest: bytes

    @staticmethod
    def of(found: Iterable[HiddenRows]) -> HiddenIds:
        """Join those of all fragments."""
        parts = [item for item in found if len(item.ids)]
        arrays = [pa.array([], pa.string()), *(item.ids for item in parts)]
        digests = b"".join(sorted(item.digest for item in parts))
        return HiddenIds(pa.concat_arrays(arrays), hashlib.sha256(digests).digest())


def find_hidden_rows(
    dataset: Any,
    address: str,
    restriction: Restriction,
    hidden_ids: Callable[[Reference], HiddenIds],
) -> dict[int, HiddenRows]:
    """Return what a restriction hides of an opened version, by the numbers of the fragments."""
    rule = restriction.rows
    referred = [(item.column, hidden_ids(item)) for item in restriction.references]
    referred = [(column, found) for column, found in referred if len(found.ids)]
    if rule is None and not referred:
        return {}
    decides = (rule.digest if rule else "", tuple((column, found.digest) for column, found in referred))
    keys = {
        item.fragment_id: (address, *_contents(item.metadata), decides) for item in dataset.get_fragments()
    }
    found = {number: _known.get(key) for number, key in keys.items()}
    missing = [number for number, item in found.items() if item is None]
    if missing:
        for number, item in _scan(dataset, missing, rule, referred).items():
            _known.put(keys[number], item)
            found[number] = item
    return {number: item for number, item in found.items() if item is not None and len(item.offsets)}


def _contents(metadata: Any) -> tuple[Any, ...]:
    """Return what tells the live rows of a fragment from those of every other."""
    deletion = metadata.deletion_file
    files = repr([(path_of(file), file.fields, file.column_indices) for file in metadata.files])
    overlays = repr(metadata.to_json().get("overlays")) if metadata.overlays else ""
    return files, overlays, None if deletion is None else tuple(sorted(deletion.asdict().items()))


def _scan(
    dataset: Any, numbers: list[int], rule: RowRule | None, referred: list[tuple[str, HiddenIds]]
) -> dict[int, HiddenRows]:
    columns = sorted({"id", *(rule.columns if rule else ()), *(column for column, _ in referred)})
    fragments = [dataset.get_fragment(number) for number in numbers]
    places: dict[int, list[RowOffsets]] = {number: [] for number in numbers}
    ids: dict[int, list[pa.Array]] = {number: [pa.array([], pa.string())] for number in numbers}
    with translate_errors("finding the rows that may be seen", reading=True):
        scanner = dataset.scanner(columns=columns, fragments=fragments, with_row_address=True)
        for batch in scanner.to_batches():
            checkpoint()
            rows = pa.Table.from_batches([batch])
            hidden = np.asarray(_hides(rows, rule, referred).to_numpy(zero_copy_only=False), bool)
            if not hidden.any():
                continue
            addresses = rows[_ADDRESS].to_numpy().astype(np.uint64)[hidden]
            named = rows["id"].combine_chunks().filter(pa.array(hidden))
            of_fragment = (addresses >> np.uint64(32)).astype(np.int64)
            for number in unite(of_fragment).tolist():
                here = of_fragment == number
                places[number].append(addresses[here].astype(np.uint32))
                ids[number].append(named.filter(pa.array(here)))
    return {number: _join(places[number], ids[number]) for number in numbers}


def _hides(rows: pa.Table, rule: RowRule | None, referred: list[tuple[str, HiddenIds]]) -> pa.BooleanArray:
    if rule is None:
        hidden = pa.array(np.zeros(rows.num_rows, bool))
    else:
        hidden = pc.invert(pc.fill_null(rule.allows(rows), False))
    for column, found in referred:
        named = rows[column].combine_chunks()
        hidden = pc.or_(hidden, pc.or_(pc.is_null(named), pc.is_in(named, value_set=found.ids)))
    return hidden


def _join(places: list[RowOffsets], ids: list[pa.Array]) -> HiddenRows:
    offsets = np.concatenate([np.empty(0, np.uint32), *places])
    order = np.argsort(offsets, kind="stable")
    named = pa.concat_arrays(ids).take(pa.array(order))
    # What refers to these rows depends on their ids, and not on where they lie.
    digest = hashlib.sha256()
    for buffer in named.buffers()[1:]:
        digest.update(buffer or b"")
    return HiddenRows(offsets[order], named, digest.digest())
