"""What could stand at the cursor: types, edges, properties, variables, names; from the schema alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from omnigraph.compiler.catalog.model import Catalog

WORDS = (
    *("query", "match", "return", "order", "limit", "having", "with", "optional", "not", "exists", "union"),
    *("insert", "upsert", "update", "delete", "set", "where", "and", "or", "in", "contains", "starts_with"),
    *("is null", "is not null", "distinct", "desc", "count", "sum", "avg", "min", "max", "collect", "entity"),
)
_BOUND = re.compile(r"\$(\w+)\s*:\s*([A-Z]\w*)")
_FOLLOWED = re.compile(r"\$(\w+)\s+(?:\$\w+\s*:\s*)?<?([A-Za-z]\w*)>?(?:\{[\d,]*\})?\s+\$(\w+)")


@dataclass(frozen=True, slots=True)
class Known:
    """What names there are."""

    catalog: Catalog
    branches: Sequence[str] = ()
    queries: Sequence[str] = ()
    commands: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class CompletedWord:
    """A word that could stand at the cursor, and how many characters of it are typed."""

    text: str
    typed: int
    what: str = ""


def complete(before: str, known: Known) -> list[CompletedWord]:
    """Return what could go on a text."""
    if before.lstrip().startswith("\\"):
        return _complete_command(before.lstrip(), known)
    catalog = known.catalog
    if found := re.search(r"\$(\w+)\.(\w*)\Z", before):
        return _offer(_properties_of(found[1], before, catalog), found[2], "property")
    if found := re.search(r"\$\w+\s*:\s*(\w*)\Z", before):
        return _offer([item.name for item in catalog.nodes], found[1], "node")
    if found := re.search(r"\b(?:insert|upsert|update|delete)\s+(\w*)\Z", before):
        types = [item.name for item in catalog.tables]
        return _offer(types, found[1], "type")
    if found := re.search(r"\$(\w*)\Z", before):
        return _offer([f"${name}" for name in _variables(before)], f"${found[1]}", "variable")
    if found := re.search(r"\$(\w+)\s+<?(\w*)\Z", before):
        return _offer(_edges_of(found[1], before, catalog), found[2], "edge")
    if found := re.search(r"\b([A-Z]\w*)\s*\{[^{}]*?(?:[{,]|\A|\s)\s*(\w*)\Z", before):
        table = catalog.node(found[1]) or catalog.edge(found[1])
        if table is not None:
            ends = ["from", "to"] if table.kind == "edge" else []
            return _offer([*ends, *(item.name for item in table.properties)], found[2], "property")
    typed = re.search(r"(\w*)\Z", before)
    assert typed is not None
    return _offer(WORDS, typed[1], "") if typed[1] else []


def _complete_command(before: str, known: Known) -> list[CompletedWord]:
    name, space, rest = before.partition(" ")
    if not space:
        return _offer(known.commands, name, "command")
    word = rest.rpartition(" ")[2]
    if name in ("\\branch", "\\diff", "\\at", "\\log"):
        return _offer(known.branches, word, "branch")
    if name == "\\run":
        return _offer(known.queries, word, "stored query")
    if name in ("\\schema", "\\entity", "\\history"):
        types = [item.name for item in known.catalog.tables]
        return _offer(types, word, "type")
    return []


def _offer(words: Iterable[str], typed: str, what: str) -> list[CompletedWord]:
    found = dict.fromkeys(word for word in words if word.lower().startswith(typed.lower()) and word != typed)
    return [CompletedWord(word, len(typed), what) for word in found]


def _variables(text: str) -> list[str]:
    typed = text[: text.rfind("$")]
    return list(dict.fromkeys(re.findall(r"\$(\w+)", typed)))


def _types_of(text: str, catalog: Catalog) -> dict[str, str]:
    """Return the types of variables: those that are said, and those that follow from edges."""
    types = dict(_BOUND.findall(text))
    for source, edge, target in _FOLLOWED.findall(text):
        found = catalog.edge(edge)
        if found is not None:
            types.setdefault(source, found.source)
            types.setdefault(target, found.target if types[source] == found.source else found.source)
    for variable, edge in re.findall(r"\$(\w+)\s*:\s*([a-z]\w*)", text):
        named = catalog.edge(edge)
        if named is not None:
            types.setdefault(variable, named.name)
    return types


def _properties_of(variable: str, text: str, catalog: Catalog) -> list[str]:
    name = _types_of(text, catalog).get(variable)
    table = None if name is None else catalog.node(name) or catalog.edge(name)
    tables = [*catalog.tables] if table is None else [table]
    return ["id", *(item.name for each in tables for item in each.properties)]


def _edges_of(variable: str, text: str, catalog: Catalog) -> list[str]:
    name = _types_of(text, catalog).get(variable)
    edges = catalog.edges if name is None else catalog.edges_of(name)
    return [edge.name[:1].lower() + edge.name[1:] for edge in edges]
