"""Reading typed fields of a mapping: what is unknown, missing or of another type is a finding."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from omnigraph.cluster.config.yaml_nodes import YamlValue
from omnigraph.cluster.diagnostics import ClusterFindings

_Item = TypeVar("_Item")
_NAMES: dict[type, str] = {str: "text", int: "a whole number", bool: "true or false", dict: "a mapping"}


class Fields:
    """The keys of one mapping, each of which is read once."""

    def __init__(self, node: YamlValue | None, path: str, findings: ClusterFindings) -> None:
        """Take a mapping; anything else is a finding, and reads as an empty one."""
        self.path, self._findings = path, findings
        self.at = node.at if node is not None else (1, 1)
        self._given: dict[str, YamlValue] = {}
        self._keys_at: dict[str, tuple[int, int]] = {}
        self._read: set[str] = set()
        if node is None:
            return
        if not isinstance(node.value, dict):
            findings.error("wrong_type", path or "cluster.yaml", "this must be a mapping of keys", node.at)
            return
        self._given, self._keys_at = node.value, node.keys_at

    def close(self, reserved: Sequence[str] = ()) -> None:
        """Refuse the keys that nobody has read."""
        for name in self._given:
            if name in self._read:
                continue
            at = self._keys_at[name]
            if name in reserved:
                self._findings.error("reserved_key", self._inner(name), f"{name!r} is reserved", at)
                continue
            near = difflib.get_close_matches(name, sorted(self._read), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(sorted(self._read))}"
            self._findings.error("unknown_key", self._inner(name), f"the key {name!r} is unknown: {hint}", at)

    def text(self, name: str, default: str | None = None, choices: Sequence[str] = ()) -> str | None:
        """Return a text, one of some words where they are given."""
        found = self._take(name, str)
        if found is None:
            return default
        text = str(found.value)
        if not text.strip():
            self.refuse(name, "it is blank")
            return default
        if choices and text not in choices:
            self.refuse(name, f"{text!r} is not one of {', '.join(choices)}")
            return default
        return text

    def need_text(self, name: str, choices: Sequence[str] = ()) -> str:
        """Return a text that must be there."""
        self.need(name)
        return self.text(name, None, choices) or ""

    def number(self, name: str) -> int | None:
        """Return a whole number."""
        found = self._take(name, int)
        return None if found is None else int(found.value)

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        found = self._take(name, bool)
        return default if found is None else bool(found.value)

    def inner(self, name: str, needed: bool = False) -> Fields:
        """Return the fields of a mapping below this one."""
        if needed:
            self.need(name)
        return Fields(self._take(name, dict), self._inner(name), self._findings)

    def each(self, name: str, read: Callable[[str, Fields], _Item]) -> Iterator[_Item]:
        """Yield what is made of each entry of a mapping of mappings."""
        found = self._take(name, dict)
        for key, item in (found.value if found is not None else {}).items():
            yield read(key, Fields(item, f"{self._inner(name)}.{key}", self._findings))

    def listed(self, name: str, needed: bool = False) -> list[Fields]:
        """Return the mappings of a list."""
        found = self._items(name, needed)
        return [
            Fields(item, f"{self._inner(name)}[{number}]", self._findings)
            for number, item in enumerate(found)
        ]

    def texts(self, name: str, needed: bool = False) -> list[str]:
        """Return the texts of a list."""
        found: list[str] = []
        for number, item in enumerate(self._items(name, needed)):
            if not isinstance(item.value, str) or not item.value.strip():
                self._findings.error(
                    "wrong_type", f"{self._inner(name)}[{number}]", "this must be text", item.at
                )
            else:
                found.append(item.value)
        return found

    def raw(self, name: str) -> YamlValue | None:
        """Return a value of any type."""
        self._read.add(name)
        return self._given.get(name)

    def place_of(self, name: str) -> tuple[int, int]:
        """Return where a key stands, or the mapping when it has no such key."""
        return self._keys_at.get(name, self.at)

    def refuse(self, name: str, message: str, code: str = "invalid_value") -> None:
        """Say what is wrong with a value."""
        self._findings.error(code, self._inner(name), message, self.place_of(name))

    def _inner(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def need(self, name: str) -> None:
        """Say so when a key is missing."""
        if name not in self._given:
            self._findings.error("missing_key", self._inner(name), f"the key {name!r} is missing", self.at)

    def _items(self, name: str, needed: bool) -> list[YamlValue]:
        if needed:
            self.need(name)
        found = self.raw(name)
        if found is None:
            return []
        if not isinstance(found.value, list):
            self._findings.error("wrong_type", self._inner(name), "this must be a list", found.at)
            return []
        return found.value

    def _take(self, name: str, kind: type) -> YamlValue | None:
        found = self.raw(name)
        if found is None:
            return None
        is_right = isinstance(found.value, kind) and not (kind is int and isinstance(found.value, bool))
        if not is_right:
            self._findings.error(
                "wrong_type", self._inner(name), f"this must be {_NAMES[kind]}", self.place_of(name)
            )
            return None
        return found
