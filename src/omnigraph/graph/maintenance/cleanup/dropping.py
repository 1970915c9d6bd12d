"""Making the decision about old commits durable: floors are proposed, open to a veto, and put."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from omnigraph.base.errors import Contention
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.base.ids import new_ulid
from omnigraph.graph.maintenance.cleanup.retention import (
    KeptCommits,
    Limits,
    floor_of,
    keep,
    make_ended_floor,
)
from omnigraph.graph.maintenance.cleanup.survey import LiveNames, Survey, give_up, look, renew
from omnigraph.graph.manifest.condemned import at_work
from omnigraph.graph.manifest.floors import Floor, StoredFloor, complete_floor, read_floor, write_floor
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.write.keys import note_landed

_MAX_VETOES = 16


@dataclass(frozen=True)
class Dropped:
    """What was decided: the commits that stay, and the unnamed chains of which nothing does."""

    found: Survey
    """The survey, with what was published until the decision was made."""
    kept: KeptCommits
    given_up: frozenset[str] = frozenset()


class Dropping:
    """One cleanup's floors."""

    def __init__(
        self,
        truth: Truth,
        found: Survey,
        limits: Limits,
        dropped_tables: Mapping[str, Mapping[str, int]],
        abandoned: Collection[str],
        only: Collection[str] | None = None,
    ) -> None:
        """Take the survey, and the unnamed chains that are so old that nobody will name them.

        With `only` no other chains lose anything.
        """
        self._only = only
        self._truth, self._found, self._limits, self._dropped_tables = truth, found, limits, dropped_tables
        self._abandoned = frozenset(abandoned)
        self._stored: dict[str, StoredFloor | None] = {
            incarnation: chain.floor for incarnation, chain in found.chains.items()
        }

    def decide(self) -> Dropped:
        """Return what a cleanup would drop as things stand; nothing is written."""
        return self._decide(self._found.look)

    def drop(self) -> Dropped:
        """Drop, unless somebody names it meanwhile, what nothing needs any more.

        What a proposal would drop and somebody has named before is seen by the look that follows; who names
        it afterwards vetoes the proposal. So once all proposals have become floors, nobody has a name for
        anything that they dropped.
        """
        for _ in range(_MAX_VETOES):
            dropped = self._decide(self._found.look)
            self._propose(self._floors(dropped))
            hit(Failpoint.CLEANUP_AFTER_PROPOSALS)
            self._found = renew(self._truth, self._found, look(self._truth))
            now = self._decide(self._found.look)
            if self._is_within(dropped, now) and self._put_over(dropped):
                hit(Failpoint.CLEANUP_AFTER_FLOORS)
                return replace(dropped, found=self._found, kept=self._join(dropped, now))
        raise Contention("branches and tags of this graph change too fast to be cleaned up: try again")

    def _put_over(self, dropped: Dropped) -> bool:
        """Keep what is known of commits with idempotency keys, and let the proposals become the floors."""
        for name, chain in dropped.found.chains.items():
            for seq, record in chain.records.items():
                if record.key and (name, seq) not in dropped.kept:
                    note_landed(self._truth, record)
        return self._put()

    def _decide(self, seen: LiveNames) -> Dropped:
        return Dropped(
            self._found,
            keep(self._found.chains, seen.standing(), self._limits, self._found.gone),
            frozenset(self._abandoned & self._found.unnamed.keys()).difference(seen.incarnations),
        )

    def _is_within(self, dropped: Dropped, now: Dropped) -> bool:
        """Return whether everything that was to be dropped can be dropped still."""
        if not dropped.given_up <= now.given_up:
            return False
        places = ((name, seq) for name, chain in dropped.found.chains.items() for seq in chain.records)
        return all(place in dropped.kept or place not in now.kept for place in places)

    def _join(self, dropped: Dropped, now: Dropped) -> KeptCommits:
        """Return what stays: what was not dropped then, and all that has come since."""
        kept = KeptCommits(dropped.kept.pinned | now.kept.pinned, set(dropped.kept.history))
        for name, chain in self._found.chains.items():
            before = dropped.found.chains.get(name)
            kept.history.update(
                (name, seq) for seq in chain.records if before is None or seq not in before.records
            )
        return kept

    def _floors(self, dropped: Dropped) -> dict[str, Floor]:
        """Return the floors of all chains that lose something or have lost something before."""
        floors: dict[str, Floor] = {}
        for incarnation, chain in dropped.found.chains.items():
            if self._only is not None and incarnation not in self._only:
                continue  # a drop for good ends no other chain
            floor = floor_of(chain, dropped.kept, self._dropped_tables.get(incarnation, {}))
            if floor is not None:
                floors[incarnation] = floor
        for incarnation in dropped.given_up:
            first, last = self._found.unnamed[incarnation][0], self._found.unnamed[incarnation][-1]
            floors[incarnation] = make_ended_floor(incarnation, last.branch, first.parent, last.seq)
        return floors

    def _propose(self, floors: Mapping[str, Floor]) -> None:
        for incarnation, wanted in floors.items():
            stored = self._read(incarnation)
            now = stored.floor if stored else complete_floor(incarnation, wanted.branch, wanted.fork)
            if not wanted.lies_within(now):
                raise at_work(incarnation=incarnation)  # it has given up since what the survey still had
            if now.settled != wanted:
                self._write(replace(now, proposed=wanted, proposal=new_ulid()))
            else:
                self._write(now.settled)
        for incarnation, stored in self._stored.items():
            if incarnation not in floors and stored is not None and stored.floor.proposed is not None:
                self._write(stored.floor.settled)

    def _put(self) -> bool:
        """Let the proposals become the floors; False when one of them was vetoed."""
        put: list[StoredFloor] = []
        for incarnation, stored in list(self._stored.items()):
            if stored is not None and stored.floor.proposed is not None:
                written = write_floor(self._truth.store, stored.floor.proposed, stored)
                if written is None:
                    # What others were made to give up does not come back, whatever is decided next.
                    self._found = give_up(self._found, put)
                    return False
                self._stored[incarnation] = written
                put.append(written)
        return True

    def _read(self, incarnation: str) -> StoredFloor | None:
        """Return a chain's floor as it stands, unless another cleanup is at it."""
        known = self._stored.get(incarnation)
        stored = read_floor(self._truth.store, incarnation)
        before = known.floor if known else None
        now = stored.floor if stored else None
        is_same = now == before or (now is not None and _is_vetoed(now, before))
        if incarnation in self._stored and not is_same:
            raise at_work(incarnation=incarnation)
        self._stored[incarnation] = stored
        return stored

    def _write(self, floor: Floor) -> None:
        stored = self._stored.get(floor.incarnation)
        if stored is not None and stored.floor == floor:
            return
        written = write_floor(self._truth.store, floor, stored)
        if written is None:
            raise at_work(incarnation=floor.incarnation)
        self._stored[floor.incarnation] = written


def _is_vetoed(now: Floor, before: Floor | None) -> bool:
    """Return whether a floor is what was known of it, but for a proposal that somebody took away."""
    if now.proposed is not None:
        return False
    known = before or complete_floor(now.incarnation, now.branch, now.fork)
    return now == known.settled
