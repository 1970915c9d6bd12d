"""A server of a cluster: what was applied is served, and newer revisions are taken over while it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import omnigraph as og
from omnigraph.base import clock
from omnigraph.base.errors import CorruptState, EmbeddingNotConfigured, NotFound, OmniError, StoredQueryBroken
from omnigraph.cluster.operations.cluster import Cluster
from omnigraph.cluster.store.intents import Intents
from omnigraph.graph.write.integrity.blob_sources import VARIABLE
from omnigraph.server import graphs
from omnigraph.server.app import ServerConfig, create_app
from omnigraph.server.graphs import ServedGraphs
from omnigraph.server.identity import Tokens, read_tokens
from omnigraph.server.revisions import current
from omnigraph.server.revisions.current import CurrentGraphs
from omnigraph.storage.objects import open_store
from support.clusters import OLDER, PEOPLE, TEAM, begin, change_by_hand, write_cluster
from support.command_line import run_json
from support.s3 import S3
from support.seeded_clock import SeededClock

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore:Using `httpx`")]

READERS = """version: 1
groups: {staff: [act-ada]}
rules:
  - {id: reads, allow: {actors: {group: staff}, actions: [read, invoke_query]}}
"""
WRITERS = READERS.replace("[read, invoke_query]", "[read, change, invoke_query]")
LISTERS = """version: 1
groups: {staff: [act-ada]}
rules: [{id: lists, allow: {actors: {group: staff}, actions: [graph_list]}}]
"""
POLICIES = """policies:
  staff: { file: staff.yaml, applies_to: [people] }
  lists: { file: lists.yaml, applies_to: [cluster] }
