"""Loading what is right, and putting what is not into a file that can be loaded once it is mended."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.execution.load.reader import (
    LONGEST_LINE,
    PROBLEMS_MEMBER,
    RAW_MEMBER,
    BadRecord,
    parse_line,
)
from omnigraph.execution.load.sources import Source
from omnigraph.execution.load.survey import Rejected
from omnigraph.graph.write.integrity.problems import shown


@dataclass
class Quarantine:
    """The file that rejected records go to, and how many there were."""

    path: Path
    count: int = 0

    @contextmanager
    def opened(
        self, source: Source, rejected: Rejected
    ) -> Iterator[Callable[[int, bytes | Mapping[str, Any]], None]]:
        """Give what puts a record away; the file appears complete, and only when there is something in it."""
        self.count = len(rejected)
        if not rejected:
            yield lambda place, record: None
            return
        draft = self.path.with_name(f"{self.path.name}.part")
        with self._writing():
            file = draft.open("w", encoding="utf-8")
        with file:

            def put_away(place: int, record: bytes | Mapping[str, Any]) -> None:
                reasons = [problem.message for problem in rejected[place]]
                line = json.dumps({**_as_record(record), PROBLEMS_MEMBER: reasons}, default=str)
                with self._writing():
                    file.write(line + "\n")

            yield put_away
        with self._writing():
            os.replace(draft, self.path)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise BadInput(f"rejected records cannot be written to {self.path}: {error}") from error


def _as_record(record: bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(record, bytes):
        return record if isinstance(record, Mapping) else {RAW_MEMBER: str(record)}
    if len(record) > LONGEST_LINE:
        return {RAW_MEMBER: shown(record[:1000].decode(errors="replace"))}  # most of it was not even read
    try:
        parsed = parse_line(record)
    except BadRecord:
        parsed = None
    return parsed if isinstance(parsed, Mapping) else {RAW_MEMBER: record.decode(errors="replace")}
