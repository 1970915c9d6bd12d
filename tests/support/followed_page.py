"""A page that is followed like a reader does: its shell and Python blocks in their order, in one folder."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
_LISTENER = """
import contextlib, io, json, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(json.loads(line), "page", "exec"), names)
    print(json.dumps(printed.getvalue()), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A block of a page, what the page says that it prints, and what it has printed."""

    block: str
    promised: str
    printed: str

    @property
    def holds(self) -> bool:
        """Whether it printed what the page says, whenever and under whatever ids."""
        return not self.promised or _timeless(self.promised) == _timeless(self.printed)


def follow(page: Path, folder: Path, bin_folder: Path) -> Iterator[Step]:
    """Carry out the blocks of a page with the programs of an environment, in an empty folder."""
    paths = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    # Where a terminal is said to have another size, lines are broken elsewhere.
    left_out = ("PYTHON", "COLUMNS", "LINES")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    environ |= {"PATH": paths, "HOME": str(folder), "TERM": "dumb", "NO_COLOR": "1"}
    python = subprocess.Popen(
        [bin_folder / "python", "-c", _LISTENER],
        cwd=folder,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert python.stdin is not None
    assert python.stdout is not None
    try:
        for kind, block, promised in _BLOCK.findall(page.read_text()):
            if kind == "python":
                python.stdin.write(json.dumps(block) + "\n")
                python.stdin.flush()
                line = python.stdout.readline()
                assert line, f"the page's Python has failed:\n{block}"
                yield Step(block, promised, json.loads(line))
            else:
                yield Step(block, promised, _run_shell(block, folder, environ))
    finally:
        python.stdin.close()
        python.wait(30)


def _run_shell(block: str, folder: Path, environ: dict[str, str]) -> str:
    """Run a block; what it exports holds in later ones."""
    kept = folder / ".exported"
    script = f"set -eo pipefail\n[ ! -e {kept} ] || . {kept}\n{block}\nexport -p > {kept}\n"
    # A reader sees a terminal, where there are tables.
    reading, writing = os.openpty()
    fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 110, 0, 0))
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=writing,
    ) as shell:
        os.close(writing)
        printed = _read_all(reading)
    assert shell.returncode == 0, f"{block}\n{printed}"
    return printed


def _read_all(reading: int) -> str:
    pieces = []
    with contextlib.suppress(OSError):  # a terminal without a program on its other side
        while piece := os.read(reading, 65536):
            pieces.append(piece)
    os.close(reading)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(pieces).decode()).replace("\r\n", "\n")
    return "\n".join(line.rpartition("\r")[2] for line in text.splitlines())


def _timeless(text: str) -> str:
    for pattern, word in ((r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ID"), (r"\b[0-9A-HJKMNP-TV-Z]{10}\b", "ID")):
        text = re.sub(pattern, word, text)
    text = re.sub(r"\S*/(?=company\b)", "", text)
    text = re.sub(r"\d+ (second|minute)s? ago", "WHEN", text)
    text = re.sub(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?", "WHEN", text)
    text = re.sub(r"\d+(\.\d+)? (ms|s)\b|\d+ rows/s", "TIME", text)
    lines = (re.sub(r" +", " ", line).rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("writing to "))


if __name__ == "__main__":
    for number, step in enumerate(follow(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))):
        print(f"--- {number} {'' if step.holds else 'DIFFERS'}\n{step.block}>>>\n{step.printed}")
