"""Holds of a write on Spark: the first process places them, tasks renew them, the last one lets go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from omnigraph.base.errors import OmniError
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.write.base_hold import BaseHold

_RENEWAL_SECONDS = 60.0


def hold_commits(graph: Graph, *commits: CommitRecord) -> list[str]:
    """Let cleanups leave commits alone, and what is staged after them; return the names of the holds."""
    names = []
    for record in {record.commit: record for record in commits}.values():
        hold = BaseHold(graph.internals.core.truth, graph.settings, graph.actor, record)
        hold.place()
        names += [hold.name] if hold.name else []
    return names


@contextmanager
def renew_holds(opened: Callable[[], Graph], names: Sequence[str]) -> Iterator[None]:
    """Say, in a task that takes long, that the write goes on."""
    over = threading.Event()

    def renew() -> None:
        seconds = _RENEWAL_SECONDS
        while not over.wait(seconds):
            with suppress(OmniError, OSError):
                graph = opened()
                for name in names:
                    graph.internals.core.truth.tags.renew(name)
                seconds = min(_RENEWAL_SECONDS, graph.settings.write_hold_seconds / 4)

    keeper = threading.Thread(target=renew, daemon=True, name="omnigraph-hold")
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
