"""Commits as users see them: list, show, and find what a read should be of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from itertools import islice

from omnigraph.base.errors import BadInput, CorruptState, HistoricalVersionReclaimed, NotFound
from omnigraph.base.ids import chain_of, is_ulid, ulid_time_us
from omnigraph.base.notebook import html_facts, shorten
from omnigraph.base.plain import to_full_object
from omnigraph.graph.manifest import lineage
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import BranchState, Truth

_SHOWN_CHARACTERS = 60
_MEASURED = ("load.", "merge.", "same.", "sql.")
"""How the names begin under which loads, merges, combinations and statements of SQL note what they did."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the graph."""

    id: str
    parent: str | None
    merged_parent: str | None
    branch: str
    version: int
    actor: str | None
    created_at: datetime
    message: str | None
    operation: str
    maintenance: bool
    recovery: tuple[dict[str, object], ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What its writer has noted beside the message."""

    @staticmethod
    def of(record: CommitRecord) -> Commit:
        """Return a record as users see it."""
        return Commit(
            id=record.commit,
            parent=record.parent.commit if record.parent else None,
            merged_parent=record.merged_parent.commit if record.merged_parent else None,
            branch=record.branch,
            version=record.seq,
            actor=record.actor,
            created_at=datetime.fromtimestamp(record.created_at / 1e6, UTC),
            message=record.message,
            operation=record.operation,
            maintenance=record.commit_class.value == "maintenance",
            recovery=tuple(to_full_object(note) for note in record.recovery),
            metadata=dict(record.metadata),
        )

    @property
    def author(self) -> str | None:
        """Who made the change first: of a cherry-pick who made the commit that was picked, else the actor."""
        return lineage.author_of(self.operation, self.actor, self.metadata)

    def without_measures(self) -> Commit:
        """Return the commit without what the engine has measured: that tells of hidden rows, too."""
        kept = without_measures(self.metadata)
        return self if len(kept) == len(self.metadata) else replace(self, metadata=kept)

    def __repr__(self) -> str:
        who = f", by {shorten(self.actor, _SHOWN_CHARACTERS)!r}" if self.actor is not None else ""
        if self.author not in (None, self.actor):
            who += f" for {shorten(str(self.author), _SHOWN_CHARACTERS)!r}"
        why = f", {shorten(self.message, _SHOWN_CHARACTERS)!r}" if self.message is not None else ""
        when = self.created_at.isoformat(timespec="seconds").replace("+00:00", "Z")
        return f"Commit({self.id!r}, {self.branch} {self.version}, {self.operation}, {when}{who}{why})"

    def _repr_html_(self) -> str:
        """Return the commit as a table of its fields, for notebooks."""
        shown = [(item.name, getattr(self, item.name)) for item in fields(self) if item.name != "recovery"]
        facts = [(name, str(value) if isinstance(value, datetime) else value) for name, value in shown]
        return html_facts(f"commit {self.id}", facts)


def without_measures(metadata: Mapping[str, str]) -> dict[str, str]:
    """Return what the writer of a commit has noted, without what the engine has measured."""
    return {name: value for name, value in metadata.items() if not name.startswith(_MEASURED)}


def list_commits(
    truth: Truth,
    head: CommitRecord,
    limit: int | None = None,
    actor: str | None = None,
    where: Mapping[str, str] | None = None,
    sees: Callable[[CommitRecord], bool] | None = None,
    measures: bool = True,
) -> list[Commit]:
    """Return the commits reachable from a record, newest first; `where` says what their metadata must be.

    With `sees` only those that it says yes to. Without `measures` they are as for who does not see all data.
    """
    wanted_metadata = check_where(where)
    if limit is not None and (not _is_whole(limit) or limit < 0):
        raise BadInput(f"limit is {limit!r}: it must be a whole number of 0 or more", limit=limit)
    seen = (record for record in lineage.history(truth.chains, head) if sees is None or sees(record))
    every = map(Commit.of, seen)
    told = every if measures else (commit.without_measures() for commit in every)
    wanted = (
        commit
        for commit in told
        if (actor is None or commit.actor == actor) and wanted_metadata <= commit.metadata.items()
    )
    return list(islice(wanted, limit))  # it does not look behind the last one


def check_where(where: Mapping[str, str] | None) -> Set[tuple[str, str]]:
    """Return what the metadata of commits must have, checked."""
    if where is None:
        return frozenset()
    if not isinstance(where, Mapping) or not all(
        isinstance(text, str) for pair in where.items() for text in pair
    ):
        raise BadInput(f"where is {where!r}: it must be a dict of strings, such as {{'task': 't-17'}}")
    return frozenset(where.items())


def find_commit(truth: Truth, commit: str) -> CommitRecord:
    """Return the record of a commit of any branch: its id tells the chain that it is in.

    The commits of a deleted branch are found as long as they are stored; those of a branch that is being made
    are not. Damage of other records of the chain, its newest among them, hides none that is sound.
    """
    if not isinstance(commit, str) or not is_ulid(commit):
        raise NotFound(
            f"{commit!r} is not a commit id: they are 26 capital letters and digits", commit=commit
        )
    chain = chain_of(commit)
    try:
        floor = truth.chains.floor(chain)
        newest = truth.newest_of(chain)
        found = lineage.find_in_chain(truth.chains, newest, floor, commit) if newest is not None else None
    except CorruptState:
        rescued = lineage.find_beside_damage(truth.chains, chain, commit)
        if rescued is None or not _is_published(truth, rescued):
            raise
        return rescued
    if found is not None and _is_published(truth, found, newest):
        return found
    if floor is not None and (floor.ended or floor.since > ulid_time_us(commit)):
        raise HistoricalVersionReclaimed(
            f"commit {commit} is not stored: it is older than what a cleanup has kept (or never was)",
            commit=commit,
        )
    raise no_commit(commit)


def no_commit(commit: str) -> NotFound:
    """Return the error about an id that is not a commit's."""
    return NotFound(f"there is no commit {commit}", commit=commit)


def _is_published(truth: Truth, record: CommitRecord, newest: CommitRecord | None = None) -> bool:
    """Return whether a chain is or was a branch's: it has ended, or a name stands for it, or stood."""
    if record.closed:
        return False
    if record.incarnation == truth.stamp.main or (newest is not None and newest.closed):
        return True
    try:
        stored = truth.refs.read(record.branch)
        if stored is None:
            return True  # a name comes before the first commit and leaves an object: this one is lost
        named = stored.ref or stored.tombstone
        if named is None or named.making:
            return False
        chains = (named.incarnation, *named.predecessors)
        return record.incarnation in chains or record.incarnation == truth.goes_on(named).incarnation
    except CorruptState:
        return True


def at_version(
    truth: Truth, state: BranchState, version: int, past: lineage.Ancestry | None = None
) -> CommitRecord:
    """Return the commit that has this number in the first-parent history of a branch.

    Who asks for many takes one look at the `past` for all of them.
    """
    if not _is_whole(version):
        raise BadInput(f"version is {version!r}: it must be a whole number", version=version)
    if not 1 <= version <= state.head.seq:
        raise NotFound(
            f"branch {state.ref.name!r} has no version {version}: it is at version {state.head.seq}",
            branch=state.ref.name,
            version=version,
        )
    return _find_version(truth, state.ref, version, past or lineage.Ancestry(truth.chains))


def at_time(truth: Truth, state: BranchState, timestamp: datetime | str) -> CommitRecord:
    """Return the newest commit of the first-parent history of a branch at a moment.

    Times never go back along a history, so that of each chain only some records are read.
    """
    moment, past = _moment_of(timestamp), lineage.Ancestry(truth.chains)
    tip: CommitRecord | None = state.head
    while tip is not None and tip.created_at > moment:
        numbers = past.numbers(tip)
        chain, known = tip.incarnation, tip
        place = bisect_right(
            numbers, moment, key=lambda seq: _need_record(truth, chain, seq, known).created_at
        )
        fork = past.fork_of(tip)
        before = numbers[place - 1] if place else fork.seq if fork is not None else 0
        if place < len(numbers) and numbers[place] != before + 1:  # what is gone may have been it
            raise HistoricalVersionReclaimed(
                f"what branch {state.ref.name!r} was at {timestamp} is no longer stored: a cleanup has "
                f"removed versions {before + 1} to {numbers[place] - 1}",
                branch=state.ref.name,
                timestamp=str(timestamp),
            )
        if place:
            return _need_record(truth, chain, numbers[place - 1], known)
        tip = past.at(fork) if fork is not None else None
    if tip is None:
        oldest = datetime.fromtimestamp(moment / 1e6, UTC).isoformat()
        raise NotFound(
            f"nothing of branch {state.ref.name!r} is stored from before {oldest}: it was made later, or a "
            "cleanup has removed what it was then",
            branch=state.ref.name,
            timestamp=str(timestamp),
        )
    return tip


def _need_record(truth: Truth, chain: str, seq: int, tip: CommitRecord) -> CommitRecord:
    if seq == tip.seq:
        return tip
    found = truth.chains.held(chain, seq)
    if found is None:
        raise HistoricalVersionReclaimed(
            f"version {seq} of branch {tip.branch!r} is no longer stored: a cleanup has removed it",
            branch=tip.branch,
            version=seq,
        )
    return found


def _moment_of(timestamp: datetime | str) -> int:
    """Return a moment in microseconds; one without an offset is UTC."""
    try:
        given = datetime.fromisoformat(timestamp.strip()) if isinstance(timestamp, str) else timestamp
        aware = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1)
    except (AttributeError, TypeError, ValueError):
        raise BadInput(
            f"timestamp is {timestamp!r}: give a datetime, or a string such as 2026-01-31T12:00:00Z",
            timestamp=str(timestamp),
        ) from None


