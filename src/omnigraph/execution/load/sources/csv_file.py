"""One CSV file as columns of strings, and the errors of a file that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.csv

from omnigraph.base.errors import BadInput
from omnigraph.execution.load.sources.csv_lines import CsvLines, read_lines
from omnigraph.storage.files.inputs import read_pieces

_BLOCK_BYTES = 8 * 2**20
_HEAD_BYTES = 4096
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file: its name for people, and its path on this machine."""

    name: str
    options: Mapping[str, str]
    path: str
    _ragged: list[Any] = field(default_factory=list, init=False)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as strings: guessed types would depend on the other rows of a file."""
        self._refuse_other_encodings()
        try:
            names = self._open([]).schema.names
            yield from self._open(names)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise self._explain(error) from error

    def _open(self, names: list[str]) -> pyarrow.csv.CSVStreamingReader:
        # As databases write it: an empty cell is NULL, a pair of quotes is the empty string.
        convert = pyarrow.csv.ConvertOptions(
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            column_types={name: pa.string() for name in names},
        )
        return pyarrow.csv.open_csv(
            self.path,
            # Only a reader without threads reports row numbers.
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=pyarrow.csv.ParseOptions(
                newlines_in_values=True, invalid_row_handler=self._note_ragged_row
            ),
            convert_options=convert,
        )

    def _note_ragged_row(self, row: Any) -> str:
        self._ragged.append(row)
        return "error"

    def _refuse_other_encodings(self) -> None:
        head = next(read_pieces(self.name, self.options, _HEAD_BYTES), b"")
        if head.startswith(_UTF_16_MARKS) or b"\x00" in head:
            raise self._error(
                f"{self.name} is not UTF-8 but looks like UTF-16: convert it, "
                "for example with iconv -f UTF-16 -t UTF-8"
            )

    def _explain(self, error: Exception) -> BadInput:
        if self._ragged:
            row = self._ragged[0]
            line = CsvLines.of(self.name, self.options).line(row.number - 1)
            counts = f"the row has {row.actual_columns} cells, the header {row.expected_columns}"
            return self._error(f"{self.name}, line {line}: {counts}", line=line)
        for line, text in enumerate(read_lines(self.name, self.options), 1):
            try:
                text.decode()
            except UnicodeDecodeError:
                advice = "convert the file, for example with iconv -f LATIN1 -t UTF-8"
                return self._error(f"{self.name}, line {line}: this is not UTF-8: {advice}", line=line)
        return self._error(f"{self.name} cannot be read as csv: {error}")

    def _error(self, message: str, **facts: Any) -> BadInput:
        return BadInput(message, path=self.name, **facts)