"""
QUERY = "query q() { match { $p: Person } return { $p.name } }"
ADD = 'query q() { insert Person { name: "bob" } }'
ADA = {"Authorization": "Bearer token-of-ada"}


def declare(folder: Path, graphs: tuple[str, ...] = ("people",), staff: str = READERS, **more: Any) -> Path:
    (folder / "staff.yaml").write_text(staff)
    (folder / "lists.yaml").write_text(LISTERS)
    given = more.pop("more", POLICIES)
    return write_cluster(folder, graphs, more=given, **more)


@contextmanager
def serving(folder: Path, tokens: Tokens | None = None, **given: Any) -> Iterator[TestClient]:
    (folder / "tokens.json").write_text(json.dumps({"act-ada": "token-of-ada", "act-bob": "token-of-bob"}))
    known = read_tokens(folder / "tokens.json") if tokens is None else tokens
    with TestClient(
        create_app(ServerConfig({}, known, cluster=str(folder), state=folder / "jobs", **given))
    ) as it:
        it.headers.update(ADA)
        yield it


def take_over(client: TestClient) -> None:
    app: Any = client.app
    app.state.served.look()


def test_the_applied_graphs_queries_and_policies_are_served(tmp_path: Path) -> None:
    begin(declare(tmp_path, ("people", "others")))
    og.open(tmp_path / "graphs/people.omni").load(
        [{"type": "Person", "data": {"name": "ada"}}], mode="append"
    )
    with serving(tmp_path) as client:
        assert client.get("/graphs").json() == {"graphs": ["others", "people"]}
        found = client.post("/graphs/people/query", json={"query": QUERY})
        assert found.json()["rows"] == [{"p.name": "ada"}]
        assert found.headers["omnigraph-revision"] == "2"
        assert [item["name"] for item in client.get("/graphs/people/queries").json()["queries"]] == [
            "everybody"
        ]
        assert client.post("/graphs/people/queries/everybody").json()["rows"] == [{"p.name": "ada"}]
        assert client.post("/graphs/people/mutate", json={"query": ADD}).status_code == 403
        assert client.post("/graphs/others/query", json={"query": QUERY}).status_code == 403, (
            "no policy: denied"
        )
        health = client.get("/healthz").json()
        assert (health["revision"], health["takes_over"], health["state"]) == (2, True, "policy_enabled")
        assert 'omnigraph_revision{process="' in client.get("/metrics").text


def test_what_the_files_declare_is_served_only_once_it_is_applied(tmp_path: Path) -> None:
    begin(declare(tmp_path))
    declare(tmp_path, staff=WRITERS)
    with serving(tmp_path) as client:
        assert client.post("/graphs/people/mutate", json={"query": ADD}).status_code == 403


def test_a_newer_revision_is_taken_over_without_a_restart(tmp_path: Path) -> None:
    cluster = begin(declare(tmp_path))
    with serving(tmp_path) as client:
        declare(
            tmp_path, ("people", "fresh"), WRITERS, queries={"all": TEAM.replace("everybody", "all_of_them")}
        )
        assert cluster.apply()["converged"]
        take_over(client)
        assert client.get("/healthz").json()["revision"] == 3
        assert client.get("/graphs").json() == {"graphs": ["fresh", "people"]}
        assert client.post("/graphs/people/mutate", json={"query": ADD}).status_code == 200
        assert client.post("/graphs/people/queries/all_of_them").json()["rows"] == [{"p.name": "bob"}]
        assert client.post("/graphs/people/queries/everybody").status_code == 404

        declare(tmp_path, ("people",), READERS)
        cluster.approve("graph.fresh")
        assert cluster.apply()["converged"]
        take_over(client)
        assert client.get("/graphs").json() == {"graphs": ["people"]}
        assert client.get("/graphs/fresh/branches").status_code == 404
        assert client.post("/graphs/people/mutate", json={"query": ADD}).status_code == 403


def test_an_opened_graph_is_kept_over_revisions(tmp_path: Path) -> None:
    cluster = begin(declare(tmp_path))
    with serving(tmp_path) as client:
        app: Any = client.app
        before = app.state.served.now
        declare(tmp_path, staff=WRITERS)
        cluster.apply()
        take_over(client)
        assert app.state.served.now is not before
        assert app.state.served.now._opened["people"] is before._opened["people"]


def test_a_request_sees_one_revision_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    cluster = begin(declare(tmp_path))
    with serving(tmp_path) as client:
        app: Any = client.app
        before = app.state.served.now
        seen: list[Any] = []
        gate_of = type(before).gate_of

        def look_in_between(self: Any, name: str) -> Any:
            if not seen:
                declare(tmp_path, staff=WRITERS)
                cluster.apply()
                take_over(client)
            seen.append(self)
            return gate_of(self, name)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(before), "gate_of", look_in_between)
            answer = client.post("/graphs/people/mutate", json={"query": ADD})
        assert app.state.served.now is not before
        assert (answer.status_code, answer.headers["omnigraph-revision"]) == (403, "2")
        assert set(seen) == {before}
        assert client.post("/graphs/people/mutate", json={"query": ADD}).headers["omnigraph-revision"] == "3"


def test_what_cannot_be_read_leaves_what_is_served(tmp_path: Path) -> None:
    cluster = begin(declare(tmp_path))
    with serving(tmp_path) as client:
        declare(tmp_path, staff=WRITERS)
        cluster.apply()
        for stored in (tmp_path / "__cluster/resources/policy/staff").iterdir():
            stored.write_text("tampered")
        take_over(client)
        assert client.post("/graphs/people/mutate", json={"query": ADD}).status_code == 403
        health = client.get("/healthz").json()
        assert (health["revision"], health["takes_over"]) == (2, False)
        cluster.apply()
        take_over(client)
        health = client.get("/healthz").json()
        assert (health["revision"], health["takes_over"]) == (3, True)


def test_a_policy_that_comes_to_an_open_server_shuts_the_graphs(tmp_path: Path) -> None:
    cluster = begin(declare(tmp_path, more=""))
    with serving(tmp_path, Tokens()) as client:
        assert client.post("/graphs/people/query", json={"query": QUERY}).status_code == 200
        declare(tmp_path)
        assert cluster.apply()["converged"]
        take_over(client)
        assert client.post("/graphs/people/query", json={"query": QUERY}).status_code == 404


def test_nobody_changes_by_a_server_what_the_cluster_declares(tmp_path: Path) -> None:
    begin(declare(tmp_path, more=""))
    with serving(tmp_path, Tokens()) as client:
        texts = {"files": {"more.gq": "query more() { match { $p: Person } return { $p.name } }"}}
        for path, body in (("schema/apply", {"schema_source": OLDER}), ("queries", texts)):
            answer = client.post(f"/graphs/people/{path}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (409, "cluster_managed"), path


@pytest.mark.parametrize("damage", ["missing", "mismatched"])
def test_a_damaged_text_refuses_the_start(tmp_path: Path, damage: str) -> None:
    begin(declare(tmp_path))
    (stored,) = (tmp_path / "__cluster/resources/query/people/everybody").iterdir()
    stored.unlink() if damage == "missing" else stored.write_text("query")
    with pytest.raises(CorruptState, match=r"query\.people\.everybody"), serving(tmp_path):
        pass


def test_without_anything_applied_nothing_is_served(tmp_path: Path) -> None:
    declare(tmp_path, more="")
    with pytest.raises(NotFound, match="no state"), serving(tmp_path):
        pass
    write_cluster(tmp_path, ())
    Cluster(tmp_path).import_()
    with pytest.raises(OmniError, match="no graphs"), serving(tmp_path):
        pass


def test_a_graph_that_cannot_be_served_is_left_out_and_the_others_are_not(tmp_path: Path) -> None:
    begin(declare(tmp_path, ("people", "old"), more=""))
    change_by_hand(tmp_path, "node Other { name: String @key }", "old")
    with serving(tmp_path, Tokens()) as client:
        health = client.get("/healthz").json()
        assert (health["graphs"], health["quarantined"]) == (["people"], {"old": "stored_query_broken"})
        assert client.get("/graphs/old/branches").status_code == 404
    with pytest.raises(StoredQueryBroken), serving(tmp_path, Tokens(), requires_all=True):
        pass


def test_a_graph_that_was_left_out_is_tried_again_with_longer_and_longer_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(declare(tmp_path, ("people", "old"), more=""))
    (tmp_path / "graphs/old.omni").rename(tmp_path / "aside")
    with serving_by(monkeypatch, tmp_path) as (client, time):
        app: Any = client.app
        opened = app.state.served.now._opened["people"]
        tries = count_tries(monkeypatch)
        assert client.get("/healthz").json()["quarantined"] == {"old": "not_a_graph"}
        for _ in range(600):
            time.sleep(1)
            take_over(client)
        assert 8 < len(tries) < 20, "1, 2, 4 … 60 seconds"
        (tmp_path / "aside").rename(tmp_path / "graphs/old.omni")
        time.sleep(60)
        take_over(client)
        assert client.get("/healthz").json()["quarantined"] == {}
        assert client.get("/graphs/old/branches").status_code == 200
        assert app.state.served.now._opened["people"] is opened
        tries.clear()
        time.sleep(3_600)
        take_over(client)
        assert tries == []


def test_a_run_that_ended_without_another_revision_lets_its_graph_be_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(declare(tmp_path, ("people", "old"), more=""))
    Intents(open_store(str(tmp_path))).put("schema_apply", "old", schema_digest="x")
    with serving_by(monkeypatch, tmp_path) as (client, time):
        assert client.get("/healthz").json()["quarantined"] == {"old": "unavailable"}
        for stored in (tmp_path / "__cluster/recoveries").iterdir():
            stored.unlink()
        time.sleep(1)
        take_over(client)
        assert client.get("/healthz").json()["quarantined"] == {}


def test_a_graph_of_a_plain_server_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        og.init(tmp_path / name, PEOPLE)
    (tmp_path / "b").rename(tmp_path / "aside")
    with served_by(monkeypatch) as time:
        served = CurrentGraphs(ServedGraphs({name: str(tmp_path / name) for name in ("a", "b")}))
        served.open()
        assert (served.now.names, [*served.now.quarantined]) == (["a"], ["b"])
        opened = served.now._opened["a"]
        (tmp_path / "aside").rename(tmp_path / "b")
        served.look()
        assert served.now.names == ["a"], "not yet"
        time.sleep(1)
        served.look()
        assert (served.now.names, served.now.quarantined) == (["a", "b"], {})
        assert served.now._opened["a"] is opened
        served.close()


@contextmanager
def served_by(monkeypatch: pytest.MonkeyPatch) -> Iterator[SeededClock]:
    """Let time pass only when a test says so; nobody looks for newer revisions but the test."""
    monkeypatch.setattr(current, "_LOOK_SECONDS", 3_600)
    time = SeededClock(7)
    before = clock.install(time)
    try:
        yield time
    finally:
        clock.install(before)


@contextmanager
def serving_by(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[tuple[TestClient, SeededClock]]:
    with served_by(monkeypatch) as time, serving(folder, Tokens()) as client:
        yield client, time


def count_tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    tries: list[str] = []
    open_graph = graphs.open_graph

    def count(uri: str, **given: Any) -> og.Graph:
        tries.append(uri)
        return open_graph(uri, **given)

    monkeypatch.setattr(graphs, "open_graph", count)
    return tries


BLOBS = """    external_blobs:
      allow:
        - {{ base: "{bucket}/papers", scope: server_safe }}
        - {{ base: "{bucket}/drafts", scope: embedded_only }}
        - {{ base: "file://{folder}/scans", scope: embedded_only }}
