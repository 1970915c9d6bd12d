"""Write the types of the asynchronous twins, `sdk/aio/handles.pyi`, from those of the handles."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from functools import cached_property
from pathlib import Path
from typing import Any

from omnigraph.sdk.aio import handles
from omnigraph.sdk.aio.twins import TWINS, Awaited
from omnigraph.sdk.opening import init, open

STUB = Path(inspect.getfile(handles)).with_suffix(".pyi")
HEAD = '''"""The types of the asynchronous twins. Made by `scripts/async_stub.py`."""

from collections.abc import AsyncIterator, Awaitable
from typing import Self
'''
# What a handle has besides the methods and properties of its class.
ATTRIBUTES = {
    "AsyncGraph": {"branch": "str", "actor": "str | None", "read_only": "bool"},
    "AsyncSnapshot": {"branch": "str"},
    "AsyncBlob": dict.fromkeys(("entity", "type", "id", "property"), "str"),
}
PARTS = {
    "branches": "AsyncBranches",
    "commits": "AsyncCommits",
    "tags": "AsyncTags",
    "schema": "AsyncSchema",
    "changes": "AsyncChanges",
}
PINNED = ("omnigraph.graph.snapshot", "Snapshot")


class Names:
    """The names of annotations, and where they come from."""

    def __init__(self) -> None:
        self.imports: dict[str, tuple[str, str]] = {}
        self.twins = {(kind.__module__, kind.__name__): twin.__name__ for kind, twin in TWINS.items()}

    def known_in(self, module: str) -> dict[str, tuple[str, str]]:
        """Return where the names of a module come from, those for type checkers included."""
        tree = ast.parse(inspect.getsource(sys.modules[module]))
        found: dict[str, tuple[str, str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                found |= {item.asname or item.name: (node.module, item.name) for item in node.names}
            elif isinstance(node, ast.Import):
                found |= {item.asname or item.name: (item.name, "") for item in node.names}
        for statement in tree.body:
            if isinstance(statement, ast.ClassDef):
                found[statement.name] = (module, statement.name)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                found[statement.targets[0].id] = (module, statement.targets[0].id)
        return found

    def spell(self, node: ast.expr, module: str, is_answer: bool) -> ast.expr:
        """Return an annotation with the twins in it, having noted what it needs to be imported."""
        return Speller(self, self.known_in(module), is_answer).visit(node)

    def header(self) -> str:
        """Return the imports."""
        lines = []
        for name, (module, original) in sorted(self.imports.items()):
            if not original:
                lines.append(f"import {module}" + (f" as {name}" if name != module else ""))
            else:
                lines.append(f"from {module} import {original}" + (f" as {name}" if name != original else ""))
        return "\n".join(lines)


class Speller(ast.NodeTransformer):
    """Puts twins for what is awaited."""

    def __init__(self, names: Names, known: dict[str, tuple[str, str]], is_answer: bool) -> None:
        self.names, self.known, self.is_answer = names, known, is_answer

    def visit_Name(self, node: ast.Name) -> ast.expr:
        origin = self.known.get(node.id)
        if origin is None:
            return node
        if self.is_answer and origin in self.names.twins:
            return ast.Name(self.names.twins[origin])
        if self.is_answer and origin == ("collections.abc", "Iterator"):
            return ast.Name("AsyncIterator")
        before = self.names.imports.setdefault(node.id, origin)
        assert before == origin, f"{node.id} is both {before} and {origin}"
        if origin == PINNED and not self.is_answer:
            return ast.BinOp(node, ast.BitOr(), ast.Name("AsyncSnapshot"))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if self.is_answer and ast.unparse(node.value) == "Callable":
            assert isinstance(node.slice, ast.Tuple)
            last = ast.Subscript(ast.Name("Awaitable"), node.slice.elts[-1])
            node.slice = ast.Tuple([*node.slice.elts[:-1], last])
        return node


def spell_function(names: Names, found: Any, name: str | None = None, answer: str | None = None) -> str:
    """Return the awaited form of a function."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
    assert isinstance(node, ast.FunctionDef)
    arguments = node.args
    for item in (*arguments.args, *arguments.kwonlyargs, *filter(None, (arguments.vararg, arguments.kwarg))):
        if item.annotation is not None:
            item.annotation = names.spell(item.annotation, found.__module__, is_answer=False)
    known = names.known_in(found.__module__)
    for default in filter(None, (*arguments.defaults, *arguments.kw_defaults)):
        if isinstance(default, ast.Name):
            names.imports[default.id] = known[default.id]
    assert node.returns is not None
    returns = ast.Name(answer) if answer else names.spell(node.returns, found.__module__, is_answer=True)
    body: list[ast.stmt] = [ast.Expr(ast.Constant(inspect.getdoc(found) or "")), ast.Expr(ast.Constant(...))]
    made = ast.AsyncFunctionDef(name or node.name, arguments, body, [], returns)
    return ast.unparse(ast.fix_missing_locations(made))


