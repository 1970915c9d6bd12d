"""Where records come from: files of NDJSON, and iterables of records."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset

from omnigraph.base.errors import BadInput
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.execution.load.cells import python_values, read_texts
from omnigraph.execution.load.reader import LONGEST_LINE
from omnigraph.graph.write.integrity.json_values import as_json
from omnigraph.storage.inputs import find_files, on_disk, read_pieces

_BLOCK = 2 * 2**20
_BATCH = 65_536
_PACKED = (".gz", ".zst")
_COLUMN_FORMATS = ("parquet", "csv", "json", "orc", "arrow")
_ENDINGS = {"jsonl": "json", "ndjson": "json", "feather": "arrow", "ipc": "arrow"}
_ONLY_COLUMNS = ("parquet", "csv", "orc", "arrow")


@dataclass(frozen=True, slots=True)
class Lines:
    """A block of whole lines of a file; the first of them has this number."""

    file: str
    first: int
    data: bytes


class FileSource:
    """NDJSON files, read in blocks; can be read more than once."""

    def __init__(self, paths: Sequence[str], options: Mapping[str, str] | None = None) -> None:
        """Take paths or addresses, and how the storage behind the latter is reached."""
        self.paths = tuple(paths)
        self.options = dict(options or {})

    def blocks(self) -> Iterator[Lines]:
        """Yield the files' lines block by block."""
        for path in self.paths:
            first = 1
            for data in whole_lines(read_pieces(path, self.options, _BLOCK)):
                yield Lines(path, first, data)
                first += data.count(b"\n")


class RecordSource:
    """Records from the program. Those of a generator pass through a temporary file, not through memory."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._records = records
        self._spool: IO[bytes] | None = None

    @property
    def records(self) -> Iterator[Mapping[str, Any]]:
        """All records; they can be read more than once."""
        return iter(self._records) if isinstance(self._records, list | tuple) else self._spooled()

    def _spooled(self) -> Iterator[Mapping[str, Any]]:
        if self._spool is None:
            self._spool = cast(IO[bytes], tempfile.TemporaryFile(prefix="omnigraph-records-"))  # noqa: SIM115
        yield from _unpickled(self._spool)
        for record in self._records:  # what no reading has come to yet
            self._spool.write(_pickled(record))
            yield record


@dataclass(frozen=True, slots=True)
class ColumnFiles:
    """Files of rows of one type, all in one format, and how the storage behind addresses is reached."""

    paths: tuple[str, ...]
    format: str
    options: Mapping[str, str]

    def batches(self, schema: pa.Schema | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all files, in the schema of the first unless given."""
        if len(self.paths) > 1:
            for one in self.one_by_one(schema):
                yield from one
            return
        with self.opened(schema) as files:
            yield from files.to_batches(batch_size=_BATCH)

    def one_by_one(self, schema: pa.Schema | None = None) -> Iterator[Iterator[pa.RecordBatch]]:
        """Yield the rows of each file, so that whatever is wrong with them can name the file."""
        schema = schema or self.schema()
        for path in self.paths:
            yield ColumnFiles((path,), self.format, self.options).batches(schema)

    def schema(self) -> pa.Schema:
        """Return the schema that the rows of all files have: that of the first."""
        with ColumnFiles(self.paths[:1], self.format, self.options).opened() as files:
            return files.schema

    @contextmanager
    def opened(self, schema: pa.Schema | None = None) -> Iterator[Any]:
        """Give the files as one Arrow dataset."""
        with on_disk(self.paths, self.options) as here:
            try:
                yield (
                    _csv_dataset(here, schema)
                    if self.format == "csv"
                    else pyarrow.dataset.dataset(here, schema=schema, format=self.format)
                )
            except (pa.ArrowException, OSError) as error:
                raise BadInput(
                    f"{self.paths[0]} cannot be read as {self.format}: {error}", path=self.paths[0]
                ) from error


