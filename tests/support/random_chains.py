"""Random histories as values: forks of forks, merges of all kinds, ended chains, holes left by cleanups."""

from __future__ import annotations

import random
from dataclasses import replace

from omnigraph.graph.maintenance.cleanup.retention import ChainView, Limits, RetentionRoots
from omnigraph.graph.manifest.record import CommitClass, CommitRecord, CommitRef, TableEntry
from omnigraph.storage.namespace import Pin


def made_record(chain: str, seq: int, time: int, version: int, parent: CommitRef | None) -> CommitRecord:
    """Return a record of one table."""
    table = TableEntry("node:P", "nodes/p", Pin(version, f"_pins/{version}"), 0, 0, "")
    return CommitRecord(f"{chain}-{seq}", seq, chain, chain, parent, "", {"p": table}, time, "load")


class RandomChains:
    """A random history from a seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.time = 0
        self.forks: dict[str, CommitRef | None] = {"main": None}
        self.records: dict[str, list[CommitRecord]] = {"main": []}
        for _ in range(self.dice.randrange(5, 80)):
            self._step()

    def chains(self) -> dict[str, ChainView]:
        """Return what was made, some of it ended or dropped."""
        views = {}
        for chain, records in self.records.items():
            live = chain == "main" or self.dice.random() < 0.7
            if not records:
                continue
            left = records if live else [*records[:-1], replace(records[-1], closed=True)]
            if self.dice.random() < 0.3:
                left = [item for item in left[:-1] if self.dice.random() < 0.7] + left[-1:]
            held = {record.seq: record for record in left}
            views[chain] = ChainView(chain, chain, self.forks[chain], live, held)
        return views

    def standing(self, chains: dict[str, ChainView]) -> RetentionRoots:
        """Return what stands on commits, at random beside the heads and forks."""
        heads = [chain.records[chain.last].ref for chain in chains.values() if chain.live]
        empty = [fork for name, fork in self.forks.items() if not self.records[name] and fork is not None]
        forks = [chain.fork for chain in chains.values() if chain.live and chain.fork is not None]
        tags = [self.any_record().ref for _ in range(self.dice.randrange(3))]
        after = [(self.any_record().incarnation, self.dice.randrange(20))] if self.dice.random() < 0.2 else []
        return RetentionRoots([*heads, *empty], [*forks, *tags], after)

    def limits(self) -> Limits:
        """Return how much history stays."""
        keeps = self.dice.choice([None, None, 0, 1, 2, 5])
        since = self.dice.choice([None, None, self.dice.randrange(self.time + 2)])
        return Limits(keeps, since)

    def any_record(self) -> CommitRecord:
        """Return one of the commits."""
        return self.dice.choice([record for records in self.records.values() for record in records])

    def _step(self) -> None:
        chain = self.dice.choice(list(self.records))
        if self.records["main"] and self.dice.random() < 0.15:
            name = f"b{len(self.forks)}"
            self.forks[name] = self.any_record().ref
            self.records[name] = []
            return
        self.time += self.dice.randrange(3)
        made, fork = self.records[chain], self.forks[chain]
        parent = made[-1].ref if made else fork
        record = made_record(chain, parent.seq + 1 if parent else 1, self.time, self.time, parent)
        others = [name for name, records in self.records.items() if records and name != chain]
        if others and self.dice.random() < 0.35:
            source = self.dice.choice(self.records[self.dice.choice(others)])
            record = replace(record, merged_parent=source.ref)
        elif made and self.dice.random() < 0.2:
            record = replace(record, tables=made[-1].tables, commit_class=CommitClass.MAINTENANCE)
        made.append(record)
