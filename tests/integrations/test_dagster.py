"""The recipe for Dagster that the docs show runs in Dagster."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from dagster import materialize

import omnigraph as og

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from-delta.md").read_text()
DAY = "2026-01-31"


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    """Return the names of the recipe, for a graph and a folder of the test instead of those of the page."""
    graph = og.init(tmp_path / "people", "node Person { name: String @key  age: I32? }")
    (steps,) = re.findall(r"^```python\n(def load_people.*?)^run, nightly", PAGE, re.MULTILINE | re.DOTALL)
    (asset,) = re.findall(r"^```py\n(from dagster .*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"og": og, "URI": graph.uri}
    exec(steps + asset.replace("s3://bucket", str(tmp_path)), names)
    return names


def nightly(tmp_path: Path, *lines: str) -> None:
    folder = tmp_path / "in" / DAY
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "people.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_a_partition_lands_as_one_merge_and_is_corrected_by_another(
    recipe: dict[str, Any], tmp_path: Path
) -> None:
    for age in (33, 33, 34):
        nightly(tmp_path, f'{{"type": "Person", "data": {{"name": "eve", "age": {age}}}}}')
        assert materialize([recipe["people"]], partition_key=DAY).success
        graph = og.open(recipe["URI"])
        assert graph.branches.list() == ["main"]
        assert graph.query("query q() { match { $p: Person } return { $p.age } }").scalar() == age
    assert {commit.message for commit in graph.commits.list() if commit.operation == "merge"} == {
        f"run-{DAY}"
    }


def test_a_check_that_fails_leaves_main_and_keeps_the_branch(recipe: dict[str, Any], tmp_path: Path) -> None:
    nightly(tmp_path, '{"type": "Person", "data": {"name": "eve", "age": -1}}')
    assert not materialize([recipe["people"]], partition_key=DAY, raise_on_error=False).success
    graph = og.open(recipe["URI"])
    assert graph.branches.list() == ["main", f"run-{DAY}"]
    assert graph.snapshot().tables[0].rows == 0
