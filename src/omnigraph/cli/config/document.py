"""A YAML file as values that know their lines, so that a mistake is shown where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.base.errors import BadInput

if TYPE_CHECKING:
    import yaml

_T = TypeVar("_T")


@dataclass(frozen=True)
class Entry:
    """A value of a file, and where it is."""

    node: yaml.Node
    path: Path
    name: str
    warn: Callable[[str], None]

    @property
    def line(self) -> int:
        """The line in which it begins."""
        from omnigraph.yaml_text import place_of

        return place_of(self.node)[0]

    def refuse(self, what: str) -> BadInput:
        """Return the error about this value."""
        return BadInput(
            f"{self.path}, line {self.line}: {self.name or 'the file'} {what}",
            path=str(self.path),
            line=self.line,
        )

    def members(self) -> dict[str, Entry]:
        """Return the members of a mapping by name, or refuse what is not a mapping."""
        import yaml

        if _is_null(self.node):
            return {}
        if not isinstance(self.node, yaml.MappingNode):
            raise self.refuse("must be a mapping of names and values")
        found: dict[str, Entry] = {}
        for key, value in self.node.value:
            name = str(key.value)
            entry = Entry(value, self.path, f"{self.name}.{name}" if self.name else name, self.warn)
            if not isinstance(key, yaml.ScalarNode):
                raise self.refuse("has a name that is not a text")
            if name in found:
                raise Entry(key, self.path, entry.name, self.warn).refuse("is there twice")
            found[name] = entry
        return found

    def known(self, *names: str) -> dict[str, Entry]:
        """Return the members that have a meaning, and warn of others."""
        found = self.members()
        for name, entry in found.items():
            if name not in names:
                self.warn(f"{self.path}, line {entry.line}: {entry.name} has no meaning and is left out")
        return {name: found[name] for name in names if name in found and not _is_null(found[name].node)}

    def text(self) -> str:
        """Return a text that is not empty."""
        import yaml

        if not isinstance(self.node, yaml.ScalarNode) or not str(self.node.value).strip():
            raise self.refuse("must be a text")
        return str(self.node.value).strip()

    def one_of(self, *words: str) -> str:
        """Return a text that is one of some words."""
        found = self.text()
        if found not in words:
            raise self.refuse(f"is {found!r}: use {', '.join(words)}")
        return found

    def count(self, least: int) -> int:
        """Return a whole number that is not too small."""
        found = self.text()
        if not (found.isascii() and found.isdigit() and int(found) >= least):
            raise self.refuse(f"is {found!r}: it must be a whole number of at least {least}")
        return int(found)

    def items(self) -> Iterator[Entry]:
        """Yield the members of a list."""
        import yaml

        if not isinstance(self.node, yaml.SequenceNode):
            raise self.refuse("must be a list")
        for number, node in enumerate(self.node.value):
            yield Entry(node, self.path, f"{self.name}[{number}]", self.warn)

    def value(self) -> Any:
        """Return whatever it is, as plain data."""
        from omnigraph.yaml_text import to_plain

        return to_plain(self.node)

    def each(self, read: Callable[[str, Entry], _T]) -> dict[str, _T]:
        """Return what is read of each member of a mapping."""
        return {name: read(name, entry) for name, entry in self.members().items()}


def read_document(path: Path, warn: Callable[[str], None]) -> Entry | None:
    """Return what a YAML file holds; None when it is not there or empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}", path=str(path)) from error
    from omnigraph.yaml_text import NotYaml, parse_yaml

    try:
        node = parse_yaml(text)
    except NotYaml as error:
        line = error.place[0] if error.place else 1
        raise BadInput(f"{path}, line {line}: {error.message}", path=str(path), line=line) from None
    return None if node is None else Entry(node, path, "", warn)


def _is_null(node: yaml.Node) -> bool:
    return str(node.tag) == "tag:yaml.org,2002:null"
