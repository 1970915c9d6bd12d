"""Graphs that earlier releases have stored are read, written and cared for by this one."""

from __future__ import annotations

import importlib.util
import json
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

import omnigraph as og

STORED = Path(__file__).resolve().parents[1] / "golden" / "stored"
GRAPHS = sorted(path.name.removesuffix(".tar.gz") for path in STORED.glob("*.tar.gz"))


def _maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stored_maker", STORED / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=GRAPHS)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, object]]:
    """A graph of an earlier release, and what it answered there."""
    with tarfile.open(STORED / f"{request.param}.tar.gz") as archive:
        archive.extractall(tmp_path)
    return str(tmp_path / "graph"), json.loads((STORED / f"{request.param}.json").read_text())


def test_there_is_a_graph_of_an_earlier_release() -> None:
    assert GRAPHS


@pytest.mark.long
def test_it_says_what_it_said_then(stored: tuple[str, dict[str, object]]) -> None:
    uri, said = stored
    now = json.loads(json.dumps(_maker().answers(og.open(uri, read_only=True))))
    assert now == said


@pytest.mark.long
def test_it_is_sound_and_goes_on(stored: tuple[str, dict[str, object]], tmp_path: Path) -> None:
    uri, said = stored
    graph = og.open(uri, actor="act-now")
    assert graph.repair(scrub=True).ok
    graph.mutate('query q() { insert Person { name: "today", tags: ["new"] } }')
    graph.schema.apply("node Person { note: String? }", mode="extend")
    graph.proposals.create("review", title="what was begun then")
    merged = graph.branches.merge("review")
    assert merged.outcome == "merged"
    graph.optimize()
    graph.backup(tmp_path / "backups")
    graph.cleanup(keep=3)
    count = "query q() { match { $p: Person } return { count($p) as n } }"
    assert graph.query(count).scalar() == graph.query(count, snapshot="v1").scalar() + 1
    assert graph.query('query q() { match { $p: Person { name: "p3" } } return { $p.age } }').scalar() == 70
    assert graph.repair(scrub=True).ok
    assert said["branches"] == graph.branches.list()
