"""`follow_load`: the events of one load or SQL statement; what goes wrong here is only logged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.credentials import hide_credentials
from omnigraph.base.errors import BatchLanded
from omnigraph.execution.lineage.events import (
    LineageRun,
    file_inputs,
    new_run_id,
    type_dataset,
    type_output,
)
from omnigraph.execution.lineage.outbox import Outbox
from omnigraph.execution.lineage.target import LineageTarget, find_target
from omnigraph.graph.handle import Graph
from omnigraph.graph.publish.outcome import Published

_log = logging.getLogger("omnigraph")


@dataclass(frozen=True)
class LoadFacts:
    """What is known of a load before it reads anything."""

    graph: Graph
    engine: str
    type_names: Sequence[str]
    """The types that the source names."""
    files: Callable[[], Sequence[str]]
    """Returns the files of the source."""
    stream: str | None = None
    """The application whose batch it is."""
    began: int | None = None
    """When it began, in epoch microseconds, if that was earlier."""
    verb: str = "load"
    """What is done, as the job is called."""


@dataclass
class FollowedLoad:
    """A load whose start was told, and whose end will be, with what it wrote."""

    facts: LoadFacts
    run: LineageRun
    outbox: Outbox
    inputs: Sequence[Mapping[str, Any]]
    expected: Sequence[Mapping[str, Any]]
    """The types that it will write, as far as is known before it reads."""
    outputs: list[Mapping[str, Any]] = field(default_factory=list)

    def tell(
        self, published: Published | None, answer: Mapping[str, Mapping[str, int]], sizes: Mapping[str, int]
    ) -> None:
        """Note what was written: the rows by type, as a load answers, and the bytes by table key."""
        with _only_logged():
            if published is None or published.record is None:
                return
            record, graph = published.record, self.facts.graph
            catalog = graph.catalog_at(record.schema)
            for kind in ("node", "edge"):
                for name, rows in sorted(answer[f"{kind}s"].items()):
                    table = catalog.table(f"{kind}:{name}")
                    if table is not None:
                        written = (record.commit, record.branch, rows, sizes.get(table.table_key))
                        self.outputs.append(type_output(graph.uri, table, *written))

    def finish(self, error: BaseException | None) -> None:
        """Tell the end, and wait until all is sent or the time for it is over."""
        with _only_logged():
            if isinstance(error, BatchLanded):  # nothing was wrong: it had been loaded before
                self.outbox.put(self.run.event("COMPLETE", self.inputs, ()))
            elif error is not None:
                self.outbox.put(self.run.event("FAIL", self.inputs, self.expected, error))
            else:
                self.outbox.put(self.run.event("COMPLETE", self.inputs, self.outputs))
            self.outbox.close()


@contextmanager
def follow_load(facts: LoadFacts) -> Iterator[FollowedLoad | None]:
    """Send START, and at the end of the block COMPLETE or FAIL; None when nobody asks for events."""
    followed = None
    with _only_logged():
        target = find_target()
        followed = None if target is None else _start(target, facts)
    try:
        yield followed
    except BaseException as error:
        if followed is not None:
            followed.finish(error)
        raise
    if followed is not None:
        followed.finish(None)


def _start(target: LineageTarget, facts: LoadFacts) -> FollowedLoad:
    graph = facts.graph
    graph_name = graph.uri.rstrip("/").rpartition("/")[2]
    job = facts.stream or ".".join([facts.verb, graph_name, *facts.type_names])
    is_streaming = facts.stream is not None
    run = LineageRun(new_run_id(), target.namespace, job, facts.engine, is_streaming, target.parent)
    catalog = graph.catalog_at(graph.internals.read_state().head.schema)
    tables = [catalog.node(name) or catalog.edge(name) for name in facts.type_names]
    expected = [type_dataset(graph.uri, table.table_key) for table in tables if table is not None]
    inputs = file_inputs(facts.files())
    start = run.event("START", inputs, expected, at=facts.began)
    followed = FollowedLoad(facts, run, Outbox(target, graph.settings.lineage_seconds), inputs, expected)
    followed.outbox.put(start)
    return followed


@contextmanager
def _only_logged() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        reason = hide_credentials(f"{type(error).__name__}: {error}")
        _log.warning("the lineage of a load could not be told: %s", reason)
