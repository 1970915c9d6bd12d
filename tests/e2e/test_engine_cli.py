"""The commands say which engine ran, and why; no test starts Java."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.execution.engine import Availability
from omnigraph.graph.maintenance.optimize.executor import LocalMaintenance
from omnigraph.sdk import maintenance
from support.command_line import run

LINE = '{"type":"Person","data":{"name":"ada"}}\n'


@pytest.fixture
def uri(tmp_path: Path) -> str:
    (tmp_path / "people.ndjson").write_text(LINE)
    return og.init(tmp_path / "graph", "node Person { name: String @key }").uri


def test_a_load_and_an_export_tell_the_engine_and_the_reason_as_json(uri: str, tmp_path: Path) -> None:
    load = ("load", uri, "--data", str(tmp_path / "people.ndjson"), "--mode", "merge", "--json")
    told = json.loads(run(*load).stdout)
    assert (told["engine"], told["engine_reason"]) == (
        "local",
        f"the source has {len(LINE)} bytes, fewer than 536,870,912",
    )
    told = json.loads(run(*load, "--engine", "local").stdout)
    assert (told["engine"], told["engine_reason"]) == ("local", "asked for")
    told = json.loads(run("export", uri, "--out", str(tmp_path / "out.ndjson"), "--json").stdout)
    assert (told["engine"], told["engine_reason"][:12]) == ("local", "Spark writes")


def test_a_note_says_that_spark_did_the_work_when_nobody_asked_for_it(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "start_spark_maintenance", lambda settings: LocalMaintenance())
    assert "ran on" not in run("optimize", uri, "--engine", "spark").stderr
    assert "ran on" not in run("optimize", uri).stderr
    og.open(uri).load([json.loads(LINE)], mode="append")
    monkeypatch.setenv("OMNIGRAPH_SPARK_OPTIMIZE_ROWS", "1")
    monkeypatch.setattr(maintenance, "find_spark", lambda **how: Availability(True, "a session runs"))
    assert "ran on spark: " in run("optimize", uri).stderr


@pytest.mark.parametrize("command", ["query", "load", "export", "optimize"])
def test_an_engine_that_does_not_exist_is_one_sentence(command: str, uri: str, tmp_path: Path) -> None:
    words = {
        "query": ("-e", "query q() { match { $p: Person } return { $p.name } }", "--uri", uri),
        "load": (uri, "--data", str(tmp_path / "people.ndjson"), "--mode", "merge"),
        "export": (uri,),
        "optimize": (uri,),
    }
    done = run(command, *words[command], "--engine", "duck")
    assert done.exit_code == 1
    assert "engine 'duck' does not exist: use 'auto', 'local' or 'spark'" in done.stderr
