"""Neo4j's server, holding the same people as `server.py`, asked over HTTP with one kept connection.

Its jars are those of `org.neo4j.test:neo4j-harness` from Maven Central, in the folder that `NEO4J_JARS` names
(`mvn dependency:copy-dependencies`); without it there is no such peer. Java 17 runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_ROWS_AT_ONCE = 10_000
_SOURCE = """
public class Run {
    public static void main(String[] given) throws Exception {
        var folder = java.nio.file.Path.of(given[0]);
        try (var server = org.neo4j.harness.Neo4jBuilders.newInProcessBuilder(folder).build()) {
            System.out.println(server.httpURI());
            System.in.read();
        }
    }
}
"""
"""Runs a server until its input ends."""


class Neo4j:
    """One connection to a server, on which statements are sent and committed one by one."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = HTTPConnection(parts.hostname or "", parts.port)

    def ask(self, statement: str, **params: Any) -> list[list[Any]]:
        """Run a statement in a transaction of its own, and return its rows."""
        body = json.dumps({"statements": [{"statement": statement, "parameters": params}]})
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._connection.request("POST", "/db/neo4j/tx/commit", body, headers)
        told = json.loads(self._connection.getresponse().read())
        if told["errors"]:
            raise RuntimeError(told["errors"][0]["message"])
        return [item["row"] for item in told["results"][0]["data"]]


@contextmanager
def running_neo4j(folder: Path, rows: int) -> Iterator[Neo4j | None]:
    """Start a server with so many people, whose names are unique; None where there are no jars of it."""
    jars = os.environ.get("NEO4J_JARS")
    if jars is None:
        yield None
        return
    source = folder / "Run.java"
    folder.mkdir()
    source.write_text(_SOURCE)
    command = ["java", "-Xmx1g", "-cp", f"{jars}/*", str(source), str(folder / "data")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    assert process.stdin is not None and process.stdout is not None
    try:
        lines = (line.decode() for line in process.stdout)
        address = next((line.strip() for line in lines if line.startswith("http://")), None)
        if address is None:
            raise RuntimeError(f"Neo4j did not start: {(folder / 'log').read_text()[-2_000:]}")
        yield _fill(Neo4j(address), rows)
    finally:
        process.stdin.close()
        process.wait(60)


def _fill(server: Neo4j, rows: int) -> Neo4j:
    server.ask("CREATE CONSTRAINT name IF NOT EXISTS FOR (p:Person) REQUIRE p.name IS UNIQUE")
    for start in range(0, rows, _ROWS_AT_ONCE):
        people = [{"name": f"person {n}", "age": n} for n in range(start, min(rows, start + _ROWS_AT_ONCE))]
        server.ask("UNWIND $people AS one CREATE (p:Person) SET p = one", people=people)
    return server
