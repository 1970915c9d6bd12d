"""What a caller loads, as the body of one request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.execution.load.sources.line_files import FileSource
from omnigraph.execution.load.sources.record_source import RecordSource
from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.execution.load.sources.table_source import TableSource
from omnigraph.graph.write.integrity.json_values import as_json
from omnigraph.sdk.remote.requests.exchange import SentContent
from omnigraph.storage.files.inputs import read_pieces

_PIECE_BYTES = 1 << 20
_BODY_FORMATS = {"json": "ndjson", "csv": "csv", "parquet": "parquet", "arrow": "arrow"}
"""What the route calls them, by the name that a load gives them."""


@dataclass(frozen=True)
class Upload:
    """A body, its format, and the file that it was read from, if it was one."""

    format: str
    content: SentContent
    name: str | None = None


def as_upload(source: LoadSource) -> Upload:
    """Return the body that holds all of a source."""
    if isinstance(source, FileSource):
        return _upload_files(list(source.paths()), "ndjson")
    if isinstance(source, RecordSource):
        lines = (_line(record) for record in chain.from_iterable(source.chunks(1_000)))
        return Upload("ndjson", lines if source.is_spooled else b"".join(lines))
    if isinstance(source, TableSource):
        return _upload_table(source)
    raise BadInput(f"a {type(source).__name__} cannot be sent to a server: give records, a table or a file")


def _upload_files(paths: list[str], format: str) -> Upload:
    if len(paths) == 1:
        return Upload(format, b"".join(read_pieces(paths[0], {}, _PIECE_BYTES)), paths[0])
    return Upload(format, b"".join(line for path in paths for line in _whole_lines(path)))


def _upload_table(source: TableSource) -> Upload:
    parts = source.parts
    formats = {part.format for part in parts}
    if len(parts) == 1 and not parts[0].text_columns and parts[0].path is not None:
        return _upload_files([parts[0].path], _BODY_FORMATS[parts[0].format or ""])
    if formats == {"json"} and not any(part.text_columns for part in parts):
        return _upload_files([part.path or "" for part in parts], "ndjson")
    if "csv" in formats or any(part.text_columns for part in parts):
        raise BadInput("columns whose types are guessed from text are sent a file at a time: load each file")
    tables = [pa.Table.from_batches(batches) for part in parts if (batches := list(part.batches()))]
    return Upload("arrow", _arrow_file(pa.concat_tables(tables, promote_options="default")))


def _arrow_file(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _whole_lines(path: str) -> Iterator[bytes]:
    last = b""
    for piece in read_pieces(path, {}, _PIECE_BYTES):
        yield piece
        last = piece
    if last and not last.endswith(b"\n"):
        yield b"\n"


def _line(record: Any) -> bytes:
    return json.dumps(as_json(record), ensure_ascii=False, allow_nan=False).encode() + b"\n"
