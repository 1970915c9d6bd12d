"""The references say what the program and its docstrings say, and leave nothing out."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

import pytest

import omnigraph as og
from omnigraph.cli.commands import COMMANDS, GROUPS, load_command

ROOT = Path(__file__).resolve().parents[3]


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[name] = script  # dataclasses look for their module there
    spec.loader.exec_module(script)
    return script


SCRIPT = _script("reference")


@pytest.mark.parametrize("page", sorted(SCRIPT.PAGES))
def test_a_reference_is_what_the_script_makes_of_the_program(page: str) -> None:
    assert (SCRIPT.FOLDER / page).read_text() == SCRIPT.PAGES[page](), "run scripts/reference.py"


def test_every_public_function_method_and_value_says_what_it_is() -> None:
    silent = [name for name in og.__all__ if not inspect.getdoc(getattr(og, name))]
    for name, (_, module) in SCRIPT.HANDLES.items():
        kind = getattr(importlib.import_module(module), name)
        silent += [f"{name}.{word}" for word, member in SCRIPT._members(kind) if not member.__doc__]
    assert silent == []


def test_every_command_and_every_flag_says_what_it_is() -> None:
    silent = []
    for name in (*COMMANDS, *GROUPS):
        command = load_command(name)
        for word, member in getattr(command, "commands", {"": command}).items():
            silent += [] if member.help else [f"{name} {word}"]
            silent += [f"{name} {word} {param.opts[0]}" for param in member.params if not param.help]
    assert silent == []


def test_drawings_are_what_the_script_draws() -> None:
    drawings = _script("drawings")
    found = {path.stem: path.read_text() for path in drawings.FOLDER.glob("*.svg")}
    assert found == {name: drawings.draw(each) for name, each in drawings.DRAWINGS.items()}, "run it again"
