"""Notebooks, run without a kernel: cell after cell in one namespace, with what each would show."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any


def run_notebook(path: Path) -> list[Any]:
    """Return the value that each code cell ends with, or None."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = json.loads(path.read_text())["cells"]
    return [_run("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]


def _run(source: str, names: dict[str, Any]) -> Any:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
