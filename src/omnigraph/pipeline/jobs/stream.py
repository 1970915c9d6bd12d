"""`StreamWriter`: micro-batches of Structured Streaming, each of them one commit, none of them twice."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from typing import Any

from omnigraph.base.choices import OnError
from omnigraph.base.errors import BadInput, BatchLanded
from omnigraph.execution.engine import Engine
from omnigraph.execution.load.request import LoadRequest
from omnigraph.execution.load.run import BulkEngine, Load, run_load
from omnigraph.graph.handle import Graph
from omnigraph.pipeline.error_transport import attach_details
from omnigraph.pipeline.jobs.rejected_files import check_folder, file_of_batch
from omnigraph.pipeline.workers.record_frame import RecordFrame

_MAX_APP_ID_BYTES = 256
_log = logging.getLogger("omnigraph")


class StreamWriter:
    """A function for `foreachBatch`.

    A commit's record names its application and batch, so a batch that Spark sends again, because it did not
    see it succeed, is recognised before any of it is read.
    """

    def __init__(
        self,
        graph: Graph,
        spark: BulkEngine,
        type: str | None,
        mode: str,
        app_id: str,
        branch: str | None = None,
        mapping: Mapping[str, str] | None = None,
        on_error: OnError = "fail",
        rejected_to: str | os.PathLike[str] | None = None,
        message: str | None = None,
    ) -> None:
        """Load on `spark`, with the arguments of `Graph.stream_writer`."""
        if isinstance(mapping, str | os.PathLike):
            raise BadInput(
                "a stream takes no mapping file: make a writer for each type, with a dict {column: property}"
            )
        self._graph, self._spark = graph, spark
        self._given = {"type": type, "mode": mode, "branch": branch, "mapping": mapping, "message": message}
        self._given["on_error"] = on_error
        self._rejected_to = check_folder(rejected_to, on_error)
        self._loaded_any = self._has_warned = False
        self.app_id = check_app_id(app_id)
        self.last: Load | None = None
        """The result of the newest batch; None when it had been loaded before."""
        self.rejected = 0
        """How many records of all batches were put aside."""
        self._request(RecordFrame(None), 0)  # wrong arguments are refused before the stream starts

    def __call__(self, frame: Any, batch: int) -> None:
        """Load a micro-batch as one commit, unless it is loaded already."""
        with attach_details(whole=True):
            source = frame if self._given["type"] is not None else RecordFrame(_require_json_column(frame))
            request = self._request(source, batch)
            try:
                self.last = run_load(self._graph, request, self._spark)
            except BatchLanded as landed:
                self.last = None
                self._warn_of_lost_checkpoint(landed)
        if self.last is not None:
            self.rejected += self.last.rejected
            self._loaded_any = True
        for warning in self.last.warnings if self.last else ():
            _log.warning("%s", warning)

    def _warn_of_lost_checkpoint(self, landed: BatchLanded) -> None:
        """Warn where a stream counts from the beginning again: its batches are taken for old ones."""
        batch, last = landed.details["batch"], landed.details["landed"]
        if batch < last and not self._loaded_any and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "batch %s of %r was loaded before, and batches up to %s are: if the stream has lost its "
                "checkpoint, what it sends is not loaded until then; give it another app_id",
                batch,
                self.app_id,
                last,
            )

    def __reduce__(self) -> str:
        raise connect_error()

    def _request(self, source: Any, batch: int) -> LoadRequest:
        given: dict[str, Any] = self._given
        if self._rejected_to is not None:
            given = {**given, "rejected_to": file_of_batch(self._rejected_to, self.app_id, batch)}
        return LoadRequest(source=source, engine=Engine.SPARK, streams={self.app_id: batch}, **given)


def connect_error() -> BadInput:
    """Return the error for a writer that Spark Connect would send to its server."""
    return BadInput(
        "Spark Connect runs the function of foreachBatch on its server, where this graph is not open: give "
        "it a function that opens the graph and makes its writer there"
    )


def check_app_id(app_id: str) -> str:
    """Return the name of a stream, or refuse one that a commit record cannot store."""
    if not isinstance(app_id, str) or not 0 < len(app_id.encode()) <= _MAX_APP_ID_BYTES:
        raise BadInput(f"app_id is {app_id!r}: name the stream with at most {_MAX_APP_ID_BYTES} bytes")
    return app_id


def _require_json_column(frame: Any) -> Any:
    """Return the frame if it is one column of strings, or refuse it."""
    if len(frame.dtypes) != 1 or frame.dtypes[0][1] != "string":
        raise json_column_error(frame.dtypes)
    return frame


def json_column_error(columns: Iterable[tuple[str, str]]) -> BadInput:
    """Return the error for a stream of records that has other columns, which are names and types."""
    found = ", ".join(f"{name} {kind}" for name, kind in columns)
    return BadInput(
        f"a stream that names no type must have one column of graph records as JSON strings, found {found}: "
        "select to_json(…), or name the type"
    )
