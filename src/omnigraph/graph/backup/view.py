"""Looking at a graph: which commits, branches and tags a backup of it is to hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from omnigraph.base.errors import BranchGone, Conflict, HistoricalVersionReclaimed, NotFound
from omnigraph.graph.backup.manifest import SNAPSHOT, WHOLE, HeldChain, HeldCommit, Manifest
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import Floor, decode_floor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.graph.manifest.stamp import Stamp
from omnigraph.graph.manifest.tags import StoredTag
from omnigraph.graph.manifest.truth import BranchState, Truth, continue_ref
from omnigraph.graph.tags import is_hold
from omnigraph.storage.files.copying import Content

_RECORDS_PER_READ = 256

Place = tuple[str, int]
"""A chain's incarnation and a number in it."""


class ChangedMeanwhile(Exception):
    """What was looked at has changed meanwhile: look again."""


@dataclass
class SeenChain:
    """What belongs to the backup of one chain."""

    incarnation: str
    branch: str
    fork: CommitRef | None
    live: bool
    known: dict[int, HeldCommit] = field(default_factory=dict)
    """Commits that an earlier backup holds, by number."""
    fresh: dict[int, CommitRecord] = field(default_factory=dict)
    """Those that no backup holds yet."""
    contents: dict[int, Content] = field(default_factory=dict)
    """Of the records of the fresh ones, as they are stored."""
    dropped_tables: Mapping[str, int] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The highest number."""
        return max((*self.known, *self.fresh))

    @property
    def is_closed(self) -> bool:
        """Whether the chain ends with the record that closes it."""
        record = self.fresh.get(self.last) or self.known[self.last]
        return record.closed


@dataclass(frozen=True)
class View:
    """What a backup is to hold."""

    scope: str
    stamp: Stamp
    heads: Mapping[str, CommitRef]
    refs: tuple[BranchRef, ...]
    """Those of all branches but main."""
    tags: tuple[StoredTag, ...]
    chains: Mapping[str, SeenChain]
    notes: Mapping[str, str]
    """Which branches were forked from others, by path."""
    fence: int
    """The newest cleanup that a branch has heard of."""

    def standing(self) -> list[CommitRef]:
        """Return the commits that the backup cannot do without."""
        forks = [ref.fork for ref in self.refs if ref.fork is not None]
        return [*self.heads.values(), *forks, *(tag.ref for tag in self.tags)]

    def fresh(self) -> dict[Place, CommitRecord]:
        """Return all commits that no backup holds yet."""
        return {
            (chain.incarnation, seq): record
            for chain in self.chains.values()
            for seq, record in chain.fresh.items()
        }


def view_of_snapshot(truth: Truth, record: CommitRecord) -> View:
    """Return one commit as a graph of its own: its main branch has this commit and no other."""
    path = layout.record_path(record.incarnation, record.seq)
    data = truth.store.get_many([path])[0]
    if data is None:
        raise HistoricalVersionReclaimed(
            f"commit {record.commit} (version {record.seq}) is no longer stored: a cleanup has removed it",
            commit=record.commit,
            version=record.seq,
        )
    chain = SeenChain(
        record.incarnation,
        record.branch,
        None,
        True,
        fresh={record.seq: record},
        contents={record.seq: Content.of(data)},
    )
    stamp = replace(truth.stamp, main=record.incarnation)
    return View(SNAPSHOT, stamp, {MAIN: record.ref}, (), (), {record.incarnation: chain}, {}, record.fence)


def view_of_graph(truth: Truth, base: Manifest | None, keeps_all: bool) -> View:
    """Return all branches and tags, and every commit that they reach.

    What `base` holds is not read again. With `keeps_all` it stays part of the history even where the graph
    has dropped it since.
    """
    states = _live(truth)
    tags = tuple(tag for tag in truth.tags.list() if not is_hold(tag.name))
    # Branches first, records after them: every record that a head stands on is listed.
    walk = _ChainWalk(truth, {state.ref.incarnation: state.ref for state in states}, base, keeps_all)
    for state in states:
        walk.reach(state.head.ref)
        if state.ref.fork is not None:
            walk.reach(state.ref.fork)
    for tag in tags:
        walk.reach(tag.ref)
    walk.end_chains()
    heads = {state.ref.name: walk.head_of(state) for state in states}
    others = [state.ref for state in states if state.ref.name != MAIN]
    refs = tuple(ref.unmarked for ref in others)
    fence = max(state.head.fence for state in states)
    view = View(WHOLE, truth.stamp, heads, refs, tags, walk.chains, _notes(truth, refs), fence)
    for ref in view.standing():
        if not walk.has(ref):
            raise ChangedMeanwhile
    return view


def _live(truth: Truth) -> list[BranchState]:
    """Return the newest state of every branch; one that was never finished, or ends meanwhile, is none."""
    states = (_state(truth, ref) for ref in truth.live_refs())
    return [state for state in states if state is not None]


def _state(truth: Truth, ref: BranchRef) -> BranchState | None:
    """Return the newest state of a branch, there where it goes on when it is rebased meanwhile."""
    with suppress(NotFound, BranchGone):
        while (state := truth.state_of(ref)).head.closed and state.head.successor is not None:
            ref = continue_ref(ref, state.head)
        if not state.head.closed:
            return state
    # A chain that went as a whole does not say whether its branch has ended; the name does.
    stored = truth.refs.read(ref.name)
    named = stored.ref if stored is not None else None
    if named is not None and truth.goes_on(named).incarnation != ref.incarnation:
        raise ChangedMeanwhile
    return None


def _notes(truth: Truth, refs: Iterable[BranchRef]) -> dict[str, str]:
    paths = [layout.fork_path(ref.fork.incarnation, ref.incarnation) for ref in refs if ref.fork is not None]
    found = zip(paths, truth.store.get_many(paths), strict=True)
    return {path: data.decode() for path, data in found if data is not None}


class _ChainWalk:
    """The way from heads and tags to all that they reach."""

    def __init__(
        self, truth: Truth, live: Mapping[str, BranchRef], base: Manifest | None, keeps_all: bool
    ) -> None:
        self._truth, self._live, self._keeps_all = truth, live, keeps_all
        self._base = base.chains if base else {}
        self._stored = {chain: list(numbers) for chain, numbers in truth.chains.listed().items()}
        self._reached: dict[str, int] = {}
        self._floors: dict[str, Floor | None] = {}
        self.chains: dict[str, SeenChain] = {}

    def reach(self, ref: CommitRef) -> None:
        """Take a commit, and everything that it comes from."""
        waiting = [(ref.incarnation, ref.seq)]
        while waiting:
            incarnation, seq = waiting.pop()
            before = self._reached.get(incarnation, 0)
            if before >= seq:
                continue
            self._reached[incarnation] = seq
            for named in self._take(incarnation, before, seq):
                waiting.append((named.incarnation, named.seq))

    def end_chains(self) -> None:
        """Take the records that end the chains of deleted branches; a chain that went as a whole is not."""
        for incarnation, chain in list(self.chains.items()):
            if chain.live or chain.is_closed:
                continue
            last = max(self._stored.get(incarnation, [0]))
            if last > chain.last:
                self._read(chain, [last])
                self._heed_floor(chain)
            if not chain.is_closed:
                if incarnation in self._stored:
                    raise ChangedMeanwhile  # a branch that was made and merged since the look at branches
                del self.chains[incarnation]

    def head_of(self, state: BranchState) -> CommitRef:
        """Return the newest commit of a branch: another branch may have merged a newer one than was seen."""
        chain = self.chains.get(state.ref.incarnation)
        if chain is None:
            return state.head.ref
        last = chain.fresh.get(chain.last) or chain.known[chain.last]
        return CommitRef(last.commit, chain.incarnation, chain.last)

    def has(self, ref: CommitRef) -> bool:
        """Return whether a commit was reached and is still there."""
        chain = self.chains.get(ref.incarnation)
        if chain is None:
            return False
        found = chain.fresh.get(ref.seq) or chain.known.get(ref.seq)
        return found is not None and found.commit == ref.commit

    def _take(self, incarnation: str, before: int, upto: int) -> list[CommitRef]:
        """Take the commits of a chain between two numbers; return what they were forked and merged from."""
        numbers = self._stored.get(incarnation, [])
        base = self._base_of(incarnation)
        chain = self.chains.get(incarnation)
        if chain is None:
            if not numbers and not (base and self._keeps_all):
                return []  # the chain of a deleted branch that went as a whole
            chain = self.chains[incarnation] = SeenChain(
                incarnation,
                "",
                None,
                incarnation in self._live,
                dropped_tables=base.dropped_tables if base else {},
            )
        span = range(before + 1, upto + 1)
        held = base.commits if base else {}
        stored = set(numbers)
        wanted = [seq for seq in held if seq in span and (self._keeps_all or seq in stored)]
        chain.known.update({seq: held[seq] for seq in wanted})
        self._read(chain, [seq for seq in numbers if seq in span and seq not in held])
        self._heed_floor(chain)
        if not chain.known and not chain.fresh:
            del self.chains[incarnation]
            floor = self._floors[incarnation]
            return [floor.fork] if floor and floor.fork else []
        self._describe(chain, base)
        merged = [item.merged for seq, item in chain.known.items() if seq in span]
        merged += [record.merged_parent for seq, record in chain.fresh.items() if seq in span]
        return [ref for ref in (chain.fork, *merged) if ref is not None]

    def _read(self, chain: SeenChain, numbers: list[int]) -> None:
        for start in range(0, len(numbers), _RECORDS_PER_READ):
            page = numbers[start : start + _RECORDS_PER_READ]
            paths = [layout.record_path(chain.incarnation, seq) for seq in page]
            for seq, path, data in zip(page, paths, self._truth.store.get_many(paths), strict=True):
                if data is not None:
                    chain.fresh[seq] = CommitRecord.decode(data, path)
                    chain.contents[seq] = Content.of(data)

    def _heed_floor(self, chain: SeenChain) -> None:
        """Leave out what a cleanup has dropped; the floor is read after the records."""
        floor = self._floors[chain.incarnation] = self._truth.chains.floor(chain.incarnation)
        if floor is None:
            return
        chain.fresh = {seq: record for seq, record in chain.fresh.items() if floor.holds(seq)}
        if not self._keeps_all:
            chain.known = {seq: held for seq, held in chain.known.items() if floor.holds(seq)}
        tables = dict(chain.dropped_tables)
        for identity, seq in floor.tables.items():
            tables[identity] = max(seq, tables.get(identity, 0))
        chain.dropped_tables = tables

    def _describe(self, chain: SeenChain, base: HeldChain | None) -> None:
        """Note whose chain it is and where it was forked."""
        live, floor = self._live.get(chain.incarnation), self._floors[chain.incarnation]
        if live is not None:
            chain.branch, chain.fork = live.name, live.fork
        elif floor is not None:
            chain.branch, chain.fork = floor.branch, floor.fork
        elif base is not None:
            chain.branch, chain.fork = base.branch, base.fork
        else:
            first = chain.fresh[min(chain.fresh)]
            chain.branch, chain.fork = first.branch, first.parent

    def _base_of(self, incarnation: str) -> HeldChain | None:
        """Return what the earlier backup holds of a chain, if the chain goes on from there.

        A graph that was restored from an older backup has the same chains, but other commits in them.
        """
        base = self._base.get(incarnation)
        if base is None:
            return None
        if incarnation in self.chains:
            return base  # was looked at before
        common = [seq for seq in self._stored.get(incarnation, ()) if seq in base.commits]
        newest = max(common, default=0)
        if newest and not self._is_same(incarnation, base.commits[newest]):
            newest = 0
        if not self._keeps_all:
            if newest:
                return base
        elif newest == max(base.commits) or self._follows(incarnation, base):
            return base
        else:
            raise Conflict(
                f"branch {base.branch!r} does not go on from what the earlier backup holds of it: "
                "back up without `since`",
                branch=base.branch,
            )
        self._base = {name: chain for name, chain in self._base.items() if name != incarnation}
        return None

    def _is_same(self, incarnation: str, held: HeldCommit) -> bool:
        record = self._truth.chains.record(incarnation, held.seq)
        return record is not None and record.commit == held.commit

    def _follows(self, incarnation: str, base: HeldChain) -> bool:
        """Return whether the next record, or none at all, is what comes after an earlier backup."""
        if incarnation not in self._stored:
            return True
        last = base.commits[max(base.commits)]
        record = self._truth.chains.record(incarnation, last.seq + 1)
        return record is not None and record.parent is not None and record.parent.commit == last.commit


def find_dropped(truth: Truth, places: Iterable[Place]) -> tuple[set[Place], dict[str, Floor | None]]:
    """Return those of some commits that a cleanup has dropped by now or is about to remove, and the floors.

    Floors are read before the records are listed: a floor stands before any record goes, and is removed after
    the last one. So what is listed, and was not dropped by a floor then, was whole until then.
    """
    wanted = list(places)
    chains = sorted({incarnation for incarnation, _ in wanted})
    floors = _floors(truth, chains)
    stored = truth.chains.listed() if chains else {}
    gone = {
        (incarnation, seq)
        for incarnation, seq in wanted
        if seq not in stored.get(incarnation, ())
        or ((floor := floors[incarnation]) is not None and not floor.holds(seq))
    }
    return gone, floors


def _floors(truth: Truth, chains: list[str]) -> dict[str, Floor | None]:
    paths = [layout.floor_path(incarnation) for incarnation in chains]
    found = zip(chains, paths, truth.store.get_many(paths), strict=True)
    return {name: decode_floor(data, path) if data is not None else None for name, path, data in found}
