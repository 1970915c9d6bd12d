"""From a file to a bundle: everything that is wrong with it is told at once, with its place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from omnigraph.base.errors import BadInput, ParseError
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.check_bundle import BundleReader
from omnigraph.policy.gate import Gate
from omnigraph.yaml_text import read_yaml

BundleKind = Literal["graph", "server"]

PolicySource = str | os.PathLike[str] | Mapping[str, Any] | Bundle


def read_bundle(source: PolicySource, kind: BundleKind | None = None) -> Bundle:
    """Return the bundle of a file, a text of YAML, or what such a text says; `kind` is what it must be about.

    A string is a text when it has a line break, otherwise the path of a file.
    """
    if isinstance(source, Bundle):
        bundle = source
    elif isinstance(source, Mapping):
        bundle = parse_bundle(yaml.safe_dump(_as_plain(source), sort_keys=False))
    elif isinstance(source, str) and "\n" in source:
        bundle = parse_bundle(source)
    elif isinstance(source, str | os.PathLike):
        bundle = parse_bundle(read_policy_text(source), os.fspath(source))
    else:
        raise BadInput(f"policy is {type(source).__name__}: give a path, a text of YAML, or a mapping")
    if kind is not None:
        _refuse_other_kind(bundle, kind)
    return bundle


def read_policy_text(source: str | os.PathLike[str]) -> str:
    """Return the text of a policy file; a text is itself."""
    if isinstance(source, str) and "\n" in source:
        return source
    path = Path(source)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the policy {path} cannot be read: {error}", path=str(path)) from error


def open_gate(source: PolicySource | Gate, graph: str = "graph") -> Gate:
    """Return the gate of a graph that a bundle makes."""
    return source if isinstance(source, Gate) else Gate(read_bundle(source, "graph"), graph)


def parse_bundle(text: str, file: str = "") -> Bundle:
    """Return the bundle that a text of YAML declares, or raise `ParseError` with all that is wrong."""
    document = read_yaml(text, file)
    reader = BundleReader(document)
    bundle = reader.read()
    if reader.problems:
        raise ParseError(sorted(reader.problems, key=lambda problem: (problem.line, problem.column)), file)
    return bundle


def _refuse_other_kind(bundle: Bundle, kind: BundleKind) -> None:
    if bundle.is_for_server != (kind == "server"):
        has, wants = ("graph_list", "graphs") if bundle.is_for_server else ("actions on graphs", "the server")
        raise BadInput(
            f"the policy {bundle.file or 'given'} has rules about {has}, and is wanted for {wants}: what is "
            "about the server stands in a file of its own",
            path=bundle.file,
        )


def _as_plain(given: Any) -> Any:
    if isinstance(given, Mapping):
        return {key: _as_plain(item) for key, item in given.items()}
    if isinstance(given, list | tuple | set | frozenset):
        return [_as_plain(item) for item in (sorted(given) if isinstance(given, set | frozenset) else given)]
    return given
