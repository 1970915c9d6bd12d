"""Which claims of idempotency keys belong to a backup: those whose commits are part of what it holds.

A commit that a cleanup has dropped is part of the history that a backup goes on from, though no record of it
is left; its claim says that it landed. But a claim that says so may also be that of a commit which came, and
was dropped, after the backup had looked at the branches: its write is not part of the backup, and has to
be done again when it is sent again. So claims are read before that look, and once more after the last file.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from omnigraph.base.errors import CorruptState
from omnigraph.graph.backup.seen_chains import ChangedMeanwhile
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.write.keys import KeyClaim, decode_claim
from omnigraph.storage.objects import ObjectInfo

_CLAIMS_PER_READ = 256
_log = logging.getLogger("omnigraph")


@dataclass(frozen=True, slots=True)
class _Seen:
    """A claim, its stored form, and what the listing told of it before it was read."""

    info: ObjectInfo
    claim: KeyClaim
    data: bytes


class SeenKeys:
    """The claims of a graph as they were before a backup looked at its branches."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._before = {
            seen.info.path: seen for seen in _read(truth, layout.own(truth.store.list(layout.KEYS)))
        }

    def part_of(self, held: Collection[str], looked_at: Collection[str]) -> dict[str, bytes]:
        """Return the claims, by path, that belong to a backup of some commits.

        `looked_at` are all that it has seen, also those that were dropped meanwhile.
        """
        found: dict[str, bytes] = {}
        unsure: list[ObjectInfo] = []
        for info in layout.own(self._truth.store.list(layout.KEYS)):
            before = self._before.get(info.path)
            if before is not None and before.info == info and _belongs(before.claim, held):
                found[info.path] = before.data
            else:
                unsure.append(info)
        for now in _read(self._truth, unsure, tells=True):
            if now.claim.commit in held or (now.claim.landed and self._is_part(now, looked_at)):
                found[now.info.path] = now.data
            elif now.claim.landed:
                raise ChangedMeanwhile  # dropped since: nothing tells whether the backup goes on from it
        return found

    def _is_part(self, now: _Seen, looked_at: Collection[str]) -> bool:
        before = self._before.get(now.info.path)
        was_landed = before is not None and before.claim.landed and before.claim.commit == now.claim.commit
        return was_landed or now.claim.commit in looked_at


def _belongs(claim: KeyClaim, held: Collection[str]) -> bool:
    return claim.landed or claim.commit in held


def _read(truth: Truth, infos: Iterable[ObjectInfo], tells: bool = False) -> Iterator[_Seen]:
    """Yield claims; one that is damaged counts for nothing, so that it stops no backup."""
    listed = list(infos)
    for start in range(0, len(listed), _CLAIMS_PER_READ):
        page = listed[start : start + _CLAIMS_PER_READ]
        stored = truth.store.get_many([info.path for info in page])
        for info, data in zip(page, stored, strict=True):
            if data is None:
                continue
            try:
                yield _Seen(info, decode_claim(data, info.path), data)
            except CorruptState as error:
                if tells:
                    _log.warning("an idempotency key is left out of the backup: %s", error)
