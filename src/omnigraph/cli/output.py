"""Everything that the command line shows: JSON for programs, tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TextIO

from omnigraph.base.errors import OmniError


def print_json(data: Any) -> None:
    """Print one JSON document to standard output."""
    _write(sys.stdout, json.dumps(data, default=_plain, ensure_ascii=False))


def print_text(text: str) -> None:
    """Print text to standard output, as it is."""
    _write(sys.stdout, text.removesuffix("\n"))


def print_bytes(pieces: Iterable[bytes]) -> None:
    """Print bytes to standard output, as they are."""
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def print_note(text: str) -> None:
    """Print a remark to standard error, where it does not mix with results."""
    _write(sys.stderr, text)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows as a table that fits the terminal; plain tab-separated lines when it is not one."""
    if not sys.stdout.isatty():
        for row in rows:
            print_text("\t".join(_cell(value) for value in row))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    Console().print(table)


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
    """Show the stage that Spark works on and its tasks, on standard error and only on a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield lambda stage, done, total: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, visible=False)

        def show(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total, visible=True)

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
