"""Temporary folders that belong to one process: only its user can open them, and they go after it has ended.

Processes that are killed, and workers of Spark, end without cleaning up: whoever makes such a folder next
removes theirs, and so does the watchdog of a Java (`pipeline/jvm_watchdog.py`).
"""

from __future__ import annotations

import atexit
import os
import platform
import shutil
import stat
import tempfile
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

from omnigraph.base.errors import BadInput

CREDENTIALS, SIGHT, _WORK = "credentials", "sight", "work"
"""What such folders hold: secrets for other processes, lists of hidden rows, files of work in progress."""
_FOLDER_KINDS = (CREDENTIALS, SIGHT, _WORK)


def private_folder(kind: str, owner: int) -> Path:
    """Return the folder of a process, which is made if need be."""
    remove_orphans()
    folder = Path(f"{folders_of(kind)}{owner}")
    make_private(folder)
    if owner == os.getpid():
        _remove_at_exit(owner, folder)
    return folder


def working_folder(purpose: str) -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the files of one piece of work, which goes with it, or after the process."""
    owner = os.getpid()
    _remove_orphans_once(owner)
    parent = Path(f"{folders_of(_WORK)}{owner}")
    make_private(parent)
    _remove_at_exit(owner, parent)
    return tempfile.TemporaryDirectory(dir=parent, prefix=f"{purpose}-", ignore_cleanup_errors=True)


def folders_of(kind: str) -> str:
    """Return how the paths of our folders begin; they end with the process that a folder is for."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return os.path.join(tempfile.gettempdir(), f"omnigraph-{kind}-{user}-{_namespace()}")


def list_beginnings() -> list[str]:
    """Return how the paths of all kinds of folders begin."""
    return [folders_of(kind) for kind in _FOLDER_KINDS]


def make_private(folder: Path) -> None:
    """Make a folder that only this user can open; one that is there is refused unless it is such."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or (
        os.name == "posix" and (found.st_uid, stat.S_IMODE(found.st_mode)) != (os.getuid(), 0o700)
    ):
        raise BadInput(f"{folder} is not a folder of yours alone: remove it", path=str(folder))


def remove_orphans() -> None:
    """Remove what belongs to processes of ours that have ended."""
    for beginning in map(Path, list_beginnings()):
        for folder in beginning.parent.glob(f"{beginning.name}*"):
            owner = folder.name.rpartition("-")[2]
            if owner.isdecimal() and not _is_alive(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)


@cache
def _remove_orphans_once(process: int) -> None:
    remove_orphans()


@cache
def _namespace() -> str:
    """Return what tells our processes from those of a container or machine that has the same folder."""
    machine = f"{zlib.crc32(platform.node().encode()):08x}"
    try:
        return f"{machine}-{os.stat('/proc/self/ns/pid').st_ino}-"
    except OSError:
        return f"{machine}-"


@cache
def _remove_at_exit(owner: int, folder: Path) -> None:
    # A fork inherits the callback and is not the owner.
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
