"""`cleanup`: drop old commits and remove every file that nothing needs any more.

The order is what makes it safe beside readers and writers of other processes (docs/design/cleanup.md):
floors, with a look at what was named meanwhile; the list of what may go; fences, then the last look; only
then files go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import ceil

from omnigraph.base import clock
from omnigraph.base.errors import CorruptState
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.settings import Settings
from omnigraph.graph.branches.rename import call_off_renames, release_finished
from omnigraph.graph.branches.unfinished import finish_branches
from omnigraph.graph.maintenance.cleanup.dropping import Dropped, Dropping
from omnigraph.graph.maintenance.cleanup.fences import put_fences
from omnigraph.graph.maintenance.cleanup.marking import Marks
from omnigraph.graph.maintenance.cleanup.orphan_control_files import (
    Leftovers,
    find_leftovers,
    remove_leftovers,
)
from omnigraph.graph.maintenance.cleanup.orphan_table_files import (
    Folder,
    TableCleanup,
    list_folders,
    sort_folder,
    sweep,
)
from omnigraph.graph.maintenance.cleanup.retention import (
    ChainView,
    KeptCommits,
    Limits,
    find_drops_left,
)
from omnigraph.graph.maintenance.cleanup.survey import LiveNames, Survey, find_published_since, survey
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.condemned import Condemned, at_work
from omnigraph.graph.manifest.floors import join_drops
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.recovery.settle import settle_abandoned
from omnigraph.graph.roots import refuse_links
from omnigraph.graph.write.base_hold import files_held_since, release_unrenewed
from omnigraph.graph.write.keys import forget_keys
from omnigraph.storage.namespace import PinnedTable

_CLOCK = f"{layout.CLEANUP}/clock.json"


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
class CleanupRequest:
    """Who asks for a cleanup, and how far it goes."""

    limits: Limits
    actor: str | None = None
    message: str | None = None
    dry_run: bool = False
    dropped_tables: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By chain and table identity: what records before a number say of the table goes now."""


def cleanup(truth: Truth, settings: Settings, request: CleanupRequest) -> Cleanup:
    """Drop the commits that the limits let go, and sweep."""
    if not request.dry_run:
        settle_abandoned(truth, settings)
        finish_branches(truth, settings.cleanup_grace_seconds)
    return _CleanupRun(truth, settings, request).run()


