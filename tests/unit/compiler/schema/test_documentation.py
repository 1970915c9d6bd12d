"""Every example of the schema pages is compiled, refused or planned as it says."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from omnigraph.base.errors import ParseError
from omnigraph.compiler.catalog.migration import plan_migration
from omnigraph.compiler.frontend import compile_schema, format_schema

DOCS = Path(__file__).parents[4] / "docs"
_BLOCK = re.compile(r"^```pg(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

Block = tuple[str, str]


def _blocks(page: str) -> list[Block]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [(match["info"].strip(), match["text"]) for match in _BLOCK.finditer(text)]


def _schemas() -> list[Block]:
    return _blocks("schema-language.md")


@pytest.mark.parametrize("text", [text for info, text in _schemas() if not info])
def test_an_example_compiles_and_keeps_its_meaning_when_formatted(text: str) -> None:
    assert compile_schema(format_schema(text)) == compile_schema(text)


@pytest.mark.parametrize(("info", "text"), [block for block in _schemas() if block[0]])
def test_a_wrong_example_is_refused_as_it_says(info: str, text: str) -> None:
    assert info.startswith("error: ")
    code, _, fragment = info.removeprefix("error: ").partition(" ")
    with pytest.raises(ParseError) as caught:
        compile_schema(text)
    assert any(problem.code == code and fragment in problem.render() for problem in caught.value.diagnostics)


@pytest.mark.parametrize(
    ("before", "after"),
    [pair for pair in pairwise(_blocks("schema-migration.md")) if pair[1][0].startswith("after: ")],
)
def test_an_example_is_planned_as_it_says(before: Block, after: Block) -> None:
    assert before[0] == "before"
    plan = plan_migration(compile_schema(before[1]), after[1])
    found = [step.kind for step in plan.steps] + [
        code for step in plan.steps if (code := step.to_json().get("code"))
    ]
    assert set(found) == set(after[0].removeprefix("after: ").split())
