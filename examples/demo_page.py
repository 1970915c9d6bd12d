"""The server of the demo, and the address of its page."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PROGRAM = "from omnigraph.cli.main import run; run()"
_PORT = 8080
_MOST_SECONDS = 600


@contextmanager
def served(root: Path) -> Iterator[str]:
    """Serve a graph on this machine only; give the address of the server."""
    command = [sys.executable, "-c", _PROGRAM, "serve", str(root), "--unauthenticated"]
    command += ["--bind", f"127.0.0.1:{_free_port()}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield "http://" + process.stdout.readline().strip().partition("=")[2]
            _stay_while_somebody_looks(process)
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):
            probe.bind(("127.0.0.1", _PORT))
            return _PORT
    return 0


def _stay_while_somebody_looks(process: subprocess.Popen[str]) -> None:
    """On a terminal, serve until Ctrl-C, at most ten minutes."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    print(
        f"  The page is there for {_MOST_SECONDS // 60} minutes; Ctrl-C ends it, `make serve` brings it back."
    )
    with suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
        process.wait(_MOST_SECONDS)