def spell_class(names: Names, kind: type, twin: type) -> str:
    """Return a twin's members with their types."""
    attributes = ATTRIBUTES.get(twin.__name__, {})
    lines = [f'"""{(kind.__doc__ or "").splitlines()[0]}"""'] + [
        f"{name}: {type_}" for name, type_ in attributes.items()
    ]
    methods = []
    for name in sorted(vars(twin)):
        if name.startswith("_") or name in attributes:
            continue
        found = inspect.getattr_static(kind, name, None)
        if name in PARTS and twin.__name__ == "AsyncGraph":
            lines.append(f"{name}: {PARTS[name]}")
        elif isinstance(found, property | cached_property):
            getter = found.fget if isinstance(found, property) else found.func
            assert getter is not None
            (node,) = ast.parse(textwrap.dedent(inspect.getsource(getter))).body
            assert isinstance(node, ast.FunctionDef) and node.returns is not None
            type_ = ast.unparse(names.spell(node.returns, getter.__module__, is_answer=True))
            lines.append(f"{name}: {f'Awaitable[{type_}]' if is_awaited(twin, name) else type_}")
        elif inspect.isfunction(found):
            methods.append(spell_function(names, found))
        else:
            annotation = ast.parse(kind.__annotations__[name], mode="eval").body
            lines.append(f"{name}: {ast.unparse(names.spell(annotation, kind.__module__, is_answer=True))}")
    if "__aiter__" in vars(twin):
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind.__iter__))).body  # type: ignore[attr-defined]
        assert isinstance(node, ast.FunctionDef) and node.returns is not None
        answer = ast.unparse(names.spell(node.returns, kind.__module__, is_answer=True))
        methods.append(f"def __aiter__(self) -> {answer}: ...")
    if "__aenter__" in vars(twin):
        methods.append("async def __aenter__(self) -> Self: ...")
        methods.append("async def __aexit__(self, *raised: object) -> None: ...")
    return f"class {twin.__name__}:\n" + textwrap.indent("\n\n".join(["\n".join(lines), *methods]), "    ")


def is_awaited(twin: type, name: str) -> bool:
    """Return whether an attribute of a twin has to be awaited."""
    probe = type("Probe", (), {name: None})()
    return isinstance(getattr(twin(probe, None), name), Awaited)


def make_stub() -> str:
    """Return the text of the stub."""
    names = Names()
    classes = [spell_class(names, kind, twin) for kind, twin in TWINS.items()]
    functions = [
        spell_function(names, open, "aopen", "AsyncGraph"),
        spell_function(names, init, "ainit", "AsyncGraph"),
    ]
    hidden = "HIDDEN: tuple[str, ...]"
    text = "\n\n".join([f"{HEAD}{names.header()}", hidden, *classes, *functions]) + "\n"
    ruff = Path(sys.executable).with_name("ruff")
    for rules in (("check", "--fix", "--select", "I", "-q"), ("format", "-q")):
        command = [str(ruff), *rules, "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    STUB.write_text(make_stub())
