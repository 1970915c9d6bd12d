"""Stored queries as a caller gives them: a folder, files, or texts by name; read into texts by file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omnigraph.base.errors import BadInput

_SUFFIX = ".gq"
_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class QueryTexts:
    """Texts by file that are texts, whatever they look like: a server must not read files for a caller."""

    texts: Mapping[str, str]


def read_query_files(source: Any) -> dict[str, str]:
    """Return the texts of a folder (with what lies below), of files or of a mapping, by their names."""
    texts = _read(source)
    if not texts:
        raise BadInput("there are no queries in an empty list or mapping: `remove` takes stored ones away")
    return texts


def _read(source: Any) -> dict[str, str]:
    if isinstance(source, QueryTexts):
        return dict(source.texts)
    if isinstance(source, Mapping):
        return _read_mapping(source)
    if isinstance(source, str | os.PathLike):
        return _read_path(Path(source))
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        texts: dict[str, str] = {}
        for item in source:
            if not isinstance(item, str | os.PathLike):
                raise _wrong(item)
            for file, text in _read_path(Path(item)).items():
                texts[file if file not in texts else str(Path(item))] = text
        return texts
    raise _wrong(source)


def _read_mapping(given: Mapping[Any, Any]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, text in given.items():
        if not isinstance(name, str) or not isinstance(text, str | os.PathLike):
            raise BadInput(f"stored queries as a mapping are texts or paths, found {name!r}: {text!r}")
        if isinstance(text, str) and not _looks_like_a_path(text):
            texts[name if name.endswith(_SUFFIX) else name + _SUFFIX] = text
        else:
            texts[name if name.endswith(_SUFFIX) else Path(text).name] = _read_file(Path(text))
    return texts


def _read_path(path: Path) -> dict[str, str]:
    if not path.is_dir():
        return {path.name: _read_file(path)}
    found = sorted(item for item in path.rglob(f"*{_SUFFIX}") if item.is_file())[: _MOST_FILES + 1]
    if not found:
        raise BadInput(f"the folder {path} holds no {_SUFFIX} file", path=str(path))
    if len(found) > _MOST_FILES:
        raise BadInput(f"the folder {path} holds more than {_MOST_FILES} {_SUFFIX} files", path=str(path))
    return {item.relative_to(path).as_posix(): _read_file(item) for item in found}


def _read_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"the query file {path} cannot be read: {error}", path=str(path)) from error


def _looks_like_a_path(text: str) -> bool:
    return "\n" not in text and "{" not in text and text.strip().endswith(_SUFFIX)


def _wrong(given: object) -> BadInput:
    return BadInput(
        f"stored queries are {type(given).__name__}: give a folder, a {_SUFFIX} file, a list of these, or "
        "texts by name"
    )
