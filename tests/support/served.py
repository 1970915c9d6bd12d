"""A real server, started as a user starts it, for the tests that talk to one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TOKENS = {"act-ada": "token-of-ada", "agent-7": "token-of-seven"}


@dataclass(frozen=True)
class Served:
    """A running server."""

    process: subprocess.Popen[str]
    address: str

    def url(self, graph: str) -> str:
        """Return the address of a graph on it."""
        return f"http://{self.address}/graphs/{graph}"

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@contextmanager
def running_server(
    folder: Path, *arguments: str, workers: int = 1, bind: str = "127.0.0.1:0"
) -> Iterator[Served]:
    """Start a server with tokens; it is gone afterwards whatever happens."""
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps(TOKENS))
    command = [sys.executable, "-c", "from omnigraph.cli.main import run; run()", "serve", *arguments]
    command += ["--bind", bind, "--workers", str(workers), "--token-file", str(tokens)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("OMNIGRAPH_LISTEN_ADDR="), line
        yield Served(process, line.strip().partition("=")[2])
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
