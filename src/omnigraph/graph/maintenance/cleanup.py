"""`cleanup`: drop old commits and remove every file that nothing needs any more.

The order is what makes it safe beside readers and writers of other processes (docs/design/cleanup.md):
floors, then a look at what was named meanwhile; fences, then the last look; only then files go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import ceil

from omnigraph.base import clock
from omnigraph.base.errors import Contention
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.settings import Settings
from omnigraph.graph.branches.lifecycle import standing_ref
from omnigraph.graph.maintenance.fences import put_fences
from omnigraph.graph.maintenance.leftovers import Leftovers, find_leftovers, remove_leftovers
from omnigraph.graph.maintenance.marking import Marks
from omnigraph.graph.maintenance.retention import ChainView, Kept, Limits, Standing, floor_of, keep
from omnigraph.graph.maintenance.survey import Look, Survey, look, read_records, survey
from omnigraph.graph.maintenance.sweep import Folder, TableCleanup, list_folders, sort_folder, sweep
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import StoredFloor, write_floor
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.recovery.settle import settle_abandoned
from omnigraph.storage.namespace import PinnedTable

_TRIES = 8
_CLOCK = f"{layout.MANIFEST}/cleanup/clock.json"


@dataclass(frozen=True)
class Cleanup:
    """What a cleanup did, or with `dry_run` would do."""

    dry_run: bool
    tables: tuple[TableCleanup, ...]
    commits_dropped: int
    commits_kept: int
    records_removed: int = 0
    records_resting: int = 0
    """Records of dropped commits that a later cleanup will remove, when they are old enough."""
    schemas_removed: int = 0

    @property
    def files(self) -> int:
        """How many files of tables went."""
        return sum(table.removed.files for table in self.tables)

    @property
    def bytes(self) -> int:
        """How many bytes of tables went."""
        return sum(table.removed.bytes for table in self.tables)

    @property
    def errors(self) -> dict[str, str]:
        """The tables that could not be swept, and why; the next cleanup tries again."""
        return {table.table_key: table.error for table in self.tables if table.error}


@dataclass(frozen=True, slots=True)
class Request:
    """Who asks for a cleanup, and how far it goes."""

    limits: Limits
    actor: str | None = None
    message: str | None = None
    dry_run: bool = False
    dropped_tables: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By chain and table identity: what records before a number say of the table goes now."""


def cleanup(truth: Truth, settings: Settings, request: Request) -> Cleanup:
    """Drop the commits that the limits let go, and sweep."""
    if not request.dry_run:
        settle_abandoned(truth, settings)
        finish_deletes(truth)
    return _Run(truth, settings.cleanup_grace_seconds, request).run()


