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
EVERYTHING = """
version: 1
groups: {everybody: [act-ada, agent-7]}
rules:
  - id: everything
    allow:
      actors: {group: everybody}
      actions:
        [read, export, change, schema_apply, branch_create, branch_delete, branch_merge, propose, approve,
         admin, invoke_query]
"""
LISTING = """
version: 1
groups: {everybody: [act-ada, agent-7]}
rules: [{id: list, allow: {actors: {group: everybody}, actions: [graph_list]}}]
"""


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
    folder: Path, *arguments: str, workers: int = 1, bind: str = "127.0.0.1:0", has_policies: bool = True
) -> Iterator[Served]:
    """Start a server with tokens, whose actors may do everything; it is gone whatever happens.

    A cluster says itself what they may do.
    """
    tokens, rules, listing = (folder / name for name in ("tokens.json", "rules.yaml", "listing.yaml"))
    tokens.write_text(json.dumps(TOKENS))
    rules.write_text(EVERYTHING)
    listing.write_text(LISTING)
    command = [sys.executable, "-c", "from omnigraph.cli.main import run; run()", "serve", *arguments]
    command += ["--bind", bind, "--workers", str(workers), "--token-file", str(tokens)]
    if has_policies:
        command += ["--policy", str(rules), "--policy", str(listing)]
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
