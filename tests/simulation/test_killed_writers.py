"""Mutations, loads and schema changes, called as users call them, killed at the points that differ."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.failpoints import ENVIRONMENT
from support.graphs import plan_paths

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }\n"
LARGER = SCHEMA.replace("age: I32?", "age: I32?  mood: String?") + "node City { name: String @key }\n"
PAIR = """query q($a: String, $b: String) {
    insert Person { name: $a }
    insert Person { name: $b }
    insert Knows { from: $a, to: $b }
}"""
RECORDS = [
    {"type": "Person", "data": {"name": "cyd", "age": 7}},
    {"type": "Person", "data": {"name": "dan"}},
    {"edge": "Knows", "from": "cyd", "to": "dan", "data": {}},
]
WRITERS = {
    "insert": f"g.mutate({PAIR!r}, {{'a': 'cyd', 'b': 'dan'}})",
    "delete": """g.mutate('query q() { delete Person where name = "ada" }')""",
    "append": f"g.load({RECORDS!r}, mode='append')",
    "merge": f"g.load({RECORDS!r}, mode='merge')",
    "overwrite": f"g.load({RECORDS!r}, mode='overwrite')",
    "schema": f"g.schema.apply({LARGER!r})",
}
UNPLANNED = ("insert", "delete")
OLD, NEW = "old", "new"
CELLS = [
    *((kind, "write.after_all_tables", OLD, OLD) for kind in WRITERS),
    *((kind, "publish.before_record", OLD, OLD) for kind in UNPLANNED),
    *((kind, "plan.before_put", OLD, OLD) for kind in WRITERS if kind not in UNPLANNED),
    *((kind, "plan.after_put", OLD, NEW) for kind in WRITERS if kind not in UNPLANNED),
    *((kind, "publish.after_record", NEW, NEW) for kind in WRITERS),
]

Rows = dict[str, list[str]]


def rows_of(graph: og.Graph) -> Rows:
    """Return every row without its id, which is minted anew by each call."""
    snapshot = graph.snapshot()
    found = {info.key: snapshot.table(info.key).scan().to_pylist() for info in snapshot.tables}
    return {
        key: sorted(str({name: value for name, value in row.items() if name != "id"}) for row in rows)
        for key, rows in found.items()
    }


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of two people who know each other."""
    root = tmp_path_factory.mktemp("template") / "graph"
    og.init(root, SCHEMA).mutate(PAIR, {"a": "ada", "b": "bob"})
    return root


def run(root: Path, kind: str, point: str) -> int:
    """Run a writer in a process of its own and return how it ended."""
    code = f"import omnigraph as og; g = og.open({str(root)!r}, actor='loader'); {WRITERS[kind]}"
    armed = {**os.environ, ENVIRONMENT: f"{point}=kill"}
    return subprocess.run([sys.executable, "-c", code], check=False, env=armed, timeout=60).returncode


@pytest.mark.long
@pytest.mark.parametrize(("kind", "point", "at_once", "recovered"), CELLS)
def test_a_killed_call_leaves_the_whole_old_or_the_whole_new_graph(
    kind: str, point: str, at_once: str, recovered: str, template: Path, tmp_path: Path
) -> None:
    done, root = (Path(shutil.copytree(template, tmp_path / name)) for name in ("done", "killed"))
    exec(WRITERS[kind], {"g": og.open(done)})
    states = {OLD: rows_of(og.open(template, read_only=True)), NEW: rows_of(og.open(done, read_only=True))}
    assert states[OLD] != states[NEW]

    assert run(root, kind, point) == -signal.SIGKILL
    planned = len(plan_paths(str(root)))
    assert rows_of(og.open(root, read_only=True)) == states[at_once]
    assert len(plan_paths(str(root))) == planned

    graph = og.open(root)
    assert rows_of(graph) == states[recovered]
    assert plan_paths(str(root)) == []
    commits = graph.commits.list()
    assert [note["kind"] for commit in commits for note in commit.recovery] == ["RolledForward"] * planned
    assert [commit.version for commit in reversed(commits)] == list(range(1, len(commits) + 1))
    if recovered == NEW:
        assert [commit.actor for commit in commits].count("loader") == 1
    else:
        exec(WRITERS[kind], {"g": graph})
        assert rows_of(graph) == states[NEW]
