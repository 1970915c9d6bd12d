"""Looking at everything that a cleanup must know: branches, tags, plans, and every record of every chain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from omnigraph.base.errors import BranchGone, CorruptState, NotFound
from omnigraph.graph.branches.rename import RENAMES
from omnigraph.graph.maintenance.cleanup.retention import ChainView, RetentionRoots
from omnigraph.graph.maintenance.missing_commits import (
    Listing,
    Named,
    commits_named_by_plan,
    commits_named_by_record,
    has_lost_its_ref,
    missing_numbers,
)
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.condemned import at_work
from omnigraph.graph.manifest.floors import StoredFloor, read_floor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import BranchRef, lost_ref_error
from omnigraph.graph.manifest.tags import StoredTag
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.graph.recovery import plans
from omnigraph.graph.recovery.plans import DurablePlan

_RECORDS_PER_READ = 256
_MAX_SURVEYS = 3


@dataclass(frozen=True)
class LiveNames:
    """What stands on commits at one moment."""

    branches: tuple[BranchState, ...]
    tags: tuple[StoredTag, ...]
    plans: tuple[DurablePlan, ...]
    refs: tuple[BranchRef, ...] = ()
    """All names, also those of branches that have ended, go on elsewhere, or are about to."""
    tombstones: tuple[BranchRef, ...] = ()
    """The deleted branches that can be restored under their names, as long as their commits are there."""

    @property
    def incarnations(self) -> set[str]:
        """The chains that some branch has, or is named by, or may go on in."""
        named = {ref.incarnation for ref in (*(state.ref for state in self.branches), *self.refs)}
        return named | {ref.onto.incarnation for ref in self.refs if ref.onto is not None}

    def standing(self) -> RetentionRoots:
        """Return the commits that must stay."""
        pinned = [state.ref.fork for state in self.branches]
        pinned += [ref.fork for ref in self.refs]
        pinned += [ref.onto.fork for ref in self.refs if ref.onto is not None]
        pinned += [tag.ref for tag in self.tags]
        after: list[tuple[str, int]] = []
        merged = [durable.plan.merged_parent for durable in self.plans]
        main = self.branches[0].ref.incarnation
        for durable in self.plans:
            plan = durable.plan
            pinned += [plan.base, plan.merged_parent, *plan.sources]
            after += [(plan.incarnation, plan.base.seq), (main, durable.main_seq)]
        heads = [state.head.ref for state in self.branches]
        # A branch that is made, or rebased, has the history of what it begins from as soon as it is.
        heads += [ref.fork for ref in self.refs if ref.making and ref.fork is not None]
        heads += [ref.onto.fork for ref in self.refs if ref.onto is not None]
        # A branch that is being renamed stands under no name for a moment.
        heads += [tag.ref for tag in self.tags if tag.name.startswith(RENAMES)]
        return RetentionRoots(
            heads,
            [ref for ref in pinned if ref is not None],
            after,
            [ref for ref in merged if ref is not None],
        )


@dataclass(frozen=True)
class Survey:
    """The whole history of a graph as it is stored."""

    look: LiveNames
    chains: Mapping[str, ChainView]
    unnamed: Mapping[str, tuple[CommitRecord, ...]] = field(default_factory=dict)
    """By incarnation, chains without a name and without an end: a branch is being made, or never was."""
    ended: Mapping[str, tuple[CommitRecord, ...]] = field(default_factory=dict)
    """By incarnation, what is left of chains that an earlier cleanup has given up altogether."""
    gone: Mapping[str, CommitRef | None] = field(default_factory=dict)
    """By incarnation, chains of which nothing is left and that commits still name: where they were forked."""
    written_at: Mapping[tuple[str, int], datetime] = field(default_factory=dict)
    """When each listed record was written, by the clock of the storage."""

    def record(self, ref: CommitRef) -> CommitRecord | None:
        """Return the record that a ref names, when it is held."""
        chain = self.chains.get(ref.incarnation)
        return chain.records.get(ref.seq) if chain else None

    def is_older(self, record: CommitRecord, moment: datetime) -> bool:
        """Return whether a record was written before a moment; one that was not listed is new."""
        written = self.written_at.get((record.incarnation, record.seq))
        return written is not None and written < moment


def look(truth: Truth) -> LiveNames:
    """Read all refs, the newest record of every live branch, all tags and all plans.

    Whatever cannot be read is an error: nothing is collected on half a view. A branch that was never
    finished, and one that ends meanwhile, is none.
    """
    # A plan goes once it is published: who does not see it any more sees what it has become.
    found = [plans.read_plan(truth.store, path) for path in plans.list_plans(truth.store)]
    states = []
    for ref in truth.live_refs():
        with suppress(NotFound, BranchGone):
            states.append(truth.follow(ref))
    # A name may move while the branches are read: who takes one away has left a tag, or another name, before.
    tags, names = truth.tags.list(), truth.refs.list_names()
    return LiveNames(
        tuple(state for state in states if not state.head.closed),
        tuple(tags),
        tuple(plan for plan in found if plan is not None),
        tuple(ref for ref in names if not ref.deleted),
        tuple(ended for ref in names if (ended := ref if ref.deleted else ref.buried) is not None),
    )


def survey(truth: Truth) -> Survey:
    """Read every stored record; what does not add up is looked at again before it counts as damage."""
    for _ in range(_MAX_SURVEYS - 1):
        with suppress(CorruptState):  # others may have come between the reads: damage stays
            return _survey(truth)
        truth.chains.clear()
    return _survey(truth)


def _survey(truth: Truth) -> Survey:
    listed = truth.chains.list_numbers()
    stored = {incarnation: list(numbers) for incarnation, numbers in listed.items()}
    written_at = {(chain, seq): at for chain, numbers in listed.items() for seq, at in numbers.items()}
    seen = look(truth)
    refs = {state.ref.incarnation: state.ref for state in seen.branches}
    chains: dict[str, ChainView] = {}
    unnamed: dict[str, tuple[CommitRecord, ...]] = {}
    ended: dict[str, tuple[CommitRecord, ...]] = {}
    for incarnation, numbers in stored.items():
        ref = refs.get(incarnation)
        records = read_records(truth, incarnation, numbers)
        if ref is None:
            # A name is freed only after the chain has ended, and names were read before this: without an end
            # the chain has no name now, and had none before.
            records |= _newer(truth, incarnation, max(numbers))
        # The floor comes after the records: what another cleanup has taken meanwhile is below it.
        floor = read_floor(truth.store, incarnation)
        view = _view(truth, incarnation, records, floor, ref)
        if view is not None:
            chains[incarnation] = replace(view, named=incarnation in seen.incarnations)
        elif floor is not None and floor.floor.ended:
            ended[incarnation] = tuple(records.values())
        elif records:
            unnamed[incarnation] = tuple(records.values())
    _check_refs(truth, seen, unnamed)
    _check_parents(truth, seen, chains)
    _check_named(Listing.of(truth, stored, seen.incarnations), seen, chains, unnamed)
    return Survey(seen, chains, unnamed, ended, _find_gone(truth, chains), written_at)


def _find_gone(truth: Truth, chains: Mapping[str, ChainView]) -> dict[str, CommitRef | None]:
    """Return where the chains that commits name and of which nothing is held were forked, by their floors."""
    named = {
        item.ref.incarnation
        for chain in chains.values()
        for record in chain.records.values()
        for item in commits_named_by_record(record)
    }
    named |= {chain.fork.incarnation for chain in chains.values() if chain.fork is not None}
    found: dict[str, CommitRef | None] = {}
    waiting = list(named - chains.keys())
    while waiting:
        incarnation = waiting.pop()
        floor = truth.chains.floor(incarnation)
        found[incarnation] = fork = floor.fork if floor is not None else None
        if fork is not None and fork.incarnation not in chains and fork.incarnation not in found:
            waiting.append(fork.incarnation)
    return found


def renew(truth: Truth, found: Survey, seen: LiveNames) -> Survey:
    """Return a survey with what branches have published since, up to a later look."""
    chains = dict(found.chains)
    live = {state.ref.incarnation for state in seen.branches}
    for name, view in found.chains.items():
        if view.live and name not in live:  # it has ended since
            ended = {**view.records, **_newer(truth, name, view.last)}
            chains[name] = replace(view, records=ended, live=False)
    for state in seen.branches:
        ref, chain = state.ref, found.chains.get(state.ref.incarnation)
        if state.head.incarnation != ref.incarnation:
            continue
        after = chain.last if chain else ref.fork_seq
        newer = read_records(truth, ref.incarnation, range(after + 1, state.head.seq + 1))
        if len(newer) < state.head.seq - after:
            raise at_work(branch=ref.name)
        if newer and chain is not None:
            chains[ref.incarnation] = replace(chain, records={**chain.records, **newer})
        elif newer:
            floor = read_floor(truth.store, ref.incarnation)
            chains[ref.incarnation] = ChainView(
                ref.incarnation, ref.name, ref.fork, live=True, records=newer, floor=floor
            )
    named = seen.incarnations
    chains = {name: replace(view, named=view.named or name in named) for name, view in chains.items()}
    unnamed = {name: records for name, records in found.unnamed.items() if name not in chains}
    return replace(found, look=seen, chains=chains, unnamed=unnamed)


def find_published_since(truth: Truth, found: Survey, given_up: Set[str]) -> list[CommitRecord]:
    """Return every record that is stored by now and that the survey did not have, but for chains given up.

    Branches may have been made, written to and deleted since: what they published can have been merged,
    tagged, or be restored. So it does not matter whether a chain is live. What a held-up writer has put
    where a cleanup had removed a record was never published, and what it names may be gone.
    """
    decided = given_up | found.ended.keys()
    since: list[CommitRecord] = []
    for incarnation, numbers in truth.chains.list_numbers().items():
        chain = found.chains.get(incarnation)
        new = [seq for seq in numbers if chain is None or not chain.has(seq)]
        if incarnation not in decided:
            records = read_records(truth, incarnation, new)
            if len(records) < len(new):
                raise at_work()
            since += _held(truth, incarnation, records)
    return since


def _held(truth: Truth, incarnation: str, records: Mapping[int, CommitRecord]) -> list[CommitRecord]:
    """Return those of some records that were just read which the floor of their chain holds."""
    floor = truth.chains.floor(incarnation) if records else None
    if floor is None or floor.ended:
        return [*records.values()]
    return [record for seq, record in records.items() if floor.holds(seq)]


def give_up(found: Survey, floors: Iterable[StoredFloor]) -> Survey:
    """Return a survey of chains that have got these floors."""
    chains, ended = dict(found.chains), dict(found.ended)
    unnamed = dict(found.unnamed)
    for stored in floors:
        name, floor = stored.floor.incarnation, stored.floor
        view = chains.pop(name, None)
        records = view.records if view is not None else {item.seq: item for item in unnamed.pop(name, ())}
        held = {seq: record for seq, record in records.items() if floor.holds(seq)}
        gone = {seq: record for seq, record in records.items() if seq not in held}
        if view is not None and held:
            chains[name] = replace(view, records=held, dropped={**view.dropped, **gone}, floor=stored)
        else:
            ended[name] = (*(view.dropped.values() if view is not None else ()), *gone.values())
    return replace(found, chains=chains, ended=ended, unnamed=unnamed)


def _newer(truth: Truth, incarnation: str, last: int) -> dict[int, CommitRecord]:
    """Return the records that have come after those that were listed."""
    found: dict[int, CommitRecord] = {}
    while (record := truth.chains.record(incarnation, last + 1)) is not None:
        last += 1
        found[last] = record
    return found


def _check_refs(truth: Truth, seen: LiveNames, unnamed: Mapping[str, Sequence[CommitRecord]]) -> None:
    for incarnation, records in unnamed.items():
        if incarnation not in seen.incarnations and has_lost_its_ref(truth, records[-1]):
            path = layout.ref_path(records[-1].branch)
            raise CorruptState(
                f"branch {records[-1].branch!r} has commits (chain {incarnation}), but its ref is lost: "
                f"restore {path} from a backup, or run `omnigraph repair --confirm`, which brings it back",
                path=path,
            )
    for name in truth.refs.names_without_ref():
        raise lost_ref_error(name)  # it may have been the only one to name a commit


def read_records(truth: Truth, incarnation: str, numbers: Iterable[int]) -> dict[int, CommitRecord]:
    """Return records by number, read a page at a time; those that are gone are left out."""
    wanted = list(numbers)
    found: dict[int, CommitRecord] = {}
    for start in range(0, len(wanted), _RECORDS_PER_READ):
        for record in truth.chains.records(incarnation, wanted[start : start + _RECORDS_PER_READ]):
            found[record.seq] = record
    return found


def _view(
    truth: Truth,
    incarnation: str,
    records: dict[int, CommitRecord],
    floor: StoredFloor | None,
    ref: BranchRef | None,
) -> ChainView | None:
    """Return a chain that a branch has, or that has ended; None for any other."""
    held = {seq: record for seq, record in records.items() if floor is None or floor.floor.holds(seq)}
    if not held or (ref is None and not held[max(held)].closed):
        return None
    if floor is not None and max(held) < floor.floor.below:
        raise at_work(incarnation=incarnation)  # the list of records is older than the floor
    # A listing may pass over what appears while it is made.
    first = max(min(held), floor.floor.below if floor else 0)
    held |= read_records(truth, incarnation, set(range(first, max(held))) - held.keys())
    return ChainView(
        incarnation=incarnation,
        branch=held[max(held)].branch,
        fork=_fork(ref, floor, held),
        live=ref is not None,
        records=dict(sorted(held.items())),
        dropped={seq: record for seq, record in records.items() if seq not in held},
        floor=floor,
    )


def _fork(
    ref: BranchRef | None, floor: StoredFloor | None, records: Mapping[int, CommitRecord]
) -> CommitRef | None:
    if ref is not None:
        return ref.fork
    if floor is not None:
        return floor.floor.fork
    first = records[min(records)]
    if first.parent is not None and first.parent.incarnation == first.incarnation:
        raise CorruptState(
            f"commit record {first.parent.seq} of branch {first.branch!r} is missing: run `omnigraph repair`",
            path=layout.record_path(first.incarnation, first.parent.seq),
        )
    return first.parent


def _check_parents(truth: Truth, seen: LiveNames, chains: Mapping[str, ChainView]) -> None:
    """Refuse to decide about a history with a hole that no cleanup has made."""
    for chain in chains.values():
        first = chain.fork.seq + 1 if chain.fork is not None else 1
        floor = chain.floor.floor if chain.floor is not None else None
        for missing in missing_numbers(floor, first, chain.last, chain.records):
            raise CorruptState(
                f"commit record {missing} of branch {chain.branch!r} is missing: run `omnigraph repair`",
                path=layout.record_path(chain.incarnation, missing),
            )
    for state in seen.branches:
        fork = state.ref.fork
        if fork is None:
            continue
        parent = chains.get(fork.incarnation)
        if (parent is None or fork.seq not in parent.records) and not _is_newer(truth, fork):
            raise CorruptState(
                f"commit {fork.commit}, which branch {state.ref.name!r} was forked from, is missing: "
                "run `omnigraph repair`",
                path=layout.record_path(fork.incarnation, fork.seq),
            )


def _check_named(
    listing: Listing, seen: LiveNames, chains: Mapping[str, ChainView], unnamed: Collection[str]
) -> None:
    """Refuse to decide about a history in which something that others stand on is lost."""
    records = [record for chain in chains.values() for record in chain.records.values()]
    named = [item for record in records for item in commits_named_by_record(record)]
    named += [Named(tag.ref, f"tag {tag.name!r}") for tag in seen.tags]
    for item in named:
        if item.ref.incarnation in unnamed and not listing.has_owner(item.ref.incarnation):
            raise _lost_error(f"the branch of commit {item.ref.commit} has neither a ref nor an end", item)
    named += [item for durable in seen.plans for item in commits_named_by_plan(durable)]
    for item in named:
        if listing.is_lost(item.ref):
            raise _lost_error(f"commit {item.ref.commit} is missing", item)


def _lost_error(what: str, item: Named) -> CorruptState:
    return CorruptState(
        f"{what}, and it is named by {item.by}: run `omnigraph repair`",
        path=layout.record_path(item.ref.incarnation, item.ref.seq),
    )


def _is_newer(truth: Truth, fork: CommitRef) -> bool:
    """Return whether a commit that was not listed is there by now: it was made after the list was."""
    floor = truth.chains.floor(fork.incarnation)
    path = layout.record_path(fork.incarnation, fork.seq)
    return (floor is None or floor.holds(fork.seq)) and truth.store.get_many([path])[0] is not None
