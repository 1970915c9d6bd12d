"""`omnigraph serve --cluster` and `omnigraph pipeline`, as an operator and a user type them."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

import omnigraph as og
from support.clusters import write_cluster
from support.command_line import run, run_json, run_text
from support.s3 import S3
from support.served import EVERYTHING, LISTING, TOKENS, running_server
from support.served_here import wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster"
ADA = {"Authorization": f"Bearer {TOKENS['act-ada']}"}
SECONDS = 60
NAMES = "query q() { match { $p: Person } return { $p.name } order { $p.name } }"
OF_REVISION = 'query team($team: String) {{ match {{ $p: Person }} return {{ "{word}" as word }} limit 1 }}\n'
LISTS = "  lists:\n    file: policies/lists.yaml\n    applies_to: [cluster]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example, applied, whose actors may do everything."""
    found = tmp_path / "cluster"
    shutil.copytree(EXAMPLE, found)
    (found / "policies/staff.yaml").write_text(EVERYTHING)
    (found / "policies/lists.yaml").write_text(LISTING)
    file = found / "cluster.yaml"
    file.write_text(file.read_text().replace("pipelines:", f"{LISTS}pipelines:"))
    for command in ("import", "apply"):
        run_json("cluster", command, "--config", str(found))
    return found


@pytest.mark.long
def test_every_worker_takes_over_a_revision_and_no_request_sees_two(folder: Path, tmp_path: Path) -> None:
    """The text of a query, the policy and the number in the answer are always of one revision."""
    og.open(folder / "graphs/people.omni").load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    query = folder / "queries/people.gq"
    query.write_text(OF_REVISION.format(word="first"))
    run_json("cluster", "apply", "--config", str(folder))
    words: dict[str, set[str]] = {}
    stopping = threading.Event()
    arguments = ("--cluster", str(folder))
    with running_server(tmp_path, *arguments, workers=2, has_policies=False) as server:
        base = f"http://{server.address}"

        def ask() -> None:
            while not stopping.wait(0.02):
                url = f"{base}/graphs/people/queries/team"
                found = httpx.post(url, json={"params": {"team": "x"}}, headers=ADA, timeout=SECONDS)
                (row,) = found.json()["rows"]
                words.setdefault(found.headers["omnigraph-revision"], set()).add(row["word"])

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            wait_until(lambda: words != {}, SECONDS)
            for word in ("second", "third"):
                query.write_text(OF_REVISION.format(word=word))
                number = run_json("cluster", "apply", "--config", str(folder))["state_revision"]
                wait_until(lambda: _revisions(base) == [number, number], SECONDS)  # noqa: B023
                wait_until(lambda: str(number) in words, SECONDS)  # noqa: B023
        finally:
            stopping.set()
            asking.join()
        assert words == {"3": {"first"}, "4": {"second"}, "5": {"third"}}
        assert server.stop() == 0


