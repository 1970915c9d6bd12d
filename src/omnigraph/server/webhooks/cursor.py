"""How far a webhook has come with the events of one graph: a file beside the server, held by one process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from omnigraph.base.plain import read_json
from omnigraph.storage.files.shared_files import hold_lock, replace_file


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
    """The place of one webhook in one graph, or in one branch of it."""

    def __init__(self, state: Path, hook: str, graph_id: str, branch: str | None = None) -> None:
        name = graph_id if branch is None else f"{graph_id}.{_name_file(branch)}"
        self._path = state / "webhooks" / hook / f"{name}.json"

    @contextmanager
    def hold(self) -> Iterator[bool]:
        """Send inside the block, if no other process does."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with hold_lock(self._path.with_suffix(".lock"), waits=False) as is_mine:
            yield is_mine

    def read(self) -> Place:
        """Return the place."""
        try:
            return Place(**read_json(self._path.read_bytes()))
        except FileNotFoundError:
            return Place()
        except (ValueError, TypeError):
            return Place()  # what was sent is not known: it goes on from now

    def write(self, place: Place) -> None:
        """Keep the place, also over a power cut."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._path, json.dumps(asdict(place)).encode())


def _name_file(branch: str) -> str:
    """Return a name of a file for a branch, which may be called what no file is."""
    return hashlib.blake2b(branch.encode(), digest_size=16).hexdigest()
