"""What cleanup removes besides tables: records of dropped commits, chains of deleted branches, schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from omnigraph.graph.maintenance.retention import Kept
from omnigraph.graph.maintenance.survey import Look, Survey
from omnigraph.graph.manifest import chain as chains
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.storage.objects import ObjectInfo, ObjectStore
from omnigraph.storage.sweeping import each


@dataclass(frozen=True)
class Leftovers:
    """Control files that nothing needs any more."""

    records: tuple[str, ...] = ()
    resting: int = 0
    """Records of dropped commits that are too young to be removed; the next cleanup takes them."""
    chains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By incarnation: what is left of chains that no branch has, in the order in which it goes."""
    schemas: tuple[str, ...] = ()


def find_leftovers(
    found: Survey, kept: Kept, now: datetime, oldest: datetime, store: ObjectStore
) -> Leftovers:
    """Return what can go once the tables are swept; what is older than `oldest` is past the grace period."""
    rested = now - timedelta(seconds=chains.RECORD_REST_SECONDS)
    records: list[str] = []
    ends: dict[str, tuple[str, ...]] = {}
    resting = 0
    for chain in found.chains.values():
        gone = [seq for seq in chain.records if (chain.incarnation, seq) not in kept]
        for seq in (*chain.dropped, *gone):
            if found.written_at[chain.incarnation, seq] <= rested:
                records.append(layout.record_path(chain.incarnation, seq))
            else:
                resting += 1
        is_dead = not chain.live and len(gone) == len(chain.records) - 1
        if is_dead and found.written_at[chain.incarnation, chain.last] <= rested:
            ends[chain.incarnation] = _all_of(chain.incarnation, (chain.last,))
    for incarnation, numbers in found.strays.items():
        if all(found.written_at[incarnation, seq] < oldest for seq in numbers):
            ends[incarnation] = _all_of(incarnation, numbers)
    known = {incarnation for incarnation, _ in found.written_at} | found.look.incarnations
    for info in (*store.list(layout.FLOORS), *store.list(layout.HINTS)):
        incarnation = _address(info.path)
        if incarnation not in known and info.last_modified <= rested:
            ends[incarnation] = _all_of(incarnation, ())
    unused = _unused_schemas(found, kept, oldest, store)
    return Leftovers(tuple(sorted(records)), resting, ends, unused)


def remove_leftovers(
    store: ObjectStore, leftovers: Leftovers, last: Look, since: Iterable[CommitRecord]
) -> None:
    """Remove them, but for what branches and commits that came since the survey need after all."""
    each(store, store.delete, leftovers.records)
    for incarnation, paths in leftovers.chains.items():
        if incarnation not in last.incarnations:
            for path in paths:
                store.delete(path)
    used = {record.schema for record in since} | _planned(last)
    each(store, store.delete, [path for path in leftovers.schemas if _address(path) not in used])


def _all_of(incarnation: str, numbers: Iterable[int]) -> tuple[str, ...]:
    records = (layout.record_path(incarnation, seq) for seq in numbers)
    return (*records, layout.hint_path(incarnation), layout.floor_path(incarnation))


def _unused_schemas(found: Survey, kept: Kept, oldest: datetime, store: ObjectStore) -> tuple[str, ...]:
    used = {
        record.schema
        for chain in found.chains.values()
        for seq, record in chain.records.items()
        if (chain.incarnation, seq) in kept
    }
    used |= _planned(found.look)

    def is_unused(info: ObjectInfo) -> bool:
        return _address(info.path) not in used and info.last_modified < oldest

    return tuple(info.path for info in store.list(layout.SCHEMAS) if is_unused(info))


def _planned(seen: Look) -> set[str]:
    """Return the schemas that pending plans need."""
    plans = [durable.plan for durable in seen.plans]
    return {address for plan in plans for address in (plan.schema, plan.expected_schema) if address}


def _address(path: str) -> str:
    return path.rsplit("/", 1)[1].removesuffix(".json")
