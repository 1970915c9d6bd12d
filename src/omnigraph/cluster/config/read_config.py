"""From the text of `cluster.yaml` to what it declares."""

from __future__ import annotations

import re
from typing import Any, get_args

from omnigraph.base.choices import LoadMode, OnError, ReadEngine, SourceFormat
from omnigraph.base.errors import OmniError
from omnigraph.cluster.config.fields import Fields
from omnigraph.cluster.config.model import (
    AllowedBlobs,
    BlobScope,
    ClusterConfig,
    DeclaredQueries,
    GraphDeclaration,
    PipelineDeclaration,
    PolicyDeclaration,
    ProviderProfile,
)
from omnigraph.cluster.config.yaml_nodes import YamlValue, read_yaml
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.embedding.config import PROVIDER_KINDS, EmbeddingConfig
from omnigraph.wire.graph_names import GRAPH_NAME

CONFIG_FILE = "cluster.yaml"
WHOLE_CLUSTER = "cluster"
"""What a policy applies to when it is about the cluster itself, and not about graphs."""
_RESERVED = ("ui", "aliases", "bindings", "embeddings")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def read_config(data: bytes, findings: ClusterFindings) -> ClusterConfig | None:
    """Return what a text declares, or None; what is wrong is among the findings."""
    config = read_declarations(data, findings)
    return None if findings.has_errors else config


def read_declarations(data: bytes, findings: ClusterFindings) -> ClusterConfig | None:
    """Return what a text declares also when names in it lead nowhere, so that its files can be looked at."""
    node = read_yaml(data, CONFIG_FILE, findings)
    if node is None:
        return None
    root = Fields(node, "", findings)
    root.need("version")
    if root.number("version") not in (None, 1):
        root.refuse("version", "this release reads version 1", "unknown_version")
    about = root.inner("metadata", needed=True)
    name = about.need_text("name")
    about.close()
    storage = root.text("storage")
    state = root.inner("state")
    state.text("backend", choices=("cluster",))
    locks = state.flag("lock", True)
    state.close()
    providers = root.inner("providers")
    profiles = dict(providers.each("embedding", _read_provider))
    providers.close()
    graphs = {item.id: item for item in root.each("graphs", _read_graph)}
    policies = {item.name: item for item in root.each("policies", _read_policy)}
    pipelines = {item.name: item for item in root.each("pipelines", _read_pipeline)}
    root.close(_RESERVED)
    if findings.has_errors:
        return None
    config = ClusterConfig(name, storage, locks, profiles, graphs, policies, pipelines)
    _check_names(config, findings)
    _check_references(config, findings)
    return config


def _read_provider(name: str, given: Fields) -> tuple[str, ProviderProfile]:
    kind = given.need_text("kind", tuple(kind for kind in PROVIDER_KINDS if kind != "none"))
    address, model, key = given.text("base_url"), given.text("model"), given.text("api_key")
    variable = None
    if key is not None:
        found = _VARIABLE.fullmatch(key)
        if found is None:
            given.refuse("api_key", "write ${NAME}, the environment variable that holds it", "inline_secret")
        else:
            variable = found[1]
    given.close()
    if kind:
        try:
            EmbeddingConfig(kind, model, address)
        except OmniError as error:
            given.refuse("base_url" if address else "kind", error.message)
    return name, ProviderProfile(kind, address, model, variable)


def _read_graph(id: str, given: Fields) -> GraphDeclaration:
    schema = given.need_text("schema")
    folder, files = _read_queries(given)
    provider = given.text("embedding_provider")
    blobs = given.inner("external_blobs")
    allowed = [_read_blobs(item) for item in blobs.listed("allow")]
    blobs.close()
    given.close()
    return GraphDeclaration(id, schema, tuple(files), folder, provider, tuple(allowed), given.at)


def _read_queries(given: Fields) -> tuple[str | None, list[DeclaredQueries]]:
    node = given.raw("queries")
    if node is None:
        return None, []
    path = f"{given.path}.queries"
    if isinstance(node.value, str) and node.value.strip():
        return node.value, []
    if isinstance(node.value, list):
        names = given.texts("queries")
        items: list[YamlValue] = node.value
        places = [item.at for item in items]
        return None, [
            DeclaredQueries(file, None, f"{path}[{number}]", places[number])
            for number, file in enumerate(names)
        ]
    if isinstance(node.value, dict):

        def read(name: str, item: Fields) -> DeclaredQueries:
            file = item.need_text("file")
            item.close()
            return DeclaredQueries(file, name, f"{path}.{name}", item.at)

        return None, list(given.each("queries", read))
    given.refuse("queries", "this must be a folder, a list of files, or files by the names of queries")
    return None, []


