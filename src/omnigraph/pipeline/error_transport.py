"""OmniErrors across Spark's processes: Spark only keeps tracebacks, so the traceback carries them."""

from __future__ import annotations

import json
import re
from contextlib import AbstractContextManager

from omnigraph.base import errors
from omnigraph.base.errors import OmniError

_MARK = "omnigraph error: "


class _Details(AbstractContextManager[None]):
    def __init__(self, whole: bool) -> None:
        self._whole = whole

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not isinstance(error, OmniError):
            return
        if not any(note.startswith(_MARK) for note in getattr(error, "__notes__", ())):
            error.add_note(note_of(error))
        if not self._whole:  # Spark shows the traceback before the words
            error.__cause__ = None
            error.with_traceback(None)


def attach_details(whole: bool = False) -> AbstractContextManager[None]:
    """Add to an OmniError's traceback what `graph_error` needs to rebuild it.

    It is an answer, so where it was raised is left out, unless the `whole` traceback is wanted.
    """
    return _Details(whole)


def note_of(error: OmniError) -> str:
    """Return the line from which `graph_error` rebuilds an error."""
    return _MARK + json.dumps([type(error).__name__, error.message, error.details], default=str)


def graph_error(error: BaseException) -> OmniError | None:
    """Return the OmniError inside one of Spark's errors, with its class and details, or None."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OmniError):
            return found
        for line in re.findall(rf"{_MARK}(\[.*\])", str(found)):
            made = _rebuild_error(line)
            if made is not None:
                return made
        found = found.__cause__ or found.__context__
    return None


def _rebuild_error(line: str) -> OmniError | None:
    try:
        name, message, details = json.loads(line)
    except ValueError:
        return None
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, OmniError)):
        return None
    made = kind.__new__(kind)
    OmniError.__init__(made, message, **details)
    return made
