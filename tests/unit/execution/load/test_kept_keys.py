"""Keys that do not fit into memory: what is allowed, told and put away is the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.compiler.frontend import compile_schema
from omnigraph.execution.load.keys import key_spool as kept_keys
from omnigraph.execution.load.load_work import LoadWork
from omnigraph.execution.load.sources.record_source import RecordSource
from omnigraph.execution.load.stage.intake import TableIntake
from support.engines import said

SCHEMA = """
node P { name: String @key  mail: String? @unique }
node Free { n: I64?  m: String?  @unique(n, m) }
edge Knows: P -> P @card(0..2) { w: I64? @unique }
edge Likes: P -> Free @card(1..2)
"""
NAMES = st.sampled_from(["a", "b", "c", "stored", "none"])
IDS = st.sampled_from(["x", "y", "old"])
RECORDS = st.one_of(
    st.builds(
        lambda name, mail: {"type": "P", "data": {"name": name, "mail": mail}},
        NAMES,
        st.sampled_from([None, "m", "n", "taken", 5]),
    ),
    st.builds(
        lambda id_, n, m: {"type": "Free", "data": {"id": id_, "n": n, "m": m}},
        IDS | st.none(),
        st.sampled_from([None, 1, 2]),
        st.sampled_from([None, "1", "2"]),
    ),
    st.builds(
        lambda id_, source, target, w: {
            "edge": "Knows", "from": source, "to": target, "data": {"id": id_, "w": w}
        },
        IDS | st.none(), NAMES, NAMES, st.none() | st.integers(0, 3),
    ),
    st.builds(
        lambda id_, source, target: {"edge": "Likes", "from": source, "to": target, "data": {"id": id_}},
        IDS | st.none(), NAMES, IDS,
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("template") / "graph"
    graph = og.init(root, SCHEMA)
    graph.load(
        [
            {"type": "P", "data": {"name": "stored", "mail": "taken"}},
            {"type": "P", "data": {"name": "a"}},
            {"type": "Free", "data": {"id": "old", "n": 1, "m": "1"}},
            {"edge": "Knows", "from": "stored", "to": "a", "data": {"id": "old", "w": 0}},
            {"edge": "Likes", "from": "stored", "to": "old", "data": {"id": "old"}},
        ],
        mode="append",
    )
    return root


def _outcome(root: Path, records: list[dict[str, Any]], mode: str, on_error: str) -> tuple[Any, ...]:
    graph = og.open(root)
    rejected = root.parent / "bad" if on_error == "quarantine" else None
    try:
        done = graph.load(records, mode=mode, on_error=on_error, rejected_to=rejected, engine="local")
    except og.OmniError as error:
        return type(error), str(error), json.dumps(error.details), said(graph)
    put_away = (root.parent / "bad").read_text() if done.rejected else ""
    return done.nodes, done.edges, done.rejected, put_away, said(graph)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
@pytest.mark.parametrize("on_error", ["fail", "quarantine"])
@given(records=st.lists(RECORDS, max_size=7))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_keys_on_disk_are_judged_as_keys_in_memory_are(
    mode: str,
    on_error: str,
    records: list[dict[str, Any]],
    template: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for left in (kept_keys.KEYS_IN_MEMORY_BYTES, 0):
        with monkeypatch.context() as patched:
            patched.setattr(kept_keys, "KEYS_IN_MEMORY_BYTES", left)
            folder = tmp_path / str(left)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(template, folder / "graph")
            found.append(_outcome(folder / "graph", records, mode, on_error))
    assert found[0] == found[1]


def test_a_load_that_is_right_is_proved_so_by_hashes_alone(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_keys, "KEYS_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(LoadWork, "_check_exactly", lambda *_: pytest.fail("the exact rules were asked"))
    shutil.copytree(template, tmp_path / "graph")
    graph = og.open(tmp_path / "graph")
    people = [{"type": "P", "data": {"name": f"p{i}", "mail": f"m{i}"}} for i in range(200)]
    knows = [{"edge": "Knows", "from": f"p{i % 100}", "to": "stored"} for i in range(200)]
    for mode in ("append", "merge"):
        records = people if mode == "merge" else [*people, *knows]
        assert graph.load(records, mode=mode).nodes == {"P": 200}
    assert graph.snapshot().table("node:P").scan(["id"]).num_rows == 202


def test_a_record_that_is_spilled_leaves_sixteen_bytes_in_memory() -> None:
    catalog = compile_schema(SCHEMA)
    for name, columns in (("P", {"mail": "m"}), ("Knows", {"src": "s", "dst": "d"})):
        table = catalog.node(name) or catalog.edge(name)
        assert table is not None
        budget, taken = kept_keys.KeyBudget(left=0), []
        intake = TableIntake(table, taken.append, taken.extend, RecordSource([]).locate, budget=budget)
        for number in range(10):
            rows = [
                {
                    **{item.name: None for item in table.properties},
                    "id": f"{number}-{at}",
                    "name": f"{number}-{at}",
                }
                | {column: f"{text}{number}-{at}" for column, text in columns.items()}
                for at in range(100)
            ]
            for at, row in enumerate(rows):
                intake.take(row, number * 100 + at, explicit=False)
            intake.flush()
        assert intake.kept.is_spilled
        assert intake.kept._parts == []
        hashes = intake.kept.hashes()
        assert sum(part.nbytes for parts in hashes.values() for part in parts) == 16 * 1000
        assert intake.keys().num_rows == 1000
