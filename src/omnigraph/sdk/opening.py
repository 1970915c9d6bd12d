"""`init` and `open`: from an address to a graph."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from omnigraph.base.errors import BadInput, CorruptState, FormatTooNew, FormatTooOld, NotAGraph
from omnigraph.base.settings import Settings
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_schema
from omnigraph.embedding.embedder import EmbeddingChoice
from omnigraph.graph.backup.target import refuse_among_backups
from omnigraph.graph.manifest.layout import is_reserved
from omnigraph.graph.manifest.record import storable
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.manifest.schemas import StoredSchema
from omnigraph.graph.manifest.stamp import read_stamp
from omnigraph.graph.opening import create_graph, open_graph
from omnigraph.sdk.graph import Graph
from omnigraph.sdk.managed import refuse_managed_root
from omnigraph.sdk.reopening import HowOpened
from omnigraph.sdk.schema_text import read_schema_text
from omnigraph.storage.objects import ObjectStore, open_store

if TYPE_CHECKING:
    from omnigraph.policy.gate import Gate
    from omnigraph.policy.read_bundle import PolicySource

SchemaInput = str | Path | Catalog


def init(
    uri: str | os.PathLike[str],
    schema: SchemaInput,
    *,
    actor: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    embedding: EmbeddingChoice = None,
    force: bool = False,
) -> Graph:
    """Make a new graph and open it. The schema is a text, the path of a `.pg` file, or a catalog.

    A root that is not empty is refused; with `force` a graph is made among the files that lie there, but
    never over another graph. The first commit names the actor.
    """
    storable("actor", actor, Settings.from_environment().commit_text_bytes)
    store = open_root(uri, storage_options)
    refuse_managed_root(store, storage_options)
    _refuse_inside_a_graph(store, storage_options)
    refuse_among_backups(store, storage_options)
    create_graph(store, _check_schema(_read_schema(schema), schema), force, actor)
    return open(uri, actor=actor, storage_options=storage_options, embedding=embedding)


def open(
    uri: str | os.PathLike[str],
    *,
    branch: str = MAIN,
    read_only: bool = False,
    rescue: bool = False,
    actor: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    embedding: EmbeddingChoice = None,
    token: str | None = None,
    policy: PolicySource | Gate | None = None,
) -> Graph:
    """Open a graph on one of its branches, also one that a server has (`http://host/graphs/name`).

    A handle for reading writes nothing, not even recovery.

    A branch whose newest commit is damaged opens for reading: what of it cannot be read is an error when it
    is read, and `repair` reports what is damaged. With `rescue` it opens for writing as well, so that
    branches can be begun from its sound commits; nothing can be written to the branch itself.
    `embedding` is the provider that turns texts into vectors: the name of a kind, a configuration, or an
    object with `model` and `embed`; without it the environment variables decide.
    `token` is for a server, which takes everything else but the branch from its own configuration.
    `policy` says what `actor` may do: a file, a text of YAML, or what it says; without it all is allowed.
    """
    if isinstance(uri, str) and uri.startswith(("http://", "https://")):
        given: dict[str, Any] = {
            "read_only": read_only,
            "rescue": rescue,
            "actor": actor,
            "storage_options": storage_options,
        }
        given["policy"] = policy
        return _open_remote(uri, branch, token, [name for name, value in given.items() if value])
    if token is not None:
        raise BadInput("a token is for a graph that a server has (http://…): leave it out")
    gate = None if policy is None else _open_gate(policy)
    store = open_root(uri, storage_options)
    core = open_graph(store, Settings.from_environment(), read_only, embedding)
    how = HowOpened(open, store.root_uri, storage_options, embedding, rescue)
    graph = Graph(core, branch, read_only, actor, how, gate)
    try:
        graph.internals.read_state()  # a branch that does not exist is an error now, not at the first read
    except (FormatTooNew, FormatTooOld):
        raise
    except CorruptState:
        if not (read_only or rescue):
            raise
    graph.internals.refuse_misfit()
    return graph


def _open_gate(policy: PolicySource | Gate) -> Gate:
    from omnigraph.policy.read_bundle import open_gate

    return open_gate(policy)


def _open_remote(uri: str, branch: str, token: str | None, others: list[str]) -> Graph:
    from omnigraph.sdk.remote.graph import RemoteGraph

    if others:
        raise BadInput(f"a served graph is opened with a branch and a token: leave out {', '.join(others)}")
    # It has the methods of a graph, without being one that is stored here.
    return cast("Graph", RemoteGraph(uri, branch, token))


def open_root(uri: str | os.PathLike[str], storage_options: Mapping[str, str] | None) -> ObjectStore:
    """Return the object store of an address for a graph."""
    if not isinstance(uri, str | os.PathLike) or not isinstance(path := os.fspath(uri), str):
        raise BadInput(f"{uri!r} is not the address of a graph: use a path, file:// or s3://")
    if not isinstance(storage_options, Mapping | None):
        raise BadInput(f"storage_options is {type(storage_options).__name__}: use a dictionary of strings")
    store = open_store(path, storage_options)
    if store.scheme == "memory":
        raise BadInput(f"{uri!r}: a graph cannot be stored in memory: use a folder or s3://", uri=uri)
    return store


def _refuse_inside_a_graph(store: ObjectStore, storage_options: Mapping[str, str] | None) -> None:
    """Refuse a root among the files of another graph, which a cleanup of that one would remove."""
    parts = store.root_uri.split("/")
    for at, part in enumerate(parts):
        outer = "/".join(parts[:at])
        if is_reserved(part) and outer not in ("", "s3:", "s3:/"):
            try:
                read_stamp(open_store(outer, storage_options))
            except NotAGraph:
                continue
            inner = store.root_uri
            raise BadInput(f"{inner} lies inside the graph at {outer}: choose another address", uri=inner)


def _read_schema(schema: SchemaInput) -> StoredSchema:
    if isinstance(schema, Catalog):
        return StoredSchema(schema, "")
    text, file = read_schema_text(schema, others=", or a catalog")
    return StoredSchema(compile_schema(text, file=file), text)


def _check_schema(found: StoredSchema, given: SchemaInput) -> StoredSchema:
    """Return a schema whose rules the engine can apply, or refuse it."""
    from omnigraph.graph.schema_apply.check_satisfiable import check_usable

    file = str(given) if isinstance(given, str | Path) and found.source != given else ""
    check_usable(found.catalog, found.source, file)
    return found
