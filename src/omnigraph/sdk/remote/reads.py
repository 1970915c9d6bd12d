"""Queries of a served graph: what is asked is sent, rows come as an Arrow stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from omnigraph.base.choices import refuse_branch_and_snapshot
from omnigraph.compiler.ir.queries import Column
from omnigraph.compiler.values.params import decode_params
from omnigraph.execution.plan.explain import Explanation
from omnigraph.execution.result import Result, Stream
from omnigraph.execution.write.mutate import Mutation
from omnigraph.sdk.remote.requests.connections import Answer, Lost
from omnigraph.sdk.remote.requests.transport import Transport
from omnigraph.wire.marked import mark
from omnigraph.wire.media import ARROW
from omnigraph.wire.results import MOST_QUERIES_HELD, read_metadata
from omnigraph.wire.values import decode

_ARROW = {"Accept": ARROW}


def read_body(gq: str, params: Any, name: str | None, where: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every read says."""
    return {"query": gq, "params": mark_params(params), "name": name, **where}


def mark_params(params: Any) -> dict[str, Any] | None:
    """Return parameters as JSON data that keeps their types."""
    if params is None:
        return None
    if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
        decode_params(params, ())  # says what is wrong with them
    return {name: mark(value) for name, value in params.items()}


def where_of(branch: str | None, snapshot: Any) -> dict[str, Any]:
    """Return what a read is asked of, or refuse two answers to that."""
    refuse_branch_and_snapshot(branch, snapshot)
    return {"branch": branch, "snapshot": getattr(snapshot, "commit_id", snapshot)}


def ask_query(transport: Transport, body: Mapping[str, Any]) -> Result:
    """Run a read query; nothing is sent before all rows are there."""
    return read_result(transport.read_bytes("/query", {**body, "stream": False}, _ARROW))


def read_result(content: bytes) -> Result:
    """Return the result that an answer holds as a whole."""
    # Read as a whole, its buffers are the columns: nothing is copied again.
    reader = pa.ipc.open_stream(content)
    columns, commit, engine = read_metadata(reader.schema.metadata)
    table = reader.read_all()
    arrays = [_as_one(column) for column in table.columns]
    return Result(_read_columns(columns), arrays, commit, engine)


@lru_cache(MOST_QUERIES_HELD)
def _read_columns(text: bytes) -> tuple[Column, ...]:
    found: tuple[Column, ...] = decode(tuple[Column, ...], json.loads(text))
    return found


def read_mutation(told: Mapping[str, Any]) -> Mutation:
    """Return what a mutation did."""
    return Mutation(told["commit"], told["affected_nodes"], told["affected_edges"], tuple(told["warnings"]))


def ask_stream(transport: Transport, body: Mapping[str, Any]) -> Stream:
    """Run a read query and return its rows while they come."""
    batches = _stream_batches(transport, body)
    columns, commit, _ = read_metadata(next(batches).metadata)
    return Stream(_read_columns(columns), commit, batches)


def ask_plan(transport: Transport, body: Mapping[str, Any]) -> Explanation:
    """Return the plan of a read query."""
    found = transport.read("/explain", body)["explanation"]
    return decode(Explanation, found)  # type: ignore[no-any-return]


def _stream_batches(transport: Transport, body: Mapping[str, Any]) -> Iterator[Any]:
    with transport.stream("POST", "/query", _ARROW, body) as answer:
        reader = _open(answer)
        yield reader.schema
        for batch in _batches(reader, answer):
            yield batch.replace_schema_metadata(None)


def _open(answer: Answer) -> pa.RecordBatchReader:
    try:
        return pa.ipc.open_stream(answer)
    except pa.ArrowException as error:
        raise Lost(str(error)) from error


def _batches(reader: pa.RecordBatchReader, answer: Answer) -> Iterator[pa.RecordBatch]:
    try:
        yield from reader
    except pa.ArrowException as error:
        raise Lost(str(error)) from error
    answer.read()  # to the end of the answer, which may have broken off


def _as_one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
