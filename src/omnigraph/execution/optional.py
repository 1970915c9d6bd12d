"""Packages that are used where they are installed, and what is said where they are not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from omnigraph.base.errors import BadInput


def import_optional(name: str, wanted: str, *, extra: str | None = None) -> Any:
    """Return a module; where its package is missing, say what would install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = error.name or name
        advice = f"pip install 'omnigraph[{extra}]'" if extra is not None else f"pip install {package}"
        raise BadInput(f"{wanted} needs the package {package}: {advice}", package=package) from error
