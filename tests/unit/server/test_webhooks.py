"""Webhooks of proposals: sent over real HTTP, signed, in order, again until taken, and to nobody else."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.errors import BadInput
from omnigraph.policy.read_bundle import open_gate
from omnigraph.server.graphs import ServedGraphs
from omnigraph.server.policies import ServerPolicies
from omnigraph.server.revisions.current import CurrentGraphs
from omnigraph.server.webhooks import runner, sending
from omnigraph.server.webhooks.config import read_webhooks
from omnigraph.server.webhooks.runner import WebhookRunner
from support.http_server import QuietHandler, running_http_server

SECRET = "0123456789abcdef"


@dataclass
class Receiver:
    """A server that takes webhooks, or refuses the first ones."""

    refuse: int = 0
    taken: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, is_there: Callable[[Receiver], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: is_there(self), 60), (self.taken, self.refused)

    @property
    def kinds(self) -> list[str]:
        return [json.loads(body)["type"] for _, body in self.taken]


class Handler(QuietHandler):
    """Takes events."""

    def do_POST(self) -> None:
        receiver: Receiver = self.server.owner  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with receiver.changed:
            refuses = len(receiver.refused) < receiver.refuse
            if refuses:
                receiver.refused.append(headers["webhook-id"])
            else:
                receiver.taken.append((headers, body))
            receiver.changed.notify_all()
        self.send_response(302 if refuses else 204)
        if refuses:
            self.send_header("location", "http://127.0.0.1:1/")
        self.end_headers()


@contextmanager
def receiving(refuse: int = 0) -> Iterator[tuple[Receiver, str]]:
    receiver = Receiver(refuse)
    with running_http_server(Handler, receiver) as address:
        yield receiver, address


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    graph = og.init(tmp_path / "people", "node Person { name: String @key }", actor="ada")
    graph.branches.create("work")
    graph.load([{"type": "Person", "data": {"name": "a"}}], mode="append", branch="work")
    return graph


def write_file(folder: Path, url: str, **more: Any) -> Path:
    (folder / "secret").write_text(SECRET + "\n")
    host = {"host": "127.0.0.1", "private": True, "insecure": True}
    hook = {"name": "reviews", "url": url, "secret_file": str(folder / "secret"), **more}
    path = folder / "hooks.yaml"
    path.write_text(json.dumps({"version": 1, "allow": [host], "webhooks": [hook]}))
    return path


@contextmanager
def running(
    folder: Path, graph: og.Graph, file: Path, monkeypatch: pytest.MonkeyPatch, policy: str | None = None
) -> Iterator[WebhookRunner]:
    monkeypatch.setattr(runner, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(runner, "FIRST_PAUSE_SECONDS", 0.02)
    gates = {} if policy is None else {"people": open_gate(policy)}
    policies = ServerPolicies.choose(policy is not None, gates, None) if gates else None
    served = CurrentGraphs(ServedGraphs({"people": graph.uri}, policies))
    served.open()
    worker = WebhookRunner(served, folder / "state", read_webhooks(file))
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()
        worker.join(30)
        served.close()


def begin(folder: Path) -> None:
    """Say that the webhook has seen nothing yet, so that the events of the test are all sent."""
    graph = og.open(folder / "people")
    place = folder / "state" / "webhooks" / "reviews" / f"{graph.id}.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"cursor": graph.proposals.poll().cursor}))


def test_events_come_in_order_signed_and_with_ids(
    g: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path)
    with (
        receiving() as (receiver, url),
        running(tmp_path, g, write_file(tmp_path, f"{url}/x?y=1"), monkeypatch),
    ):
        made = g.proposals.create("work", title="one more")
        og.open(g.uri, actor="bob").proposals.approve(made.id, text="well")
        g.proposals.merge(made.id)
        receiver.wait_for(lambda r: len(r.taken) == 4)
    assert receiver.kinds == [f"proposal.{k}" for k in ("created", "approved", "merge_started", "merged")]
    headers, body = receiver.taken[1]
    told = json.loads(body)
    assert told["graph"] == "people"
    assert (told["data"]["proposal"], told["data"]["event"], told["data"]["actor"]) == (made.id, 1, "bob")
    assert (told["data"]["title"], told["data"]["facts"]["text"]) == ("one more", "well")
    assert headers["webhook-id"] == f"{g.id}.{made.id}.1.reviews"
    signed = sending.sign(SECRET.encode(), headers["webhook-id"], headers["webhook-timestamp"], body)
    assert headers["webhook-signature"] == signed


def test_where_rows_are_hidden_nobody_is_told_what_events_say_of_the_data(
    g: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = """
version: 1
groups: {staff: [ada]}
rules: [{id: all, allow: {actors: {group: staff}, actions: [read]}}]
data:
  rows: 'permit(principal, action, resource) when { resource.name == "a" };'
