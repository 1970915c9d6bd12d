"""Holds: hidden tags that keep cleanups from what a backup is copying.

No safety rests on them. A backup looks, after its last file, whether a cleanup has dropped anything that it
copied; holds only keep the commits that it cannot do without. So anybody may remove one at any time, and
those of a backup that was killed are removed when they are old.
"""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph.base import clock
from omnigraph.base.errors import HistoricalVersionReclaimed
from omnigraph.base.failpoints import Failpoint, hit
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.tags import HOLDS, is_hold
from omnigraph.storage.files.copying import side_by_side


class Holds:
    """What one backup holds."""

    def __init__(self, truth: Truth, backup: str, actor: str | None) -> None:
        self._truth, self._backup, self._actor = truth, backup, actor
        self._names: dict[tuple[str, int], str] = {}

    def add(self, records: Iterable[CommitRecord]) -> list[CommitRecord]:
        """Hold commits; return those that a cleanup has dropped already."""
        new = [record for record in records if (record.incarnation, record.seq) not in self._names]
        for record in new:
            place = (record.incarnation, record.seq)
            self._names[place] = f"{HOLDS}{self._backup}/{len(self._names)}"
        done = side_by_side([self._truth.store], lambda record: (record, self._hold(record)), new)
        dropped = [record for record, is_held in done if not is_held]
        hit(Failpoint.BACKUP_AFTER_HOLD)
        return dropped

    def release(self) -> None:
        """Let go of everything."""
        _remove(self._truth, self._names.values())
        self._names.clear()

    def _hold(self, record: CommitRecord) -> bool:
        name = self._names[record.incarnation, record.seq]
        try:
            self._truth.tags.create(name, record, clock.current().now_us(), self._actor)
        except HistoricalVersionReclaimed:
            floor = self._truth.chains.floor(record.incarnation)
            return floor is not None and floor.holds(record.seq)  # only a table of it is dropped for good
        return True


def release_abandoned(truth: Truth, older_than: float) -> int:
    """Remove the holds that are older than some seconds; return how many there were."""
    oldest = clock.current().now_us() - int(older_than * 1e6)
    names = [layout.branch_of(info.path) for info in truth.store.list(layout.TAGS)]
    held = [(name, truth.tags.find(name)) for name in names if is_hold(name)]
    outdated = [name for name, tag in held if tag is None or tag.created_at < oldest]
    _remove(truth, outdated)
    return len(outdated)


def _remove(truth: Truth, names: Iterable[str]) -> None:
    # Nobody gives one of these names twice, so they can be removed whatever stands there.
    paths = [layout.tag_path(name) for name in names]
    for _ in side_by_side([truth.store], truth.store.delete, paths):
        pass
