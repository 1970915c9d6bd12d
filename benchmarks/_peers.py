"""The systems that queries are compared with, holding the same data."""

from __future__ import annotations

import importlib
import multiprocessing
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb
import lance
import lancedb
import numpy as np
import pyarrow.parquet as pq
from lancedb.index import FTS, IvfFlat

from _social import Social

Rows = list[list[Any]]


class GraphPeer:
    """Kuzu or LadybugDB in a process of its own (they cannot share one); it takes its own time."""

    def __init__(self, module: str, folder: Path, data: Social) -> None:
        """Copy people and follows into a new database."""
        pq.write_table(data.people.select(["uid", "name", "age", "city", "score"]), folder / "people.parquet")
        pq.write_table(data.follows, folder / "follows.parquet")
        # Neither is fork-safe.
        spawn = multiprocessing.get_context("spawn")
        self._line, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(module, str(folder), theirs), daemon=True)
        self._process.start()
        self.loading: float = self._line.recv()

    def ask(self, statement: str, params: dict[str, Any]) -> tuple[float, Rows]:
        """Return the milliseconds and the rows of a prepared statement."""
        self._line.send((statement, params))
        answer = self._line.recv()
        if isinstance(answer, str):
            raise RuntimeError(answer)
        taken, rows = answer
        return taken, rows

    def close(self) -> None:
        """End the process."""
        self._line.send(None)
        self._process.join()


def _serve(module: str, folder: str, line: Connection[Any, Any]) -> None:
    peer = importlib.import_module(module)
    connection = peer.Connection(peer.Database(f"{folder}/{module}.db"))
    connection.execute(
        "CREATE NODE TABLE Person"
        "(uid INT64, name STRING, age INT32, city STRING, score DOUBLE, PRIMARY KEY(uid))"
    )
    connection.execute("CREATE REL TABLE Follows(FROM Person TO Person, weight INT64)")
    begun = time.perf_counter()
    connection.execute(f"COPY Person FROM '{folder}/people.parquet'")
    connection.execute(f"COPY Follows FROM '{folder}/follows.parquet'")
    line.send(time.perf_counter() - begun)
    prepared: dict[str, Any] = {}
    while (asked := line.recv()) is not None:
        statement, params = asked
        try:
            if statement not in prepared:
                prepared[statement] = connection.prepare(statement)
            begun = time.perf_counter()
            rows = connection.execute(prepared[statement], params).get_all()
            line.send((1000 * (time.perf_counter() - begun), rows))
        except RuntimeError as error:
            line.send(str(error))


def lance_by_key(folder: Path, data: Social) -> lance.LanceDataset:
    """Return the people as a plain Lance table with an index on their key."""
    table = lance.write_dataset(data.people, str(folder / "plain.lance"))
    table.create_scalar_index("uid", "BTREE")
    return lance.dataset(str(folder / "plain.lance"))


def duck(data: Social) -> duckdb.DuckDBPyConnection:
    """Return a connection that sees the people's Arrow table."""
    connection = duckdb.connect()
    connection.register("people", data.people)
    return connection


class LanceDb:
    """LanceDB with a vector index and a text index."""

    def __init__(self, folder: Path, data: Social) -> None:
        """Store the people and build both indexes."""
        self._table = lancedb.connect(str(folder / "lancedb")).create_table("people", data.people)
        groups = max(1, round(data.size**0.5))
        self._table.create_index("vec", config=IvfFlat(distance_type="cosine", num_partitions=groups))
        self._table.create_index("bio", config=FTS())

    def hybrid(self, vector: np.ndarray[Any, Any], text: str, depth: int) -> list[int]:
        """Return the best by both, fused by LanceDB's own reciprocal ranks."""
        query = self._table.search(query_type="hybrid", vector_column_name="vec", fts_columns="bio")
        found = query.vector(vector).text(text).select(["uid"]).limit(depth).to_arrow()
        return [int(uid) for uid in found["uid"].to_pylist()]
