"""What to embed in files of graph records, from a schema, a spec or a seed manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput
from omnigraph.compiler.frontend import compile_schema

_EXAMPLE = '{"dimension": 384, "types": {"Doc": {"target": "vec", "fields": ["body"]}}}'


@dataclass(frozen=True, slots=True)
class EmbedTarget:
    """A vector of a type, and the fields that its text is made of."""

    type_name: str
    vector: str
    dimension: int
    fields: tuple[str, ...]
    model: str | None = None

    @property
    def name(self) -> str:
        """How users spell it."""
        return f"{self.type_name}.{self.vector}"

    def text(self, data: Mapping[str, Any]) -> str:
        """Return the text to embed: the field itself, or a line `name: value` for each of several fields."""
        if len(self.fields) == 1:
            return render_value(data.get(self.fields[0]))
        known = ((name, render_value(data.get(name))) for name in self.fields)
        return "\n".join(f"{name}: {value}" for name, value in known if value)


def read_spec(path: Path) -> tuple[EmbedTarget, ...]:
    """Read what to embed from a schema (`.pg`), by its `@embed`, or from JSON."""
    text = _read_text(path)
    if path.suffix == ".pg":
        return tuple(
            EmbedTarget(table.name, item.name, item.type.vector or 0, (item.embed.source,), item.embed.model)
            for table in compile_schema(text, file=str(path)).nodes
            for item in table.properties
            if item.embed is not None
        )
    return _parse_spec(_parse_json(path, text), path)


def read_seed(path: Path) -> tuple[Path, Path, tuple[EmbedTarget, ...]]:
    """Read a seed manifest: the records, where the result goes, and what to embed."""
    seed = _parse_json(path, _read_text(path))
    try:
        source, output = seed["sources"]["raw_seed"], seed["artifacts"]["embedded_seed"]
        return path.parent / source, path.parent / output, _parse_spec(seed["embeddings"], path)
    except (KeyError, TypeError):
        raise BadInput(
            f"{path} is not a seed manifest: it needs sources.raw_seed, artifacts.embedded_seed "
            "and embeddings"
        ) from None


def _parse_spec(given: Any, path: Path) -> tuple[EmbedTarget, ...]:
    try:
        dimension = given["dimension"]
        found = tuple(
            EmbedTarget(name, item["target"], item.get("dimension", dimension), tuple(item["fields"]))
            for name, item in given["types"].items()
        )
        right = all(
            isinstance(item.dimension, int)
            and item.dimension > 0
            and item.fields
            and all(isinstance(name, str) for name in (item.vector, *item.fields))
            for item in found
        )
    except (KeyError, TypeError, AttributeError):
        right = False
    if not right:
        raise BadInput(f"{path} does not say what to embed: write {_EXAMPLE}, or give a schema (.pg)")
    return found


def render_value(value: Any) -> str:
    """Return a value of a record as a string."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(render_value(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}", path=str(path)) from error


def _parse_json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not JSON: {error}", path=str(path)) from None
