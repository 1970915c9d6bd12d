"""Looking at a graph: which commits, branches and tags a backup of it is to hold."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from omnigraph.base.errors import BranchGone, CorruptState, HistoricalVersionReclaimed, NotFound
from omnigraph.graph.backup.chain_walk import ChainWalk, lost_record_error
from omnigraph.graph.backup.manifest import SNAPSHOT, WHOLE, Manifest
from omnigraph.graph.backup.seen_chains import ChangedMeanwhile, Place, SeenChain
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import Floor, decode_floor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.graph.manifest.stamp import Stamp
from omnigraph.graph.manifest.tags import StoredTag
from omnigraph.graph.manifest.truth import BranchState, Truth, continue_ref
from omnigraph.graph.tags import is_hidden, is_renaming
from omnigraph.storage.files.copying import Content

_log = logging.getLogger("omnigraph")


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

    def places(self) -> list[Place]:
        """Return the places of all commits."""
        return [
            (chain.incarnation, seq) for chain in self.chains.values() for seq in (*chain.known, *chain.fresh)
        ]

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
        truth.chains.clear()
        if not truth.chains.has_dropped(record.ref):
            raise lost_record_error(record.ref)
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
    has dropped it since. What does not add up is looked at again before it counts as damage.
    """
    with suppress(CorruptState):  # others may have come between the reads: damage stays
        return _view_of_graph(truth, base, keeps_all)
    truth.chains.clear()
    return _view_of_graph(truth, base, keeps_all)


def _view_of_graph(truth: Truth, base: Manifest | None, keeps_all: bool) -> View:
    # Proposals first: what their events name is there when the branches are looked at.
    proposals = _proposals(truth)
    states = _live(truth)
    # The hidden tag of a rename stands for a branch that has no name.
    tags = tuple(tag for tag in truth.tags.list() if is_renaming(tag.name) or not is_hidden(tag.name))
    _refuse_unseen(truth, states)
    # Branches first, records after them: every record that a head stands on is listed.
    walk = ChainWalk(truth, {state.ref.incarnation: state.ref for state in states}, base, keeps_all)
    for state in states:
        walk.reach(state.head.ref)
        if state.ref.fork is not None:
            walk.reach(state.ref.fork)
    for tag in tags:
        walk.reach(tag.ref)
    walk.end_chains()
    walk.check_whole()
    heads = {state.ref.name: walk.head_of(state) for state in states}
    others = [state.ref for state in states if state.ref.name != MAIN]
    refs = tuple(ref.unmarked for ref in others)
    fence = max(state.head.fence for state in states)
    view = View(
        WHOLE, truth.stamp, heads, refs, tags, walk.chains, {**_notes(truth, refs), **proposals}, fence
    )
    for branch in refs:
        if branch.fork is not None and not walk.has(branch.fork) and _still_stands(truth, branch):
            raise lost_record_error(branch.fork)
    for ref in view.standing():
        if not walk.has(ref):
            walk.refuse_missing(ref)
    return view


def _refuse_unseen(truth: Truth, states: Iterable[BranchState]) -> None:
    """Look again when there are branches that were not seen: one may have been renamed meanwhile."""
    seen = {chain for state in states for chain in (state.ref.incarnation, *state.ref.predecessors)}
    for ref in truth.refs.list():
        if not ref.making and ref.incarnation not in seen and not truth.is_closed(ref):
            raise ChangedMeanwhile


def _still_stands(truth: Truth, branch: BranchRef) -> bool:
    """Return whether a branch is what it was: no cleanup drops what a name stands on, not for a moment."""
    stored = truth.refs.read(branch.name)
    return stored is not None and stored.ref is not None and stored.ref.unmarked == branch


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


def _proposals(truth: Truth) -> dict[str, str]:
    """Return the proposals as they are stored; one that is damaged stops no backup."""
    paths = [info.path for info in layout.own(truth.store.list(layout.PROPOSALS))]
    found: dict[str, str] = {}
    for path, data in zip(paths, truth.store.get_many(paths), strict=True):
        try:
            if data is not None:
                stored_format.digest_of(data, path, "proposal")
                found[path] = data.decode()
        except CorruptState as error:
            _log.warning("a proposal is left out of the backup: %s", error.message)
    return found


def find_dropped(truth: Truth, places: Iterable[Place]) -> tuple[set[Place], dict[str, Floor | None]]:
    """Return those of some commits that a cleanup has dropped by now or is about to remove, and the floors.

    Floors are read before the records are listed: a floor stands before any record goes, and is removed after
    the last one. So what is listed, and was not dropped by a floor then, was whole until then.
    """
    wanted = list(places)
    chains = sorted({incarnation for incarnation, _ in wanted})
    floors = _floors(truth, chains)
    stored = truth.chains.list_numbers() if chains else {}
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
