"""What must be true after every history, by a reader that knows everything that was ever stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from omnigraph.base.errors import OmniError
from omnigraph.base.ids import chain_of
from omnigraph.graph.branches.rename import RENAMES, chain_of_hold
from omnigraph.graph.maintenance.verify.repair_report import LEFTOVER, Findings
from omnigraph.graph.maintenance.verify.verify_history import verify_history
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import Floor, decode_floor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.manifest.truth import BranchState, Truth
from simulation.control_plane import kernel
from simulation.control_plane.actions import ACKNOWLEDGED, REFUSED, Journal, Told
from simulation.control_plane.archive import Archive
from simulation.control_plane.kernel import World
from simulation.control_plane.proposals import check_proposals, check_protection
from simulation.control_plane.scenario import Scenario
from simulation.control_plane.scheduler import Process
from simulation.control_plane.store import SimulatedStore
from simulation.control_plane.tables import TABLES

_CLEANUPS = 3
_BETWEEN_CLEANUPS = 2_000.0
_THOROUGH = 4
"""Of so many histories one is cleaned up several times, after which nothing may be left over."""


def check_all(world: World, scenario: Scenario, journal: Journal) -> list[str]:
    """Open the graph as somebody new, look at everything, clean up and look again."""
    wrong = list(journal.wrong)
    world.scheduler.process = Process("opener", 100)
    try:
        kernel.recover(world.opened())
    except OmniError as error:
        return [*wrong, f"the graph cannot be opened: {error!r}"]
    wrong += _Check(world, scenario, journal, "after the history").run()
    if wrong:
        return wrong
    times = _CLEANUPS if scenario.seed % _THOROUGH == 0 else 1
    for number in range(1, times + 1):
        world.scheduler.pass_time(_BETWEEN_CLEANUPS)
        world.scheduler.process = Process(f"cleaner {number}", 100 + number)
        try:
            done = kernel.clean_up(world.opened(), None, 0.0)
        except OmniError as error:
            return [f"cleanup {number} after the history failed: {error!r}"]
        wrong += [f"cleanup {number} could not sweep: {item}" for item in done.errors.items()]
    check = _Check(world, scenario, journal, f"after {times} cleanups")
    wrong += check.run()
    return wrong or (check.leaks() if times == _CLEANUPS else [])


@dataclass
class _Check:
    """One look at a graph at rest."""

    world: World
    scenario: Scenario
    journal: Journal
    when: str
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store: SimulatedStore = self.world.store
        self.truth = Truth(self.store, self.world.opened().truth.stamp)
        self.archive = Archive.of(self.store)
        self.floors = self._floors()
        self.contents: dict[str, Mapping[str, Counter[str]]] = {}
        """By chain: what the head of each live branch says."""

    def run(self) -> list[str]:
        """Return everything that is wrong."""
        self._say_all()
        return [f"{self.when}: {item}" for item in dict.fromkeys(self.wrong)]

    def leaks(self) -> list[str]:
        """Return what is stored though nothing needs it."""
        needed = set()
        for path, data in kernel.stored_records(self.store).items():
            record = kernel.record_of(path, data)
            for entry in record.tables.values():
                pin = f"{entry.location}/{entry.pin.path}"
                needed.add(pin)
                if pin in self.store.objects:
                    files = json.loads(self.store.objects[pin].data)
                    needed.update(f"{entry.location}/{file}" for file in files)
        left = [path for path in self.store.objects if path.startswith("nodes/") and path not in needed]
        return [f"{self.when}: nothing needs {path}, and {_CLEANUPS} cleanups left it" for path in left]

    def _say_all(self) -> None:
        states = self._states()
        for state in states:
            self._check_head(state)
            self._check_past(state.head, f"branch {state.ref.name!r}")
        for tag in self._try("tags cannot be listed", self.truth.tags.list) or []:
            record = self._try(f"tag {tag.name!r} is dangling", lambda ref=tag.ref: self.truth.chains.at(ref))
            if record is not None:
                self._read(record, f"tag {tag.name!r}")
        for told in self.journal.told:
            self._check_told(told, states)
        self._check_notes(states)
        self._check_names()
        self.wrong += self._check_proposals(states)
        findings = Findings()
        verify_history(self.truth, 0.0, findings)
        for item in findings.found:
            if item.severity != LEFTOVER:
                self.wrong.append(f"repair finds {item.code} at {item.where}: {item.what}")

    def _states(self) -> list[BranchState]:
        states = []
        for ref in self._try("branches cannot be listed", self.truth.live_refs) or []:
            try:
                states.append(self.truth.state(ref.name))
            except OmniError as error:
                self._check_removable(ref.name, error)
        return states

    def _check_removable(self, name: str, error: OmniError) -> None:
        """A branch that was only half made may not be readable; then it can be removed."""
        if any(
            t.op.kind == "create" and t.op.branch == name and t.outcome == ACKNOWLEDGED
            for t in self.journal.told
        ):
            self.wrong.append(f"branch {name!r} cannot be read: {error!r}")
        try:
            kernel.delete(self.world.opened(), name)
        except OmniError as second:
            self.wrong.append(f"branch {name!r} can neither be read ({error!r}) nor removed ({second!r})")

    def _check_head(self, state: BranchState) -> None:
        what = f"branch {state.ref.name!r}"
        found = self._read(state.head, what)
        self._try(f"the schema of {what} is gone", lambda: Schemas(self.store).get(state.head.schema))
        if found is None:
            return
        self.contents[state.ref.incarnation] = found
        for identity, tokens in found.items():
            for token, times in tokens.items():
                if times > 1:
                    self.wrong.append(f"{what} has {token} {times} times in {identity[15:16]}")
        for record in self.archive.ancestors(state.head.ref):
            for name, token in _tokens(record):
                if not found[TABLES[name]][token]:
                    self.wrong.append(f"{what} has lost {token} of {record.ref} in {name}")

    def _check_past(self, head: CommitRecord, what: str) -> None:
        """Every commit behind a head is there with all its files, or a floor says that it was dropped."""
        waiting, seen = [head.ref], {head.ref}
        while waiting:
            ref = waiting.pop()
            known = self.archive.records.get(ref)
            if known is None:
                self.wrong.append(f"{what} names a commit that never was: {ref}")
                continue
            floor = self.floors.get(ref.incarnation)
            path = layout.record_path(ref.incarnation, ref.seq)
            stored = self.store.objects.get(path)
            held = floor is None or floor.holds(ref.seq)
            if stored is not None and held:
                record = kernel.record_of(path, stored.data)
                if record.commit != ref.commit:
                    self.wrong.append(f"in the place of {ref} behind {what} stands {record.commit}")
                self._read(record, f"commit {ref} behind {what}", floor)
            elif stored is None and held and self._must_be_kept(ref, head):
                gone = self.store.deleted.get(layout.record_path(ref.incarnation, ref.seq))
                self.wrong.append(f"commit {ref} behind {what} has vanished; deleted at {gone}")
            elif not (
                held or self.scenario.drops_history or known.operation == "cleanup"
            ) and not self._was_dropped_before_restore(ref):
                self.wrong.append(f"commit {ref} behind {what} was dropped though no limit was given")
            for parent in (known.parent, known.merged_parent):
                if parent is not None and parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)

    def _was_dropped_before_restore(self, ref: CommitRef) -> bool:
        """Say whether a cleanup dropped a commit of a deleted branch of which it kept what came later."""
        if ref.incarnation not in self.archive.ended:
            return False
        for path, data in self.store.written:
            if path.startswith(f"{layout.BRANCHES}/"):
                made = stored_format.decode_value(data, path, "branch ref", BranchRef)
                if made.fork is not None and made.fork.incarnation == ref.incarnation:
                    return False
            elif path == layout.floor_path(ref.incarnation) and not decode_floor(data, path).holds(ref.seq):
                return True
        return False

    def _must_be_kept(self, ref: CommitRef, head: CommitRecord) -> bool:
        """Say whether a record that no floor has dropped may not go: with limits, ended chains go whole."""
        has_ended = ref.incarnation in self.archive.ended or ref.incarnation in self.archive.after
        return not (self.scenario.drops_history and has_ended)

    def _read(
        self, record: CommitRecord, what: str, floor: Floor | None = None
    ) -> dict[str, Counter[str]] | None:
        found: dict[str, Counter[str]] = {}
        for identity, entry in record.tables.items():
            if floor is not None and record.seq < floor.tables.get(identity, 0):
                continue
            pin = f"{entry.location}/{entry.pin.path}"
            files = [f"{entry.location}/{file}" for file in json.loads(self._bytes(pin, what) or b"[]")]
            found[identity] = Counter(
                token for file in files for token in json.loads(self._bytes(file, what) or b"[]")
            )
        return found

    def _bytes(self, path: str, what: str) -> bytes | None:
        item = self.store.objects.get(path)
        if item is None:
            gone = self.store.deleted.get(path)
            self.wrong.append(f"{what} needs {path}, which was deleted at {gone}")
            return None
        return item.data

    def _check_told(self, told: Told, states: list[BranchState]) -> None:
        kind, told_ok = told.op.kind, told.outcome == ACKNOWLEDGED
        if kind in ("append", "update", "fork", "drop"):
            if told.outcome == REFUSED:
                for state in states:
                    found = self.contents.get(state.ref.incarnation, {})
                    if any(tokens[told.token] for tokens in found.values()):
                        self.wrong.append(
                            f"{told.op} was refused ({told.error}), but {told.token} is in {state.ref.name!r}"
                        )
            elif told_ok and told.result is not None:
                self._check_kept(told, told.result.commit)
        elif kind == "tag" and told_ok:
            if not any(
                other.op.kind == "untag" and other.op.other == told.op.other for other in self.journal.told
            ):
                stored = self.truth.tags.find(told.op.other)
                if stored is None or stored.ref.commit != told.result:
                    self.wrong.append(f"tag {told.op.other!r} of {told.result} is lost: {stored}")
        elif kind == "create" and told_ok:
            self._check_branch(told, told.result.incarnation)

    def _check_kept(self, told: Told, commit: str) -> None:
        if not any(known.commit == commit for known in self.archive.records):
            self.wrong.append(f"{told.op} was acknowledged as {commit}, which was never stored")
        chain = self.archive.last_chain(chain_of(commit))
        if chain in self.archive.ended:
            return
        found = self.contents.get(chain)
        if found is None:
            self.wrong.append(f"{told.op} was acknowledged as {commit}, whose branch has vanished")
            return
        for name in told.op.tables:
            if not found[TABLES[name]][told.token]:
                self.wrong.append(
                    f"{told.op} was acknowledged as {commit}, but {told.token} is lost in {name}"
                )

    def _check_branch(self, told: Told, incarnation: str) -> None:
        chain = self.archive.last_chain(incarnation)
        if chain not in self.archive.ended and chain not in self.contents:
            self.wrong.append(f"{told.op} was acknowledged, but the branch has vanished")

    def _check_notes(self, states: list[BranchState]) -> None:
        """What recovery says that it has thrown away did not stand there, and a commit is in one place.

        What was thrown away may come later: its writer has seen the note and has tried again.
        """
        places: dict[str, set[CommitRef]] = {}
        thrown: list[tuple[str, CommitRecord]] = []
        for state in states:
            for record in self.archive.ancestors(state.head.ref):
                places.setdefault(record.commit, set()).add(record.ref)
                thrown += [(n.for_commit, record) for n in record.recovery if n.kind != "RolledForward"]
        for commit, refs in places.items():
            if len(refs) > 1:
                self.wrong.append(f"commit {commit} was published more than once: {sorted(map(str, refs))}")
        for commit, note in thrown:
            for ref in places.get(commit, ()):
                if ref.incarnation == note.incarnation and ref.seq < note.seq:
                    self.wrong.append(f"commit {ref} stands, and {note.ref} says that it was discarded")

    def _check_names(self) -> None:
        """A branch that nobody has asked to delete stands, unless its rename was cut off: that holds it.

        And it stands once, unless somebody has brought back what it was before.
        """
        if not any(told.op.kind == "restore" for told in self.journal.told):
            went_on = Counter(chain for ref in self.truth.refs.list() for chain in set(ref.predecessors))
            for chain, times in went_on.items():
                if times > 1:
                    self.wrong.append(f"the branch in chain {chain} goes on in {times} branches")
        if any(told.op.kind == "delete" or told.op.delete for told in self.journal.told):
            return
        held = {chain_of_hold(tag.name) for tag in self.truth.tags.list() if tag.name.startswith(RENAMES)}
        for chain in self.archive.ended - self.archive.brought_back.keys() - held:
            self.wrong.append(f"the branch in chain {chain} has vanished, and nobody has deleted it")

    def _check_proposals(self, states: list[BranchState]) -> Iterator[str]:
        acknowledged = [
            told.result
            for told in self.journal.told
            if told.op.kind == "merge_proposal" and told.outcome == ACKNOWLEDGED
        ]
        ancestors = [record for state in states for record in self.archive.ancestors(state.head.ref)]
        yield from check_proposals(self.store, ancestors, acknowledged)
        places = {(ref.incarnation, ref.seq): record for ref, record in self.archive.records.items()}
        yield from check_protection(places)

    def _floors(self) -> dict[str, Floor]:
        found = {}
        for path, item in self.store.objects.items():
            if path.startswith(f"{layout.FLOORS}/"):
                floor = decode_floor(item.data, path)
                found[floor.incarnation] = floor
        return found

    def _try(self, what: str, act):  # type: ignore[no-untyped-def]
        try:
            return act()
        except OmniError as error:
            self.wrong.append(f"{what}: {error!r}")
            return None


def _tokens(record: CommitRecord) -> list[tuple[str, str]]:
    """Return the table names and token that a commit's message tells."""
    if not record.message or not record.message.startswith("tok-"):
        return []
    token, names = record.message.split()
    return [(name, token) for name in names]
