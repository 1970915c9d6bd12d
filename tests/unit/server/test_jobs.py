"""Jobs: they outlive their request and their process, are told, followed, repeated and cancelled."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import omnigraph as og
from omnigraph.policy.read_bundle import open_gate
from omnigraph.server.addresses import AllowedAddresses
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.identity import Tokens
from omnigraph.server.jobs import runner as running
from omnigraph.server.jobs.record import Job
from omnigraph.server.jobs.store import JobStore
from omnigraph.server.limits import RequestLimits
from support.served_here import serving_here, wait_until

pytestmark = pytest.mark.long

SCHEMA = "node N { name: String @key }"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    og.init(tmp_path / "people", SCHEMA)
    return tmp_path / "people"


@pytest.fixture
def url(root: Path, tmp_path: Path) -> Iterator[str]:
    with serving(root, tmp_path) as url:
        yield url


def serving(root: Path, tmp_path: Path, **given: Any) -> Any:
    config = ServerConfig({"people": str(root)}, state=tmp_path / "state", **given)
    return serving_here(create_app(config))


def lines(count: int, first: int = 0) -> bytes:
    records = ({"type": "N", "data": {"name": f"{number:07}"}} for number in range(first, first + count))
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def begin_load(url: str, body: bytes, **headers: str) -> httpx.Response:
    return httpx.post(
        f"{url}/graphs/people/jobs/load?format=ndjson&mode=append", content=body, headers=headers
    )


def wait_for(url: str, id: str, state: str = "succeeded") -> dict[str, Any]:
    seen: dict[str, Any] = {}

    def is_there() -> bool:
        seen.update(httpx.get(f"{url}/graphs/people/jobs/{id}").json())
        return seen["state"] in ("succeeded", "failed", "cancelled")

    wait_until(is_there)
    assert seen["state"] == state, seen
    return seen


def test_a_load_is_begun_told_and_followed(url: str, root: Path) -> None:
    answer = begin_load(url, lines(1_000))
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/graphs/people/jobs/{answer.json()['id']}"
    done = wait_for(url, answer.json()["id"])
    assert done["result"]["nodes"] == [{"name": "N", "entities_loaded": 1_000}]
    assert og.open(root).snapshot().commit_id == done["result"]["commit"]
    listed = httpx.get(f"{url}/graphs/people/jobs").json()
    assert [job["id"] for job in listed["jobs"]] == [done["id"]]
    events = httpx.get(f"{url}/graphs/people/jobs/{done['id']}/events").text
    assert [line for line in events.splitlines() if line.startswith("event: ")] == [
        "event: queued",
        "event: started",
        "event: succeeded",
    ]
    rest = httpx.get(f"{url}/graphs/people/jobs/{done['id']}/events", headers={"Last-Event-ID": "2"}).text
    assert rest.startswith("id: 3\nevent: succeeded\n")


def test_the_body_of_a_job_is_not_kept(url: str, tmp_path: Path) -> None:
    done = wait_for(url, begin_load(url, lines(10)).json()["id"])
    assert done["error"] is None
    wait_until(lambda: not list(tmp_path.glob("state/**/body*")))
    assert begin_load(url, b"x" * 10).status_code == 202
    assert not list(tmp_path.glob("state/jobs/*/new-*"))


def test_an_error_of_a_job_is_told_as_a_request_would_be(url: str) -> None:
    done = wait_for(url, begin_load(url, b'{"type": "Nope", "data": {}}\n').json()["id"], "failed")
    assert done["error"]["code"] == "validation_error"
    assert "state/jobs" not in json.dumps(done)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("optimize", {}),
        ("optimize", {"indexes_only": True}),
        ("cleanup", {"keep": 10}),
        ("repair", {"scrub": True}),
        ("merge", {"source": "review"}),
        ("schema", {"schema_source": "node M { name: String @key }", "mode": "extend"}),
    ],
)
def test_every_kind_of_job_is_done(url: str, root: Path, kind: str, body: dict[str, Any]) -> None:
    graph = og.open(root)
    graph.load([{"type": "N", "data": {"name": "a"}}], mode="append")
    if kind == "merge":
        graph.branches.create("review")
        graph.mutate('query q() { insert N { name: "b" } }', branch="review")
    answer = httpx.post(f"{url}/graphs/people/jobs/{kind}", json=body)
    assert answer.status_code == 202, answer.text
    assert wait_for(url, answer.json()["id"])["result"] is not None


def test_vectors_are_computed_by_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    graph = og.init(
        tmp_path / "people", "node D { name: String @key  text: String  vec: Vector(8)? @embed(text) }"
    )
    graph.load([{"type": "D", "data": {"name": "a", "text": "x"}}], mode="append")

    with serving(tmp_path / "people", tmp_path) as url:
        begun = httpx.post(f"{url}/graphs/people/jobs/embed", json={"reembed": True})
        assert wait_for(url, begun.json()["id"])["result"] is not None


def test_jobs_read_and_write_only_where_they_may(root: Path, tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "more.jsonl").write_bytes(lines(5))
    (tmp_path / "allowed" / "out").symlink_to(tmp_path / "elsewhere")
    with serving(root, tmp_path, allowed=(str(tmp_path / "allowed"),)) as url:
        jobs = f"{url}/graphs/people/jobs"
        for target in ("elsewhere", "allowed/../elsewhere", "allowed/out/x", "allowedx"):
            for kind in ("backup", "export"):
                answer = httpx.post(f"{jobs}/{kind}", json={"target": str(tmp_path / target)})
                assert (answer.status_code, answer.json()["code"]) == (403, "policy_denied"), target
        there = str(tmp_path / "allowed" / "more.jsonl")
        begun = httpx.post(f"{jobs}/load", params={"format": "ndjson", "mode": "append", "address": there})
        assert wait_for(url, begun.json()["id"])["result"]["total_entities"] == 5
        begun = httpx.post(f"{jobs}/backup", json={"target": str(tmp_path / "allowed" / "copy")})
        wait_for(url, begun.json()["id"])
        assert og.backups(tmp_path / "allowed" / "copy")
        begun = httpx.post(f"{jobs}/export", json={"target": str(tmp_path / "allowed" / "all.jsonl")})
        wait_for(url, begun.json()["id"])
        assert len((tmp_path / "allowed" / "all.jsonl").read_text().splitlines()) == 5


def test_what_came_of_the_jobs_of_others_is_told_to_those_only_who_see_all_data(
    root: Path, tmp_path: Path
) -> None:
    policy = """