def find_beside_damage(truth: Truth, branch: str, version: int | None) -> CommitRecord:
    """Return a version of a branch whose newest record is damaged, or raise what is wrong with it."""
    ref, past = truth.read_ref(branch), lineage.Ancestry(truth.chains)
    if version is not None and _is_whole(version) and version >= 1:
        chain = chain_holding(truth, ref, version, past).incarnation
        if truth.chains.record(chain, version) is not None:
            return _find_version(truth, ref, version, past)
    state = truth.state(branch)  # this raises, unless what was damaged has been restored meanwhile
    return state.head if version is None else at_version(truth, state, version)


def _find_version(truth: Truth, branch: BranchRef, version: int, past: lineage.Ancestry) -> CommitRecord:
    ref = chain_holding(truth, branch, version, past)
    place = CommitRef("", ref.incarnation, version)
    found = truth.chains.held(ref.incarnation, version) if past.holds(place) else None
    if found is None:
        raise HistoricalVersionReclaimed(
            f"version {version} of branch {branch.name!r} is no longer stored: a cleanup has removed it",
            branch=branch.name,
            version=version,
        )
    return found


def chain_holding(truth: Truth, ref: BranchRef, version: int, past: lineage.Ancestry) -> BranchRef:
    """Return the chain that has this number in the first-parent history of a branch."""
    while version <= ref.fork_seq:
        ref = _parent_chain(truth, past, ref)
    return ref


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _parent_chain(truth: Truth, past: lineage.Ancestry, ref: BranchRef) -> BranchRef:
    """Return the chain that a branch was forked from, as far as its records tell."""
    assert ref.fork is not None
    at_fork = truth.chains.at(ref.fork)
    return BranchRef(at_fork.branch, at_fork.incarnation, past.fork_of(at_fork))