class TableSource:
    """Columns of one type: Arrow tables, data frames, files of columns. Each row is a record."""

    def __init__(
        self,
        table: str,
        batches: Callable[[], Iterable[pa.RecordBatch]],
        mapping: Mapping[str, str],
        files: ColumnFiles | None = None,
        frame: Any = None,
    ) -> None:
        """Take the type's name, how to get the batches, and property names by column name.

        `files` or `frame` (of Spark) says where the batches come from, for who would read them elsewhere.
        """
        self.table = table
        self.batches = batches
        self.mapping = mapping
        self.files, self.frame = files, frame

    @property
    def has_texts(self) -> bool:
        """Say whether all cells are texts, which only the types of the properties give a meaning."""
        return self.files is not None and self.files.format == "csv"

    def is_text(self, name: str) -> bool:
        """Say whether the cells that are meant for a property are texts."""
        return self.has_texts

    def type_names(self) -> Iterator[str]:
        """Yield the types that the rows are of."""
        yield self.table

    def views(
        self, file: int, batch: pa.RecordBatch
    ) -> Iterator[tuple[TableSource, pa.RecordBatch, npt.NDArray[np.int64]]]:
        """Yield a batch for each kind of record that its rows make, and the numbers of the rows."""
        yield self, batch, np.arange(batch.num_rows, dtype=np.int64)

    def parts(self) -> Iterator[tuple[int, Iterable[pa.RecordBatch]]]:
        """Yield the batches file by file, each with the file's number; rows are counted anew in each."""
        if self.files is None or len(self.files.paths) == 1:
            yield 0, self.batches()
            return
        yield from enumerate(self.files.one_by_one())

    def records(self, catalog: Catalog, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """Yield the rows of a batch as graph records."""
        table = catalog.node(self.table) or catalog.edge(self.table)
        names = [self.mapping.get(column, column) for column in batch.schema.names]
        types = [item.type if table and (item := table.by_name.get(name)) else None for name in names]
        columns = [
            (read_texts if self.is_text(name) else python_values)(column, type_)
            for name, column, type_ in zip(names, batch.columns, types, strict=True)
        ]
        for number in range(batch.num_rows):
            named = {name: values[number] for name, values in zip(names, columns, strict=True)}
            if catalog.node(self.table) is not None:
                yield {"type": self.table, "data": named}
            else:
                ends = {end: named.pop(end, None) for end in ("from", "to")}
                yield {"edge": self.table, **ends, "data": named}


Source = FileSource | RecordSource | TableSource


def open_tables(
    source: Any,
    table: str,
    mapping: Mapping[str, str] | None,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
) -> TableSource:
    """Return the source that rows of one type come from; a file's format is told by its name, or given."""
    named = mapping or {}
    if isinstance(source, pa.RecordBatchReader):
        spooled = _spool_batches(source)
        return TableSource(table, lambda: _spooled_batches(spooled), named)
    if isinstance(source, pa.Table | pa.RecordBatch):
        rows = pa.table(source) if isinstance(source, pa.RecordBatch) else source
        return TableSource(table, lambda: rows.to_batches(max_chunksize=_BATCH), named)
    if (paths := _paths(source, options)) is not None:
        files = ColumnFiles(tuple(paths), _column_format(paths[0], format), dict(options or {}))
        return TableSource(table, files.batches, named, files)
    if hasattr(source, "mapInArrow"):
        return TableSource(
            table, lambda: source.toArrow().to_batches(max_chunksize=_BATCH), named, frame=source
        )
    if hasattr(source, "to_arrow"):
        return open_tables(source.to_arrow(), table, named)
    if hasattr(source, "columns") and hasattr(source, "dtypes"):
        rows = pa.Table.from_pandas(source, preserve_index=False)
        return open_tables(_with_gaps(rows), table, named)
    raise BadInput(f"cannot load rows of {table} from {type(source).__name__}: give a table or a file")


def _with_gaps(rows: pa.Table) -> pa.Table:
    """Return integers as such that pandas had to make floats because some are missing."""
    for at, column in enumerate(rows.columns):
        if pa.types.is_floating(column.type) and column.null_count:
            try:
                rows = rows.set_column(at, rows.schema.names[at], column.cast(pa.int64()))
            except pa.ArrowInvalid:
                continue  # there are fractions among them
    return rows


def open_source(source: Any, options: Mapping[str, str] | None = None) -> Source:
    """Return the source that a caller means: paths, globs and addresses, or records."""
    if (paths := _paths(source, options)) is not None:
        for path in paths:
            if (told := _format_told(path)) in _ONLY_COLUMNS:
                raise BadInput(
                    f"{path} has columns ({told}), not graph records: say of which type its rows are, "
                    "with type= (--type on the command line)",
                    path=path,
                )
        return FileSource(paths, options)
    if hasattr(source, "columns"):
        kind = type(source).__name__
        raise BadInput(f"a {kind} has columns, not graph records: say of which type they are, with type=")
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return RecordSource(source if isinstance(source, list | tuple) else iter(source))
    raise BadInput(f"cannot load from {type(source).__name__}: give a path, a list of paths, or records")


def _paths(source: Any, options: Mapping[str, str] | None) -> list[str] | None:
    """Return the files that a path, a glob, an address or a list of them means; None for what is none."""
    given = source if isinstance(source, list | tuple) and source else [source]
    if not all(isinstance(item, str | os.PathLike) for item in given):
        return None
    found = [path for item in given for path in find_files(str(os.fspath(item)), options or {})]
    return list(dict.fromkeys(found))


def _column_format(path: str, given: str | None) -> str:
    if given is not None and given not in _COLUMN_FORMATS:
        names = "', '".join(_COLUMN_FORMATS)
        raise BadInput(f"format is {given!r}: rows of one type come from '{names}' files")
    if given is not None:
        return given
    told = _format_told(path)
    return told if told in _COLUMN_FORMATS else "parquet"


def _format_told(path: str) -> str:
    """Return the format that a file's name tells."""
    plain = path
    for ending in _PACKED:
        plain = plain.removesuffix(ending)
    ending = plain.rpartition(".")[2].lower()
    return _ENDINGS.get(ending, ending)


def _csv_dataset(paths: Sequence[str], schema: pa.Schema | None) -> Any:
    """Give cells as the texts that they are: a guess at types would depend on other cells."""
    # As databases write it: nothing between two commas is NULL, a pair of quotes is the empty text.
    convert = pyarrow.csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    format = pyarrow.dataset.CsvFileFormat(convert_options=convert)
    if schema is None:
        guessed = pyarrow.dataset.dataset(paths, format=format).schema
        schema = pa.schema([pa.field(name, pa.string()) for name in guessed.names])
    return pyarrow.dataset.dataset(paths, schema=schema, format=format)


def _pickled(record: Any) -> bytes:
    try:
        return pickle.dumps(record)
    except Exception:  # whatever the record's own classes raise
        return pickle.dumps(as_json(record))  # no property takes what cannot be pickled; so it stays wrong


def _unpickled(spool: IO[bytes]) -> Iterator[Mapping[str, Any]]:
    spool.seek(0)
    while True:
        try:
            yield pickle.load(spool)
        except EOFError:
            return


def _spool_batches(reader: pa.RecordBatchReader) -> tempfile._TemporaryFileWrapper[bytes]:
    file = tempfile.NamedTemporaryFile(prefix="omnigraph-batches-", suffix=".arrow")  # noqa: SIM115
    with pa.ipc.new_file(file.name, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    return file


def _spooled_batches(file: tempfile._TemporaryFileWrapper[bytes]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(file.name) as mapped:
        stored = pa.ipc.open_file(mapped)
        for number in range(stored.num_record_batches):
            batch = stored.get_batch(number)
            for start in range(0, batch.num_rows, _BATCH):
                yield batch.slice(start, _BATCH)


def whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks of whole lines; of a line that is longer than any record may be, only so much of it."""
    rest, skipping = b"", False
    for read in pieces:
        piece = read
        if skipping:
            end = piece.find(b"\n") + 1
            if not end:
                continue
            piece, skipping = piece[end:], False
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield rest + piece[:cut]
            rest = piece[cut:]
        else:
            rest += piece
        if len(rest) > LONGEST_LINE:
            yield rest[: LONGEST_LINE + 1] + b"\n"
            rest, skipping = b"", True
    if rest:
        yield rest
