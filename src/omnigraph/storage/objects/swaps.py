"""Claims: who may overwrite or remove a file next, without a lock that somebody could hold for ever.

A file system compares nothing when it renames. So whoever overwrites or removes a file prepares a *token*
first: the one thing without which its own last step fails (the staged file that is renamed into place, the
folder into which a removed file is renamed). Then it claims: it puts the next number into a folder of
claims, as a file that names the token. It may do so only when the claim before is over, that is when the
token of that claim is gone or used up. So at most one token at a time can still change the file.

A holder that takes too long is overtaken by taking its token away: from then on its last step fails,
whenever it wakes up, and it begins again. Nothing rests on how long anybody waits. docs/object-storage.md
has the argument.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from omnigraph.base import clock
from omnigraph.base.errors import Unavailable

PATIENCE_SECONDS = 1.0
"""How many seconds a holder may take, unless a setting says otherwise; its step takes microseconds."""
_CLAIM_FOLDERS = 64
_KEPT_CLAIMS = 8
"""Claims that stay behind the newest: a claim counts when the one before it is still there."""
_FIRST_WAIT_SECONDS = 0.0002
_LONGEST_WAIT_SECONDS = 0.01
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_MAX_LOST_TURNS = 1000
"""How often others may come first, or a folder may not be as it was left, before a claim is given up."""


@dataclass(frozen=True, slots=True)
class _Claim:
    number: int
    token: str


class Swaps:
    """The claims below one folder."""

    def __init__(self, folder: str, tokens: str, patience: float) -> None:
        """Keep claims in a folder; a holder that takes longer than `patience` seconds is overtaken."""
        self._folder = folder
        self._tokens = tokens
        self._patience = patience

    def claim(self, path: str, token: str) -> bool:
        """Return once no other token can change the file at `path`, until this one is used or taken away.

        A token is a file or a folder of the folder of tokens, and its name is never used again. False when
        what is needed to claim was taken for residue: begin again with another token. It waits for each of
        the others for `patience` seconds at most, and gives up after many of them.
        """
        folder = f"{self._folder}/{zlib.crc32(path.encode()) % _CLAIM_FOLDERS:02x}"
        try:
            with self._note(token) as note:
                self._claim(folder, token, note)
        except FileNotFoundError:
            return False
        return True

    def _claim(self, folder: str, token: str, note: str) -> None:
        now = clock.current()
        waited_for: _Claim | None = None
        deadline = pause = 0.0
        turns = 0
        while turns < _MAX_LOST_TURNS:
            newest = _newest(folder)
            if newest is None:
                turns += 1
                self._begin(folder, token)
                continue
            if is_over(f"{self._tokens}/{newest.token}"):
                turns += 1
                if _follow(folder, newest, note):
                    return
                continue
            if newest != waited_for:
                turns += 1
                waited_for, deadline, pause = newest, now.monotonic() + self._patience, _FIRST_WAIT_SECONDS
            if now.monotonic() >= deadline:
                turns += 1
                take_away(f"{self._tokens}/{newest.token}")
                continue
            now.sleep(pause * (0.5 + now.jitter()))
            pause = min(pause * 1.5, _LONGEST_WAIT_SECONDS)
        raise Unavailable(
            f"{folder} could not be claimed in {_MAX_LOST_TURNS} turns: other processes always came first, "
            "or its files are not as they were left; try again, and if that does not help remove the folder "
            "while no process has the graph open",
            folder=folder,
        )

    def _begin(self, folder: str, token: str) -> None:
        """Begin a folder with a claim that is over; it is unique too, so that no other is taken for it."""
        os.makedirs(folder, exist_ok=True)
        with self._note(f"{token}.first") as note, suppress(FileExistsError):
            os.link(note, f"{folder}/0")

    @contextmanager
    def _note(self, token: str) -> Iterator[str]:
        """Give a file that holds the name of a token: a claim is a link to it, and so never half-written."""
        name = f"{self._tokens}/{token}.claim"
        with open(name, "x") as file:
            file.write(token)
        try:
            yield name
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)


def take_away(token: str) -> None:
    """Make sure that a token will never be used again, if it has not been used yet."""
    with suppress(FileNotFoundError):
        try:
            os.unlink(token)
        except (IsADirectoryError, PermissionError):
            try:
                os.rmdir(token)
            except OSError:
                if not is_over(token):  # it holds the removed file: the step has been taken
                    raise


def is_over(token: str) -> bool:
    """Return whether a token has been used or taken away."""
    try:
        with os.scandir(token) as scan:
            return next(scan, None) is not None
    except NotADirectoryError:
        return False
    except (FileNotFoundError, ValueError):  # zeros that a power cut has left name no token
        return True


def _newest(folder: str) -> _Claim | None:
    """Return the newest claim of a folder; None when there is none, or when it was removed meanwhile."""
    try:
        number = max(_numbers(folder), default=None)
        return None if number is None else _Claim(number, _read(f"{folder}/{number}"))
    except FileNotFoundError:
        return None


def _numbers(folder: str) -> list[int]:
    """Return the numbers of a folder's claims; file systems and desktops leave other names there."""
    return [int(name) for name in os.listdir(folder) if _NUMBER.fullmatch(name)]


def _follow(folder: str, before: _Claim, note: str) -> bool:
    """Put the next claim; say whether it counts."""
    number = before.number + 1
    try:
        os.link(note, f"{folder}/{number}")
    except FileExistsError:
        return False
    # Claims are removed in their order, so while the one before stands nobody had this number earlier.
    try:
        if _read(f"{folder}/{before.number}") != before.token:
            return False
    except FileNotFoundError:
        return False
    if number % _KEPT_CLAIMS == 0:
        _remove(folder, number - _KEPT_CLAIMS)
    return True


def _remove(folder: str, up_to: int) -> None:
    for number in sorted(_numbers(folder)):
        if number > up_to:
            return
        with suppress(OSError):
            os.unlink(f"{folder}/{number}")


def _read(name: str) -> str:
    with open(name, errors="replace") as file:
        return file.read()
