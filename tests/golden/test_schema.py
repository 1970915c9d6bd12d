"""Golden texts of the schema language; `GOLDEN_UPDATE=1` writes what is produced, for review."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from omnigraph.base.errors import OmniError, ParseError
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.migration import MigrationPlan, plan_migration
from omnigraph.compiler.catalog.migration.desired import DesiredSchema
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_schema, format_schema
from omnigraph.compiler.schema.codes import Code
from support.schemas import without_ids

GOLDEN = Path(__file__).parent
UPDATE = bool(os.environ.get("GOLDEN_UPDATE"))


def _texts(folder: str, ending: str) -> list[Path]:
    return sorted((GOLDEN / folder).glob(f"*{ending}"))


def _name(path: Path) -> str:
    return path.stem


def _compare(expected: Path, produced: str) -> None:
    if UPDATE:
        expected.write_text(produced, encoding="utf-8")
    assert produced == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", _texts("schema/errors", ".pg"), ids=_name)
def test_a_wrong_schema_is_refused_with_every_problem(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    fragment = text.splitlines()[0].removeprefix("// expect: ")
    with pytest.raises(ParseError) as caught:
        compile_schema(text, path.name)
    assert fragment in caught.value.message.lower()
    _compare(path.with_suffix(".txt"), caught.value.message + "\n")


@pytest.mark.parametrize("path", _texts("schema/format", ".pg"), ids=_name)
def test_a_schema_is_printed_in_canonical_form(path: Path) -> None:
    produced = format_schema(path.read_text(encoding="utf-8"))
    _compare(path.with_suffix(".txt"), produced)
    assert format_schema(produced) == produced


@pytest.mark.parametrize("path", _texts("schema/catalog", ".pg"), ids=_name)
def test_a_schema_compiles_to_this_catalog(path: Path) -> None:
    catalog = compile_schema(path.read_text(encoding="utf-8"))
    _compare(path.with_suffix(".txt"), json.dumps(codec.to_json(catalog), indent=1) + "\n")


@pytest.mark.parametrize("path", _texts("migration", ".txt"), ids=_name)
def test_a_schema_change_gives_this_plan(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    before, _, _ = text.partition("-- plan\n")
    accepted, _, desired = before.removeprefix("-- accepted\n").partition("-- desired\n")
    _compare(path, f"{before}-- plan\n{_plan(compile_schema(accepted), desired)}")


@pytest.mark.parametrize("path", _texts("extension", ".txt"), ids=_name)
def test_an_extension_gives_this_plan_and_schema(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    before, _, _ = text.partition("-- plan\n")
    accepted, _, addition = before.removeprefix("-- accepted\n").partition("-- addition\n")
    desired = DesiredSchema(addition, extends=True)
    try:
        plan, schema = desired.plan(compile_schema(accepted), accepted)
        found = f"{_lines(plan)}-- schema\n{schema}"
        assert [step for step in plan.steps if step.kind.startswith(("drop", "rename"))] == []
        assert without_ids(compile_schema(schema)) == without_ids(plan.target)
        assert desired.plan(plan.target, schema)[0].steps == ()
    except OmniError as error:
        found = f"{type(error).__name__}\n{error.message}\n"
    _compare(path, f"{before}-- plan\n{found}")


def _plan(accepted: Catalog, desired: str) -> str:
    try:
        return _lines(plan_migration(accepted, desired))
    except OmniError as error:
        return f"{type(error).__name__}\n{error.message}\n"


def _lines(plan: MigrationPlan) -> str:
    lines = [f"supported: {str(plan.supported).lower()}"]
    lines += [f"warning: {warning}" for warning in plan.warnings]
    lines += [json.dumps(step.to_json()) for step in plan.steps]
    return "\n".join(lines) + "\n"


def test_every_code_has_a_golden_text() -> None:
    recorded = "".join(path.read_text(encoding="utf-8") for path in _texts("schema/errors", ".txt"))
    recorded += "".join(path.read_text(encoding="utf-8") for path in _texts("migration", ".txt"))
    recorded += "".join(path.read_text(encoding="utf-8") for path in _texts("extension", ".txt"))
    # Too many problems and broken Unicode would make unreadable files, and S508 and S509 are found by graphs,
    # not by compiling; unit tests cover them.
    missing = {code.value for code in Code if f"[{code}]" not in recorded} - {"S999", "S104", "S508", "S509"}
    assert not missing
