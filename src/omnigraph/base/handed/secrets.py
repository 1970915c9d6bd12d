"""Secrets for other processes of this machine: files that only their owner reads, named where pickles go."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
from collections.abc import Mapping
from functools import cache

from omnigraph.base.errors import BadInput
from omnigraph.base.handed.process_folders import CREDENTIALS, private_folder
from omnigraph.base.ids import new_ulid

_READ, _WRITE = 0o004, 0o002
"""What everybody may do to a file who is neither its owner nor of its group."""
_log = logging.getLogger("omnigraph")


def hand_over(secrets: Mapping[str, str], owner: int | None = None) -> str:
    """Write secrets to a private file and return its path; equal ones have one file.

    It is there for as long as a process runs: this one, unless another is the owner.
    """
    data = json.dumps(dict(sorted(secrets.items()))).encode()
    folder = private_folder(CREDENTIALS, os.getpid() if owner is None else owner)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.json"
    if not path.exists():
        draft = folder / new_ulid()
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        os.replace(draft, path)
    return str(path)


def take_over(path: str) -> dict[str, str]:
    """Return the secrets in a file, which not everybody may write; that everybody may read it is logged.

    Who writes it chooses where data goes. Who reads it is for its owner to say: the secrets of a container
    have mode 0644, and nobody else is in there.
    """
    try:
        with open(path, "rb") as file:
            _check_mode(path, file.fileno())
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
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise BadInput(f"{path} is not a JSON object of strings, which a file of credentials is", path=path)
    return found


def _check_mode(path: str, file: int) -> None:
    if os.name != "posix":
        return
    mode = stat.S_IMODE(os.fstat(file).st_mode)
    if mode & _WRITE:
        raise BadInput(
            f"{path} holds credentials and everybody may write it (mode {mode:03o}): chmod 600 {path}",
            path=path,
        )
    is_mounted = bool(os.fstatvfs(file).f_flag & os.ST_RDONLY)
    if mode & _READ and not is_mounted:
        _warn_once(path, mode)


@cache
def _warn_once(path: str, mode: int) -> None:
    _log.warning(
        "%s holds credentials and everybody on this machine may read it (mode %03o): chmod 600 %s",
        path,
        mode,
        path,
    )