version: 1
groups: {staff: [ada, bob], boss: [root]}
rules:
  - {id: staff, allow: {actors: {group: staff}, actions: [read, change, admin]}}
  - {id: boss, allow: {actors: {group: boss}, actions: [read, change, admin]}}
data:
  rows: |
    permit(principal in Group::"boss", action, resource);
    permit(principal, action, resource) when { resource.name like "0*" };
"""
    names = ("ada", "bob", "root")
    tokens = Tokens(tuple((name, hashlib.sha256(name.encode()).digest()) for name in names))
    with serving(root, tmp_path, tokens=tokens, policies={"people": open_gate(policy)}) as url:
        jobs = f"{url}/graphs/people/jobs"
        as_whom = {name: {"Authorization": f"Bearer {name}"} for name in names}
        begun = {
            name: begin_load(url, lines(3, at), **as_whom[name]) for at, name in ((0, "root"), (9, "ada"))
        }
        ids = {name: answer.json()["id"] for name, answer in begun.items()}
        for asks, known in (("ada", ["ada"]), ("bob", []), ("root", ["ada", "root"])):
            listed = httpx.get(jobs, headers=as_whom[asks]).json()["jobs"]
            assert {job["id"] for job in listed} == {ids[name] for name in known}
            for name, id in ids.items():
                for path in (id, f"{id}/cancel", f"{id}/events"):
                    ask = httpx.post if path.endswith("cancel") else httpx.get
                    assert ask(f"{jobs}/{path}", headers=as_whom[asks]).status_code == (
                        404 if name not in known else 202 if path.endswith("cancel") else 200
                    )


def test_addresses_of_object_storage_are_compared_by_their_parts() -> None:
    allowed = AllowedAddresses(("s3://bucket/in/",))
    assert allowed.check("s3://bucket/in/x") == "s3://bucket/in/x"
    for address in (
        "s3://bucket/inner",
        "s3://bucket/in/../out",
        "s3://other/in/x",
        "/in/x",
        "s3://bucket/in/%2e.",
    ):
        with pytest.raises(og.PolicyDenied):
            allowed.check(address)


def test_the_same_key_is_the_same_job_and_another_request_with_it_is_refused(url: str, root: Path) -> None:
    first = begin_load(url, lines(3), **{"Idempotency-Key": "k"}).json()
    wait_for(url, first["id"])
    again = begin_load(url, lines(3), **{"Idempotency-Key": "k"})
    assert (again.status_code, again.json()["id"]) == (202, first["id"])
    other = httpx.post(f"{url}/graphs/people/jobs/optimize", json={}, headers={"Idempotency-Key": "k"})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert len(httpx.get(f"{url}/graphs/people/jobs").json()["jobs"]) == 1


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("jobs/nope", {}, 400),
        ("jobs/optimize", {"nope": 1}, 400),
        ("jobs/optimize", [], 400),
        ("jobs/backup", {}, 400),
        ("jobs/load?format=ndjson", {}, 400),
        ("jobs/zz/cancel", {}, 404),
    ],
)
def test_what_is_no_job_is_refused(url: str, path: str, body: Any, status: int) -> None:
    answer = httpx.post(f"{url}/graphs/people/{path}", json=body)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "code", "retryable", "details"}


def test_jobs_come_in_pages(url: str) -> None:
    ids = [httpx.post(f"{url}/graphs/people/jobs/cleanup", json={}).json()["id"] for _ in range(3)]
    for id in ids:
        wait_for(url, id)
    first = httpx.get(f"{url}/graphs/people/jobs?limit=2").json()
    rest = httpx.get(f"{url}/graphs/people/jobs?limit=2&page_token={first['next_page_token']}").json()
    assert [job["id"] for job in (*first["jobs"], *rest["jobs"])] == ids[::-1]
    assert rest["next_page_token"] is None
    assert httpx.get(f"{url}/graphs/people/jobs?state=failed").json()["jobs"] == []


class Gate:
    """Holds the work of jobs until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        do: Callable[..., Any] = running.run_job

        def run(kind: str, job: Any) -> Any:
            self.entered.set()
            while not self.opened.wait(0.01):
                job.report("waiting", 0, 1)
            return do(kind, job)

        monkeypatch.setattr(running, "run_job", run)


