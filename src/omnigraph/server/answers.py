"""Rows as the caller accepts them: JSON, lines of JSON, or an Arrow stream, which hold a batch at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from fastapi.responses import Response

from omnigraph.base.errors import ResourceLimit
from omnigraph.execution.result import Result, Stream, record_batch
from omnigraph.execution.write.mutate import Mutation
from omnigraph.server.requests.engine_pool import current_pool
from omnigraph.server.requests.json_answer import JsonAnswer
from omnigraph.server.requests.streams import HeldAnswer, StreamedAnswer, join_lines
from omnigraph.wire.media import ARROW, COMMIT_HEADER, JSON, NDJSON
from omnigraph.wire.results import result_metadata
from omnigraph.wire.values import encode

_BATCH_ROWS = 8_192
_PART_BYTES = 1024 * 1024
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
"""What an Arrow stream ends with."""
_WEIGHT = re.compile(r"[01](\.[0-9]{0,3})?")


def choose_format(accept: str | None) -> str:
    """Return the media type that an Accept header prefers among those that we speak, or else JSON."""
    chosen, most = JSON, 0.0
    for part in (accept or "").split(","):
        name, *parameters = (word.strip().lower() for word in part.split(";"))
        weight = _weigh(parameters)
        if name in (JSON, NDJSON, ARROW) and weight > most:
            chosen, most = name, weight
    return chosen


def _weigh(parameters: Iterable[str]) -> float:
    """Return how much a media type is wanted: `q`, from 0 to 1; 1 when it is left out or cannot be read."""
    given = next((text[2:] for text in parameters if text.startswith("q=")), "1")
    return float(given) if _WEIGHT.fullmatch(given) else 1.0


def answer_result(result: Result, query_name: str | None, target: dict[str, Any]) -> Response:
    """Return a result as one JSON object, which is held whole."""
    size, most = sum(array.nbytes for array in result.arrays), current_pool().limits.answer_bytes
    if size > most:
        raise ResourceLimit(
            f"the result has {size} bytes, and JSON is made in memory: ask for {NDJSON} or {ARROW}",
            resource="answer_bytes",
            limit=most,
            actual=size,
        )
    return JsonAnswer(
        {
            "query_name": query_name,
            "target": target,
            "row_count": len(result),
            "columns": columns_of(result),
            "rows": encode(result.rows),
            "graph_commit_id": result.commit_id,
            "engine": result.engine,
        },
        headers={COMMIT_HEADER: result.commit_id},
    )


def describe_mutation(
    done: Mutation, branch: str, query_name: str | None, actor: str | None
) -> dict[str, Any]:
    """Return what a mutation answers, by a text or by the name of a stored query."""
    return {
        "branch": branch,
        "query_name": query_name,
        "affected_nodes": done.affected_nodes,
        "affected_edges": done.affected_edges,
        "warnings": list(done.warnings),
        "actor_id": actor,
        "commit": done.commit_id,
    }


def answer_stream(stream: Stream, media_type: str) -> Response:
    """Return rows as they are made."""
    headers = {COMMIT_HEADER: stream.commit_id}
    made = _arrow(stream) if media_type == ARROW else join_lines(_lines(stream))
    return StreamedAnswer(made, media_type, headers)


def answer_whole(result: Result, media_type: str) -> Response:
    """Return a result whose rows are all there: nothing can fail any more."""
    if media_type != ARROW:
        stream = Stream(result.schema, result.commit_id, iter(result.to_arrow().to_batches(_BATCH_ROWS)))
        return answer_stream(stream, media_type)
    rows = record_batch(result.schema, result.arrays)
    metadata = result_metadata(result.schema, result.commit_id, result.engine)
    rows = rows.replace_schema_metadata(metadata)
    headers = {COMMIT_HEADER: result.commit_id}
    # As one batch: whoever reads it has columns that are whole.
    if rows.nbytes <= _PART_BYTES:
        content = b"".join((rows.schema.serialize(), rows.serialize(), _END_OF_STREAM))
        return Response(content, media_type=media_type, headers=headers)
    sink = _Sink()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return HeldAnswer(sink.parts, media_type, headers)


def answer_records(records: Iterable[dict[str, Any]], commit: str) -> Response:
    """Return records as lines of JSON, as they are made."""
    # A load reads the numbers of records as they are.
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    return StreamedAnswer(join_lines(lines), NDJSON, {COMMIT_HEADER: commit})


def columns_of(result: Result | Stream) -> list[dict[str, str]]:
    """Return names and types of columns."""
    return [{"name": column.name, "type": str(column.type)} for column in result.schema]


def _arrow(stream: Stream) -> Iterator[bytes]:
    sink = _Sink()
    reader = stream.to_reader()
    schema = reader.schema.with_metadata(result_metadata(stream.schema, stream.commit_id))
    with pa.ipc.new_stream(sink, schema) as writer:
        yield sink.take()
        for batch in reader:
            for part in _cut(batch):
                writer.write_batch(part.replace_schema_metadata(schema.metadata))
                yield sink.take()
    yield sink.take()


def _lines(stream: Stream) -> Iterator[str]:
    for batch in stream:
        for some in _cut(batch):
            for row in Result(stream.schema, some.columns, stream.commit_id):
                yield json.dumps(encode(row), ensure_ascii=False) + "\n"


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield a batch in parts of a bounded size, however large its rows are."""
    rows = max(1, batch.num_rows * _PART_BYTES // max(batch.nbytes, 1))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


class _Sink:
    """What a writer of Arrow has written since it was last asked; columns stay where they lie in memory."""

    closed = False

    def __init__(self) -> None:
        self.parts: list[memoryview] = []

    def write(self, data: bytes | pa.Buffer) -> int:
        """Keep some bytes."""
        self.parts.append(memoryview(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: whoever takes the bytes sends them."""

    def take(self) -> bytes:
        """Return the bytes that were written, once."""
        taken, self.parts = b"".join(self.parts), []
        return taken
