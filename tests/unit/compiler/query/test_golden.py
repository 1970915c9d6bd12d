"""Golden pairs: each query file has exactly this outcome."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from omnigraph.base.errors import ParseError, TypeCheckError
from omnigraph.compiler.frontend import compile_schema
from support.compiling import compile_queries
from support.show_ir import show

FOLDER = Path(__file__).parents[3] / "golden" / "query"
CODES = [*(f"t{number:02d}" for number in range(1, 27)), "d2"]
FILES = sorted(FOLDER.glob("*.gq"))


def outcome(text: str) -> str:
    """Return the problems of a query text, or its executable form."""
    catalog = compile_schema((FOLDER / "schema.pg").read_text())
    try:
        compiled = compile_queries(text, catalog)
    except (ParseError, TypeCheckError) as error:
        return f"{error}\n"
    return "".join(f"{show(query)}\n" for query in compiled.values())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_query_file_has_its_outcome(file: Path) -> None:
    found, wanted = outcome(file.read_text()), file.with_suffix(".out")
    if os.environ.get("UPDATE_GOLDEN"):
        wanted.write_text(found)
    assert found == wanted.read_text()


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_correct_and_a_faulty_file(code: str) -> None:
    correct = [file for file in FILES if file.stem.startswith(f"{code}-ok-")]
    faulty = [file for file in FILES if file.stem.startswith(f"{code}-") and file not in correct]
    shown = f"[{code[0].upper()}{code[1:].lstrip('0')}]"
    assert correct and not any(re.search(r"\[(T\d|D2)", outcome(file.read_text())) for file in correct)
    assert faulty and all(shown in outcome(file.read_text()) for file in faulty)
