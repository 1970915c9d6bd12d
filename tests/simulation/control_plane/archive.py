"""Every commit record that was ever stored in a history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import BranchRef
from simulation.control_plane import kernel
from simulation.control_plane.store import SimulatedStore


@dataclass
class Archive:
    """Every record that was ever stored, and how they hang together."""

    records: dict[CommitRef, CommitRecord]
    before: dict[str, CommitRef]
    """By chain: the last commit of the chain that a rebased branch was in before."""
    after: dict[str, str]
    """By chain: the one in which a rebased branch goes on."""
    ended: set[str]
    """Chains of deleted branches."""
    brought_back: dict[str, str] = field(default_factory=dict)
    """By chain of a deleted branch: the one of the branch that was made of it, under its name or another."""

    @staticmethod
    def of(store: SimulatedStore) -> Archive:
        """Read all of them; what a held-up writer has put where another had stood is not one of them."""
        made, places = Archive({}, {}, {}, set()), set()
        for record in kernel.written_records(store):
            if (place := (record.incarnation, record.seq)) in places:
                continue
            places.add(place)
            made.records[record.ref] = record
            if record.closed and record.successor is not None and record.parent is not None:
                made.before[record.successor.incarnation] = record.parent
                made.after[record.incarnation] = record.successor.incarnation
            elif record.closed:
                made.ended.add(record.incarnation)
        for path, data in store.written:
            if path.startswith(f"{layout.BRANCHES}/"):
                ref = stored_format.decode_value(data, path, "branch ref", BranchRef)
                if ref.predecessors and ref.predecessors[0] in made.ended and not (ref.making or ref.deleted):
                    made.brought_back[ref.predecessors[0]] = ref.incarnation
        return made

    def ancestors(self, head: CommitRef) -> Iterator[CommitRecord]:
        """Yield every commit that a head came from, itself included, whatever has been dropped since."""
        waiting, seen = [head], {head}
        while waiting:
            ref = waiting.pop()
            record = self.records.get(ref)
            if record is None:
                continue
            yield record
            for parent in (record.parent, record.merged_parent, self.before.get(record.incarnation)):
                if parent is not None and parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)

    def last_chain(self, incarnation: str) -> str:
        """Return the chain in which a branch is now that was once in this one."""
        while (following := self.after.get(incarnation) or self.brought_back.get(incarnation)) is not None:
            incarnation = following
        return incarnation

    def has_ended(self, incarnation: str) -> bool:
        """Say whether the branch that was once in this chain has been deleted."""
        return self.last_chain(incarnation) in self.ended
