"""Vectors in files of graph records: added, computed again or removed, line by line."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from omnigraph.base.errors import BadInput
from omnigraph.embedding.embedder import Embedder
from omnigraph.embedding.vectors import Vector
from omnigraph.execution.embed.spec import EmbedTarget, render_value
from omnigraph.execution.load.parse.strict_json import BadRecord, parse_line
from omnigraph.execution.load.sources.line_files import read_line_blocks
from omnigraph.storage.files.outputs import whole_file

EmbedMode = Literal["fill_missing", "reembed_all", "clean"]
_LINES_PER_PART = 1024


@dataclass(frozen=True, slots=True)
class Selector:
    """A value that a field must have, in one type or in all."""

    field: str
    value: str
    type_name: str | None = None

    @staticmethod
    def parse(text: str) -> Selector:
        """Read `Type:field=value` or `field=value`."""
        left, mark, value = text.partition("=")
        type_name, colon, name = left.rpartition(":")
        if not mark or not name.strip() or (colon and not type_name.strip()):
            raise BadInput(f"{text!r} is not a selector: write Type:field=value, or field=value")
        return Selector(name.strip(), value.strip(), type_name.strip() or None)

    def matches(self, type_name: str, data: Mapping[str, Any]) -> bool:
        """Return whether a record has the value."""
        of_type = self.type_name in (None, type_name)
        return of_type and self.field in data and render_value(data[self.field]).strip() == self.value


@dataclass(frozen=True, slots=True)
class FileJob:
    """Which records of a file to change, and how; `types` names types or properties (`Doc.vec`)."""

    input: Path
    output: Path
    targets: Sequence[EmbedTarget]
    mode: EmbedMode = "fill_missing"
    types: Collection[str] = ()
    selectors: Sequence[Selector] = ()

    def __post_init__(self) -> None:
        known = {name for target in self.targets for name in (target.type_name, target.name)}
        for name in self.types:
            if name not in known:
                raise BadInput(
                    f"{name!r} is not embedded here: use {', '.join(sorted(known)) or 'another spec'}"
                )

    def targets_by_type(self) -> dict[str, list[EmbedTarget]]:
        """Return the vectors to compute, by type."""
        found: dict[str, list[EmbedTarget]] = {}
        for target in self.targets:
            if not self.types or {target.type_name, target.name} & {*self.types}:
                found.setdefault(target.type_name, []).append(target)
        return found


@dataclass(slots=True)
class FileCounts:
    """The number of records, of selected ones, and of vectors that were added or removed."""

    records: int = 0
    selected: int = 0
    embedded: int = 0
    cleaned: int = 0


@dataclass(slots=True)
class _RecordLine:
    text: bytes
    record: dict[str, Any] | None = None
    """The record, if it is selected."""
    changed: bool = False
    targets: list[EmbedTarget] = field(default_factory=list)


def embed_file(job: FileJob, embedder: Embedder) -> FileCounts:
    """Write the output, which appears complete or not at all; other records pass through as they are."""
    counts = FileCounts()
    if job.mode != "clean":
        for target in job.targets:
            embedder.require_model(target.model, target.name)
    try:
        job.output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{job.output} cannot be written: {error}", path=str(job.output)) from error
    with whole_file(job.output) as out:
        lines = _read_lines(job, counts)
        while part := list(islice(lines, _LINES_PER_PART)):
            _clean(part, counts) if job.mode == "clean" else _embed(part, embedder, counts)
            for line in part:
                text = json.dumps(line.record, ensure_ascii=False).encode() if line.changed else line.text
                out.write(text + b"\n")
    return counts


def _read_lines(job: FileJob, counts: FileCounts) -> Iterator[_RecordLine]:
    targets = job.targets_by_type()
    for number, text in _number_lines(job.input):
        counts.records += 1
        line = _RecordLine(text)
        record = _parse_record(job.input, number, text)
        type_name = record.get("type")
        if isinstance(type_name, str) and _is_selected(job, targets, type_name, record["data"]):
            counts.selected += 1
            line.record, line.targets = (
                record,
                _select_targets(job.mode, targets.get(type_name, []), record["data"]),
            )
        yield line


def _number_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, with their numbers."""
    for block in read_line_blocks(str(path), {}):
        for number, text in enumerate(block.data.splitlines(), block.first):
            if text.strip():
                yield number, text


def _parse_record(path: Path, number: int, text: bytes) -> dict[str, Any]:
    try:
        record = parse_line(text)
    except BadRecord as error:
        raise BadInput(f"{path}:{number}: {error.problems[0].message}", path=str(path), line=number) from None
    if not isinstance(record, dict) or not isinstance(record.setdefault("data", {}), dict):
        raise BadInput(f"{path}:{number}: a record is a JSON object with an object under 'data'")
    return record


def _is_selected(
    job: FileJob, targets: Mapping[str, list[EmbedTarget]], type_name: str, data: Mapping[str, Any]
) -> bool:
    if job.types and type_name not in targets:
        return False
    return not job.selectors or any(item.matches(type_name, data) for item in job.selectors)


def _select_targets(
    mode: EmbedMode, targets: list[EmbedTarget], data: Mapping[str, Any]
) -> list[EmbedTarget]:
    if mode == "clean":
        return [item for item in targets if item.vector in data]
    wanted = targets if mode == "reembed_all" else [item for item in targets if not data.get(item.vector)]
    return [item for item in wanted if item.text(data).strip()]


def _clean(lines: list[_RecordLine], counts: FileCounts) -> None:
    for line in lines:
        for target in line.targets:
            assert line.record is not None
            del line.record["data"][target.vector]
            line.changed = True
            counts.cleaned += 1


def _embed(lines: list[_RecordLine], embedder: Embedder, counts: FileCounts) -> None:
    """Embed the texts of some lines, all texts of one dimension together."""
    waiting: dict[int, list[tuple[_RecordLine, EmbedTarget, str]]] = {}
    for line in lines:
        for target in line.targets:
            assert line.record is not None
            item = (line, target, target.text(line.record["data"]))
            waiting.setdefault(target.dimension, []).append(item)
    for dimension, items in waiting.items():
        found = embedder.vectors([text for _, _, text in items], dimension)
        for (line, target, _), vector in zip(items, found, strict=True):
            assert line.record is not None
            line.record["data"][target.vector] = _shortest_floats(vector)
            line.changed = True
            counts.embedded += 1


def _shortest_floats(vector: Vector) -> list[float]:
    """Return the shortest numbers that are stored as the same F32 values."""
    return [float(str(value)) for value in vector]