def _read_blobs(given: Fields) -> AllowedBlobs:
    base = given.need_text("base")
    scope: Any = given.need_text("scope", get_args(BlobScope))
    given.close()
    if base and not base.startswith(("s3://", "file:///")):
        given.refuse("base", "write s3://bucket/prefix/ or file:///folder/")
    elif "@" in base or "?" in base or "#" in base or "/../" in f"{base}/" or "/./" in f"{base}/":
        given.refuse("base", "leave out credentials, parameters and dots")
    elif base.startswith("file:") and scope == "server_safe":
        given.refuse("scope", "a server reads no files of its disk: use embedded_only")
    return AllowedBlobs(base.rstrip("/") + "/", scope)


def _read_policy(name: str, given: Fields) -> PolicyDeclaration:
    file = given.need_text("file")
    scopes = given.texts("applies_to", needed=True)
    given.close()
    if WHOLE_CLUSTER in scopes and len(scopes) > 1:
        given.refuse(
            "applies_to", "a bundle is of one kind: for the cluster, or for graphs", "policy_mixed_scopes"
        )
    return PolicyDeclaration(name, file, tuple(dict.fromkeys(scopes)), given.at)


def _read_pipeline(name: str, given: Fields) -> PipelineDeclaration:
    source = given.raw("source")
    if source is not None and isinstance(source.value, list):
        sources = given.texts("source")
    else:
        sources = [given.need_text("source")]
    mapping, file, columns = given.raw("mapping"), None, {}
    if mapping is not None and isinstance(mapping.value, dict):
        columns = {key: item.value for key, item in mapping.value.items() if isinstance(item.value, str)}
        if len(columns) < len(mapping.value):
            given.refuse("mapping", "a mapping of columns gives the name of a property for each")
    else:
        file = given.text("mapping")
    mode: Any = given.need_text("mode", get_args(LoadMode))
    engine: Any = given.text("engine", "auto", get_args(ReadEngine))
    on_error: Any = given.text("on_error", "fail", get_args(OnError))
    # An Arrow stream is handed over by a program; files have the other formats.
    formats = tuple(item for item in get_args(SourceFormat) if item != "arrow")
    form: Any = given.text("format", None, formats)
    found = PipelineDeclaration(
        name,
        given.need_text("graph"),
        tuple(sources),
        mode,
        given.text("branch", "main") or "main",
        given.text("from_branch"),
        given.text("type"),
        form,
        file,
        columns,
        engine,
        on_error,
        given.text("description"),
        given.at,
    )
    given.close()
    for item in sources:
        if "\0" in item or ".." in item.split("/"):
            given.refuse("source", "a source may not lead upwards (`..`): give it below the cluster's root")
    if found.type is not None and file is not None:
        given.refuse("type", "a mapping file says the types itself: leave one of the two out")
    return found


def _check_names(config: ClusterConfig, findings: ClusterFindings) -> None:
    kinds: list[tuple[str, Any, re.Pattern[str]]] = [
        ("graphs", config.graphs, GRAPH_NAME),
        ("policies", config.policies, _NAME),
        ("pipelines", config.pipelines, _NAME),
        ("providers.embedding", config.providers, _NAME),
    ]
    for key, named, form in kinds:
        for name in named:
            if not form.fullmatch(name):
                message = f"{name!r} cannot be a name here: it must match {form.pattern}"
                findings.error("invalid_name", f"{key}.{name}", message)
    folded: dict[str, str] = {}
    for id in config.graphs:
        other = folded.setdefault(id.lower(), id)
        if other != id:
            message = f"{id!r} and {other!r} differ only in case, and some file systems know no difference"
            findings.error("invalid_name", f"graphs.{id}", message, config.graphs[id].at)


def _check_references(config: ClusterConfig, findings: ClusterFindings) -> None:
    for graph in config.graphs.values():
        wanted = graph.embedding_provider
        if wanted is not None and wanted not in config.providers:
            path = f"graphs.{graph.id}.embedding_provider"
            findings.error("unknown_reference", path, f"there is no provider {wanted!r}", graph.at)
        bases = [item.base for item in graph.external_blobs]
        for number, base in enumerate(bases):
            if any(base.startswith(other) for other in bases[:number] + bases[number + 1 :]):
                path = f"graphs.{graph.id}.external_blobs.allow[{number}].base"
                findings.error("invalid_value", path, f"{base!r} lies in another base: leave one out")
    bound: dict[str, str] = {}
    for policy in config.policies.values():
        for scope in policy.applies_to:
            path = f"policies.{policy.name}.applies_to"
            if scope != WHOLE_CLUSTER and scope not in config.graphs:
                findings.error("unknown_reference", path, f"there is no graph {scope!r}", policy.at)
            other = bound.setdefault(scope, policy.name)
            if other != policy.name:
                message = f"{scope!r} has the bundle {other!r} already: one bundle for each"
                findings.error("policy_scope_taken", path, message, policy.at)
    for pipeline in config.pipelines.values():
        if pipeline.graph and pipeline.graph not in config.graphs:
            path = f"pipelines.{pipeline.name}.graph"
            findings.error("unknown_reference", path, f"there is no graph {pipeline.graph!r}", pipeline.at)