class _CleanupRun:
    """One cleanup in progress."""

    def __init__(self, truth: Truth, settings: Settings, request: CleanupRequest) -> None:
        self.truth, self.store, self.request = truth, truth.store, request
        self.settings = settings
        self.grace, self.key_seconds = settings.cleanup_grace_seconds, settings.idempotency_seconds
        self.identities = {name for tables in request.dropped_tables.values() for name in tables}
        """Of tables that were dropped for good, when that is why files go: only they are looked at then."""
        self.drops = request.dropped_tables
        self.marks = Marks(truth.store)

    def run(self) -> Cleanup:
        """Survey, decide, write down what may go, put up fences, look for the last time, and remove."""
        newest = self.truth.condemned.newest()
        found = survey(self.truth)
        now = self._storage_time()
        if not self.request.dry_run and self._let_go(found.look, now):
            newest, found = self.truth.condemned.newest(), survey(self.truth)
        if not self.request.dry_run:
            release_finished(self.truth, found.look.tags, found.look.refs)
        number = 1 + self._newest_fence(found, newest)
        if not self.identities:
            self.drops = find_drops_left(found.chains.values())
        # S3 dates files by whole seconds: a file is older than it seems only when the period is whole too.
        oldest = min(now - timedelta(seconds=ceil(self.grace)), files_held_since(found.look.tags))
        hit(Failpoint.CLEANUP_AFTER_SURVEY)
        dropped = self._drop(found, oldest)
        found = dropped.found
        with self._alone_or_contention(number):
            self._mark(found, dropped.kept)
        with self._alone_or_contention(number):
            folders = self._list_condemned_files(self._find_outdated(found, dropped), oldest)
        leftovers = self._find_leftovers(found, dropped, now, oldest)
        files = frozenset(info.path for folder in folders.values() for info in folder.condemned)
        if not (files or leftovers):
            leftovers = Leftovers(resting=leftovers.resting)
        last, since = self._condemn(number, dropped, files, leftovers)
        tables = sweep(self.store, folders, self.marks.kept, self.marks.keys, self.request.dry_run)
        removed = self._remove(leftovers, last, since, tables)
        if removed and not (self.request.dry_run or self.identities):
            self._forget_keys(now)  # of which the merges of proposals were noted before it began
        kept = _count(found, dropped.kept)
        if not self.request.dry_run:
            self.marks.save(self._is_looked_at if self.identities else None)
        return Cleanup(
            dry_run=self.request.dry_run,
            tables=tables,
            commits_dropped=sum(len(chain.records) for chain in found.chains.values()) - kept,
            commits_kept=kept,
            records_removed=len(leftovers.records) if removed else 0,
            records_resting=leftovers.resting,
            schemas_removed=len(leftovers.schemas) if removed else 0,
        )

    def _let_go(self, seen: LiveNames, now: datetime) -> bool:
        """Remove what long writes and renames hold that do not go on; return whether there was any."""
        unrenewed = release_unrenewed(self.truth, self.settings, now, seen.tags)
        return call_off_renames(self.truth, seen.tags, seen.refs, self.grace) or unrenewed

    def _newest_fence(self, found: Survey, newest: int) -> int:
        """Return the number of the newest cleanup, by the lists before the survey and by the survey."""
        fence = max(state.head.fence for state in found.look.branches)
        if fence > newest and self.truth.condemned.newest() > newest:
            raise at_work(number=fence)  # it came between: otherwise the lists were lost, or not restored
        return max(newest, fence)

    def _drop(self, found: Survey, oldest: datetime) -> Dropped:
        abandoned = [
            incarnation
            for incarnation, records in found.unnamed.items()
            if all(found.is_older(record, oldest) for record in records) and not self.identities
        ]
        only = self.request.dropped_tables.keys() if self.identities else None
        dropping = Dropping(self.truth, found, self.request.limits, self.drops, abandoned, only)
        return dropping.decide() if self.request.dry_run else dropping.drop()

    def _mark(self, found: Survey, kept: KeptCommits) -> None:
        standing: list[tuple[str, PinnedTable]] = []
        dropped: list[tuple[str, PinnedTable]] = []
        for incarnation, chain in found.chains.items():
            tables, stored = self._find_dropped_tables(chain), chain.floor.floor.tables if chain.floor else {}
            for seq in chain.numbers:
                record = chain.records[seq]
                if (incarnation, seq) in kept.pinned:
                    standing += self._select_tables(record, stored)
                    if any(seq < below for below in stored.values()):
                        # What had a name when a table was dropped for good has kept it, and others have not.
                        dropped += self._select_tables(record, {})
                elif (incarnation, seq) in kept.history or not self._may_drop(incarnation):
                    standing += self._select_tables(record, tables)
        self.marks.add_published(standing)
        for table in dropped:
            self.marks.add_record([table], is_published=False)
        for durable in found.look.plans:
            self.marks.add_plan(durable, found.record(durable.plan.base))

    def _may_drop(self, incarnation: str) -> bool:
        """Return whether commits of a chain may lose tables: floors of others say nothing of the drop."""
        return not self.identities or incarnation in self.request.dropped_tables

    def _find_dropped_tables(self, chain: ChainView) -> Mapping[str, int]:
        stored = chain.floor.floor.tables if chain.floor else {}
        return join_drops(stored, self.drops.get(chain.incarnation, {}))

    def _select_tables(
        self, record: CommitRecord, dropped: Mapping[str, int]
    ) -> list[tuple[str, PinnedTable]]:
        """Return the tables of a commit that are looked at, but for those dropped for good after it."""
        return [
            (entry.key, entry.pinned)
            for identity, entry in record.tables.items()
            if record.seq >= dropped.get(identity, 0) and self._is_looked_at(entry.location)
        ]

    def _find_outdated(self, found: Survey, dropped: Dropped) -> list[CommitRecord]:
        """Return the commits of which some table is not kept any more.

        A drop for good takes versions from the chains that it says so of; deleted branches can be restored.
        """
        if self.identities:
            chains = [chain for name, chain in found.chains.items() if name in self.request.dropped_tables]
            return [
                record for chain in chains for record in (*chain.dropped.values(), *chain.records.values())
            ]
        outdated = [record for records in found.ended.values() for record in records]
        outdated += [record for chain in dropped.given_up for record in found.unnamed[chain]]
        for incarnation, chain in found.chains.items():
            outdated += chain.dropped.values()
            has_dropped_tables = bool(self._find_dropped_tables(chain))
            for seq, record in chain.records.items():
                if has_dropped_tables or (incarnation, seq) not in dropped.kept:
                    outdated.append(record)
        return outdated

    def _is_looked_at(self, location: str) -> bool:
        return not self.identities or location.split("/")[1] in self.identities

    def _list_condemned_files(self, outdated: Sequence[CommitRecord], oldest: datetime) -> dict[str, Folder]:
        refuse_links(self.store)
        published = self.marks.find_dropped_files(outdated, self._is_looked_at)
        # A drop for good takes what was published; leftovers of other writes wait for an ordinary cleanup.
        limit = datetime.min.replace(tzinfo=UTC) if self.identities else oldest
        listed = list_folders(self.store)
        self.marks.check_files(listed)
        return {
            location: sort_folder(
                location, files, self.marks.kept.get(location, set()), published.get(location, set()), limit
            )
            for location, files in listed.items()
            if self._is_looked_at(location)
        }

    def _find_leftovers(self, found: Survey, dropped: Dropped, now: datetime, oldest: datetime) -> Leftovers:
        if self.identities:
            return Leftovers()
        return find_leftovers(found, dropped.kept, dropped.given_up, now, oldest, self.store)

    def _condemn(
        self, number: int, dropped: Dropped, files: frozenset[str], leftovers: Leftovers
    ) -> tuple[LiveNames, list[CommitRecord]]:
        """Write down what may go, put up fences, and look for the last time at what must stay after all."""
        if self.request.dry_run or not (files or leftovers):
            return dropped.found.look, []
        self.truth.condemned.write(Condemned(number, files.union(leftovers.schemas), leftovers.records))
        hit(Failpoint.CLEANUP_AFTER_LIST)
        last = put_fences(self.truth, number, self.request.actor, self.request.message)
        hit(Failpoint.CLEANUP_AFTER_FENCES)
        with self._alone_or_contention(number + 1):
            since = find_published_since(self.truth, dropped.found, dropped.given_up)
            ended = {record.incarnation for record in since if record.closed}
            finished = ended | {state.ref.incarnation for state in last.branches}
            for record in since:
                self.marks.add_record(self._select_tables(record, {}), record.incarnation in finished)
            for durable in last.plans:
                held = self.truth.chains.holds(durable.plan.base)
                self.marks.add_plan(durable, self.truth.chains.at(durable.plan.base) if held else None)
        return last, since

    @contextmanager
    def _alone_or_contention(self, number: int) -> Iterator[None]:
        """Tell what another cleanup has removed meanwhile, which has left a list, from what is lost."""
        try:
            yield
        except CorruptState as error:
            if self.truth.condemned.newest() < number:
                raise
            raise at_work(number=number) from error

    def _remove(
        self,
        leftovers: Leftovers,
        last: LiveNames,
        since: Sequence[CommitRecord],
        tables: Sequence[TableCleanup],
    ) -> bool:
        """Remove control files, once every table is swept: until then the records tell what is left to do."""
        if self.request.dry_run or any(table.error for table in tables):
            return self.request.dry_run
        hit(Failpoint.CLEANUP_BEFORE_RECORDS)
        remove_leftovers(self.store, leftovers, last, since)
        for path in self.truth.condemned.find_outdated():
            self.store.delete(path)
        hit(Failpoint.CLEANUP_AFTER_RECORDS)
        if not self.identities:
            self.store.remove_residue(timedelta(seconds=self.grace))
        return True

    def _forget_keys(self, now: datetime) -> None:
        """Remove the claims of idempotency keys that are no longer promised to be remembered."""
        forget_keys(self.truth, now - timedelta(seconds=self.key_seconds))

    def _storage_time(self) -> datetime:
        """Return the time by the clock that dates the files, which need not be this machine's."""
        if not self.request.dry_run:
            self.store.put(_CLOCK, b"{}")
            dates = [info.last_modified for info in self.store.list(layout.CLEANUP) if info.path == _CLOCK]
            if dates:
                return dates[0]
        return datetime.fromtimestamp(clock.current().now_us() / 1e6, UTC)


def _count(found: Survey, kept: KeptCommits) -> int:
    return sum(
        (incarnation, seq) in kept for incarnation, chain in found.chains.items() for seq in chain.records
    )
