"""YAML that tells where each value stands: as nodes, or as plain values without aliases and repeated keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import ParseError

Path = tuple[str | int, ...]
Place = tuple[int, int]
"""Line and column, from 1."""

_MAX_CHARACTERS = 4 * 1024 * 1024
_MAX_DEPTH = 64


class NotYaml(Exception):
    """What a text is not, and where; who reads a file makes an error of its own of it."""

    def __init__(self, message: str, place: Place | None) -> None:
        super().__init__(message)
        self.message, self.place = message, place


def parse_yaml(text: str) -> yaml.Node | None:
    """Return what a text says as nodes, or None when it is empty; raise `NotYaml` when it cannot be read."""
    with _raise_not_yaml():
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def place_of(node: yaml.Node) -> Place:
    """Return where a node begins."""
    return _place_of_mark(node.start_mark)


def to_plain(node: yaml.Node) -> Any:
    """Return a node as plain data; what does not fit its tag raises what the library raises."""
    return yaml.SafeLoader("").construct_document(node)


@contextmanager
def _raise_not_yaml() -> Iterator[None]:
    try:
        yield
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error).partition("\n")[0] or "it is not YAML"
        raise NotYaml(said, None if mark is None else _place_of_mark(mark)) from None
    except ValueError as error:
        raise NotYaml(str(error).partition("\n")[0] or "it is not YAML", None) from None
    except RecursionError:
        raise NotYaml("the file is nested too deeply", None) from None


def _place_of_mark(mark: Any) -> Place:
    return mark.line + 1, mark.column + 1


@dataclass
class Document:
    """What a text says, and where."""

    value: Any
    file: str = ""
    places: dict[Path, Place] = field(default_factory=dict)
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
        with _raise_not_yaml():
            _refuse_aliases(text, file)
            node = parse_yaml(text)
            document.value = None if node is None else _convert(node, (), document)
    except NotYaml as error:
        raise ParseError([Diagnostic("not_yaml", error.message, *(error.place or (1, 1)))], file) from None
    return document


def _refuse_aliases(text: str, file: str) -> None:
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            place = (1, 1) if event.start_mark is None else _place_of_mark(event.start_mark)
            said = "aliases are not read: write it out"
            raise ParseError([Diagnostic("alias", said, *place)], file)


def _convert(node: yaml.Node, path: Path, document: Document) -> Any:
    place = place_of(node)
    document.places.setdefault(path, place)
    if len(path) > _MAX_DEPTH:
        raise ParseError([Diagnostic("too_deep", f"more than {_MAX_DEPTH} levels", *place)], document.file)
    if isinstance(node, yaml.MappingNode):
        return _convert_mapping(node, path, document)
    if isinstance(node, yaml.SequenceNode):
        return [_convert(item, (*path, at), document) for at, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode) and node.style == "|":
        document.texts[path] = place[0] + 1  # after the line that ends in `|`
    return _to_plain(node, document)


def _convert_mapping(node: yaml.MappingNode, path: Path, document: Document) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        place = place_of(key_node)
        key = _to_plain(key_node, document) if isinstance(key_node, yaml.ScalarNode) else None
        if not isinstance(key, str):
            said = f"{key_node.value!r} is a key and not a string: quote it"
            raise ParseError([Diagnostic("bad_key", said, *place)], document.file)
        if key in found:
            said = f"{key!r} stands here a second time"
            raise ParseError([Diagnostic("duplicate_key", said, *place)], document.file)
        document.places[(*path, key)] = place
        found[key] = _convert(value_node, (*path, key), document)
    return found


def _to_plain(node: yaml.Node, document: Document) -> Any:
    try:
        return to_plain(node)
    except (KeyError, AttributeError):  # what the library says of `!!bool x` and `!!timestamp x`
        said = f"{node.value!r} does not fit its tag: leave the tag out"
        raise ParseError([Diagnostic("not_yaml", said, *place_of(node))], document.file) from None
