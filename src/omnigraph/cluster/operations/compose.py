"""The digests of graphs, as their recorded parts make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.cluster.config.digests import compose_graph
from omnigraph.cluster.resources import (
    AppliedResource,
    kind_of,
    name_of_resource,
    provider_address,
    query_address,
    schema_address,
)


def compose_graphs(resources: Mapping[str, AppliedResource]) -> dict[str, AppliedResource]:
    """Return resources with the digests of graphs as their recorded parts make them."""
    found = dict(resources)
    for address, record in resources.items():
        if kind_of(address) != "graph":
            continue
        id = name_of_resource(address)
        schema = resources.get(schema_address(id))
        queries = {
            name_of_resource(other): item.digest
            for other, item in resources.items()
            if other.startswith(query_address(id, ""))
        }
        provider = resources.get(provider_address(record.embedding_provider or ""))
        found[address] = replace(
            record,
            digest=compose_graph(
                schema.digest if schema is not None else None,
                queries,
                provider.digest if provider is not None else None,
                [dict(item) for item in record.external_blob_policy or ()],
            ),
        )
    return found
