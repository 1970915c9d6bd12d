"""When an entity was changed last, on either side of a merge."""

from __future__ import annotations

from collections.abc import Sequence

from omnigraph.graph.entity.history import list_steps
from omnigraph.graph.entity.stored import EntityAddress, find_entity
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.opening import Core


def find_last_change(core: Core, sides: Sequence[CommitRecord], identity: str, id_: str) -> int:
    """Return the time of the last commit that changed an entity, in microseconds; 0 where none has it."""
    found, key = 0, EntityAddress(identity, id_)
    for side in {side.commit: side for side in sides}.values():
        if find_entity(core, side, key) is None:
            continue
        made = (step.record.created_at for step in list_steps(core, side, key) if not step.came_by_merge)
        found = max(found, next(made, 0))
    return found
