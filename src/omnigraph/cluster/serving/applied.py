"""What was applied to a cluster, as whoever serves it reads it: without the lock, and whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from omnigraph.base.errors import (
    BadInput,
    CorruptState,
    EmbeddingNotConfigured,
    NotFound,
    OmniError,
    Unavailable,
)
from omnigraph.base.settings import Settings
from omnigraph.cluster.config.model import AllowedBlobs
from omnigraph.cluster.config.read_config import WHOLE_CLUSTER
from omnigraph.cluster.resources import (
    AppliedResource,
    graph_of,
    kind_of,
    name_of_resource,
    provider_address,
)
from omnigraph.cluster.serving.pipelines import Pipeline, read_pipeline
from omnigraph.cluster.store.intents import Intents
from omnigraph.cluster.store.layout import graph_path
from omnigraph.cluster.store.ledger import Ledger, LedgerState
from omnigraph.cluster.store.payloads import Payloads
from omnigraph.cluster.store.records import build_record
from omnigraph.compiler.stored.queries import QuerySet
from omnigraph.compiler.stored.read import read_queries
from omnigraph.embedding.config import EmbeddingConfig
from omnigraph.graph.write.integrity.blob_sources import BlobSources
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.read_bundle import BundleKind, parse_bundle, read_bundle
from omnigraph.storage.objects import ObjectStore, open_store


@dataclass(frozen=True)
class AppliedGraph:
    """One graph, with all that was applied for it."""

    name: str
    address: str
    graph_id: str | None
    """The identity of the graph that was applied; another one may be at its address."""
    queries: QuerySet = field(default_factory=QuerySet)
    policy: Bundle | None = None
    embedding: EmbeddingConfig | None = None
    allowed_blobs: tuple[AllowedBlobs, ...] = ()
    pipelines: Mapping[str, Pipeline] = field(default_factory=dict)
    problem: OmniError | None = None
    """Why it must not be served."""

    def blob_sources(self, is_served: bool) -> BlobSources:
        """Return from where blobs may come by their addresses; a server reads no files of its disk."""
        allowed = [item.base for item in self.allowed_blobs if item.scope == "server_safe" or not is_served]
        if is_served:
            allowed = [base for base in allowed if not base.startswith("file:")]
        return BlobSources(tuple(allowed), f"external_blobs.allow of {self.name!r} in cluster.yaml")


@dataclass(frozen=True)
class AppliedCluster:
    """One revision of a cluster."""

    name: str
    revision: int
    config_digest: str | None
    graphs: Mapping[str, AppliedGraph]
    server_policy: Bundle | None = None


class AppliedRevisions:
    """The revisions of one cluster, as they come."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._store = open_store(root)
        self._etag: str | None = None

    def read_newer(self, again: bool = False) -> AppliedCluster | None:
        """Return the applied revision, or None when it is the one that was read last: with `again` that one.

        What stands beside the ledger may have changed since: runs that have not finished, keys.
        """
        stored = Ledger(self._store).read()
        if stored is None:
            raise NotFound(
                f"the cluster at {self.root} has no state: run `omnigraph cluster import` and `apply` first",
                reason="state_missing",
            )
        if stored.etag == self._etag and not again:
            return None
        found = read_applied(self._store, stored.state)
        self._etag = stored.etag
        return found


def read_applied(store: ObjectStore, state: LedgerState) -> AppliedCluster:
    """Return what a state says was applied; every text is compared with its digest."""
    graphs = {
        name_of_resource(address): AppliedGraph(
            name_of_resource(address),
            f"{store.root_uri}/{graph_path(name_of_resource(address))}",
            item.graph_id,
            allowed_blobs=_read_allowed(address, item),
        )
        for address, item in state.resources.items()
        if kind_of(address) == "graph"
    }
    if not graphs:
        raise BadInput("the cluster has no graphs: declare some, and run `omnigraph cluster apply`")
    reader = _AppliedReader(store, state, graphs)
    reader.read_all()
    return AppliedCluster(
        state.name, state.revision, state.config_digest, reader.graphs, reader.server_policy
    )