def test_a_running_job_is_cancelled_at_its_next_checkpoint(
    url: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = og.open(root).snapshot().commit_id
    gate = Gate(monkeypatch)
    job = begin_load(url, lines(10)).json()
    assert gate.entered.wait(10)
    answer = httpx.post(f"{url}/graphs/people/jobs/{job['id']}/cancel")
    assert (answer.status_code, answer.json()["cancel_requested"]) == (202, True)
    wait_for(url, job["id"], "cancelled")
    assert og.open(root).snapshot().commit_id == head


def test_a_job_that_waits_is_cancelled_before_it_begins(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    first, second = (begin_load(url, lines(10, at)).json() for at in (0, 10))
    assert gate.entered.wait(10)
    httpx.post(f"{url}/graphs/people/jobs/{second['id']}/cancel")
    gate.opened.set()
    wait_for(url, first["id"])
    assert wait_for(url, second["id"], "cancelled")["attempts"] == 0


def test_a_job_is_found_again_and_done_after_the_server_was_stopped(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    with serving(root, tmp_path) as url:
        job = begin_load(url, lines(100)).json()
        assert gate.entered.wait(10)
    gate.opened.set()
    with serving(root, tmp_path) as url:
        done = wait_for(url, job["id"])
        assert done["result"]["total_entities"] == 100
        names = [
            line.removeprefix("event: ")
            for line in httpx.get(f"{url}/graphs/people/jobs/{job['id']}/events").text.splitlines()
            if line.startswith("event: ") and "progress" not in line
        ]
        assert names == ["queued", "started", "interrupted", "started", "succeeded"]


def test_a_job_whose_process_died_after_its_commit_is_not_done_twice(root: Path, tmp_path: Path) -> None:
    """The state of a load whose process was killed between the publish and the last line of the job."""
    graph = og.open(root)
    store = JobStore(tmp_path / "state", graph.id)
    folder = store.prepare()
    (folder / "body.jsonl").write_bytes(lines(10))
    id = store.choose_id(None, None)
    asked = {
        "format": "ndjson",
        "mode": "append",
        "options": {"engine": "local", "on_error": "fail"},
        "address": None,
    }
    job = store.add(folder, Job(id, "people", "load", None, asked, 1, body="body.jsonl"))
    store.save(job.change(state="running", attempts=1, started=1))
    landed = graph.load(
        store.folder_of(id) / "body.jsonl", mode="append", idempotency_key=f"job:{id}", engine="local"
    )
    with serving(root, tmp_path) as url:
        done = wait_for(url, id)
    assert (done["result"]["commit"], done["attempts"]) == (landed.commit_id, 2)
    assert len(og.open(root).commits.list()) == 2


def test_a_job_that_kills_its_process_each_time_is_given_up(root: Path, tmp_path: Path) -> None:
    store = JobStore(tmp_path / "state", og.open(root).id)
    id = store.choose_id(None, None)
    job = store.add(store.prepare(), Job(id, "people", "optimize", None, {}, 1))
    store.save(job.change(state="running", attempts=5))
    with serving(root, tmp_path) as url:
        assert "died each time" in wait_for(url, id, "failed")["error"]["error"]


def test_a_job_is_done_by_one_of_two_servers(root: Path, tmp_path: Path) -> None:
    with serving(root, tmp_path) as one, serving(root, tmp_path) as two:
        ids = [begin_load(one, lines(5, 5 * at)).json()["id"] for at in range(4)]
        assert [wait_for(two, id)["attempts"] for id in ids] == [1] * 4
    assert len(og.open(root).commits.list()) == 5


def test_who_follows_a_job_is_let_go_when_the_server_stops(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    config = ServerConfig({"people": str(root)}, state=tmp_path / "state", limits=RequestLimits(jobs=2))
    app = create_app(config)
    with serving_here(app) as url:
        job = begin_load(url, lines(10)).json()
        assert gate.entered.wait(10)
        with httpx.stream("GET", f"{url}/graphs/people/jobs/{job['id']}/events", timeout=10) as answer:
            pieces = answer.iter_text()
            assert "queued" in next(pieces)
            app.state.stopping.set()
            list(pieces)
