"""Vectors in files of graph records: filled in, computed again or taken out, line by line."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from omnigraph.base.errors import BadInput
from omnigraph.compiler.frontend import compile_schema
from omnigraph.embedding.embedder import Embedder
from omnigraph.embedding.vectors import Vector

EmbedMode = Literal["fill_missing", "reembed_all", "clean"]
_AT_ONCE = 1024
_EXAMPLE = '{"dimension": 384, "types": {"Doc": {"target": "vec", "fields": ["body"]}}}'


@dataclass(frozen=True, slots=True)
class Target:
    """A vector of a type, and the fields that its text is made of."""

    type_name: str
    property: str
    dimension: int
    fields: tuple[str, ...]
    model: str | None = None

    def text(self, data: Mapping[str, Any]) -> str:
        """Return the text of a record: the field as it is, or several fields with their names, one a line."""
        if len(self.fields) == 1:
            return _shown(data.get(self.fields[0]))
        known = ((name, _shown(data.get(name))) for name in self.fields)
        return "\n".join(f"{name}: {value}" for name, value in known if value)


@dataclass(frozen=True, slots=True)
class Selector:
    """A value that a field must have, perhaps only in one type."""

    field: str
    value: str
    type_name: str | None = None

    @staticmethod
    def parse(text: str) -> Selector:
        """Read `Type:field=value` or `field=value`."""
        left, mark, value = text.partition("=")
        type_name, colon, name = left.rpartition(":")
        if not mark or not name.strip() or (colon and not type_name.strip()):
            raise BadInput(f"{text!r} selects nothing: write Type:field=value, or field=value")
        return Selector(name.strip(), value.strip(), type_name.strip() or None)

    def matches(self, type_name: str, data: Mapping[str, Any]) -> bool:
        """Say whether a record has the value."""
        of_type = self.type_name in (None, type_name)
        return of_type and self.field in data and _shown(data[self.field]).strip() == self.value


@dataclass(frozen=True, slots=True)
class FileJob:
    """What to do with which records of a file."""

    input: Path
    output: Path
    targets: Sequence[Target]
    mode: EmbedMode = "fill_missing"
    types: Collection[str] = ()
    selectors: Sequence[Selector] = ()


@dataclass(slots=True)
class FileCounts:
    """How many records a file has, how many were selected, and how many vectors came or went."""

    records: int = 0
    selected: int = 0
    embedded: int = 0
    cleaned: int = 0


@dataclass(slots=True)
class _Line:
    text: str
    record: dict[str, Any] | None = None
    """The record, when its type has vectors and it is selected."""
    changed: bool = False
    targets: list[Target] = field(default_factory=list)


def embed_file(job: FileJob, embedder: Embedder) -> FileCounts:
    """Write the output, which appears complete or not at all; other records pass through as they are."""
    counts = FileCounts()
    if job.mode != "clean":
        for target in job.targets:
            embedder.require_model(target.model, f"{target.type_name}.{target.property}")
    draft = job.output.with_name(f"{job.output.name}.part")
    try:
        job.output.parent.mkdir(parents=True, exist_ok=True)
        with job.input.open(encoding="utf-8") as source, draft.open("w", encoding="utf-8") as out:
            lines = _lines(job, source, counts)
            while part := list(islice(lines, _AT_ONCE)):
                _clean(part, counts) if job.mode == "clean" else _embed(part, embedder, counts)
                for line in part:
                    text = json.dumps(line.record, ensure_ascii=False) if line.changed else line.text
                    out.write(text + "\n")
        os.replace(draft, job.output)
    except (OSError, UnicodeError) as error:
        raise BadInput(f"the records cannot be read or written: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return counts


def read_spec(path: Path) -> tuple[Target, ...]:
    """Read what to embed from a schema (`.pg`), by its `@embed`, or from JSON."""
    text = _read(path)
    if path.suffix == ".pg":
        return tuple(
            Target(table.name, item.name, item.type.vector or 0, (item.embed.source,), item.embed.model)
            for table in compile_schema(text, file=str(path)).nodes
            for item in table.properties
            if item.embed is not None
        )
    return _spec(_json(path, text), path)


def read_seed(path: Path) -> tuple[Path, Path, tuple[Target, ...]]:
    """Read a seed manifest: the records, where the result goes, and what to embed."""
    seed = _json(path, _read(path))
    try:
        source, output = seed["sources"]["raw_seed"], seed["artifacts"]["embedded_seed"]
        return path.parent / source, path.parent / output, _spec(seed["embeddings"], path)
    except (KeyError, TypeError):
        raise BadInput(
            f"{path} is no seed manifest: it needs sources.raw_seed, artifacts.embedded_seed and embeddings"
        ) from None


def _spec(given: Any, path: Path) -> tuple[Target, ...]:
    try:
        dimension = given["dimension"]
        found = tuple(
            Target(name, item["target"], item.get("dimension", dimension), tuple(item["fields"]))
            for name, item in given["types"].items()
        )
        right = all(
            isinstance(item.dimension, int)
            and item.dimension > 0
            and item.fields
            and all(isinstance(name, str) for name in (item.property, *item.fields))
            for item in found
        )
    except (KeyError, TypeError, AttributeError):
        right = False
    if not right:
        raise BadInput(f"{path} does not say what to embed: write {_EXAMPLE}, or give a schema (.pg)")
    return found


def _lines(job: FileJob, source: Iterator[str], counts: FileCounts) -> Iterator[_Line]:
    targets: dict[str, list[Target]] = {}
    for target in job.targets:
        targets.setdefault(target.type_name, []).append(target)
    for number, text in enumerate(source, 1):
        if not text.strip():
            continue
        counts.records += 1
        line = _Line(text.rstrip("\n"))
        record = _record(job.input, number, text)
        type_name = record.get("type")
        if isinstance(type_name, str) and _is_selected(job, type_name, record["data"]):
            counts.selected += 1
            line.record, line.targets = record, _wanted(job.mode, targets.get(type_name, []), record["data"])
        yield line


def _record(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}:{number}: the line is not one JSON value: {error}") from None
    if not isinstance(record, dict) or not isinstance(record.setdefault("data", {}), dict):
        raise BadInput(f"{path}:{number}: a record is a JSON object with an object under 'data'")
    return record


def _is_selected(job: FileJob, type_name: str, data: Mapping[str, Any]) -> bool:
    if job.types and type_name not in job.types:
        return False
    return not job.selectors or any(item.matches(type_name, data) for item in job.selectors)


def _wanted(mode: EmbedMode, targets: list[Target], data: Mapping[str, Any]) -> list[Target]:
    if mode == "clean":
        return [item for item in targets if item.property in data]
    wanted = targets if mode == "reembed_all" else [item for item in targets if not data.get(item.property)]
    return [item for item in wanted if item.text(data).strip()]


def _clean(lines: list[_Line], counts: FileCounts) -> None:
    for line in lines:
        for target in line.targets:
            assert line.record is not None
            del line.record["data"][target.property]
            line.changed = True
            counts.cleaned += 1


def _embed(lines: list[_Line], embedder: Embedder, counts: FileCounts) -> None:
    """Embed the texts of some lines, all texts of one dimension together."""
    waiting: dict[int, list[tuple[_Line, Target, str]]] = {}
    for line in lines:
        for target in line.targets:
            assert line.record is not None
            item = (line, target, target.text(line.record["data"]))
            waiting.setdefault(target.dimension, []).append(item)
    for dimension, items in waiting.items():
        found = embedder.vectors([text for _, _, text in items], dimension)
        for (line, target, _), vector in zip(items, found, strict=True):
            assert line.record is not None
            line.record["data"][target.property] = _numbers(vector)
            line.changed = True
            counts.embedded += 1


def _numbers(vector: Vector) -> list[float]:
    """Return the shortest numbers that are the same when they are stored."""
    return [float(str(value)) for value in vector]


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}", path=str(path)) from error


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not JSON: {error}", path=str(path)) from None
