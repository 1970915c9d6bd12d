"""Everything that the command line shows: JSON for programs, tables for people."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TextIO

from omnigraph.base.errors import OmniError
from omnigraph.base.ids import is_ulid

_GAP_CHARACTERS = 2
"""Spaces between two columns of a table."""
_MIN_COLUMN_LETTERS = 6
_PLAIN_WIDTH_LETTERS = 80


def print_json(data: Any) -> None:
    """Print one JSON document to standard output."""
    _write(sys.stdout, json.dumps(data, default=_plain, ensure_ascii=False))


def print_text(text: str) -> None:
    """Print text to standard output, as it is."""
    _write(sys.stdout, text.removesuffix("\n"))


def print_address(address: str) -> None:
    """Print where a server listens, at once: it goes on running, and others wait for the line."""
    print_text(f"OMNIGRAPH_LISTEN_ADDR={address}")
    sys.stdout.flush()


def print_bytes(pieces: Iterable[bytes]) -> None:
    """Print bytes to standard output, as they are."""
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def print_note(text: str) -> None:
    """Print a remark to standard error, where it does not mix with results."""
    _write(sys.stderr, text)


def count_of(count: int, noun: str) -> str:
    """Say how many there are of something."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class TableStyle:
    """How wide a table may be, and whether what does not fit is cut off or goes on in the next line."""

    width: int | None = None
    cuts: bool = False


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], style: TableStyle | None = None
) -> None:
    """Print rows as a table that fits the terminal; tab-separated lines with a header when it is not one."""
    style = style or TableStyle()
    cells = [[_cell(value) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for line in (columns, *cells):
            print_text("\t".join(line))
        return
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table, wanted = Table(box=None, pad_edge=False), style.width or Console().width
    widths = _widths([[cell_len(text) for text in line] for line in (columns, *cells)], cells, wanted)
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            column, overflow="ellipsis" if style.cuts else "fold", no_wrap=style.cuts, width=width
        )
    for row in cells:
        table.add_row(*map(Text, row))
    Console(width=max(wanted, sum(widths) + _GAP_CHARACTERS * len(widths))).print(table)


@dataclass(frozen=True, slots=True)
class Styled:
    """A piece of text and how a terminal shows it."""

    text: str
    style: str = ""


def print_styled(parts: Sequence[Styled]) -> None:
    """Print a line of pieces: in colours on a terminal, and cut off at its edge."""
    if not (sys.stdout.isatty() or os.environ.get("FORCE_COLOR")):
        print_text("".join(part.text for part in parts))
        return
    from rich.console import Console
    from rich.text import Text

    line = Text.assemble(*((part.text, part.style) for part in parts))
    Console(highlight=False).print(line, no_wrap=True, overflow="ellipsis")


def line_width() -> tuple[int, Callable[[str], int]]:
    """Return how long lines may be, and what measures texts; 80 columns where there is no terminal."""
    if not sys.stdout.isatty():
        return _PLAIN_WIDTH_LETTERS, len
    from rich.cells import cell_len
    from rich.console import Console

    return Console().width, cell_len


def can_draw(signs: str) -> bool:
    """Return whether standard output has these characters."""
    try:
        signs.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _widths(lengths: Sequence[Sequence[int]], cells: Sequence[Sequence[str]], wanted: int) -> list[int]:
    """Return the widths of columns that fit a line: long values go on in the next one, ids stay whole.

    What is left beside the ids is shared out, and short columns leave of it what they do not need.
    """
    natural = [max(column) for column in zip(*lengths, strict=True)]
    widths = [n if any(is_ulid(row[at]) for row in cells) else 0 for at, n in enumerate(natural)]
    room = wanted - _GAP_CHARACTERS * (len(natural) - 1) - sum(widths)
    others = sorted((at for at, width in enumerate(widths) if not width), key=lambda at: natural[at])
    for place, at in enumerate(others):
        share = max(room // (len(others) - place), _MIN_COLUMN_LETTERS)
        widths[at] = max(min(natural[at], share), 1)
        room -= widths[at]
    return widths


@contextmanager
def progress_bar(what: str, shown: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Show progress on standard error, only on a terminal; yield the function that updates it."""
    if not (shown and sys.stderr.isatty()):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def stage_bar(shown: bool = True) -> Iterator[Callable[[str, int, int], None]]:
    """Show the phase of a load, and the stage of Spark, on standard error and only on a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)

        def show(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total or None, visible=True)

        yield show


def print_error(error: OmniError, as_json: bool = False) -> None:
    """Print an error: one JSON document on standard output, or a message on standard error."""
    if as_json:
        print_json(
            {
                "error": error.message,
                "code": error.code,
                "retryable": error.retryable,
                "details": error.details,
            }
        )
    else:
        print_note(f"error [{error.code}]: {error.message}")


def _write(stream: TextIO, text: str) -> None:
    """Write a line; what the stream cannot encode, such as half a surrogate pair, is written escaped."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    to_json = getattr(value, "to_json", None)
    return to_json() if to_json else str(value)
