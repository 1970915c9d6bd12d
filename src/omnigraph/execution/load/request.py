"""What a caller asks of a load."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from omnigraph.base.errors import AlreadyExists, BadInput
from omnigraph.base.ids import new_ulid
from omnigraph.execution.engine import check_engine
from omnigraph.execution.load.mapping.mapped import apply_mapping
from omnigraph.execution.load.mapping.mapping import read_mapping
from omnigraph.execution.load.mode import Mode
from omnigraph.execution.load.sources.source import LoadSource
from omnigraph.execution.load.sources.sources import open_source, open_tables
from omnigraph.storage.files.inputs import REJECTED


@dataclass(frozen=True, kw_only=True)
class LoadRequest:
    """A source, what to do with its records, and where; `Graph.load` documents each field."""

    source: Any
    mode: str
    branch: str | None = None
    from_branch: str | None = None
    engine: str = "auto"
    format: str | None = None
    mapping: Mapping[str, str] | str | os.PathLike[str] | None = None
    type: str | None = None
    on_error: str = "fail"
    rejected_to: str | os.PathLike[str] | None = None
    message: str | None = None
    idempotency_key: str | None = None
    metadata: Mapping[str, str] | None = None
    streams: Mapping[str, int] = field(default_factory=dict)
    """The batch number of the source, by streaming application."""

    def __post_init__(self) -> None:
        """Refuse invalid values and combinations."""
        if self.mode not in get_args(Mode):
            raise BadInput(
                f"{self.mode!r} is not a load mode: use append, merge, patch or overwrite", mode=self.mode
            )
        if self.on_error not in ("fail", "quarantine"):
            raise BadInput(
                f"on_error is {self.on_error!r}: use 'fail' or 'quarantine'", on_error=self.on_error
            )
        if self.rejected_to is not None and self.on_error == "fail":
            raise BadInput("rejected_to says where wrong records go: give on_error='quarantine' with it")
        check_engine(self.engine)
        if isinstance(self.mapping, str | os.PathLike):
            if self.type is not None:
                raise BadInput("a mapping file says itself which types its rows make: leave out type=")
        elif self.mapping is not None and self.type is None:
            raise BadInput("a mapping of columns needs the type that the rows are of: give type=")
        elif not isinstance(self.type, str | None) or not isinstance(self.mapping, Mapping | None):
            raise BadInput("type must be the name of a type, and mapping a dict {column: property}")
        if self.from_branch is not None and self.branch is None:
            raise BadInput("from_branch says what a new branch is forked from: give its name as branch=")

    @property
    def load_mode(self) -> Mode:
        """The mode, as its literal type."""
        return cast(Mode, self.mode)

    def resolve_source(self, storage_options: Mapping[str, str]) -> LoadSource:
        """Return the source that the caller means."""
        if LoadSource in type(self.source).__mro__:  # a data frame of Spark Connect has every attribute
            opened: LoadSource = self.source
            return opened
        if isinstance(self.mapping, str | os.PathLike):
            rules = read_mapping(Path(self.mapping))
            return apply_mapping(open_tables(self.source, "", None, self.format, storage_options), rules)
        if self.type is None:
            return open_source(self.source, storage_options, self.format)
        return open_tables(self.source, self.type, self.mapping, self.format, storage_options)

    def choose_rejected_path(self, source: LoadSource) -> Path | None:
        """Return the file for invalid records; None when they make the load fail."""
        if self.on_error == "fail":
            return None
        if self.rejected_to is not None:
            path = Path(self.rejected_to)
            if path.is_file():
                raise AlreadyExists(
                    f"{path} already exists and may hold corrected records: choose another rejected_to",
                    path=str(path),
                )
        elif paths := source.paths():
            first = paths[0]
            path = Path(f"{first.rpartition('/')[2] if '://' in first else first}{REJECTED}")
        else:
            path = Path(f"omnigraph-{new_ulid()}{REJECTED}")
        if path.is_dir() or not path.parent.is_dir():
            raise BadInput(f"rejected records cannot go to {path}: name a file in a folder that exists")
        return path
