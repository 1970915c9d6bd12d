"""A session on a terminal: a line that is edited, with completion, history and several lines."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings

from omnigraph.base.errors import OmniError
from omnigraph.cli.shell.completion import Known, complete
from omnigraph.cli.shell.session import ShellSession
from omnigraph.cli.shell.statements import is_whole


class SchemaCompleter(Completer):
    """Completes from what the branch of a session has; it is looked up once for each statement."""

    def __init__(self, session: ShellSession) -> None:
        self._session = session
        self._known: Known | None = None

    def forget(self) -> None:
        """Look names up anew: a statement may have changed them."""
        self._known = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what could stand at the cursor."""
        if self._known is None:
            try:
                self._known = self._session.look_up()
            except OmniError:
                return
        for item in complete(document.text_before_cursor, self._known):
            yield Completion(item.text, -item.typed, display_meta=item.what)


def run_terminal(session: ShellSession, history: Path) -> None:
    """Read statements and run them until the input ends."""
    completer = SchemaCompleter(session)
    line: PromptSession[str] = PromptSession(
        history=FileHistory(str(_open_history(history))),
        completer=completer,
        complete_while_typing=False,
        multiline=True,
        key_bindings=_bind_keys(),
        prompt_continuation=lambda width, number, wrapped: " " * (width - 2) + "… ",
    )
    while not session.is_over:
        try:
            text = line.prompt(session.prompt)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        session.execute(text)
        completer.forget()


def _bind_keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def end_line(event: Any) -> None:
        buffer = event.current_buffer
        at_end = not buffer.document.text_after_cursor.strip()
        if at_end and is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline()

    return keys


def _open_history(path: Path) -> Path:
    """Return a file of what was typed, which only its owner reads: texts may hold data."""
    os.close(os.open(path, os.O_CREAT | os.O_APPEND, 0o600))
    return path
