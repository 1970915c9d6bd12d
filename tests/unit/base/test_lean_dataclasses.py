"""Dataclasses of the package are like any others, and cost less to make."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any

import pytest

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.compiler.source import Span
from omnigraph.compiler.types import PropertyType, Scalar

BEFORE_3_13 = sys.version_info < (3, 13)


def _make(module: str) -> Any:
    """Return a class with every kind of field, made as one of a module is."""
    members = {
        "__module__": module,
        "__annotations__": {"a": int, "b": list[int], "c": str, "d": int},
        "b": field(default_factory=list),
        "c": field(default="x", compare=False, repr=False),
        "d": field(default=3, hash=False),
    }
    return dataclass(frozen=True, order=True)(type("Kind", (), members))


OURS, OTHERS = _make("omnigraph.base.kinds"), _make("elsewhere.kinds")


@pytest.mark.parametrize("kind", [OURS, OTHERS], ids=["ours", "others"])
def test_a_dataclass_compares_hashes_and_shows_as_python_says(kind: Any) -> None:
    one, same, other = kind(1, [2], "x", 4), kind(1, [2], "y", 4), kind(1, [2], "x", 5)
    assert one == same != other
    assert one != (1, [2], 4)
    assert one < other
    assert repr(one) == "Kind(a=1, b=[2], d=4)"
    assert kind.__eq__.__qualname__.endswith("Kind.__eq__")
    assert kind.__repr__.__qualname__.endswith("Kind.__repr__")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert hash(Span(1, 2)) == hash(Span(1, 2)) != hash(Span(2, 1))


@pytest.mark.parametrize("kind", [OURS, OTHERS], ids=["ours", "others"])
def test_a_frozen_one_stays_as_it_is(kind: Any) -> None:
    one = kind(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        one.a = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
        del one.a
    with pytest.raises(FrozenInstanceError):
        one.new = 2


def test_one_with_slots_is_pickled_and_shown() -> None:
    problem = Diagnostic("T1", "what", 1, 2)
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert repr(PropertyType(Scalar.I64)).startswith(
        "PropertyType(scalar=<Scalar.I64: 'I64'>, nullable=False"
    )
    assert len({PropertyType(Scalar.I64), PropertyType(Scalar.I64), PropertyType(Scalar.I32)}) == 2


def test_one_that_holds_itself_is_shown() -> None:
    one = OURS(1)
    one.b.append(one)
    assert repr(one) == "Kind(a=1, b=[...], d=3)"


def test_a_process_that_reads_compiles_one_function_for_a_dataclass() -> None:
    program = """
import dataclasses
compiled, made = [], []
create, process = getattr(dataclasses, "_create_fn", None), dataclasses._process_class
dataclasses._create_fn = lambda *given, **named: compiled.append(1) or create(*given, **named)
dataclasses._process_class = lambda *given, **named: made.append(1) or process(*given, **named)
import omnigraph
omnigraph.open
print(len(compiled), len(made))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    compiled, made = map(int, done.stdout.split())
    assert made > 200
    assert compiled < 1.5 * made, "six for each, as Python before 3.13 makes them, take a tenth of a second"


def test_dataclasses_of_others_are_made_by_python() -> None:
    assert OTHERS.__eq__.__code__.co_filename != OURS.__eq__.__code__.co_filename or not BEFORE_3_13
    assert dataclasses.is_dataclass(OURS)