"""
    begin(tmp_path)
    with (
        receiving() as (receiver, url),
        running(tmp_path, g, write_file(tmp_path, url, events=["*.*"]), monkeypatch, policy) as worker,
    ):
        wait_until_it_looks(worker, tmp_path, 3)
        made = g.proposals.create("work", title="one more")
        g.proposals.comment(made.id, "is hush right?", entity={"type": "Person", "id": "a"})
        g.mutate('query q() { insert Person { name: "hush" } }')
        receiver.wait_for(lambda r: len(r.taken) == 3)
    assert sorted(receiver.kinds) == ["commit.mutation", "proposal.commented", "proposal.created"]
    told = [json.loads(body)["data"] for _, body in receiver.taken]
    assert [item["facts"] for item in told if "facts" in item] == [{}, {}]
    assert "hush" not in json.dumps(told)


def test_what_is_not_taken_is_sent_again_in_its_order_and_no_redirection_is_followed(
    g: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path)
    with receiving(refuse=3) as (receiver, url), running(tmp_path, g, write_file(tmp_path, url), monkeypatch):
        made = g.proposals.create("work")
        g.proposals.comment(made.id, "so?")
        receiver.wait_for(lambda r: len(r.taken) == 2)
    assert receiver.kinds == ["proposal.created", "proposal.commented"]
    assert receiver.refused == [receiver.taken[0][0]["webhook-id"]] * 3


def test_a_restart_goes_on_where_it_was_and_writes_never_wait(
    g: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path)
    dead = write_file(tmp_path, "http://127.0.0.1:1/")
    with running(tmp_path, g, dead, monkeypatch):
        made = g.proposals.create("work")
    with receiving() as (receiver, url):
        g.proposals.close(made.id)
        with running(tmp_path, g, write_file(tmp_path, url), monkeypatch):
            receiver.wait_for(lambda r: len(r.taken) == 2)
        g.proposals.reopen(made.id)
        with running(tmp_path, g, write_file(tmp_path, url), monkeypatch):
            receiver.wait_for(lambda r: len(r.taken) == 3)
    assert receiver.kinds == ["proposal.created", "proposal.closed", "proposal.reopened"]


def test_two_workers_send_each_event_once_and_only_what_is_asked_for(
    g: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path)
    with receiving() as (receiver, url):
        file = write_file(tmp_path, url, events=["proposal.commented", "proposal.closed"], graphs=["peo*"])
        with running(tmp_path, g, file, monkeypatch), running(tmp_path, g, file, monkeypatch):
            made = g.proposals.create("work")
            for number in range(5):
                g.proposals.comment(made.id, str(number))
            g.proposals.close(made.id)
            receiver.wait_for(lambda r: "proposal.closed" in r.kinds)
    assert receiver.kinds == ["proposal.commented"] * 5 + ["proposal.closed"]


def test_what_happened_before_the_first_start_is_not_sent(
    g: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = g.proposals.create("work")
    place = tmp_path / "state" / "webhooks" / "reviews" / f"{g.id}.json"
    with (
        receiving() as (receiver, url),
        running(tmp_path, g, write_file(tmp_path, url), monkeypatch) as worker,
    ):
        while not place.exists():
            worker._stopping.wait(0.01)
        g.proposals.close(made.id)
        receiver.wait_for(lambda r: bool(r.taken))
    assert receiver.kinds == ["proposal.closed"]


def add(graph: og.Graph, name: str, branch: str = "main", **more: Any) -> str:
    text = "query q($n: String) { insert Person { name: $n } }"
    return str(graph.mutate(text, {"n": name}, branch=branch, **more).commit_id)


def wait_until_it_looks(worker: WebhookRunner, folder: Path, files: int) -> None:
    while len(list(folder.glob("state/webhooks/reviews/*.json"))) < files:
        worker._stopping.wait(0.01)


def test_commits_of_the_chosen_branches_are_sent_signed_and_in_order(
    g: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(g, "before")
    g.branches.create("other")
    with receiving(refuse=2) as (receiver, url):
        file = write_file(tmp_path, url, events=["commit.*"], branches=["main", "work*"])
        with running(tmp_path, g, file, monkeypatch) as worker:
            wait_until_it_looks(worker, tmp_path, 3)
            add(g, "unwanted", "other")
            first = add(g, "a1", message="why", metadata={"task": "t-1"})
            g.optimize()
            second = add(g, "a2")
            g.proposals.create("other")
            receiver.wait_for(lambda r: len(r.taken) == 2)
            g.branches.create("work-2", "other")
            third = add(g, "b", "work-2")
            receiver.wait_for(lambda r: len(r.taken) == 3)
            add(g, "c")
            rebased = g.branches.rebase("work-2").commits[-1]
            receiver.wait_for(lambda r: len(r.taken) >= 6)
        last = add(g, "d")
        with running(tmp_path, g, file, monkeypatch):
            receiver.wait_for(lambda r: json.loads(r.taken[-1][1])["data"]["commit"] == last)
    told = [json.loads(body) for _, body in receiver.taken]
    commits = [item["data"]["commit"] for item in told]
    assert commits[:3] == [first, second, third] and rebased in commits and len({*commits}) == len(commits)
    assert {item["data"]["branch"] for item in told} == {"main", "work-2"}
    assert told[0]["type"] == "commit.mutation" and told[0]["graph"] == "people"
    data = told[0]["data"]
    assert (data["actor"], data["message"], data["metadata"]) == ("ada", "why", {"task": "t-1"})
    headers, body = receiver.taken[0]
    assert (
        headers["webhook-id"] == f"{g.id}.{first}.reviews" and receiver.refused == [headers["webhook-id"]] * 2
    )
    signed = sending.sign(SECRET.encode(), headers["webhook-id"], headers["webhook-timestamp"], body)
    assert headers["webhook-signature"] == signed


def test_one_kind_of_commit_can_be_asked_for_beside_proposals(
    g: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as (receiver, url):
        file = write_file(tmp_path, url, events=["commit.merge", "proposal.merged"])
        with running(tmp_path, g, file, monkeypatch) as worker:
            wait_until_it_looks(worker, tmp_path, 3)
            add(g, "x")
            g.proposals.merge(g.proposals.create("work").id)
            receiver.wait_for(lambda r: len(r.taken) == 2)
    assert sorted(receiver.kinds) == ["commit.merge", "proposal.merged"]


def test_who_hangs_holds_up_nobody_else(g: og.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as (receiver, url), socket.create_server(("127.0.0.1", 0)) as silent:
        file = write_file(tmp_path, url, events=["commit.*"])
        told = json.loads(file.read_text())
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        told["webhooks"].insert(0, {**told["webhooks"][0], "name": "hangs", "url": address})
        file.write_text(json.dumps(told))
        with running(tmp_path, g, file, monkeypatch) as worker:
            wait_until_it_looks(worker, tmp_path, 2)
            while len(list(tmp_path.glob("state/webhooks/hangs/*.json"))) < 2:
                worker._stopping.wait(0.01)
            begun = time.monotonic()
            for number in range(3):
                add(g, str(number))
            receiver.wait_for(lambda r: len(r.taken) == 3)
            assert time.monotonic() - begun < sending.ANSWER_SECONDS, "nobody waits for the other"
            monkeypatch.setattr(worker, "join", lambda seconds: None)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "192.168.0.1",
        "::1",
        "fe80::1",
        "::ffff:10.0.0.1",
        "0.0.0.0",
        "64:ff9b::a00:1",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "::a00:1",
        "fec0::1",
    ],
)
def test_addresses_that_are_not_public_are_not_called(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text(SECRET)
    hook = {"name": "h", "url": "https://inside.example.com/", "secret_file": str(tmp_path / "secret")}
    path = tmp_path / "hooks.yaml"
    path.write_text(json.dumps({"version": 1, "allow": ["inside.example.com"], "webhooks": [hook]}))
    (read,) = read_webhooks(path)
    public = (2, 1, 6, "", ("93.184.215.14", 443))
    monkeypatch.setattr(
        sending.socket, "getaddrinfo", lambda *_, **__: [public, (2, 1, 6, "", (address, 443))]
    )
    with pytest.raises(sending.Undelivered, match="not a public address"):
        sending.find_address(read)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"url": "https://other.example.com/"}, "not among those of `allow`"),
        ({"url": "http://hooks.example.com/"}, "not encrypted"),
        ({"url": "file:///etc/passwd"}, "url is"),
        ({"url": "https://user:word@hooks.example.com/"}, "without a user"),
        ({"name": "a b"}, "is called"),
        ({"secret_env": "NOT_THERE"}, "secret_env or secret_file"),
        ({"secret_file": None, "secret_env": "NOT_THERE"}, "fewer than 16"),
        ({"events": "all"}, "give a list"),
        ({"events": ["proposals.created"]}, "no event is called"),
        ({"branches": []}, "give a list"),
        ({"hosts": []}, "is not known"),
    ],
)
def test_a_file_that_is_wrong_says_why(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    hook = {
        "name": "h",
        "url": "https://hooks.example.com/",
        "secret_file": str(tmp_path / "secret"),
        **change,
    }
    hook = {name: value for name, value in hook.items() if value is not None}
    path = tmp_path / "hooks.yaml"
    path.write_text(json.dumps({"version": 1, "allow": ["hooks.example.com"], "webhooks": [hook]}))
    with pytest.raises(BadInput, match=message):
        read_webhooks(path)
