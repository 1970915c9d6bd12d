"""From what a caller passes to a load to a `LoadSource`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from omnigraph.base.errors import BadInput
from omnigraph.execution.load.sources.column_files import (
    COLUMN_FORMATS,
    READ_BATCH_ROWS,
    check_format,
    guess_format,
    limit_batches,
    open_column_file,
)
from omnigraph.execution.load.sources.line_files import FileSource
from omnigraph.execution.load.sources.record_source import RecordSource
from omnigraph.execution.load.sources.table_source import GivenRows, OneType, TableSource
from omnigraph.storage.files.inputs import find_files, is_folder, local_path
from omnigraph.storage.objects.options import StorageOptions


def open_tables(
    source: Any,
    table: str,
    mapping: Mapping[str, str] | None,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
) -> TableSource:
    """Return a source of rows of one type; without a format, that of a file follows from its name."""
    check_format(format)
    named = dict(mapping or {})
    shape = OneType(table, named)
    if isinstance(source, pa.RecordBatchReader):
        spooled = _spool_batches(source)
        return TableSource(shape, [GivenRows(lambda: _read_spool(spooled))])
    if isinstance(source, pa.Table | pa.RecordBatch):
        rows = pa.table(source) if isinstance(source, pa.RecordBatch) else source
        return TableSource(shape, [GivenRows(lambda: _batches_of(rows))])
    if (found := _find_in_folders(source, options)) is not None:
        given = StorageOptions(options or {})
        files = [open_column_file(path, format, given, folder) for path, folder in found.items()]
        return TableSource(shape, files)
    if hasattr(source, "mapInArrow"):
        _refuse_repeated_columns(source.columns)
        return TableSource(shape, [GivenRows(lambda: _batches_of(source.toArrow()))], frame=source)
    if hasattr(source, "to_arrow"):
        return open_tables(source.to_arrow(), table, named)
    if hasattr(source, "columns") and hasattr(source, "dtypes"):
        _refuse_repeated_columns(list(source.columns))
        try:
            rows = pa.Table.from_pandas(source, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise BadInput(f"a column of the data frame mixes types: {error}") from error
        return open_tables(_restore_integers(rows), table, named)
    raise BadInput(f"cannot load rows of {table} from {type(source).__name__}: give a table or a file")


def open_source(
    source: Any, options: Mapping[str, str] | None = None, format: str | None = None
) -> FileSource | RecordSource:
    """Return a source of graph records, from paths, globs, addresses or records."""
    if format not in (None, "json", *COLUMN_FORMATS):
        raise BadInput(f"format is {format!r}: graph records come from 'json' files", format=format)
    if (paths := _find_paths(source, options)) is not None:
        for path in paths:
            if (found := format or guess_format(path)) in COLUMN_FORMATS:
                raise BadInput(
                    f"{path} has columns ({found}), not graph records: say of which type its rows are, "
                    "with type= (--type on the command line)",
                    path=path,
                )
        return FileSource(paths, options)
    if format is not None:
        raise BadInput(f"format is {format!r}, but the source is not a file: leave it out", format=format)
    if hasattr(source, "columns"):
        kind = type(source).__name__
        raise BadInput(f"a {kind} has columns, not graph records: say of which type they are, with type=")
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return RecordSource(source if isinstance(source, list | tuple) else iter(source))
    raise BadInput(f"cannot load from {type(source).__name__}: give a path, a list of paths, or records")


def _find_paths(source: Any, options: Mapping[str, str] | None) -> list[str] | None:
    """Return the files for a path, glob or address, or a list of them; None for anything else."""
    found = _find_in_folders(source, options)
    return None if found is None else list(found)


def _find_in_folders(source: Any, options: Mapping[str, str] | None) -> dict[str, str | None] | None:
    """Return the files as `_find_paths` does, each with the folder that was named, if one was."""
    given = source if isinstance(source, list | tuple) and source else [source]
    if not all(isinstance(item, str | os.PathLike) for item in given):
        return None
    found: dict[str, str | None] = {}
    for item in given:
        address = str(os.fspath(item))
        paths = find_files(address, options or {})
        inside = all(path != address for path in paths) and is_folder(address, options or {})
        for path in paths:
            found.setdefault(path, local_path(address) if inside else None)
    return found


def _refuse_repeated_columns(names: Sequence[Any]) -> None:
    """Refuse a data frame with two columns of one name."""
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"the data frame has two columns named {twice[0]!r}: leave one out", column=twice[0])


def _restore_integers(rows: pa.Table) -> pa.Table:
    """Turn float columns back into integers where pandas used floats only to hold missing values."""
    for at, column in enumerate(rows.columns):
        if pa.types.is_floating(column.type) and column.null_count:
            try:
                rows = rows.set_column(at, rows.schema.names[at], column.cast(pa.int64()))
            except pa.ArrowInvalid:
                continue  # some are not integers
    return rows


def _batches_of(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    return limit_batches(rows.to_batches(max_chunksize=READ_BATCH_ROWS), rows.schema)


def _spool_batches(reader: pa.RecordBatchReader) -> tempfile._TemporaryFileWrapper[bytes]:
    file = tempfile.NamedTemporaryFile(prefix="omnigraph-batches-", suffix=".arrow")  # noqa: SIM115
    with pa.ipc.new_file(file.name, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    return file


def _read_spool(file: tempfile._TemporaryFileWrapper[bytes]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(file.name) as mapped:
        stored = pa.ipc.open_file(mapped)
        batches = (stored.get_batch(number) for number in range(stored.num_record_batches))
        yield from limit_batches(batches, stored.schema)
