"""`omnigraph shell` on a terminal: what a person types is completed, kept and carried out."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import omnigraph as og

_SECONDS = 120


class Terminal:
    """A program on a terminal of its own: what is typed, and what it shows."""

    def __init__(self, *words: str, home: Path) -> None:
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "OMNIGRAPH_HOME": str(home), "TERM": "xterm", "COLUMNS": "100"}
        program = "from omnigraph.cli.main import run; run()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)
        self._shown = ""

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def expect(self, wanted: str) -> str:
        """Wait until something is shown, and forget what came before it."""
        while wanted not in self._shown:
            ready, _, _ = select.select([self._ours], [], [], _SECONDS)
            assert ready, f"{wanted!r} is not shown, but {self._shown!r}"
            more = os.read(self._ours, 65_536).decode(errors="replace")
            if "\x1b[6n" in more:  # it asks where the cursor is
                self.type("\x1b[1;1R")
            self._shown += re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", more)
        before, _, self._shown = self._shown.partition(wanted)
        return before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)


def test_a_person_types_completes_goes_back_and_leaves(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "people", "node Person { name: String @key  age: I32? }")
    graph.load([{"type": "Person", "data": {"name": "ada", "age": 36}}], mode="append")
    terminal = Terminal("--as", "act-ada", "shell", str(tmp_path / "people"), home=tmp_path / "home")
    try:
        terminal.expect("main>")
        terminal.type("match { $p: Per\t")
        terminal.expect("son")  # what is there already is not drawn again
        terminal.type(" }\r")
        terminal.expect("…")
        terminal.type("return { $p.ag\t")
        terminal.expect("$p.ag")
        terminal.expect("e")
        terminal.type(" as years }\r")
        terminal.expect("36")
        terminal.expect("(1 row")
        terminal.expect("main>")
        terminal.type('insert Person { name: "eve" }\r')
        terminal.expect("1 nodes and 0 edges changed")
        terminal.expect("main>")
        terminal.type("\x1b[A")
        terminal.expect('name: "eve"')
        terminal.type("\r")
        terminal.expect("1 nodes and 0 edges changed")
        terminal.expect("main>")
        terminal.type("\\q\r")
        assert terminal.process.wait(_SECONDS) == 0
    finally:
        terminal.close()
    assert graph.entity("Person", "eve").exists
    kept = tmp_path / "home" / "history"
    assert 'insert Person { name: "eve" }' in kept.read_text() and kept.stat().st_mode & 0o077 == 0
