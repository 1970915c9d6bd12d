"""`make demo` as it is run: what it prints is so, and what it says to try next works."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

import omnigraph as og

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = EXAMPLES / "debian"
MOST_BYTES = 4 * 2**20


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the graph that the demo leaves, and what it has printed."""
    root = tmp_path_factory.mktemp("demo") / "graph"
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py"), str(root)],
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return root, done.stdout


@pytest.fixture
def printed(demo: tuple[Path, str]) -> str:
    return demo[1]


@pytest.fixture
def graph(demo: tuple[Path, str]) -> og.Graph:
    return og.open(demo[0])


def test_the_files_are_small_and_have_the_rows_that_their_page_says() -> None:
    files = sorted(DATA.glob("*.parquet"))
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    told = dict(re.findall(r"^\| `(\w+\.parquet)` \| ([\d,]+) \|", (DATA / "README.md").read_text(), re.M))
    assert told == {path.name: f"{pq.read_metadata(path).num_rows:,}" for path in files}


def test_every_file_is_loaded_through_spark_with_its_phases(printed: str) -> None:
    for name, file in (("Package", "packages"), ("Depends", "depends"), ("Maintains", "maintains")):
        rows = pq.read_metadata(DATA / f"{file}.parquet").num_rows
        assert re.search(
            rf"{name} +{rows:,} rows in .* on spark \(read .* check .* write .* publish ", printed
        )


def test_answers_are_those_that_a_walk_over_the_files_gives(printed: str) -> None:
    edges: dict[str, list[str]] = {}
    for row in pq.read_table(DATA / "depends.parquet", columns=["from", "to"]).to_pylist():
        edges.setdefault(row["from"], []).append(row["to"])
    for name in ("git", "gnome"):
        found = set().union(*walk(edges, name)) - {name}
        assert f"query closure({name})" in printed
        assert f"{len(found):,} packages" in printed
    distance = next(at for at, names in enumerate(walk(edges, "gnome-chess")) if "openssl" in names)
    way = printed.split("query between")[1].partition("\n\n")[0]
    assert f"(gnome-chess, openssl, {distance})" in way
    steps = [line.replace("→", " ").strip().split(" or ") for line in way.splitlines()[1:]]
    assert (len(steps), steps[0], steps[-1]) == (distance + 1, ["gnome-chess"], ["openssl"])
    assert all(any(b in edges[a] for a in step for b in after) for step, after in pairwise(steps))


def test_it_says_what_is_real_and_ends_with_the_address_of_the_page(printed: str) -> None:
    assert "Made up: the agents and their notes" in printed
    assert "started, and the page answers: " in printed
    last = printed.splitlines()[-1]
    assert re.fullmatch(r"  http://127\.0\.0\.1:\d+/ui/graph/proposal\?id=\w{26}", last)


def walk(edges: dict[str, list[str]], first: str) -> Iterator[set[str]]:
    """Yield what is first reached after none, one, two … steps."""
    seen, front = {first}, {first}
    while front:
        yield front
        front = {other for name in front for other in edges.get(name, ())} - seen
        seen |= front


def test_what_the_agents_did_through_mcp_is_in_the_graph(graph: og.Graph, printed: str) -> None:
    assert "40 commits landed; no version twice, none missing: True" in printed
    assert "main is where it was: True" in printed
    assert "[branch_protected] branch 'main' is protected" in printed
    assert "    DivergentUpdate dreamchess" in printed
    assert "    DeleteVsUpdate brutalchess" in printed
    names = '$p.name in ["dreamchess", "brutalchess", "3dchess"]'
    left = graph.query(
        f"query q() {{ match {{ $p: Package  {names} }} return {{ $p.name, $p.note }} order {{ $p.name }} }}"
    )
    assert [(row["p.name"], row["p.note"]) for row in left] == [
        ("brutalchess", "keep"),
        ("dreamchess", "keep"),
    ]
    assert graph.branches.list() == ["main", "agent-b"]
    commits = graph.commits.list(limit=10)
    assert "games of chess are kept, 3dchess goes" in [commit.message for commit in commits]
    by_agents = [commit for commit in commits if commit.actor == "agent-a"]
    assert [commit.metadata for commit in by_agents] == [{"tool": "mutate", "on_behalf_of": "ada"}] * 2
    before, after = re.findall(r"version \d+\): (\d+) packages about chess", printed)
    assert int(before) == int(after) + 1


