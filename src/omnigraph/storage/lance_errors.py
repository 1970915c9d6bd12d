"""The one border at which Lance's exceptions become ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph.base.errors import (
    AccessDenied,
    BadInput,
    CorruptState,
    HistoricalVersionReclaimed,
    OmniError,
    ReadOnly,
    Unavailable,
)

_SIGNS: tuple[tuple[tuple[str, ...], type[OmniError], str], ...] = (
    (("read-only file system", "permission denied", "operation not permitted",
      "lacked the necessary privileges"), ReadOnly,
     "the storage refuses writes: check its permissions, or open the graph with read_only=True"),
    (("no space left",), Unavailable, "the disk is full: free some space and try again"),
    (("not found", "no such file", "does not exist"), HistoricalVersionReclaimed,
     "a file of this table version is gone: a cleanup has removed it, or someone has from outside "
     "(it was someone if this is the newest commit: run `omnigraph repair`)"),
    (("corrupt", "invalid magic", "failed to decode", "unexpected eof"), CorruptState,
     "a file of this table is damaged: run `omnigraph repair` to see what is affected"),
    (("invalid user input", "schema mismatch"), BadInput, "this does not fit the table"),
)  # fmt: skip


_PATHS = re.compile(r"(?:\w+://|/)\S+")


@contextmanager
def translate_errors(action: str, reading: bool = False) -> Iterator[None]:
    """Run a call into Lance and re-raise its errors as ours, with what was being done."""
    try:
        yield
    except OmniError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise _translate(action, error, reading) from error
    except BaseException as error:
        # What Lance does not foresee in a file ends its thread; pyo3 tells so by a class of its own.
        if type(error).__name__ != "PanicException":
            raise
        raise CorruptState(
            f"{action} failed: Lance gave up on a file: `omnigraph repair --scrub` tells what is damaged",
            cause=_first_line(str(error)),
        ) from error


def _translate(action: str, error: Exception, reading: bool) -> OmniError:
    text = str(error)
    lowered = _PATHS.sub(" ", text.lower())  # a folder may be called "corrupt"
    for signs, kind, advice in _SIGNS:
        if any(sign in lowered for sign in signs):
            if reading and kind is ReadOnly:
                return AccessDenied(f"{action} failed: grant read access", cause=_first_line(text))
            said = f": {_first_line(text)}" if kind is BadInput else ""
            return kind(f"{action} failed: {advice}{said}", cause=_first_line(text))
    return Unavailable(f"{action} failed: {_first_line(text)}", cause=_first_line(text))


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0][:500] if text.strip() else "no message"
