"""What the worker processes of the engine's tests do, by name; every result can be sent to the test."""

from __future__ import annotations

from collections.abc import Mapping

import omnigraph as og
from omnigraph.base.errors import AlreadyExists
from omnigraph.graph.handle import Graph
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import migrations
from omnigraph.storage.objects import ObjectStore
from support.graphs import SCHEMA
from support.writes import work

_held: dict[str, Graph] = {}


def write(
    uri: str, kind: str, tag: str, durable: bool, branch: str = "main", actor: str | None = None
) -> str | None:
    """Open a graph, make one write and return the commit id."""
    graph = og.open(uri, branch=branch, actor=actor)
    record = graph._commit(work(kind, tag), durable=durable)
    return record.commit if record else None


def hold(uri: str, branch: str = "main") -> None:
    """Open a graph and keep the handle for `write_held`."""
    _held[uri] = og.open(uri, branch=branch)


def write_held(uri: str, kind: str, tag: str, durable: bool) -> str | None:
    """Make one write with the handle that is held."""
    record = _held[uri]._commit(work(kind, tag), durable=durable)
    return record.commit if record else None


def open_for_writing(uri: str, options: Mapping[str, str] | None = None) -> int:
    """Open a graph read-write, which settles what crashes left, and return the head's version."""
    return og.open(uri, storage_options=options).snapshot().version


def create_branch(uri: str, name: str) -> None:
    """Create a branch of main."""
    og.open(uri).branches.create(name)


def delete_branch(uri: str, name: str) -> None:
    """Delete a branch."""
    og.open(uri).branches.delete(name)


def init(uri: str) -> str:
    """Make a graph and return its id."""
    return og.init(uri, SCHEMA).id


def migrate(uri: str) -> int:
    """Be a later release, whose format is 2: open a graph for writing and return its format."""
    stored_format.CURRENT = 2
    migrations.STEPS = {1: _step}
    return og.open(uri)._core.truth.stamp.format


def _step(store: ObjectStore) -> None:
    try:
        store.create("__manifest/migrated.json", b"once")
    except AlreadyExists:
        return
