"""Where a name of SQL leads: `og.main.Person` is a type on a branch, `og.v1.Person` one at a tag."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from omnigraph.base.errors import BadInput, BranchGone, InvalidName, NotFound
from omnigraph.compiler.catalog.model import TableType
from omnigraph.graph.handle import Graph
from omnigraph.graph.schema_apply.names import rename_catalog
from omnigraph.graph.snapshot import Snapshot
from omnigraph.pipeline.options import STORAGE_PREFIX, open_from_options

SYSTEM = "system"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NoSuchName(LookupError):
    """A namespace or table that does not exist: Spark has its own words for that."""


@dataclass(frozen=True)
class Namespace:
    """A branch, or a commit that is only read."""

    name: str
    branch: str | None
    """The branch, where there is one to write to."""
    tag: str | None = None
    is_system: bool = False
    """Whether its tables are facts about the graph."""


OF_CATALOG = ("graph", "actor", "policy")
"""Options of a catalog beside those of storage."""


def open_graph_of(told: Mapping[str, str], read_only: bool = True, branch: str | None = None) -> Graph:
    """Open the graph of a catalog."""
    plain = {key: value for key, value in told.items() if key in OF_CATALOG or key.startswith(STORAGE_PREFIX)}
    return open_from_options({**plain, "branch": branch} if branch else plain, read_only)


def list_namespaces(graph: Graph, above: Namespace | None) -> list[str]:
    """Return the names of all branches and tags, or those inside a namespace."""
    if above is not None:
        return [] if above.is_system else [SYSTEM]
    branches, tags = graph.branches.list(), [tag.name for tag in graph.tags.list()]
    named = [f"tag:{name}" if name in branches or name == SYSTEM else name for name in tags]
    return [*(f"branch:{name}" if name == SYSTEM else name for name in branches), *named, SYSTEM]


def find_namespace(graph: Graph, text: str) -> Namespace:
    """Return the namespace of a list of names, as JSON."""
    names: list[str] = json.loads(text)
    if names == [SYSTEM]:
        return Namespace(SYSTEM, "main", is_system=True)
    inside = len(names) == 2 and names[1] == SYSTEM
    if len(names) != 1 and not inside:
        raise NoSuchName(f"there is no namespace {'.'.join(names)}")
    kind, colon, rest = names[0].partition(":")
    name = rest if colon and kind in ("branch", "tag") else names[0]
    is_branch = kind != "tag" or not colon
    is_tag = kind != "branch" or not colon
    if is_branch and _has_branch(graph, name):
        return Namespace(names[0], name, is_system=inside)
    if is_tag and _has_tag(graph, name):
        return Namespace(names[0], None, name, inside)
    raise NoSuchName(f"there is neither a branch nor a tag {name!r}")


def find_snapshot(graph: Graph, where: Namespace, told: Mapping[str, str]) -> Snapshot:
    """Return the commit that a table is read at: the head, or what a query names."""
    if "commit" in told:
        return graph.snapshot(commit=told["commit"])
    if where.tag is not None:
        if "version" in told or "at" in told:
            raise BadInput(f"{where.name!r} is a tag, which is one commit: name a branch to read its history")
        return graph.snapshot(tag=where.tag)
    version = told.get("version")
    if "at" in told:
        return graph.snapshot(where.branch, timestamp=_EPOCH + timedelta(microseconds=int(told["at"])))
    if version is None:
        return graph.snapshot(where.branch)
    if version.isascii() and version.isdigit():
        return graph.snapshot(where.branch, version=int(version))
    return graph.snapshot(commit=version)


def find_type(snapshot: Snapshot, name: str) -> TableType:
    """Return the type of a name or table key; case matters where it tells types apart."""
    tables = rename_catalog(snapshot).tables
    for fits in (str.__eq__, _is_equal_without_case):
        found = [
            table
            for table in tables
            if any(fits(name, known) for known in (table.table_key, table.name, *table.other_names))
        ]
        if len(found) > 1:
            keys = ", ".join(f"`{table.table_key}`" for table in found)
            raise BadInput(f"{name!r} names several types: write one of {keys}", table=name)
        if found:
            return found[0]
    raise NoSuchName(f"there is no type {name!r} at commit {snapshot.commit_id}")


def _is_equal_without_case(left: str, right: str) -> bool:
    return left.lower() == right.lower()


def _has_branch(graph: Graph, name: str) -> bool:
    try:
        graph.snapshot(name)
    except (NotFound, BranchGone, InvalidName):
        return False
    return True


def _has_tag(graph: Graph, name: str) -> bool:
    try:
        graph.snapshot(tag=name)
    except (NotFound, BranchGone, InvalidName):
        return False
    return True
