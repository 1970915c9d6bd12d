"""Where a record stands in the source of a write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["line", "csv line", "row", "record"]
_TEXTS: dict[Unit, str] = {
    "line": "{file}:{number}",
    "csv line": "{file}, line {number}",
    "row": "{file}, row {number}",
    "record": "record {number}",
}


@dataclass(frozen=True, slots=True, order=True)
class RecordPlace:
    """One record of a source: its file, and the number that people would look for there."""

    at: int
    """Its place in the order of the whole source; no other record has it."""
    number: int
    unit: Unit = "record"
    file: str | None = None

    def __str__(self) -> str:
        return _TEXTS[self.unit].format(file=self.file, number=self.number)

    def to_json(self) -> dict[str, str | int]:
        """Return the place as plain JSON data."""
        counted = {self.unit.removeprefix("csv "): self.number}
        return {"file": self.file, **counted} if self.file is not None else {**counted}
