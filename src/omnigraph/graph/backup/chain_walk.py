"""The way from the heads and tags of a graph to all the commits that they reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from omnigraph.base.errors import Conflict, CorruptState
from omnigraph.graph.backup.manifest import HeldChain, HeldCommit, Manifest
from omnigraph.graph.backup.seen_chains import ChangedMeanwhile, SeenChain
from omnigraph.graph.maintenance.missing_commits import Listing, missing_numbers
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import Floor, join_drops
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import BranchState, Truth
from omnigraph.storage.files.copying import Content

_RECORDS_PER_READ = 256


class ChainWalk:
    """One look at chains; what an earlier backup holds of them is not read again."""

    def __init__(
        self, truth: Truth, live: Mapping[str, BranchRef], base: Manifest | None, keeps_all: bool
    ) -> None:
        self._truth, self._live, self._keeps_all = truth, live, keeps_all
        self._base = base.chains if base else {}
        self._stored = {chain: list(numbers) for chain, numbers in truth.chains.list_numbers().items()}
        # What lived a moment ago may have gone as a whole: no branch is sure to have its chain.
        self._listing = Listing.of(truth, self._stored, live=())
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
            if chain.is_empty:
                raise ChangedMeanwhile  # a cleanup has dropped the chain since it was reached
            if not chain.is_closed:
                if incarnation in self._stored:
                    self._refuse_endless(chain)
                del self.chains[incarnation]

    def check_whole(self) -> None:
        """Refuse a chain that lacks a record which no cleanup has dropped."""
        for incarnation, chain in self.chains.items():
            if incarnation in self._stored:  # what is not stored at all is held by an earlier backup
                for seq in self._missing_numbers(chain):
                    self.refuse_missing(CommitRef("", incarnation, seq))

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

    def refuse_missing(self, ref: CommitRef) -> NoReturn:
        """Say that a record which should be there is lost, or that a cleanup has come meanwhile."""
        if self._listing.is_lost(ref):
            raise lost_record_error(ref)
        raise ChangedMeanwhile

    def _missing_numbers(self, chain: SeenChain) -> list[int]:
        """Return the numbers of records that the floor holds and that are not there."""
        floor, stored = self._floors[chain.incarnation], self._listing.stored[chain.incarnation]
        first = (chain.fork.seq if chain.fork else 0) + 1
        reached = self._reached[chain.incarnation]
        # Of a deleted branch, commits that nobody has merged are not taken; but they are not lost either.
        missing = missing_numbers(floor, first, chain.last, {*chain.fresh, *chain.known})
        return [seq for seq in missing if seq <= reached or seq not in stored]

    def _refuse_endless(self, chain: SeenChain) -> NoReturn:
        """Say that the end of a chain is lost, or that a branch was made and merged since the first look."""
        if self._listing.has_owner(chain.incarnation):
            raise ChangedMeanwhile
        path = layout.record_path(chain.incarnation, chain.last + 1)
        raise CorruptState(
            f"branch {chain.branch!r} was merged, but has neither a ref nor an end, which would be commit "
            f"record {path} or a later one: run `omnigraph repair`",
            path=path,
        )

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
                # Of commits that the graph has dropped only the earlier backup can tell.
                dropped_tables=base.dropped_tables if base and self._keeps_all else {},
                starts=frozenset(base.starts if base and self._keeps_all else ()),
            )
        span = range(before + 1, upto + 1)
        held = base.commits if base else {}
        stored = set(numbers)
        wanted = [seq for seq in held if seq in span and (self._keeps_all or seq in stored)]
        chain.known.update({seq: held[seq] for seq in wanted})
        self._read(chain, [seq for seq in numbers if seq in span and seq not in held])
        self._heed_floor(chain)
        if chain.is_empty:
            del self.chains[incarnation]
            floor = self._floors[incarnation]
            highest = floor.highest(upto) if floor else upto
            if highest is not None and highest > before:
                self.refuse_missing(CommitRef("", incarnation, highest))
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
        chain.dropped_tables = join_drops(chain.dropped_tables, floor.tables)
        chain.starts |= frozenset(floor.starts)

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
            if first.parent is not None and first.parent.incarnation == chain.incarnation:
                self.refuse_missing(first.parent)
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
        if newest and not self._goes_on(incarnation, base, common):
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

    def _goes_on(self, incarnation: str, base: HeldChain, common: Sequence[int]) -> bool:
        """Return whether commits of a chain are those of an earlier backup, which has all their tables."""
        if not self._is_same(incarnation, base.commits[common[-1]]):
            return False
        lacking = {identity: seq for identity, seq in base.dropped_tables.items() if seq > common[0]}
        floor = self._truth.chains.floor(incarnation) if lacking else None
        return not any(
            seq < until and (floor is None or floor.keeps(seq, [identity]))
            for identity, until in lacking.items()
            for seq in common
        )

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


def lost_record_error(ref: CommitRef) -> CorruptState:
    """Return the error for a record that is not there and that no cleanup has dropped."""
    path = layout.record_path(ref.incarnation, ref.seq)
    return CorruptState(
        f"commit record {path} is missing, and no cleanup has dropped it: run `omnigraph repair`; nothing is "
        "backed up until it is there again",
        path=path,
    )
