"""Acting while another one is held at an exact place, on a graph of people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import omnigraph as og
from omnigraph.base import failpoints
from omnigraph.base.failpoints import Failpoint

INSERT = "query q($name: String) { insert Person { name: $name } }"
NEW = [{"type": "Person", "data": {"name": "new"}}]
DELETE = "query q($name: String) { delete Person where name = $name }"
NAMES = "query q() { match { $p: Person } return { $p.name as name } }"


class Killed(BaseException):
    """The process is gone."""


def die() -> None:
    """Be killed here."""
    raise Killed


def at(point: Failpoint, act: Callable[[], object]) -> None:
    """Have something happen the next time that a point is reached."""

    def run(reached: Failpoint) -> None:
        failpoints.disarm(reached.value)
        act()

    failpoints._armed[point] = failpoints._Armed(run, None)


def put(graph: og.Graph, *names: str, branch: str | None = None) -> str:
    """Insert people, a commit each, and return the last one's id."""
    ids = [graph.mutate(INSERT, {"name": name}, branch=branch).commit_id for name in names]
    assert ids[-1] is not None
    return ids[-1]


def names(root: str, **where: Any) -> list[str]:
    """Return the names of all people, as a fresh handle reads them."""
    return sorted(row["name"] for row in og.open(root, read_only=True).query(NAMES, **where).rows)


def assert_sound(root: str) -> None:
    """Clean up, and let repair find no damage."""
    graph = og.open(root)
    graph.cleanup()
    assert graph.repair(confirm=True).ok
