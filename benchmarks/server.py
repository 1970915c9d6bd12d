"""A served graph beside the same graph in process, in one run: reads, writes, latency, a million rows."""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import httpx
import pyarrow as pa

import omnigraph as og
from _harness import Report
from _neo4j import Neo4j, running_neo4j
from omnigraph.sdk.remote.requests.connections import Connections

SCHEMA = "node Person { name: String @key  age: I64?  city: String? }"
POINT = "query q($n: String) { match { $p: Person { name: $n } } return { $p.name, $p.age } }"
ALL = "query q() { match { $p: Person } return { $p.name, $p.age, $p.city } }"
ADD = "query q($n: String) { insert Person { name: $n, age: 1 } }"
PEER_POINT = "MATCH (p:Person {name: $n}) RETURN p.name, p.age"
PEER_ADD = "CREATE (p:Person {name: $n, age: 1})"
MOST_PEERS_ROWS = 100_000
BARE = """
import socket, uvicorn

async def answer(scope, receive, send):
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"{}"})

listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
config = uvicorn.Config(answer, lifespan="off", log_config=None, http="httptools", loop="uvloop")
uvicorn.Server(config).run([listening])
"""
RUN = [sys.executable, "-c", "from omnigraph.cli.main import run; run()", "serve", "--unauthenticated"]


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows, points, writes, seconds = (20_000, 200, 10, 1.0) if quick else (1_000_000, 2_000, 50, 5.0)
    folder = Path(tempfile.mkdtemp(prefix="omnigraph-bench-"))
    report = Report("Over HTTP")
    process = None
    try:
        here = make_graph(folder / "people", rows)
        process = subprocess.Popen(
            [*RUN, str(folder / "people"), "--bind", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        address = process.stdout.readline().strip().partition("=")[2]
        there = og.open(f"http://{address}/graphs/people")
        compare_rates(report, here, there, rows, points, writes)
        compare_bare_answers(report, points)
        compare_streams(report, here, there, rows, 3 if quick else 5)
        compare_clients(report, f"http://{address}/graphs/people", rows, seconds)
        most = min(rows, MOST_PEERS_ROWS)
        with running_neo4j(folder / "neo4j", most) as peer:
            compare_servers(report, there, peer, most, points, writes)
    finally:
        if process is not None:
            process.terminate()
            process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)
    report.show()


def make_graph(path: Path, rows: int) -> og.Graph:
    """Return a graph of so many people."""
    graph = og.init(path, SCHEMA)
    numbers = range(rows)
    table = pa.table(
        {
            "name": [f"person {n}" for n in numbers],
            "age": list(numbers),
            "city": [f"city {n % 1000}" for n in numbers],
        }
    )
    graph.load(table, type="Person", mode="append")
    graph.optimize()
    return graph


def compare_rates(
    report: Report, here: og.Graph, there: og.Graph, rows: int, points: int, writes: int
) -> None:
    """Tell point reads and writes a second, in turns, so that a busy moment hits both."""
    names = [f"person {(n * 7919) % rows}" for n in range(points)]

    def read(graph: og.Graph) -> Callable[[int], object]:
        return lambda n: graph.query(POINT, {"n": names[n % points]}).rows

    def write(graph: og.Graph, who: str) -> Callable[[int], object]:
        return lambda n: graph.mutate(ADD, {"n": f"{who} {n}"})

    add_pair(report, "point read", measure_in_turns(read(here), read(there), points), 0.5)
    add_pair(report, "write", measure_in_turns(write(here, "here"), write(there, "there"), writes), 0.8)


def compare_bare_answers(report: Report, points: int) -> None:
    """Tell what an answer costs that says nothing: what Python takes for HTTP alone, by two clients."""
    with subprocess.Popen([sys.executable, "-c", BARE], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = f"http://127.0.0.1:{int(process.stdout.readline())}/"
        connections = Connections(address)
        try:
            with httpx.Client() as client:
                ours, theirs = measure_in_turns(
                    lambda _: connections.send("POST", "/", {}, b"{}").load(),
                    lambda _: client.post(address, content=b"{}"),
                    points,
                )
        finally:
            process.terminate()
    facts = f"{1e3 / ours:.2f} ms, {1e3 / theirs:.2f} ms"
    report.tell("a bare answer of uvicorn to our client / to httpx", theirs / ours, facts)


def compare_servers(
    report: Report, ours: og.Graph, peer: Neo4j | None, rows: int, points: int, writes: int
) -> None:
    """Tell point reads and writes a second of two servers, each asked over one HTTP connection, in turns."""
    if peer is None:
        print("Neo4j is not compared with: NEO4J_JARS names no folder of its jars")
        return
    names = [f"person {(n * 7919) % rows}" for n in range(points)]
    rates = measure_in_turns(
        lambda n: ours.query(POINT, {"n": names[n % points]}).rows,
        lambda n: peer.ask(PEER_POINT, n=names[n % points]),
        points,
    )
    add_servers(report, "point read", rates)
    rates = measure_in_turns(
        lambda n: ours.mutate(ADD, {"n": f"beside {n}"}),
        lambda n: peer.ask(PEER_ADD, n=f"beside {n}"),
        writes,
    )
    add_servers(report, "write", rates)


def add_servers(report: Report, name: str, rates: tuple[float, float]) -> None:
    """Tell one comparison of two servers."""
    report.tell(f"{name}s a second / Neo4j's", rates[0] / rates[1], f"{rates[0]:,.0f}/s, {rates[1]:,.0f}/s")


def measure_in_turns(
    first: Callable[[int], object], second: Callable[[int], object], count: int
) -> tuple[float, float]:
    """Return the calls a second of two functions that are called in turns."""
    for warm in range(3):
        first(count + warm)
        second(count + warm)
    spent: tuple[list[float], list[float]] = ([], [])
    for number in range(count):
        for call, into in ((first, spent[0]), (second, spent[1])):
            began = time.perf_counter()
            call(number)
            into.append(time.perf_counter() - began)
    return 1 / median(spent[0]), 1 / median(spent[1])


def compare_streams(report: Report, here: og.Graph, there: og.Graph, rows: int, times: int) -> None:
    """Tell how fast all rows come as an Arrow table."""

    def all_of(graph: og.Graph) -> float:
        began = time.perf_counter()
        assert graph.query(ALL).to_arrow().num_rows >= rows
        return rows / (time.perf_counter() - began)

    def streamed(graph: og.Graph) -> float:
        began = time.perf_counter()
        assert sum(batch.num_rows for batch in graph.stream(ALL)) >= rows
        return rows / (time.perf_counter() - began)

    for name, ask in ((f"{rows:,} rows, to_arrow", all_of), (f"{rows:,} rows, streamed", streamed)):
        for graph in (here, there):
            ask(graph)
        pairs = [(ask(here), ask(there)) for _ in range(times)]
        add_pair(report, name, (median(a for a, _ in pairs), median(b for _, b in pairs)), 0.7)
    size = here.query(ALL).to_arrow().nbytes
    bare = median(measure_socket(size) for _ in range(times))
    alone = rows / median(all_of(here) for _ in range(times))
    over = rows / median(all_of(there) for _ in range(times))
    report.tell(
        f"{rows:,} rows, in process and over a bare socket / over HTTP",
        (alone + bare) / over,
        f"{(alone + bare) * 1e3:,.1f} ms, {over * 1e3:,.1f} ms; the socket alone {bare * 1e3:,.1f} ms "
        f"for {size / 2**20:,.0f} MiB",
    )


def measure_socket(size: int) -> float:
    """Return the seconds in which another process sends so many bytes over a socket, and they are read."""
    sender = f"""
import socket, sys
data = bytes({size})
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
client, _ = server.accept()
client.recv(1)
client.sendall(data)
"""
    with subprocess.Popen([sys.executable, "-c", sender], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)) as connection:
            began = time.perf_counter()
            connection.sendall(b"x")
            left = memoryview(bytearray(size))
            while left:
                left = left[connection.recv_into(left) :]
            return time.perf_counter() - began


def add_pair(report: Report, name: str, rates: tuple[float, float], aim: float) -> None:
    """Tell one comparison of what is served with the same in process."""
    report.at_least(
        f"{name} over HTTP / in process",
        rates[1] / rates[0],
        aim,
        f"{rates[1]:,.0f}/s, {rates[0]:,.0f}/s",
    )


def compare_clients(report: Report, uri: str, rows: int, seconds: float) -> None:
    """Tell how reads a second grow with the clients that ask at once."""
    alone = measure_latency(uri, 1, rows, seconds)
    for clients in (1, 8, 64):
        rate, half, most = alone if clients == 1 else measure_latency(uri, clients, rows, seconds)
        facts = f"{rate:,.0f} reads/s, p50 {half:.1f} ms, p99 {most:.1f} ms"
        report.tell(f"reads a second of {clients} clients / of 1", rate / alone[0], facts)


def measure_latency(uri: str, clients: int, rows: int, seconds: float) -> tuple[float, float, float]:
    """Return the reads a second of so many clients, and p50 and p99 of what they took in milliseconds."""
    spent: list[float] = []
    end = time.perf_counter() + seconds

    def ask(client: int) -> None:
        graph = og.open(uri)
        number = client
        while time.perf_counter() < end:
            began = time.perf_counter()
            graph.query(POINT, {"n": f"person {(number * 7919) % rows}"})
            spent.append(time.perf_counter() - began)
            number += clients

    threads = [threading.Thread(target=ask, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent.sort()
    at = [spent[int(len(spent) * part)] * 1e3 for part in (0.5, 0.99)]
    return len(spent) / seconds, at[0], at[1]


if __name__ == "__main__":
    main()
