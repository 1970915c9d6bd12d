"""NumPy's masked arrays are imported when somebody uses them, not when Arrow asks about an array.

Arrow asks of every array that it converts whether it is a `numpy.ma.MaskedArray`, for which NumPy imports
that package: half of a first query. While nobody has imported it there are no masked arrays.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

_NAME = "numpy.ma"


class _MaskedArray:
    """Stands for the class until something else is asked of it than what is one."""

    def __instancecheck__(self, value: object) -> bool:
        loaded = sys.modules.get(_NAME)
        return loaded is not None and isinstance(value, loaded.MaskedArray)

    def __subclasscheck__(self, kind: type) -> bool:
        loaded = sys.modules.get(_NAME)
        return loaded is not None and issubclass(kind, loaded.MaskedArray)

    def __mro_entries__(self, _: tuple[Any, ...]) -> tuple[Any, ...]:
        return (import_module(_NAME).MaskedArray,)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return import_module(_NAME).MaskedArray(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(_NAME).MaskedArray, name)


class _MaskedArrays(ModuleType):
    """Stands for the package until it is imported."""

    MaskedArray = _MaskedArray()

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(_NAME), name)


def leave_masked_arrays_for_later() -> None:
    """Let Arrow ask without an import; a process that has imported the package is left alone."""
    if _NAME not in sys.modules and "ma" not in vars(np):
        vars(np)["ma"] = _MaskedArrays(_NAME)
