"""Secrets for other processes of this machine: files that only their owner reads, named where pickles go."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from omnigraph.base.errors import BadInput
from omnigraph.base.ids import new_ulid

_EVERYBODY = 0o007


def hand_over(secrets: Mapping[str, str], owner: int | None = None) -> str:
    """Write secrets to a private file and return its path; equal ones have one file.

    It is there for as long as a process runs: this one, unless another is the owner.
    """
    remove_orphans()
    data = json.dumps(dict(sorted(secrets.items()))).encode()
    folder = _private_folder(os.getpid() if owner is None else owner)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.json"
    if not path.exists():
        draft = folder / new_ulid()
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        os.replace(draft, path)
    return str(path)


def take_over(path: str) -> dict[str, str]:
    """Return the secrets in a file, which everybody must not be able to read."""
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            found = json.load(file)
    except FileNotFoundError:
        raise BadInput(
            f"{path} is not on this machine, and credentials given to a program do not leave its own: "
            "give them on all machines: as a role, by the environment, or in a file with one path everywhere",
            path=path,
        ) from None
    except (OSError, ValueError) as error:
        raise BadInput(
            f"the file of credentials {path} cannot be read: {type(error).__name__}", path=path
        ) from None
    if mode & _EVERYBODY and os.name == "posix":
        raise BadInput(
            f"{path} holds credentials and everybody may use it (mode {mode & 0o777:03o}): chmod 600 {path}",
            path=path,
        )
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise BadInput(f"{path} is not a JSON object of strings, which a file of credentials is", path=path)
    return found


def remove_orphans() -> None:
    """Remove what belongs to processes of ours that have ended."""
    beginning = Path(folders_of_secrets())
    for folder in beginning.parent.glob(f"{beginning.name}*"):
        owner = folder.name.rpartition("-")[2]
        if owner.isdecimal() and not _is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def folders_of_secrets() -> str:
    """Return how the paths of our folders begin; they end with the process that a folder is for."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    return os.path.join(tempfile.gettempdir(), f"omnigraph-credentials-{user}-")


def _private_folder(owner: int) -> Path:
    folder = Path(f"{folders_of_secrets()}{owner}")
    make_private(folder)
    if owner == os.getpid():
        _remove_at_exit(owner, folder)
    return folder


def make_private(folder: Path) -> None:
    """Make a folder that only this user can open; one that is there is refused unless it is such."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or (
        os.name == "posix" and (found.st_uid, stat.S_IMODE(found.st_mode)) != (os.getuid(), 0o700)
    ):
        raise BadInput(f"{folder} is not a folder of yours alone: remove it", path=str(folder))


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
