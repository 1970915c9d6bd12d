"""Whether one version of a table is known to have grown out of another."""

from __future__ import annotations

from omnigraph.graph.manifest.chain import Chains
from omnigraph.graph.manifest.record import CommitRecord, TableEntry

_MAX_COMMITS_BACK = 512
_ON_TOP = frozenset({"mutation", "load", "write", "schema_apply", "optimize", "embed", "replay"})
"""Operations that stage a table's next version on top of its last one. A merge may take another's instead."""


def grew(chains: Chains, before: CommitRecord, after: CommitRecord, identity: str) -> bool:
    """Return whether every version of a table from one commit to a later one was staged on the one before it.

    The answer no only costs time: rows are then compared by value.
    """
    record = after
    for _ in range(_MAX_COMMITS_BACK):
        if record.commit == before.commit:
            return True
        if record.parent is None or record.seq <= before.seq:
            return False
        parent = chains.record(record.parent.incarnation, record.parent.seq)
        if parent is None:
            return False
        new, old = record.tables.get(identity), parent.tables.get(identity)
        if new is None or old is None or not is_staged_on(record, new, old):
            return False
        record = parent
    return False


def is_staged_on(record: CommitRecord, new: TableEntry, old: TableEntry) -> bool:
    """Return whether the table of a commit is its parent's, or was staged on top of that."""
    on_top = record.operation in _ON_TOP and new.pin.version > old.pin.version
    return on_top or new.pin.path == old.pin.path