class _Run:
    """One cleanup in progress."""

    def __init__(self, truth: Truth, grace: float, request: Request) -> None:
        self.truth, self.store, self.grace, self.request = truth, truth.store, grace, request
        self.identities = {name for tables in request.dropped_tables.values() for name in tables}
        """Of tables that were dropped for good, when that is why files go: only they are looked at then."""
        self.marks = Marks(truth.store)

    def run(self) -> Cleanup:
        """Survey, decide, make the decision durable, look again, and remove."""
        found = survey(self.truth)
        now = self._storage_time()
        # S3 dates files by whole seconds: a file is older than it seems only when the period is whole too.
        oldest = now - timedelta(seconds=ceil(self.grace))
        hit(Failpoint.CLEANUP_AFTER_SURVEY)
        kept = self._put_floors(found)
        self._mark(found, kept)
        folders = self._folders(self._outdated(found, kept), oldest)
        leftovers = self._leftovers(found, kept, now, oldest)
        last, since = self._fenced(found, folders, leftovers)
        tables = sweep(self.store, folders, self.marks.kept, self.marks.keys, self.request.dry_run)
        removed = self._remove(leftovers, last, since, tables)
        if not self.request.dry_run:
            self.marks.save(self._is_looked_at if self.identities else None)
        return Cleanup(
            dry_run=self.request.dry_run,
            tables=tables,
            commits_dropped=sum(len(chain.records) for chain in found.chains.values()) - _count(found, kept),
            commits_kept=_count(found, kept),
            records_removed=len(leftovers.records) if removed else 0,
            records_resting=leftovers.resting,
            schemas_removed=len(leftovers.schemas) if removed else 0,
        )

    def _put_floors(self, found: Survey) -> Kept:
        """Decide what stays and make it durable; then see who has come to need something meanwhile.

        Whoever names a commit (a branch, a tag) reads its floor afterwards. So a name that is not seen by the
        look after the floor sees the floor, and is taken back by whoever gave it.
        """
        standing = found.look.standing()
        for _ in range(_TRIES):
            kept = keep(found.chains, standing, self.request.limits)
            if self.request.dry_run:
                return kept
            found = self._write_floors(found, kept)
            hit(Failpoint.CLEANUP_AFTER_FLOORS)
            again = _joined(standing, look(self.truth).standing())
            missed = [ref for ref in again.pinned if _is_dropped(found, kept, ref.incarnation, ref.seq)]
            if not missed:
                return kept
            standing = again
        raise Contention("branches and tags of this graph change too fast to be cleaned up: try again")

    def _write_floors(self, found: Survey, kept: Kept) -> Survey:
        chains: dict[str, ChainView] = {}
        for incarnation, chain in found.chains.items():
            floor = floor_of(chain, kept, self.request.dropped_tables.get(incarnation, {}))
            stored: StoredFloor | None = chain.floor
            if floor is not None and (stored is None or stored.floor != floor):
                stored = write_floor(self.store, floor, stored)
            chains[incarnation] = _with_floor(chain, stored)
        return Survey(found.look, chains, found.strays, found.written_at)

    def _mark(self, found: Survey, kept: Kept) -> None:
        standing: list[tuple[str, PinnedTable]] = []
        for incarnation, chain in found.chains.items():
            tables = self._dropped_tables(chain)
            for seq in chain.numbers:
                if (incarnation, seq) in kept.pinned:
                    standing += self._tables(chain.records[seq], {})
                elif (incarnation, seq) in kept.history:
                    standing += self._tables(chain.records[seq], tables)
        self.marks.add(standing)
        for durable in found.look.plans:
            self.marks.add_plan(durable, found.record(durable.plan.base))

    def _dropped_tables(self, chain: ChainView) -> Mapping[str, int]:
        stored = chain.floor.floor.tables if chain.floor else {}
        return {**stored, **self.request.dropped_tables.get(chain.incarnation, {})}

    def _tables(self, record: CommitRecord, dropped: Mapping[str, int]) -> list[tuple[str, PinnedTable]]:
        """Return the tables of a commit that are looked at, but for those dropped for good after it."""
        return [
            (entry.key, entry.pinned)
            for identity, entry in record.tables.items()
            if record.seq >= dropped.get(identity, 0) and self._is_looked_at(entry.location)
        ]

    def _outdated(self, found: Survey, kept: Kept) -> list[CommitRecord]:
        """Return the commits of which some table is not kept any more."""
        outdated: list[CommitRecord] = []
        for incarnation, chain in found.chains.items():
            outdated += chain.dropped.values()
            has_dropped_tables = bool(self._dropped_tables(chain))
            for seq, record in chain.records.items():
                if has_dropped_tables or (incarnation, seq) not in kept:
                    outdated.append(record)
        return outdated

    def _is_looked_at(self, location: str) -> bool:
        return not self.identities or location.split("/")[1] in self.identities

    def _folders(self, outdated: Sequence[CommitRecord], oldest: datetime) -> dict[str, Folder]:
        published = self.marks.published(outdated, self._is_looked_at)
        # A drop for good takes what was published; leftovers of other writes wait for an ordinary cleanup.
        limit = datetime.min.replace(tzinfo=UTC) if self.identities else oldest
        return {
            location: sort_folder(
                location, files, self.marks.kept.get(location, set()), published.get(location, set()), limit
            )
            for location, files in list_folders(self.store).items()
            if self._is_looked_at(location)
        }

    def _leftovers(self, found: Survey, kept: Kept, now: datetime, oldest: datetime) -> Leftovers:
        return Leftovers() if self.identities else find_leftovers(found, kept, now, oldest, self.store)

    def _fenced(
        self, found: Survey, folders: Mapping[str, Folder], leftovers: Leftovers
    ) -> tuple[Look, list[CommitRecord]]:
        """Put up fences when anything is to go that a write might bring back, then look for the last time."""
        goes = leftovers.schemas or leftovers.chains or any(item.condemned for item in folders.values())
        if self.request.dry_run:
            return found.look, []
        if goes:
            put_fences(
                self.truth, look(self.truth).branches, self.grace, self.request.actor, self.request.message
            )
        hit(Failpoint.CLEANUP_AFTER_FENCES)
        last = look(self.truth)
        since = [record for state in last.branches for record in _newer(self.truth, found, state)]
        self.marks.add([item for record in since for item in self._tables(record, {})])
        for durable in last.plans:
            base = self.truth.chains.record(durable.plan.base.incarnation, durable.plan.base.seq)
            self.marks.add_plan(durable, base)
        return last, since

    def _remove(
        self, leftovers: Leftovers, last: Look, since: Sequence[CommitRecord], tables: Sequence[TableCleanup]
    ) -> bool:
        """Remove control files, once every table is swept: until then the records tell what is left to do."""
        if self.request.dry_run or any(table.error for table in tables):
            return self.request.dry_run
        hit(Failpoint.CLEANUP_BEFORE_RECORDS)
        remove_leftovers(self.store, leftovers, last, since)
        hit(Failpoint.CLEANUP_AFTER_RECORDS)
        if not self.identities:
            self.store.remove_residue(timedelta(seconds=self.grace))
        return True

    def _storage_time(self) -> datetime:
        """Return the time by the clock that dates the files, which need not be this machine's."""
        if not self.request.dry_run:
            self.store.put(_CLOCK, b"{}")
            return next(iter(self.store.list(_CLOCK.rsplit("/", 1)[0]))).last_modified
        return datetime.fromtimestamp(clock.current().now_us() / 1e6, UTC)