def test_sql_answers_at_the_loaded_version(printed: str) -> None:
    sections = {row["name"]: row["section"] for row in pq.read_table(DATA / "packages.parquet").to_pylist()}
    rows = pq.read_table(DATA / "depends.parquet", columns=["from"])["from"].to_pylist()
    libraries = sum(sections[name] == "libs" for name in rows)
    assert f"libs · edges {libraries:,} · " in printed.rpartition("VERSION AS OF")[2]


def test_what_it_says_to_try_next_works(demo: tuple[Path, str]) -> None:
    root, printed = demo
    commands = re.findall(r"^  \.venv/bin/omnigraph (.*)$", printed, re.M)
    assert len(commands) == 2
    for command in commands:
        words = [str(root) if word == root.name else word for word in shlex.split(command)]
        done = subprocess.run(
            [sys.executable, "-c", "from omnigraph.cli.main import run; run()", *words],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=EXAMPLES.parent,
        )
        assert done.returncode == 0, done.stderr
        assert "dreamchess" in done.stdout or "libc6" in done.stdout
    (asked,) = re.findall(r"--json '(.*)'$", printed, re.M)
    with open_server(root) as server:
        answer = httpx.post(
            f"{server}/query", content=asked, headers={"Content-Type": "application/json"}, timeout=60
        )
        assert answer.status_code == 200, answer.text
        assert "63435" in answer.text


def test_what_waits_on_the_page_can_be_settled_and_merged_there(demo: tuple[Path, str]) -> None:
    root, printed = demo
    id = printed.strip().rpartition("=")[2]
    with open_server(root) as server, httpx.Client(base_url=f"{server}/proposals/{id}", timeout=60) as page:
        state = page.get("/mergeable").json()
        assert [reason["code"] for reason in state["reasons"]] == ["conflicts"]
        (conflict,) = state["conflicts"]
        assert conflict["entity_id"] == "brutalchess"
        page.put("/resolutions", json={"resolutions": [{**conflict, "take": "theirs"}]}).raise_for_status()
        assert page.post("/merge", json={}).json()["outcome"] == "merged"
    both = '["dreamchess", "brutalchess"]'
    left = og.open(root).query(
        f"query q() {{ match {{ $p: Package  $p.name in {both} }} return {{ $p.name, $p.note }} }}"
    )
    assert left.rows == [{"p.name": "dreamchess", "p.note": "needs OpenGL"}]


@contextmanager
def open_server(root: Path) -> Iterator[str]:
    """Serve the graph as the demo and `make serve` do; give its address."""
    command = [sys.executable, "-c", "from omnigraph.cli.main import run; run()"]
    command += ["serve", str(root), "--unauthenticated", "--bind", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://{process.stdout.readline().strip().partition('=')[2]}/graphs/{root.name}"
        finally:
            process.terminate()


def maker() -> Any:
    spec = importlib.util.spec_from_file_location("make_debian", DATA / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_reads_relations_as_debian_writes_them() -> None:
    fields = {
        "Depends": "libc6 (>= 2.34), perl:any, fonts-a | fonts-b (<< 2), virtual",
        "Recommends": "git",
        "Suggests": "vim",
    }
    known = frozenset(["libc6", "perl", "fonts-a", "fonts-b", "git", "vim"])
    assert list(maker().relations(fields, known)) == [
        ("libc6", "depends", ">= 2.34", False),
        ("perl", "depends", None, False),
        ("fonts-a", "depends", None, True),
        ("fonts-b", "depends", "<< 2", True),
        ("git", "recommends", None, False),
    ]