def _read_allowed(address: str, item: AppliedResource) -> tuple[AllowedBlobs, ...]:
    given = item.external_blob_policy or ()
    return tuple(build_record(AllowedBlobs, dict(each), address) for each in given)


class _AppliedReader:
    def __init__(self, store: ObjectStore, state: LedgerState, graphs: dict[str, AppliedGraph]) -> None:
        self._store, self._state = store, state
        self._payloads = Payloads(store)
        self.graphs = graphs
        self.server_policy: Bundle | None = None

    def read_all(self) -> None:
        """Read all that belongs to the graphs."""
        for address, item in self._state.resources.items():
            match kind_of(address):
                case "policy":
                    self._bind_policy(address, item)
                case "pipeline":
                    self._add_pipeline(address, item)
                case "graph":
                    self._choose_provider(address, item)
        for name in self.graphs:
            self._change(name, queries=self._read_queries(name))
        self._leave_out_pending()

    def _text(self, address: str, item: AppliedResource) -> str:
        return self._payloads.read(address, item.digest).decode()

    def _bind_policy(self, address: str, item: AppliedResource) -> None:
        if not item.applies_to:
            raise CorruptState(f"the ledger does not say what {address} applies to: run `cluster apply`")
        is_for_all = WHOLE_CLUSTER in item.applies_to
        kind: BundleKind = "server" if is_for_all else "graph"
        bundle = read_bundle(parse_bundle(self._text(address, item), address), kind)
        if is_for_all:
            self.server_policy = bundle
        for name in item.applies_to:
            if name in self.graphs:
                self._change(name, policy=bundle)

    def _add_pipeline(self, address: str, item: AppliedResource) -> None:
        data = self._payloads.read(address, item.digest)
        found = read_pipeline(name_of_resource(address), item.digest, data, self._store.root_uri)
        if found.graph in self.graphs:
            known = self.graphs[found.graph].pipelines
            self._change(found.graph, pipelines={**known, found.name: found})

    def _choose_provider(self, address: str, item: AppliedResource) -> None:
        if item.embedding_provider is None:
            return
        name, provider = name_of_resource(address), provider_address(item.embedding_provider)
        record = self._state.resources.get(provider)
        if record is None or record.embedding_profile is None:
            raise CorruptState(f"the ledger does not say what {provider} is: run `cluster apply`")
        profile = record.embedding_profile
        variable, key = (profile.get("api_key") or "")[2:-1], None
        if variable:
            key = os.environ.get(variable)
            if not key:
                problem = EmbeddingNotConfigured(f"{provider} needs its key in {variable}, which is not set")
                self._change(name, problem=problem)
                return
        chosen = EmbeddingConfig(profile["kind"] or "", profile.get("model"), profile.get("base_url"), key)
        self._change(name, embedding=chosen)

    def _read_queries(self, graph: str) -> QuerySet:
        texts = {
            f"{name_of_resource(address)}.gq": self._text(address, item)
            for address, item in self._state.resources.items()
            if kind_of(address) == "query" and graph_of(address) == graph
        }
        return read_queries(texts, Settings.from_environment().stored_query_bytes)

    def _leave_out_pending(self) -> None:
        intents, unreadable = Intents(self._store).list()
        if unreadable:
            raise CorruptState(
                f"it cannot be told which graph {unreadable[0]} is about: look at it, then remove it",
                path=unreadable[0],
            )
        for intent in intents:
            if intent.id not in self._state.settled and intent.graph in self.graphs:
                problem = Unavailable(
                    f"a run has not finished its {intent.kind} of {intent.graph!r}: run `cluster apply`"
                )
                self._change(intent.graph, problem=problem)

    def _change(self, name: str, **given: object) -> None:
        self.graphs[name] = replace(self.graphs[name], **given)  # type: ignore[arg-type]
