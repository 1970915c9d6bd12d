"""Cutting a source into splits, and counting its records across them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.execution.load.sources.column_files import ColumnFile
from omnigraph.execution.load.sources.line_files import FileSource
from omnigraph.execution.load.sources.record_location import place_at
from omnigraph.execution.load.sources.record_source import RecordSource
from omnigraph.execution.load.sources.sources import Source
from omnigraph.execution.load.sources.table_source import TableSource
from omnigraph.pipeline.workers.outcome import SplitOutcome
from omnigraph.pipeline.workers.splits import (
    FilePart,
    FramePartition,
    LineRange,
    LineShape,
    MappedShape,
    RecordFrame,
    SomeBatches,
    SomeRecords,
    Split,
    TableShape,
    shape_of,
)
from omnigraph.storage.files.inputs import can_be_cut, file_size

_SMALLEST = 4 * 2**20
_TASKS_PER_CORE = 4
_RECORDS = 20_000
_BATCHES = 4


def source_bytes(source: Source) -> int | None:
    """Return how many bytes the files of a source take; None when they are not known without reading."""
    if isinstance(source, FileSource):
        return sum(file_size(path, source.options) for path in source.paths)
    if isinstance(source, TableSource) and source.files:
        return sum(file_size(file.path, file.options) for file in source.files)
    return None


def split_source(source: Source, cores: int, largest: int) -> list[Split]:
    """Cut a source into parts of at most `largest` bytes where it can be, and a few for every core."""
    wanted = max(_SMALLEST, (source_bytes(source) or 0) // max(1, cores * _TASKS_PER_CORE) + 1)
    size = max(1, min(wanted, largest))
    if isinstance(source, FileSource):
        return list(_line_ranges(source, size))
    if isinstance(source, RecordSource):
        records = source.records
        chunks = iter(lambda: tuple(itertools.islice(records, _RECORDS)), ())
        return [SomeRecords(chunk) for chunk in chunks]
    if isinstance(source, RecordFrame):
        return [FramePartition(LineShape())]
    shape = shape_of(source)
    if source.frame is not None:
        return [FramePartition(shape)]
    if source.files:
        return list(_file_parts(shape, source.files, size))
    batches = iter(source.batches())
    groups = iter(lambda: list(itertools.islice(batches, _BATCHES)), [])
    return [SomeBatches(shape, _stream(group)) for group in groups]


def first_places(splits: Sequence[Split], outcomes: Sequence[SplitOutcome]) -> list[int]:
    """Return for every split what its own places are counted from in the whole source."""
    before, file, firsts = 0, 0, []
    for number, outcome in enumerate(outcomes):
        split = splits[number] if number < len(splits) else splits[-1]
        if isinstance(split, LineRange | FilePart) and split.file != file:
            before, file = 0, split.file
        firsts.append(place_at(file, before))
        before += outcome.records
    return firsts


def _line_ranges(source: FileSource, size: int) -> Iterator[LineRange]:
    for number, path in enumerate(source.paths):
        total = file_size(path, source.options) if can_be_cut(path) else 0
        if total <= size:
            yield LineRange(number, path, source.options)
            continue
        parts = -(-total // size)
        cuts = [total * part // parts for part in range(parts + 1)]
        for start, end in itertools.pairwise(cuts):
            yield LineRange(number, path, source.options, start, end)


def _file_parts(
    shape: TableShape | MappedShape, files: Sequence[ColumnFile], size: int
) -> Iterator[FilePart]:
    for number, file in enumerate(files):
        part = FilePart(shape, file, number)
        if file.format == "parquet" and "://" not in file.path:
            yield from _row_groups(part, size)
        else:
            yield part


def _row_groups(part: FilePart, size: int) -> Iterator[FilePart]:
    """Yield groups of row groups that take about so many bytes."""
    try:
        metadata = pq.read_metadata(part.rows.path)
    except (pa.ArrowException, OSError):
        yield part  # who reads it says what is wrong with it
        return
    groups: list[int] = []
    taken = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        groups.append(number)
        taken += sum(group.column(at).total_compressed_size for at in range(group.num_columns))
        if taken >= size:
            yield replace(part, groups=tuple(groups))
            groups, taken = [], 0
    if groups or metadata.num_row_groups == 0:
        yield replace(part, groups=tuple(groups))


def _stream(batches: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())
