"""How far a webhook has come with the events of one graph: a file beside the server, held by one process."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from omnigraph.base.ids import new_ulid


@dataclass(frozen=True, slots=True)
class Place:
    """Where a webhook stands."""

    cursor: str | None = None
    """After the events that were taken; None before the first look."""
    failures: int = 0
    """How often the next event was not taken."""
    since: int = 0
    """When it was first not taken, in microseconds."""
    not_before: int = 0
    """When it is sent again."""


class PlaceFile:
    """The place of one webhook in one graph."""

    def __init__(self, state: Path, hook: str, graph_id: str) -> None:
        self._path = state / "webhooks" / hook / f"{graph_id}.json"

    @contextmanager
    def hold(self) -> Iterator[bool]:
        """Send inside the block, if no other process does: the system lets go of the locks of the dead."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(lock)

    def read(self) -> Place:
        """Return the place."""
        try:
            return Place(**json.loads(self._path.read_bytes()))
        except FileNotFoundError:
            return Place()
        except (ValueError, TypeError):
            return Place()  # what was sent is not known: it goes on from now

    def write(self, place: Place) -> None:
        """Keep the place, also over a power cut."""
        aside = self._path.with_name(f"{self._path.name}.{new_ulid()}")
        with aside.open("wb") as file:
            file.write(json.dumps(asdict(place)).encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, self._path)
