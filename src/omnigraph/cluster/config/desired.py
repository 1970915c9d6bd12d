"""All that a folder declares, read and checked: what `plan` compares with the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from omnigraph.base.errors import OmniError
from omnigraph.cluster.config.digests import compose_graph, encode_canonical, hash_bytes, hash_value
from omnigraph.cluster.config.model import ClusterConfig, GraphDeclaration, PipelineDeclaration
from omnigraph.cluster.config.read_config import CONFIG_FILE, read_declarations
from omnigraph.cluster.config.sources import SourceFiles
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.resources import (
    AppliedResource,
    DesiredResource,
    graph_address,
    pipeline_address,
    policy_address,
    provider_address,
    query_address,
    schema_address,
)


@dataclass(frozen=True, slots=True)
class DesiredCluster:
    """What is declared, as resources."""

    name: str
    locks: bool
    digest: str
    """Of all of it; comments and formatting of `cluster.yaml` do not count."""
    resources: Mapping[str, DesiredResource]
    schemas: Mapping[str, str] = field(repr=False)
    """The text of each graph's schema."""
    schema_files: Mapping[str, str] = field(repr=False)


def find_config(folder: Path, findings: ClusterFindings) -> ClusterConfig | None:
    """Return what the `cluster.yaml` of a folder says, without the files that it names.

    Names that lead nowhere are among the findings, and what they stand in is returned all the same.
    """
    path = folder / CONFIG_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        findings.error("config_missing", str(path), f"it cannot be read: {error.strerror or error}")
        return None
    return read_declarations(data, findings)


def read_desired(folder: Path, config: ClusterConfig, findings: ClusterFindings) -> DesiredCluster | None:
    """Return what a folder declares, or None when something of it is wrong."""
    files = SourceFiles(folder, findings)
    found: list[DesiredResource] = []
    providers: dict[str, str] = {}
    for name, profile in config.providers.items():
        described = {
            "kind": profile.kind,
            "base_url": profile.base_url,
            "model": profile.model,
            "api_key": None if profile.api_key_variable is None else f"${{{profile.api_key_variable}}}",
        }
        providers[name] = hash_value(described)
        record = AppliedResource(providers[name], embedding_profile=described)
        found.append(DesiredResource(provider_address(name), record))
    schemas: dict[str, str] = {}
    for graph in config.graphs.values():
        found += _read_graph(graph, files, providers, schemas)
    for policy in config.policies.values():
        text = files.policy(policy)
        record = AppliedResource(hash_bytes(text), applies_to=policy.applies_to)
        needs = tuple(graph_address(scope) for scope in policy.applies_to if scope in config.graphs)
        found.append(DesiredResource(policy_address(policy.name), record, text, needs))
    for pipeline in config.pipelines.values():
        payload = _describe_pipeline(pipeline, files, schemas.get(pipeline.graph))
        address = pipeline_address(pipeline.name)
        needs = (graph_address(pipeline.graph), schema_address(pipeline.graph))
        found.append(DesiredResource(address, AppliedResource(hash_bytes(payload)), payload, needs))
    if findings.has_errors:
        return None
    resources = {item.address: item for item in found}
    digest = hash_value(
        {
            "name": config.name,
            "storage": config.storage,
            "lock": config.locks,
            "resources": {
                address: [item.record.digest, item.record.applies_to] for address, item in resources.items()
            },
        }
    )
    return DesiredCluster(
        config.name,
        config.locks,
        digest,
        resources,
        schemas,
        {graph.id: str(folder / graph.schema) for graph in config.graphs.values()},
    )


def _read_graph(
    graph: GraphDeclaration, files: SourceFiles, providers: Mapping[str, str], schemas: dict[str, str]
) -> list[DesiredResource]:
    text, catalog = files.schema(graph)
    schemas[graph.id] = text
    own, schema = graph_address(graph.id), schema_address(graph.id)
    queries = files.queries(graph, catalog)
    blobs = tuple({"base": item.base, "scope": item.scope} for item in graph.external_blobs)
    digests = {name: hash_bytes(payload) for name, payload in queries.items()}
    schema_digest = hash_bytes(text.encode())
    provider = graph.embedding_provider
    # What nobody knows is refused above; a digest of nothing only keeps the reading going.
    digest = compose_graph(schema_digest, digests, providers.get(provider or ""), list(blobs))
    record = AppliedResource(digest, embedding_provider=provider, external_blob_policy=blobs)
    needs = () if provider is None else (provider_address(provider),)
    return [
        DesiredResource(own, record, needs=needs),
        DesiredResource(schema, AppliedResource(schema_digest), needs=(own,)),
        *(
            DesiredResource(
                query_address(graph.id, name), AppliedResource(digests[name]), payload, (own, schema)
            )
            for name, payload in queries.items()
        ),
    ]


def _describe_pipeline(pipeline: PipelineDeclaration, files: SourceFiles, schema: str | None) -> bytes:
    mapping = files.mapping(pipeline)
    files.check_pipeline(pipeline, schema)
    return encode_canonical(
        {
            "graph": pipeline.graph,
            "branch": pipeline.branch,
            "from_branch": pipeline.from_branch,
            "source": list(pipeline.source),
            "type": pipeline.type,
            "mode": pipeline.mode,
            "format": pipeline.format,
            "engine": pipeline.engine,
            "on_error": pipeline.on_error,
            "columns": dict(pipeline.columns),
            "mapping": None if mapping is None else {"name": mapping[0], "text": mapping[1]},
            "description": pipeline.description,
        }
    )


def read_folder(
    folder: Path, findings: ClusterFindings
) -> tuple[ClusterConfig | None, DesiredCluster | None]:
    """Return what a folder says and what it declares."""
    config = find_config(folder, findings)
    if config is None:
        return None, None
    try:
        return config, read_desired(folder, config, findings)
    except OmniError as error:
        findings.error(error.code, str(folder), error.message)
        return config, None
