"""One request and its answer on a connection: read as they are, however they come, and never cut short."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import omnigraph as og
from omnigraph.sdk.remote.requests.connections import Connections
from omnigraph.sdk.remote.requests.exchange import BROKEN, Exchange, Malformed
from support.served import TOKENS, Served, running_server

BODY = b"some bytes, and more of them" * 40
COUNTED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Name: a: b \r\n\r\n%b" % (len(BODY), BODY)
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"%x;of=it\r\n%b\r\n" % (len(part), part) for part in (BODY[:1], BODY[1:500], BODY[500:]))
    + b"0\r\nX-Behind: it\r\n\r\n"
)


@contextmanager
def answered(*pieces: bytes, ends: bool = True) -> Iterator[Exchange]:
    """Yield a connection on which a request was sent, and these bytes come."""
    near, far = socket.socketpair()
    with near, far:
        exchange = Exchange(near, "x")
        exchange.send("GET", "/", {}, None)

        def tell() -> None:
            for piece in pieces:
                far.sendall(piece)
            if ends:
                far.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=tell)
        thread.start()
        yield exchange
        thread.join(10)
        exchange.close()


@pytest.mark.parametrize("answer", [COUNTED, CHUNKED])
def test_an_answer_is_read_however_its_bytes_come_and_in_pieces_of_any_size(answer: bytes) -> None:
    with answered(*(answer[at : at + 1] for at in range(len(answer))), ends=False) as exchange:
        assert exchange.read_head()[0] == 200
        assert exchange.read() == BODY
        assert exchange.can_go_on
    for size in (1, 7, 500, 5_000):
        with answered(b"HTTP/1.1 100 Continue\r\n\r\n", answer, ends=False) as exchange:
            assert exchange.read_head()[0] == 200
            found = [*iter(lambda exchange=exchange, size=size: exchange.read(size), b"")]  # type: ignore[misc]
            assert b"".join(found) == BODY
            assert {len(piece) for piece in found[:-1]} <= {size}
            assert exchange.read() == b""


@pytest.mark.parametrize("answer", [COUNTED, CHUNKED])
def test_an_answer_that_breaks_off_anywhere_is_never_a_shorter_one(answer: bytes) -> None:
    for end in range(len(answer)):
        with answered(answer[:end]) as exchange, pytest.raises(BROKEN):
            exchange.read_head()
            exchange.read()
        with answered(answer[:end]) as exchange, pytest.raises(BROKEN):
            exchange.read_head()
            while exchange.read_some(300):
                pass


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nto the end of the connection",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: %b\r\n\r\nhello" % (b"9" * 17),
        b"HTTP/1.1 200 OK\r\nContent-Length: %b\r\n\r\nhello" % (b"9" * 5_000),
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1_000,
        b"HTTP/1.1 200 " + b"x" * 100_000,
    ],
)
def test_what_is_not_an_answer_is_told(answer: bytes) -> None:
    with answered(answer) as exchange, pytest.raises(Malformed):
        exchange.read_head()
        exchange.read()


def test_a_connection_that_the_server_closes_is_not_used_again() -> None:
    for head in (b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: Close\r\n"):
        with answered(head + b"Content-Length: 2\r\n\r\n{}") as exchange:
            exchange.read_head()
            assert (exchange.read(), exchange.can_go_on) == (b"{}", False)
    with answered(b"HTTP/1.1 204 No Content\r\n\r\n", ends=False) as exchange:
        exchange.read_head()
        assert (exchange.read(), exchange.can_go_on) == (b"", True)


def test_what_comes_behind_an_answer_is_not_the_next_one() -> None:
    near, far = socket.socketpair()
    exchange = Exchange(near, "x")
    with near, far:
        for sent, told in ((b"first", b"nobody asked for this"), (b"second", b"")):
            exchange.send("GET", "/", {}, None)
            far.recv(65_536)
            far.sendall(b"".join(_counted(body) for body in (sent, told) if body))
            exchange.read_head()
            assert exchange.read() == sent
        exchange.close()


def test_a_connection_is_given_back_once_however_often_its_answer_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connections = Connections(f"http://127.0.0.1:{listening.getsockname()[1]}/graphs/x")

        def serve() -> None:
            accepted, _ = listening.accept()
            with accepted:
                while accepted.recv(65_536):
                    accepted.sendall(_counted(b"{}"))

        thread = threading.Thread(target=serve)
        thread.start()
        answer = connections.send("GET", "/", {}, None)
        answer.load()
        answer.close()
        connections.send("GET", "/", {}, None).load()
        assert len(connections._idle) == 1
        connections.close()
        thread.join(10)


def test_a_name_that_no_server_can_have_is_told() -> None:
    for name in ("a..b", "ü..b", "a" * 70):
        with pytest.raises(og.BadInput, match="is not the address of a graph"):
            og.open(f"http://{name}/graphs/x")


def _counted(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    og.init(folder / "people", "node Person { name: String @key }")
    with running_server(folder, str(folder / "people")) as server:
        yield server


def test_a_key_may_have_any_letters_and_what_no_header_may_have_is_told(server: Served) -> None:
    graph = og.open(server.url("people"), token=TOKENS["act-ada"])
    add = 'query q() { insert Person { name: "x" } }'
    done = [graph.mutate(add, idempotency_key="ключ é") for _ in range(2)]
    assert done[0].commit_id == done[1].commit_id
    with pytest.raises(og.BadInput, match="Idempotency-Key has characters that cannot be sent"):
        graph.mutate(add, idempotency_key="two\nlines")


def test_a_token_that_was_read_with_the_end_of_its_line_is_told_without_it(server: Served) -> None:
    with pytest.raises(og.BadInput, match="Authorization has characters") as caught:
        og.open(server.url("people"), token=TOKENS["act-ada"] + "\n")
    assert TOKENS["act-ada"] not in repr((caught.value, caught.value.details))
