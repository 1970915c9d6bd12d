"""The file of records that a load has left out; it can be loaded once the records are fixed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.base.ids import new_ulid
from omnigraph.execution.load.find_rejected import Rejected
from omnigraph.execution.load.parse.strict_json import (
    MAX_LINE_BYTES,
    PROBLEMS_MEMBER,
    RAW_MEMBER,
    SOURCE_MEMBER,
    BadRecord,
    parse_line,
)
from omnigraph.graph.write.integrity.json_values import as_json
from omnigraph.graph.write.integrity.places import RecordPlace
from omnigraph.graph.write.integrity.problems import show_value
from omnigraph.storage.files.inputs import REJECTED

PutAway = Callable[[int, "bytes | Mapping[str, Any]"], None]


class Quarantine:
    """Rejected records, written to a file that gets its name when the outcome of the commit is known.

    Until then they are in a draft beside it, complete and on disk: a crash between the commit and the
    renaming leaves the draft behind. An existing file is never overwritten.
    """

    def __init__(self, wanted: Path) -> None:
        """Take the file for the records; if it exists, a number is added to its name."""
        self._wanted = wanted
        name = wanted.name if REJECTED in wanted.name else f"{wanted.name}{REJECTED}"
        self._draft = wanted.with_name(f"{name}.{new_ulid()}.part")
        self.count = 0
        """How many records were rejected."""
        self.path: Path | None = None
        """The file, once it has its name."""

    @contextmanager
    def open_draft(self, places: Callable[[int], RecordPlace], rejected: Rejected) -> Iterator[PutAway]:
        """Yield a function that writes a rejected record to a new draft; without any, there is no draft."""
        self.count = len(rejected)
        if not rejected:
            self.discard()
            yield lambda place, record: None
            return
        with self._translate_write_errors():
            file = self._draft.open("w", encoding="utf-8")
        with file:

            def put_away(place: int, record: bytes | Mapping[str, Any]) -> None:
                reasons = {
                    SOURCE_MEMBER: places(place).to_json(),
                    PROBLEMS_MEMBER: [problem.message for problem in rejected[place]],
                }
                line = json.dumps({**_as_record(record), **reasons}, allow_nan=False)
                with self._translate_write_errors():
                    file.write(line + "\n")

            yield put_away
            with self._translate_write_errors():
                file.flush()
                os.fsync(file.fileno())

    def keep(self, lines: Sequence[str]) -> None:
        """Write records that were rejected elsewhere to the file; without any there is none."""
        self.count = len(lines)
        if not lines:
            return
        with self._translate_write_errors(), self._draft.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        self.settle()

    def settle(self) -> None:
        """Rename the draft to the wanted name, or to the first free one with a number."""
        if not self._draft.exists():
            return
        with self._translate_write_errors():
            names = (Path(f"{self._wanted}.{number}") for number in count(2))
            self.path = next(
                path for path in chain([self._wanted], names) if _link_if_free(self._draft, path)
            )

    def discard(self) -> None:
        """Delete the draft: nothing was loaded, so nothing was left out."""
        with self._translate_write_errors():
            self._draft.unlink(missing_ok=True)

    @contextmanager
    def _translate_write_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise BadInput(f"rejected records cannot be written to {self._wanted}: {error}") from error


def _link_if_free(draft: Path, path: Path) -> bool:
    """Rename a file unless the name is taken; return whether it was renamed."""
    if os.path.lexists(path):
        return False
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links, where two loads could choose the same name
        os.rename(draft, path)
        return True
    draft.unlink()
    return True


def _as_record(record: bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(record, bytes):
        return _make_readable(record)
    if len(record) > MAX_LINE_BYTES:
        return {
            RAW_MEMBER: show_value(record[:1000].decode(errors="replace"))
        }  # most of it was not even read
    try:
        parsed = parse_line(record)
    except BadRecord:
        parsed = None
    if isinstance(parsed, Mapping):
        return _make_readable(parsed)  # a number beyond the range of floats was read as infinity
    return {RAW_MEMBER: record.decode(errors="backslashreplace")}


def _make_readable(record: Any) -> Mapping[str, Any]:
    try:
        found = as_json(record)
    except RecursionError:
        return {RAW_MEMBER: "a record that is nested too deeply"}
    return found if isinstance(found, dict) else {RAW_MEMBER: found}