pipelines:
  scans: {{ graph: people, source: scans.ndjson, mode: merge }}
"""
PAPERS = "node Person { name: String @key  photo: Blob? }"


@pytest.mark.s3
def test_blobs_come_from_where_the_cluster_lets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, s3: S3
) -> None:
    bucket = s3.fresh()
    for name, value in bucket.options.items():
        monkeypatch.setenv(name.upper() if name.startswith("aws_") else f"AWS_{name.upper()}", value)
    monkeypatch.setenv(VARIABLE, f"{bucket.uri}/elsewhere/")
    store = bucket.store("")
    for name in ("papers", "drafts", "elsewhere"):
        store.put(f"{name}/a.bin", name.encode())
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans/a.bin").write_bytes(b"scans")
    places = {name: f"{bucket.uri}/{name}/a.bin" for name in ("papers", "drafts", "elsewhere")}
    places["scans"] = f"file://{tmp_path}/scans/a.bin"
    record = {"type": "Person", "data": {"name": "bob", "photo": places["drafts"]}}
    other = {"type": "Person", "data": {"name": "cyd", "photo": places["scans"]}}
    (tmp_path / "scans.ndjson").write_text("\n".join(json.dumps(item) for item in (record, other)))
    more = BLOBS.format(bucket=bucket.uri, folder=tmp_path)
    begin(declare(tmp_path, schema=PAPERS, queries={}, more=more))
    put = 'query q($p: Blob?) { upsert Person { name: "ada"  photo: $p } }'
    with serving(tmp_path, Tokens()) as client:
        for name, url in places.items():
            said = client.post("/graphs/people/mutate", json={"query": put, "params": {"p": url}})
            loaded = client.post(
                "/graphs/people/load/ndjson?mode=merge",
                content=json.dumps({"type": "Person", "data": {"name": "eve", "photo": url}}),
                headers={"content-type": "application/x-ndjson"},
            )
            assert (said.status_code, loaded.status_code) == ((200, 200) if name == "papers" else (400, 400))
            if name != "papers":
                assert "external_blobs.allow of 'people'" in said.json()["error"]
                assert "external_blobs.allow of 'people'" in loaded.text
        photo = "/graphs/people/blob?entity=node&type=Person&property=photo&id="
        assert client.get(f"{photo}ada").content == client.get(f"{photo}eve").content == b"papers"
    run_json("pipeline", "run", "scans", "--cluster", str(tmp_path))
    graph = og.open(tmp_path / "graphs/people.omni")
    assert graph.blob("node", "Person", "bob", "photo").read() == b"drafts"
    assert graph.blob("node", "Person", "cyd", "photo").read() == b"scans"


def test_a_graph_with_a_pending_intent_is_left_out(tmp_path: Path) -> None:
    cluster = begin(declare(tmp_path, ("people", "old"), more=""))
    id = "01M70000000000000000000000"
    intent = {"version": 1, "id": id, "kind": "schema_apply", "graph": "old", "schema_digest": "x"}
    (tmp_path / "__cluster/recoveries").mkdir(exist_ok=True)
    (tmp_path / f"__cluster/recoveries/{id}.json").write_text(json.dumps(intent))
    with serving(tmp_path, Tokens()) as client:
        assert client.get("/healthz").json()["quarantined"] == {"old": "unavailable"}
        cluster.apply()
        take_over(client)
        assert client.get("/healthz").json()["quarantined"] == {}
    (tmp_path / f"__cluster/recoveries/{id}.json").write_text("nobody's")
    with pytest.raises(CorruptState, match="which graph"), serving(tmp_path, Tokens()):
        pass


def test_another_graph_at_the_address_of_one_is_not_served(tmp_path: Path) -> None:
    begin(declare(tmp_path, ("people", "old"), more=""))
    (tmp_path / "graphs/old.omni").rename(tmp_path / "aside")
    og.init(tmp_path / "other", (tmp_path / "people.pg").read_text())
    (tmp_path / "other").rename(tmp_path / "graphs/old.omni")
    with serving(tmp_path, Tokens()) as client:
        assert client.get("/healthz").json()["quarantined"] == {"old": "conflict"}


def test_a_provider_whose_key_is_missing_keeps_its_graph_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEY_OF_TEST", raising=False)
    more = """    embedding_provider: words
providers:
  embedding:
    words: {kind: openai, base_url: "http://127.0.0.1:9", api_key: "${KEY_OF_TEST}"}
"""
    begin(declare(tmp_path, more=more))
    with pytest.raises(EmbeddingNotConfigured, match="KEY_OF_TEST"), serving(tmp_path, Tokens()):
        pass
    monkeypatch.setenv("KEY_OF_TEST", "secret-of-the-provider")
    with serving(tmp_path, Tokens()) as client:
        app: Any = client.app
        assert app.state.served.now.names == ["people"]
        assert "secret-of-the-provider" not in repr(app.state.served.now.revision.graphs)