@pytest.mark.long
@pytest.mark.s3
def test_a_cluster_in_s3_is_served_and_a_newer_revision_taken_over(
    tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = s3.fresh()
    for name, value in bucket.options.items():
        monkeypatch.setenv(f"AWS_{name.removeprefix('aws_')}".upper(), value)
    root = f"{bucket.uri}/cluster"
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies/staff.yaml").write_text(EVERYTHING)
    (tmp_path / "policies/lists.yaml").write_text(LISTING)
    more = f"policies:\n  staff: {{file: policies/staff.yaml, applies_to: [people]}}\n{LISTS}"
    word = 'query word() {{ match {{ $p: Person }} return {{ $p.name, "{word}" as word }} }}\n'

    def declare(said: str) -> int:
        write_cluster(tmp_path, queries={"word": word.format(word=said)}, more=more, storage=root)
        applied: int = run_json("cluster", "apply", "--config", str(tmp_path))["state_revision"]
        return applied

    write_cluster(tmp_path, queries={}, more=more, storage=root)
    run_json("cluster", "import", "--config", str(tmp_path))
    first = declare("first")
    og.open(f"{root}/graphs/people.omni").load([{"type": "Person", "data": {"name": "ada"}}], mode="append")
    with running_server(tmp_path, "--cluster", root, "--state", str(tmp_path), has_policies=False) as server:
        base = f"http://{server.address}"

        def ask() -> tuple[list[dict[str, str]], str]:
            found = httpx.post(f"{base}/graphs/people/queries/word", headers=ADA, timeout=SECONDS)
            return found.json()["rows"], found.headers["omnigraph-revision"]

        assert ask() == ([{"p.name": "ada", "word": "first"}], str(first))
        second = declare("second")
        wait_until(lambda: _revisions(base) == [second], SECONDS)
        assert ask() == ([{"p.name": "ada", "word": "second"}], str(second))
        health = httpx.get(f"{base}/healthz", headers=ADA, timeout=SECONDS).json()
        assert (health["quarantined"], health["takes_over"]) == ({}, True)
        assert server.stop() == 0
    assert sorted(path.name for path in tmp_path.glob("__cluster*")) == [], "all is in the bucket"


def _revisions(base: str) -> list[int]:
    """Return the revisions of all workers, as each of them has said."""
    told = httpx.get(f"{base}/metrics", headers=ADA, timeout=SECONDS).text
    return [int(number) for number in re.findall(r'omnigraph_revision\{process="\d+"\} (\d+)', told)]


@pytest.mark.long
def test_a_pipeline_runs_stored_and_served_and_says_the_same(
    folder: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    stored = ("--cluster", str(folder), "--as", "act-ada")
    listed = run_json("pipeline", "list", "--cluster", str(folder))
    assert [item["name"] for item in listed["pipelines"]] == ["staff-list"]
    assert run("pipeline", "run", "nobody's", *stored).exit_code == 1
    first = run_json("pipeline", "run", "staff-list", *stored, "--idempotency-key", "one")
    assert first["nodes"] == {"Person": 3} and first["edges"] == {"WorksFor": 2}
    assert run_json("pipeline", "run", "staff-list", *stored, "--idempotency-key", "one") == first
    graph = og.open(folder / "graphs/people.omni")
    assert (graph.commits.list()[0].actor, graph.commits.list()[0].metadata["pipeline"]) == (
        "act-ada",
        "staff-list",
    )

    file = folder / "imports/staff.csv"
    file.write_text(f"{file.read_text()}dan,poetry,ada\n")
    monkeypatch.setenv("OMNIGRAPH_BEARER_TOKEN", TOKENS["agent-7"])
    with running_server(
        tmp_path, "--cluster", str(folder), "--state", str(tmp_path), has_policies=False
    ) as server:
        served = ("--server", f"http://{server.address}", "--graph", "people")
        assert run_json("pipeline", "list", *served) == listed
        again = run_json("pipeline", "run", "staff-list", *served)
        assert again.keys() == first.keys() and again["nodes"] == {"Person": 4}
        assert "loaded Person 4" in run_text("pipeline", "run", "staff-list", *served)
        file.write_text("name,team,boss\ndan,,nobody\n")
        assert run_json("pipeline", "run", "staff-list", *served, code=1)["code"] == "validation_error"
        assert run("pipeline", "run", "nobody's", *served).exit_code == 1
    assert graph.commits.list()[0].actor == "agent-7"
    assert [row["p.name"] for row in graph.query(NAMES).rows] == ["ada", "bob", "cyd", "dan"]


def test_a_server_is_of_a_cluster_or_of_graphs(folder: Path) -> None:
    for words in (["x"], ["--graph", "x=y"], ["--policy", "p.yaml"]):
        assert run("serve", "--cluster", str(folder), "--unauthenticated", *words).exit_code == 2
    assert run("serve", "x", "--require-all-graphs", "--unauthenticated").exit_code == 2
    found = run("serve", "--cluster", str(folder), "--unauthenticated")
    assert found.exit_code == 1 and "needs to know who calls" in str(found.output)
