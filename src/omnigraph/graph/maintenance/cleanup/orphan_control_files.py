"""Control files that nothing needs any more: records of dropped commits, ended chains, schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from omnigraph.graph.maintenance.cleanup.retention import KeptCommits, is_dead
from omnigraph.graph.maintenance.cleanup.survey import LiveNames, Survey
from omnigraph.graph.maintenance.missing_commits import commits_named_by_record
from omnigraph.graph.manifest import chain as chains
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.storage.files.delete_files import each
from omnigraph.storage.objects import ObjectInfo, ObjectStore


@dataclass(frozen=True)
class Leftovers:
    """Control files that nothing needs any more."""

    records: Mapping[str, str] = field(default_factory=dict)
    """Paths of records, each with its commit."""
    resting: int = 0
    """Records of dropped commits that are too young to be removed; the next cleanup takes them."""
    chains: tuple[str, ...] = ()
    """Chains of which nothing stays: their hints, notes and floors go after their records."""
    named: frozenset[str] = frozenset()
    """Chains that commits which stay name. Their floors stay too: a writer of such a branch that is held up
    may put a record yet, and the floor tells that it is none."""
    schemas: tuple[str, ...] = ()
    fences_only: bool = False
    """Whether nothing goes but fences of earlier cleanups: for that alone no fence is put up."""

    def __bool__(self) -> bool:
        return bool(self.chains or self.schemas or (self.records and not self.fences_only))


def find_leftovers(
    found: Survey,
    kept: KeptCommits,
    given_up: Iterable[str],
    now: datetime,
    oldest: datetime,
    store: ObjectStore,
) -> Leftovers:
    """Return what can go once the tables are swept; what is older than `oldest` is past the grace period.

    `given_up` are the chains whose floors say that nothing is left of them.
    """
    rested = now - timedelta(seconds=chains.RECORD_REST_SECONDS)
    gone = [record for records in found.ended.values() for record in records]
    gone += [record for chain in given_up for record in found.unnamed.get(chain, ())]
    for chain in found.chains.values():
        gone += chain.dropped.values()
        whole = is_dead(chain, kept)
        gone += [
            record for seq, record in chain.records.items() if whole or (chain.incarnation, seq) not in kept
        ]
    records = {_path(record): record.commit for record in gone if found.is_older(record, rested)}
    resting = {record.incarnation for record in gone if _path(record) not in records}
    dead = {*found.ended, *given_up, *(name for name, chain in found.chains.items() if is_dead(chain, kept))}
    named = _find_named_chains(found, kept)
    known = {incarnation for incarnation, _ in found.written_at} | found.look.incarnations
    for prefix, needed in ((layout.HINTS, known), (layout.FLOORS, known | named)):
        dead |= {
            _address(info.path)
            for info in layout.own(store.list(prefix))
            if _address(info.path) not in needed and info.last_modified <= rested
        }
    schemas = _find_unused_schemas(found, kept, oldest, store)
    ends = tuple(sorted(dead - resting))
    fences_only = all(record.operation == "cleanup" and not record.closed for record in gone)
    return Leftovers(
        dict(sorted(records.items())), len(gone) - len(records), ends, named, schemas, fences_only
    )


def _find_named_chains(found: Survey, kept: KeptCommits) -> frozenset[str]:
    staying = (
        record
        for chain in found.chains.values()
        for seq, record in chain.records.items()
        if (chain.incarnation, seq) in kept
    )
    named = {item.ref.incarnation for record in staying for item in commits_named_by_record(record)}
    waiting = list(named)
    while waiting:
        # The floor of a chain that is gone tells where history goes on, which may be in another that is gone.
        incarnation = waiting.pop()
        chain = found.chains.get(incarnation)
        fork = chain.fork if chain is not None else found.gone.get(incarnation)
        if fork is not None and fork.incarnation not in named:
            named.add(fork.incarnation)
            waiting.append(fork.incarnation)
    return frozenset(named)


def remove_leftovers(
    store: ObjectStore, leftovers: Leftovers, last: LiveNames, since: Iterable[CommitRecord]
) -> None:
    """Remove them, but for what branches and commits that came since the survey need after all."""
    each(store, store.delete, list(leftovers.records))
    restorable = [ref for ref in last.tombstones if ref.incarnation not in leftovers.chains]
    followed = {chain for ref in (*last.refs, *restorable) for chain in ref.predecessors}
    for incarnation in leftovers.chains:
        # Another cleanup may have given up records that this one has not seen: the floor goes after the last.
        if incarnation not in last.incarnations and not _holds_records(store, incarnation):
            folders = [layout.forks_of(incarnation)]
            if incarnation not in followed:  # keys are remembered when a branch goes on in another chain
                folders.append(f"{layout.KEYS}/{incarnation}")
            notes = [info.path for folder in folders for info in layout.own(store.list(folder))]
            floor = [layout.floor_path(incarnation)] if incarnation not in leftovers.named else []
            for path in (*notes, layout.hint_path(incarnation), *floor):
                store.delete(path)
    used = {address for record in since for address in record.definitions} | _find_planned_schemas(last)
    each(store, store.delete, [path for path in leftovers.schemas if _address(path) not in used])


def _holds_records(store: ObjectStore, incarnation: str) -> bool:
    return any(layout.own(store.list(layout.records_of(incarnation))))


def _path(record: CommitRecord) -> str:
    return layout.record_path(record.incarnation, record.seq)


def _find_unused_schemas(
    found: Survey, kept: KeptCommits, oldest: datetime, store: ObjectStore
) -> tuple[str, ...]:
    used = {
        address
        for chain in found.chains.values()
        for seq, record in chain.records.items()
        if (chain.incarnation, seq) in kept
        for address in record.definitions
    }
    used |= {
        address for records in found.unnamed.values() for record in records for address in record.definitions
    }
    used |= _find_planned_schemas(found.look)

    def is_unused(info: ObjectInfo) -> bool:
        return _address(info.path) not in used and info.last_modified < oldest

    return tuple(info.path for info in layout.own(store.list(layout.SCHEMAS)) if is_unused(info))


def _find_planned_schemas(seen: LiveNames) -> set[str]:
    """Return the schemas and stored queries that pending plans need."""
    plans = [durable.plan for durable in seen.plans]
    return {address for plan in plans for address in (*plan.definitions, plan.expected_schema)}


def _address(path: str) -> str:
    return path.rsplit("/", 1)[1].removesuffix(".json")
