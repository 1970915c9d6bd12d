"""`ReplayWriter`: applies micro-batches of another graph's change feed block by block, each once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from omnigraph.base.errors import BadInput, BatchLanded
from omnigraph.graph.changes.replay import replay
from omnigraph.graph.handle import Graph
from omnigraph.pipeline.error_transport import attach_details
from omnigraph.pipeline.jobs.stream import check_app_id, connect_error

_COLUMNS = ("version", "position", "op", "commit_id", "kind", "type_id", "type_name", "id", "after", "schema")


class ReplayWriter:
    """A function for `foreachBatch`.

    The version of a block's commit is stored in the commit that applies it, so a block that is sent again is
    recognised in whatever batch it comes.
    """

    def __init__(self, graph: Graph, app_id: str, branch: str | None = None) -> None:
        self._graph, self._branch = graph, branch
        self.app_id = check_app_id(app_id)
        self.last: tuple[str, ...] = ()
        """The commits that the newest batch has made."""

    def __call__(self, frame: Any, batch: int) -> None:
        """Apply the blocks of a micro-batch that have not been applied yet, in order."""
        with attach_details():
            self.last = tuple(self._replay_commits(frame))

    def _replay_commits(self, frame: Any) -> Iterator[str]:
        missing = [name for name in _COLUMNS if name not in frame.columns]
        if missing:
            raise BadInput(f"the rows lack {', '.join(missing)}: give the change feed as it was read")
        rows = frame.select(*_COLUMNS).orderBy("version", "position").toLocalIterator()
        for version, block in _blocks(rows):
            try:
                record = replay(self._graph, block, self._branch, streams={self.app_id: version})
            except BatchLanded:
                continue
            if record is not None:
                yield record.commit

    def __reduce__(self) -> str:
        raise connect_error()


def _blocks(rows: Iterator[Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    for version, members in groupby(rows, key=lambda row: row["version"]):
        schema, changes, cause = None, [], {}
        for row in members:
            cause = {"graph_commit_id": row["commit_id"]}
            if row["schema"] is not None:
                schema = json.loads(row["schema"])
            else:
                changes.append(_change(row))
        yield int(version), {"cause": cause, "schema": schema, "changes": changes}


def _change(row: Any) -> dict[str, Any]:
    type_ = {"id": row["type_id"], "name": row["type_name"]}
    change = {"kind": row["kind"], "type": type_, "id": row["id"], "op": row["op"]}
    return change if row["after"] is None else {**change, "after": json.loads(row["after"])}
