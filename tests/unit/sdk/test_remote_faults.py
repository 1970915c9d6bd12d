"""What a client does when the connection to its server breaks: what is safe is sent again, nothing else."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import omnigraph as og
from support.served import TOKENS, Served, running_server

SCHEMA = "node Person { name: String @key }"
ALL = "query q() { match { $p: Person } return { $p.name } order { $p.name } }"
ADD = "query q($n: String) { insert Person { name: $n } }"
TOKEN = TOKENS["act-ada"]


class Cutter:
    """Stands between a client and a server, and cuts as many connections as it is told, where it is told."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._behind = (host, int(port))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.cuts: list[tuple[str, int]] = []
        """Where to cut: `asked` before the server sees it, `answered` after some bytes of its answer."""
        self.requests = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            server = socket.create_connection(self._behind)
            with server:
                while data := _read_request(client):
                    self.requests += 1
                    where, count = self.cuts.pop(0) if self.cuts else ("", 0)
                    if where == "asked":
                        return
                    server.sendall(data)
                    if not self._answer(server, client, count if where == "answered" else None):
                        return

    def _answer(self, server: socket.socket, client: socket.socket, most: int | None) -> bool:
        sent = 0
        server.settimeout(5)
        while piece := server.recv(1 << 16):
            part = piece if most is None else piece[: most - sent]
            client.sendall(part)
            sent += len(part)
            if most is not None and sent >= most:
                return False
            server.settimeout(0.2)  # the client asks again when the answer is whole
            with suppress(TimeoutError):
                if server.recv(1, socket.MSG_PEEK):
                    continue
            return True
        return False

    def close(self) -> None:
        self._listening.close()


def _read_request(client: socket.socket) -> bytes:
    """Return a whole request, which comes in pieces: its head, then its body; nothing when there is none."""
    data = b""
    while piece := client.recv(1 << 20):
        data += piece
        head, end, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        is_chunked = b"transfer-encoding: chunked" in head.lower()
        if end and (
            body.endswith(b"0\r\n\r\n") if is_chunked else len(body) >= int(length[1] if length else 0)
        ):
            return data
    return b""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    og.init(folder / "people", SCHEMA)
    with running_server(folder, str(folder / "people")) as server:
        yield server


@pytest.fixture
def cutter(server: Served) -> Iterator[Cutter]:
    cutter = Cutter(server.address)
    yield cutter
    cutter.close()


def opened(cutter: Cutter) -> og.Graph:
    return og.open(f"http://{cutter.address}/graphs/people", token=TOKEN)


@pytest.mark.parametrize("cut", [("asked", 0), ("answered", 0), ("answered", 40), ("answered", 160)])
def test_a_read_is_sent_again(cutter: Cutter, cut: tuple[str, int]) -> None:
    graph = opened(cutter)
    cutter.cuts, cutter.requests = [cut], 0
    assert graph.branches.list() == ["main"]
    assert cutter.requests == 2


@pytest.mark.parametrize("cut", [("asked", 0), ("answered", 0)])
def test_a_write_is_sent_again_with_its_key_and_happens_once(cutter: Cutter, cut: tuple[str, int]) -> None:
    graph = opened(cutter)
    before = len(graph.commits.list())
    cutter.cuts = [cut]
    done = graph.mutate(ADD, {"n": f"{cut[0]}"})
    assert [item.id for item in graph.commits.list()][:1] == [done.commit_id]
    cutter.cuts = [cut]
    graph.load([{"type": "Person", "data": {"name": f"load-{cut[0]}"}}], mode="append")
    assert len(graph.commits.list()) == before + 2


def test_a_change_without_a_key_is_sent_once_and_its_outcome_is_unknown(cutter: Cutter) -> None:
    graph = opened(cutter)
    cutter.cuts, cutter.requests = [("answered", 0)], 0
    with pytest.raises(og.OutcomeUnknown, match="look before you make it again"):
        graph.branches.create("made")
    assert cutter.requests == 1
    assert "made" in graph.branches.list()


def test_a_write_that_is_never_answered_is_not_called_failed(cutter: Cutter) -> None:
    graph = opened(cutter)
    cutter.cuts = [("answered", 0)] * 3
    with pytest.raises(og.OutcomeUnknown):
        graph.mutate(ADD, {"n": "unknown"})
    assert graph.query(ALL).rows.count({"p.name": "unknown"}) == 1


def test_rows_that_break_off_are_an_error_and_never_a_shorter_answer(cutter: Cutter, server: Served) -> None:
    graph = opened(cutter)
    rows = [{"type": "Person", "data": {"name": f"r{n}" * 50}} for n in range(20_000)]
    og.open(server.url("people"), token=TOKEN).load(rows, mode="append")
    graph.branches.list()  # a connection that the server has not closed meanwhile
    cutter.cuts = [("answered", 200_000)]
    assert len(graph.query(ALL)) >= 20_000  # a whole answer is asked for again
    for ask in (lambda: list(graph.stream(ALL)), lambda: list(graph.export())):
        graph.branches.list()  # a connection that the server has not closed meanwhile
        cutter.cuts = [("answered", 200_000)]
        with pytest.raises(og.Unavailable, match="does not answer"):
            ask()
    assert len(graph.query(ALL)) >= 20_000


def test_a_server_that_is_gone_is_unavailable_and_one_that_is_back_is_found_again(tmp_path: Path) -> None:
    og.init(tmp_path / "people", SCHEMA)
    with running_server(tmp_path, str(tmp_path / "people")) as first:
        graph = og.open(first.url("people"), token=TOKEN)
        assert first.stop() == 0
        with pytest.raises(og.Unavailable) as caught:
            graph.mutate(ADD, {"n": "x"})  # it was never sent, so it is surely not made
        assert type(caught.value) is og.Unavailable
    with running_server(tmp_path, str(tmp_path / "people"), bind=first.address):
        assert graph.mutate(ADD, {"n": "x"}).affected_nodes == 1
