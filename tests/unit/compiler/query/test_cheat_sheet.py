"""The cheat sheet: every query of ours compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from omnigraph.compiler.frontend import compile_schema, format_queries
from support.compiling import compile_queries

PAGE = (Path(__file__).parents[4] / "docs" / "cheat-sheet.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CATALOG = compile_schema(next(text for language, text in BLOCKS if language == "pg"))


@pytest.mark.parametrize("text", [text for language, text in BLOCKS if language == "gq"])
def test_a_query_of_the_cheat_sheet_compiles(text: str) -> None:
    assert compile_queries(text, CATALOG)
    assert format_queries(format_queries(text)) == format_queries(text)
