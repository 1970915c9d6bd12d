"""YAML as values that know where they stand; what YAML lets pass silently is an error here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.yaml_text import NotYaml, Place, parse_yaml, place_of, to_plain

_LARGEST_BYTES = 1 << 20
_SCALARS = {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null")}


@dataclass(frozen=True, slots=True)
class YamlValue:
    """A value with its line and column, counted from 1."""

    value: Any
    """A scalar, a list of `YamlValue`, or a dictionary of them."""
    at: Place
    keys_at: dict[str, Place]
    """Where each key of a dictionary stands."""


def read_yaml(data: bytes, file: str, findings: ClusterFindings) -> YamlValue | None:
    """Return what a file holds, or None after saying why it cannot be read."""
    if len(data) > _LARGEST_BYTES:
        findings.error("config_unreadable", file, f"the file has more than {_LARGEST_BYTES} bytes")
        return None
    try:
        node = parse_yaml(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        findings.error("config_unreadable", file, f"the file is not UTF-8 text: byte {error.start}")
        return None
    except NotYaml as error:
        findings.error("yaml_syntax", file, error.message, error.place)
        return None
    if node is None:
        findings.error("config_empty", file, "the file is empty: it needs at least `version: 1`")
        return None
    return _NodeReader(file, findings).read(node, "")


class _NodeReader:
    def __init__(self, file: str, findings: ClusterFindings) -> None:
        self._file, self._findings = file, findings
        self._seen: set[int] = set()

    def read(self, node: yaml.Node, path: str) -> YamlValue:
        at = place_of(node)
        if id(node) in self._seen:
            self._findings.error(
                "yaml_alias", path or self._file, "an alias (`*name`) is not allowed: write it out", at
            )
            return YamlValue(None, at, {})
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(node, path, at)
        if isinstance(node, yaml.SequenceNode):
            items = [self.read(item, f"{path}[{number}]") for number, item in enumerate(node.value)]
            return YamlValue(items, at, {})
        return YamlValue(self._read_scalar(node, path, at), at, {})

    def _read_mapping(self, node: yaml.MappingNode, path: str, at: Place) -> YamlValue:
        found: dict[str, YamlValue] = {}
        places: dict[str, Place] = {}
        for key, item in node.value:
            here = place_of(key)
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                self._findings.error("yaml_key", path or self._file, "a key must be a plain word", here)
                continue
            name = str(key.value)
            inner = f"{path}.{name}" if path else name
            if name in found:
                first = places[name]
                self._findings.error(
                    "duplicate_key",
                    inner,
                    f"the key {name!r} is there twice, first in line {first[0]}: remove one of them",
                    here,
                )
                continue
            places[name] = here
            found[name] = self.read(item, inner)
        return YamlValue(found, at, places)

    def _read_scalar(self, node: yaml.Node, path: str, at: Place) -> Any:
        if node.tag not in _SCALARS:
            if not node.tag.startswith("tag:yaml.org,2002:"):
                self._findings.error("yaml_tag", path, f"the tag {node.tag} is not allowed", at)
            return str(node.value)
        try:
            return to_plain(node)
        except (ValueError, KeyError, AttributeError, yaml.YAMLError):
            return str(node.value)  # a tag that does not fit: `!!bool x` is a KeyError
