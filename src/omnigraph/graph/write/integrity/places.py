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


class RowPlace(str):
    """A place that names the row at it: its id is what follows the text."""

    __slots__ = ("id",)
    id: str

    def __new__(cls, text: str, kind: str, id: str) -> RowPlace:
        """Return `text, kind 'id'`; without a text only what the row is called."""
        named = f"{kind} {id!r}"
        place = super().__new__(cls, f"{text}, {named}" if text else named)
        place.id = id
        return place

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as text: a place that travels is read by people."""
        return str, (str(self),)
