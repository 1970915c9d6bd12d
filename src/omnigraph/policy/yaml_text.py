"""YAML as plain values, with the place of each: no aliases, no repeated keys, no tags of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import ParseError

Path = tuple[str | int, ...]

_MAX_CHARACTERS = 4 * 1024 * 1024
_MAX_DEPTH = 64


@dataclass
class Document:
    """What a text says, and where."""

    value: Any
    file: str = ""
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Line and column, from 1, of the value at each path; of a member of a mapping, those of its key."""

    texts: dict[Path, int] = field(default_factory=dict)
    """The line on which a text of several lines begins."""

    def problem(self, code: str, message: str, path: Path = (), line_of_text: int = 0) -> Diagnostic:
        """Return a problem with the value at a path, or what is nearest above it.

        `line_of_text` is the line, from 0, of a text that has several.
        """
        if path in self.texts:
            return Diagnostic(code, message, self.texts[path] + line_of_text, 1)
        while path and path not in self.places:
            path = path[:-1]
        line, column = self.places.get(path, (1, 1))
        return Diagnostic(code, message, line, column)


def read_yaml(text: str, file: str = "") -> Document:
    """Return what a text says, or raise `ParseError` with the place."""
    if len(text) > _MAX_CHARACTERS:
        raise ParseError(f"the file has {len(text)} characters, and may have {_MAX_CHARACTERS}", file)
    document = Document(None, file)
    try:
        _refuse_aliases(text, file)
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        document.value = None if node is None else _convert(loader, node, (), document)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        said = error.problem or "it is not YAML"
        place = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        raise ParseError([Diagnostic("not_yaml", said, *place)], file) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else "it is not YAML"
        raise ParseError([Diagnostic("not_yaml", said, 1, 1)], file) from None
    return document


def _refuse_aliases(text: str, file: str) -> None:
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            mark = event.start_mark
            place = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
            said = "aliases are not read: write it out"
            raise ParseError([Diagnostic("alias", said, *place)], file)


def _convert(loader: yaml.SafeLoader, node: yaml.Node, path: Path, document: Document) -> Any:
    mark = node.start_mark
    place = (mark.line + 1, mark.column + 1)
    document.places.setdefault(path, place)
    if len(path) > _MAX_DEPTH:
        raise ParseError([Diagnostic("too_deep", f"more than {_MAX_DEPTH} levels", *place)], document.file)
    if isinstance(node, yaml.MappingNode):
        return _convert_mapping(loader, node, path, document)
    if isinstance(node, yaml.SequenceNode):
        return [_convert(loader, item, (*path, at), document) for at, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode) and node.style == "|":
        document.texts[path] = mark.line + 2  # after the line that ends in `|`
    return _construct(loader, node, document)


def _convert_mapping(
    loader: yaml.SafeLoader, node: yaml.MappingNode, path: Path, document: Document
) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        mark = key_node.start_mark
        place = (mark.line + 1, mark.column + 1)
        key = _construct(loader, key_node, document) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            said = f"{key_node.value!r} is a key and not a string: quote it"
            raise ParseError([Diagnostic("bad_key", said, *place)], document.file)
        if key in found:
            said = f"{key!r} stands here a second time"
            raise ParseError([Diagnostic("duplicate_key", said, *place)], document.file)
        document.places[(*path, key)] = place
        found[key] = _convert(loader, value_node, (*path, key), document)
    return found


def _construct(loader: yaml.SafeLoader, node: yaml.Node, document: Document) -> Any:
    try:
        return loader.construct_object(node)
    except (KeyError, AttributeError):  # what the library says of `!!bool x` and `!!timestamp x`
        place = (node.start_mark.line + 1, node.start_mark.column + 1)
        said = f"{node.value!r} does not fit its tag: leave the tag out"
        raise ParseError([Diagnostic("not_yaml", said, *place)], document.file) from None