def finish_deletes(truth: Truth) -> None:
    """Finish deletes and rebases that were cut off once a chain was closed."""
    for ref in truth.refs.list():
        stored = standing_ref(truth, ref.name) if ref.deleting else None
        if stored is None or stored.ref is None or not stored.ref.deleting:
            continue
        if truth.is_closed(stored.ref):
            truth.refs.free(stored)


def _joined(one: Standing, other: Standing) -> Standing:
    pinned = list(dict.fromkeys((*one.pinned, *other.pinned, *other.heads)))
    return Standing(one.heads, pinned, [*one.after, *other.after])


def _is_dropped(found: Survey, kept: Kept, incarnation: str, seq: int) -> bool:
    chain = found.chains.get(incarnation)
    return chain is not None and seq in chain.records and (incarnation, seq) not in kept


def _with_floor(chain: ChainView, floor: StoredFloor | None) -> ChainView:
    return ChainView(
        chain.incarnation, chain.branch, chain.fork, chain.live, chain.records, chain.dropped, floor
    )


def _count(found: Survey, kept: Kept) -> int:
    return sum(
        (incarnation, seq) in kept for incarnation, chain in found.chains.items() for seq in chain.records
    )


def _newer(truth: Truth, found: Survey, state: BranchState) -> list[CommitRecord]:
    """Return what a branch has published since the survey, and what it stands on when it is new."""
    ref, head = state.ref, state.head
    chain = found.chains.get(ref.incarnation)
    after = chain.last if chain else ref.floor
    records = [] if chain or ref.fork is None else [truth.chains.at(ref.fork)]
    if head.incarnation == ref.incarnation:
        own = read_records(truth, ref.incarnation, range(after + 1, head.seq + 1))
        if len(own) < head.seq - after:
            raise Contention("another cleanup of this graph is at work: wait for it and try again")
        records += own.values()
    return records
