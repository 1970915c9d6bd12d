"""Rules that were written in several places stand in one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "omnigraph"

HOMES = {
    "how the ends of an edge are stored": (
        r"""["']from["']: ["']src["']|["']src["']: ["']from["']|["']from["'], ["']src["']""",
        "compiler/catalog/model.py",
    ),
    "the sides of a merge": (
        r"""\(["']base["'], ["']ours["'], ["']theirs["']\)""",
        "compiler/catalog/combine/clashes.py",
    ),
    "what a graph may be called": (r"cannot name a graph", "wire/graph_names.py"),
    "a branch or a snapshot": (r"give a branch or a snapshot, not both", "base/choices.py"),
    "a branch or a commit to start from": (r"commit to start from, not both", "base/choices.py"),
    "how many races may be lost": (r"^_?MAX_LOST_RACES\b[^,)]* = ", "graph/publish/races.py"),
    "whether a publish may have succeeded": (
        r"isinstance\(error, (OSError \| )?OutcomeUnknown",
        "graph/publish/outcome.py",
    ),
    "which variable a row is": (r"^_?ROW(_VARIABLE)? = ", "compiler/ir/values.py"),
    "how YAML is parsed": (r"\byaml\.(compose|SafeLoader|safe_load|load)\b", "yaml_text.py"),
}


@pytest.mark.parametrize("rule", HOMES)
def test_a_rule_stands_in_one_module(rule: str) -> None:
    form, home = HOMES[rule]
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if re.search(form, path.read_text(), re.MULTILINE)
    }
    assert found == {home}
