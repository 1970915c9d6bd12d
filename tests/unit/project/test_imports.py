"""The parts of every folder import each other in one direction only."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[3] / "src" / "omnigraph"
FOLDERS = sorted(
    ".".join(path.parent.relative_to(SOURCE.parent).parts) for path in SOURCE.rglob("__init__.py")
)


@pytest.fixture(scope="module")
def source_imports() -> dict[str, set[str]]:
    return imports_under(SOURCE.parent)


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_stands_in_a_folder_imports_in_no_circle(
    folder: str, source_imports: dict[str, set[str]]
) -> None:
    """A sub-folder counts as a whole and a module as itself: a folder's root may hold the lowest and the
    highest. Imports for type checkers and imports inside functions count as well.
    """
    found = circles_in(folder, source_imports)
    assert not found, "\n\n".join("\n".join(circle) for circle in found)


def test_a_circle_is_seen_though_its_imports_are_hidden(tmp_path: Path) -> None:
    texts = {
        "a/__init__.py": "",
        "a/low.py": "from a.b.one import x",
        "a/b/__init__.py": "",
        "a/b/one.py": "def f():\n    from a.c import two\n",
        "a/b/other.py": "from a.b import one",
        "a/c/__init__.py": "",
        "a/c/two.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a.d.three\n",
        "a/d/__init__.py": "",
        "a/d/three.py": "import a.b.other as o\nimport ast.parse\nfrom a.d.four import y",
        "a/d/four.py": "from . import three",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    imports = imports_under(tmp_path)
    assert circles_in("a", imports) == [
        ["a.b.one -> a.c.two", "a.c.two -> a.d.three", "a.d.three -> a.b.other"]
    ]
    assert circles_in("a.b", imports) == []
    assert circles_in("a.d", imports) == [["a.d.four -> a.d.three", "a.d.three -> a.d.four"]]


def circles_in(folder: str, imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the imports between parts of a folder that reach each other, for each such set of parts."""
    edges: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for importer, its in sorted(imports.items()):
        for imported in sorted(its):
            part, other = _part(importer, folder), _part(imported, folder)
            if part and other and part != other:
                edges[part][other].append(f"{importer} -> {imported}")
    reached = {part: _reached(part, edges) for part in edges}
    knots = {
        frozenset(other for other in reached[part] if part in reached.get(other, ()))
        for part in edges
        if part in reached[part]
    }
    return [
        [text for part in sorted(knot) for other in sorted(knot) for text in edges[part].get(other, ())]
        for knot in sorted(knots, key=sorted)
    ]


def imports_under(root: Path) -> dict[str, set[str]]:
    """Return which modules of a root each of them imports; a package is its `__init__`."""
    paths = {".".join(path.relative_to(root).with_suffix("").parts): path for path in root.rglob("*.py")}
    return {
        module: {
            found
            for name in _imported_names(path.read_text(), module.split(".")[:-1])
            # The last part is a module, or something that is defined in what comes before it.
            for found in _first_known((name, name.rpartition(".")[0]), paths)
        }
        for module, path in paths.items()
    }


def _imported_names(text: str, package: list[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join(filter(None, (*above, node.module)))
            yield from (f"{start}.{alias.name}" for alias in node.names)


def _first_known(names: tuple[str, str], known: Mapping[str, Path]) -> list[str]:
    return [found for name in names for found in (name, f"{name}.__init__") if found in known][:1]


def _part(module: str, folder: str) -> str | None:
    """Return which part of a folder a module is or lies in."""
    return module.removeprefix(f"{folder}.").split(".")[0] if module.startswith(f"{folder}.") else None


def _reached(start: str, edges: Mapping[str, Mapping[str, list[str]]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = set(edges.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found
