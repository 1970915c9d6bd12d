"""`omnigraph cluster` as an operator types it, on the cluster of the examples."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import omnigraph as og
from support.command_line import run_json, run_text

EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A copy of the example, to which no operator has come yet."""
    shutil.copytree(EXAMPLE, tmp_path / "cluster")
    return str(tmp_path / "cluster")


def test_the_example_is_valid_applied_and_converged(folder: str) -> None:
    options = ("--config", folder)
    assert "9 resources" in run_text("cluster", "validate", *options)
    assert run_json("cluster", "apply", *options, code=1)["diagnostics"][0]["code"] == "state_missing"
    assert run_json("cluster", "import", *options)["state_revision"] == 1
    planned = run_json("cluster", "plan", *options)
    assert len(planned["changes"]) == 9 and not planned["converged"]
    assert run_json("--as", "act-ada", "cluster", "apply", *options)["converged"]
    assert "nothing to do" in run_text("cluster", "apply", *options)
    status = run_json("cluster", "status", *options)
    assert {item["status"] for item in status["resources"].values()} == {"applied"}
    assert og.open(f"{folder}/graphs/people.omni").commits.list()[0].actor == "act-ada"


def test_what_is_wrong_ends_with_1_and_is_told_with_its_place(folder: str) -> None:
    path = Path(folder, "cluster.yaml")
    path.write_text(path.read_text() + "grahps: {}\n")
    (found,) = run_json("cluster", "plan", "--config", folder, code=1)["diagnostics"]
    assert (found["code"], found["severity"], found["path"]) == ("unknown_key", "error", "grahps")
    assert found["line"] == path.read_text().count("\n")
    assert "did you mean 'graphs'" in run_text("cluster", "validate", "--config", folder, code=1)


def test_the_command_line_changes_nothing_that_the_cluster_declares(folder: str) -> None:
    run_text("cluster", "import", "--config", folder)
    run_text("cluster", "apply", "--config", folder)
    schema, at = f"{folder}/papers.pg", ("--cluster", folder, "--graph", "people")
    for command in (
        ("schema", "apply", "--schema", schema, *at),
        ("queries", "apply", "--queries", f"{folder}/queries", *at),
        ("init", "--schema", schema, f"{folder}/graphs/new.omni"),
    ):
        assert run_json(*command, code=1)["code"] == "cluster_managed"


def test_a_removal_is_deferred_until_it_is_approved(folder: str) -> None:
    options = ("--config", folder)
    run_text("cluster", "import", *options)
    run_text("cluster", "apply", *options)
    path = Path(folder, "cluster.yaml")
    path.write_text(path.read_text().replace("  papers:\n    schema: papers.pg\n", ""))
    assert "delete graph.papers (deferred)" in run_text("cluster", "apply", *options)
    run_text("cluster", "approve", "graph.people", *options, code=1)
    assert "approval 0" in run_text("cluster", "approve", "graph.papers", *options)
    assert "converged" in run_text("cluster", "apply", *options)
    assert not Path(folder, "graphs/papers.omni").exists()
