"""Webhooks of a real server, which is killed before anybody takes its events."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import omnigraph as og
from support.http_server import QuietHandler, running_http_server
from support.served import TOKENS, running_server


class Receiver:
    """Refuses everything until it is told to take it."""

    def __init__(self) -> None:
        self.takes = threading.Event()
        self.asked, self.ended = threading.Event(), threading.Event()
        self.taken: list[tuple[str, str]] = []


class Handler(QuietHandler):
    """Takes events, or not yet."""

    def do_POST(self) -> None:
        receiver: Receiver = self.server.owner  # type: ignore[attr-defined]
        told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        receiver.asked.set()
        takes = receiver.takes.is_set()
        if takes:
            receiver.taken.append((self.headers["webhook-id"], told["type"]))
        self.send_response(204 if takes else 503)
        self.end_headers()
        if takes and told["type"] == "proposal.closed":
            receiver.ended.set()


def test_a_killed_server_goes_on_with_its_webhooks(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "people", "node Person { name: String @key }")
    graph.branches.create("work")
    place = tmp_path / "state" / "webhooks" / "hook" / f"{graph.id}.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"cursor": graph.proposals.poll().cursor}))
    (tmp_path / "secret").write_text("a secret that is long")
    receiver = Receiver()
    with running_http_server(Handler, receiver) as address:
        hook = {"name": "hook", "url": address, "secret_file": str(tmp_path / "secret")}
        allow = [{"host": "127.0.0.1", "private": True, "insecure": True}]
        file = tmp_path / "hooks.yaml"
        file.write_text(json.dumps({"version": 1, "allow": allow, "webhooks": [hook]}))
        given = (str(tmp_path / "people"), "--webhooks", str(file), "--state", str(tmp_path / "state"))
        with running_server(tmp_path, *given) as server:
            made = og.open(server.url("people"), token=TOKENS["act-ada"]).proposals.create("work")
            assert receiver.asked.wait(60)
            server.process.kill()
            server.process.wait()
        receiver.takes.set()
        with running_server(tmp_path, *given) as server:
            og.open(server.url("people"), token=TOKENS["act-ada"]).proposals.close(made.id)
            assert receiver.ended.wait(60)
    assert [kind for _, kind in receiver.taken] == ["proposal.created", "proposal.closed"]
    assert [id for id, _ in receiver.taken] == [f"{graph.id}.{made.id}.{number}.hook" for number in (0, 1)]
