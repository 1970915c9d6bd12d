"""Where Spark's writes and streams put the records that are wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import chain, count
from pathlib import Path
from typing import get_args
from urllib.parse import quote

from omnigraph.base.choices import OnError
from omnigraph.base.errors import AlreadyExists, BadInput
from omnigraph.storage.files.inputs import REJECTED


def puts_aside(told: Mapping[str, str]) -> bool:
    """Return whether the options of a write put wrong records aside."""
    given = told.get("on_error", "fail")
    if given not in get_args(OnError):
        raise BadInput(f"the option on_error is {given!r}: use fail or quarantine", on_error=given)
    if given == "fail" and "rejected_to" in told:
        raise BadInput("rejected_to says where wrong records go: give on_error='quarantine' with it")
    return given == "quarantine"


def check_file(told: Mapping[str, str]) -> Path | None:
    """Return the file for the wrong records of a write; None when they make it fail."""
    if not puts_aside(told):
        return None
    if "rejected_to" not in told:
        raise BadInput(
            "where do wrong records go? name a file where the driver runs: .option('rejected_to', '/…')",
            option="rejected_to",
        )
    path = Path(told["rejected_to"])
    if path.is_file():
        raise AlreadyExists(
            f"{path} already exists and may hold corrected records: choose another rejected_to",
            path=str(path),
        )
    if path.is_dir() or not path.parent.is_dir():
        raise BadInput(f"rejected records cannot go to {path}: name a file in a folder that exists")
    return path


def check_folder(folder: str | os.PathLike[str] | None, on_error: str) -> Path | None:
    """Return the folder for the wrong records of a stream; one is needed where they are put aside only."""
    if on_error != "quarantine":
        if folder is not None:
            raise BadInput("rejected_to says where wrong records go: give on_error='quarantine' with it")
        return None
    if folder is None or not Path(folder).is_dir():
        raise BadInput(f"rejected_to is {folder!r}: give a folder that exists, for the records of each batch")
    return Path(folder)


def file_of_batch(folder: Path, app_id: str, batch: int) -> Path:
    """Return the file of a batch, which nobody has: a batch that failed after all may have left one."""
    path = folder / f"{quote(app_id, safe='')}-{batch}{REJECTED}"
    names = (Path(f"{path}.{number}") for number in count(2))
    return next(found for found in chain([path], names) if not found.exists())
