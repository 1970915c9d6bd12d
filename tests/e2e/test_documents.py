"""What README and docs show must run, and what exists must be in them."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base.settings import PREFIX, Settings
from omnigraph.cli.commands import COMMANDS, GROUPS, load_command

ROOT = Path(__file__).resolve().parents[2]
# `test_serve.py` runs the one, which asks a server, and `test_tutorial.py` the other, with its shell.
ELSEWHERE = {"docs/server.md", "docs/tutorial.md"}
PAGES = [
    name
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python\n" in path.read_text() and (name := path.relative_to(ROOT).as_posix()) not in ELSEWHERE
]

SCHEMA = "node Person { name: String @key  age: I32? }\nedge Knows: Person -> Person { since: Date? }"


def _examples(page: str) -> list[tuple[str, str]]:
    """Return each python block of a page with the text block that follows it at once: what it prints."""
    text = (ROOT / page).read_text()
    return re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", text, re.MULTILINE | re.DOTALL)


def _timeless(text: str) -> str:
    return re.sub(r"[\d.]+ ms", "some ms", text)


@pytest.mark.parametrize("page", PAGES)
def test_every_python_example_runs_and_prints_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = _examples(page)
    assert examples, f"{page} has no example"
    names: dict[str, object] = {"og": og}
    if page not in ("README.md", "docs/graph.md"):
        names["g"] = og.init("people", SCHEMA, actor="act-ada")
    for block, printed in examples:
        capsys.readouterr()
        exec(compile(block, page, "exec"), names)
        if printed:
            assert _timeless(capsys.readouterr().out) == _timeless(printed)


def test_every_setting_is_documented_with_its_default() -> None:
    page = (ROOT / "docs/graph.md").read_text()
    for item in fields(Settings):
        row = f"| `{PREFIX}{item.name.upper()}` | {item.default} | {item.metadata['meaning']} |"
        assert row in page


def test_every_command_is_named_in_the_docs() -> None:
    pages = "\n".join(
        path.read_text() for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    )
    for name in (*COMMANDS, *GROUPS):
        for words in [f"{name} {sub}" for sub in getattr(load_command(name), "commands", {})] or [name]:
            assert words in pages, f"`omnigraph {words}` is not documented"


def test_every_public_method_is_named_in_the_docs() -> None:
    pages = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
    graph = og.Graph
    for name in [name for name in vars(graph) if not name.startswith("_")]:
        assert f"g.{name}" in pages, f"Graph.{name} is not documented"


def test_relative_links_lead_somewhere() -> None:
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_recipes_for_schedulers_compile_and_call_the_steps_of_their_page() -> None:
    text = (ROOT / "docs/coming-from-delta.md").read_text()
    recipes = re.findall(r"^```py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    steps = set(re.findall(r"^def (\w+_people)\(", text, re.MULTILINE))
    assert (len(recipes), len(steps)) == (2, 3)
    for recipe in recipes:
        names = {node.id for node in ast.walk(ast.parse(recipe)) if isinstance(node, ast.Name)}
        assert steps <= names
