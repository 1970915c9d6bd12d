"""Resources: what a cluster consists of, each with an address such as `query.crm.find_person`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AppliedResource:
    """A resource as the ledger records it."""

    digest: str
    applies_to: tuple[str, ...] | None = None
    """Of a policy: the graphs, or `cluster`."""
    embedding_provider: str | None = None
    """Of a graph: the name of its provider."""
    embedding_profile: Mapping[str, str | None] | None = None
    """Of a provider; the key is the name of an environment variable."""
    external_blob_policy: tuple[Mapping[str, str], ...] | None = None
    """Of a graph."""
    graph_id: str | None = None
    """Of a graph: the identity that it got when it was made."""
    live: str | None = None
    """Of a schema: the digest of the text that the graph holds."""


def graph_address(id: str) -> str:
    """Return the address of a graph."""
    return f"graph.{id}"


def schema_address(id: str) -> str:
    """Return the address of a graph's schema."""
    return f"schema.{id}"


def query_address(id: str, name: str) -> str:
    """Return the address of a stored query."""
    return f"query.{id}.{name}"


def policy_address(name: str) -> str:
    """Return the address of a bundle of policies."""
    return f"policy.{name}"


def provider_address(name: str) -> str:
    """Return the address of a provider of embeddings."""
    return f"provider.embedding.{name}"


def pipeline_address(name: str) -> str:
    """Return the address of a pipeline."""
    return f"pipeline.{name}"


def kind_of(address: str) -> str:
    """Return the kind of the resource at an address."""
    return address.partition(".")[0]


def name_of_resource(address: str) -> str:
    """Return the last part of an address."""
    return address.rsplit(".", 1)[-1]


def graph_of(address: str) -> str | None:
    """Return the graph to which a resource belongs; policies, providers and pipelines belong to none."""
    parts = address.split(".")
    return parts[1] if parts[0] in ("graph", "schema", "query") and len(parts) > 1 else None


@dataclass(frozen=True, slots=True)
class DesiredResource:
    """A resource as it is declared."""

    address: str
    record: AppliedResource
    """What the ledger will say when it is applied; what only the live graph knows is not in it yet."""
    payload: bytes | None = field(default=None, repr=False)
    """What is stored of it beside the ledger."""
    needs: tuple[str, ...] = ()
    """The addresses of what must be applied before it."""


PAYLOAD_ENDINGS: Mapping[str, str] = {"query": "gq", "policy": "yaml", "pipeline": "json"}
"""Kinds that have a payload."""
