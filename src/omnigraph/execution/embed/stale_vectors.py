"""What is said when a text is changed and its vector cannot be renewed."""

from __future__ import annotations

from typing import Any

from omnigraph.base.errors import ValidationError
from omnigraph.compiler.catalog.model import Property
from omnigraph.embedding.config import PROVIDER_VARIABLE


def has_words(text: Any) -> bool:
    """Return whether a text has a vector: NULL and blank ones have none."""
    return isinstance(text, str) and bool(text.strip())


def stale_vector_error(type_name: str, item: Property, text: Any) -> ValidationError:
    """Return the error of a required vector that would stand for another text."""
    assert item.embed is not None
    name, source = f"{type_name}.{item.name}", f"{type_name}.{item.embed.source}"
    if has_words(text):
        why = f"no embedding provider is configured: set {PROVIDER_VARIABLE}, or set {item.name} as well"
    else:
        why = "a blank text has no vector"
    return ValidationError(
        f"an update of {source} needs a new vector in {name}, and {why}", type=type_name, property=item.name
    )
