"""The files that `cluster.yaml` names: read, compiled and checked, each problem with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from omnigraph.base.errors import OmniError, ParseError, TypeCheckError
from omnigraph.cluster.config.model import (
    DeclaredQueries,
    GraphDeclaration,
    PipelineDeclaration,
    PolicyDeclaration,
)
from omnigraph.cluster.config.read_config import WHOLE_CLUSTER
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.query.parser import parse
from omnigraph.execution.load.mapping.mapping import parse_mapping
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.data.names import find_places
from omnigraph.policy.gate import Gate
from omnigraph.policy.read_bundle import parse_bundle, read_bundle

_LARGEST_BYTES = 16 << 20


class SourceFiles:
    """The files below one folder."""

    def __init__(self, folder: Path, findings: ClusterFindings) -> None:
        self._folder, self._findings = folder, findings
        self._catalogs: dict[str, Catalog] = {}

    def schema(self, graph: GraphDeclaration) -> tuple[str, Catalog | None]:
        """Return the text of a graph's schema, and what it compiles to."""
        text = self._read_text(graph.schema, f"graphs.{graph.id}.schema", graph.at)
        if text is None:
            return "", None
        try:
            self._catalogs[graph.id] = compile_schema(text, graph.schema)
            return text, self._catalogs[graph.id]
        except OmniError as error:
            self._report(error, graph.schema)
            return text, None

    def queries(self, graph: GraphDeclaration, catalog: Catalog | None) -> dict[str, bytes]:
        """Return the text of each stored query of a graph, checked against its schema."""
        found: dict[str, tuple[str, str]] = {}
        texts: dict[str, str] = {}
        for given in self._query_files(graph):
            text = self._read_text(given.file, given.path, given.at)
            if text is None:
                continue
            try:
                parts = _split_queries(text, given.file)
            except OmniError as error:
                self._report(error, given.file)
                continue
            if given.name is not None and given.name not in parts:
                message = f"{given.file} has no query {given.name!r}, but {', '.join(parts) or 'none'}"
                self._findings.error("query_missing", given.path, message, given.at)
            texts[given.file] = text
            for name, part in parts.items():
                if given.name not in (None, name):
                    continue
                if name in found:
                    message = f"the query {name!r} is declared twice: in {found[name][0]} and {given.file}"
                    self._findings.error("duplicate_query", given.path, message, given.at)
                    continue
                found[name] = (given.file, part)
        for name, (file, _) in sorted(found.items()):
            self._check_query(name, texts[file], file, catalog)
        return {name: part.encode() for name, (_, part) in sorted(found.items())}

    def policy(self, policy: PolicyDeclaration) -> bytes:
        """Return the text of a bundle of policies."""
        text = self._read_text(policy.file, f"policies.{policy.name}.file", policy.at)
        if text is None:
            return b""
        kind: Literal["graph", "server"] = "server" if WHOLE_CLUSTER in policy.applies_to else "graph"
        try:
            bundle = read_bundle(parse_bundle(text, policy.file), kind)
            self._compare_names(bundle, policy)
        except OmniError as error:
            self._report(error, policy.file)
        return text.encode()

    def _compare_names(self, bundle: Bundle, policy: PolicyDeclaration) -> None:
        """Tell of names of the schema that a policy uses and the schema does not have.

        Older commits may have them, which no file says: a graph that never had them is refused when it is
        opened.
        """
        data = Gate(bundle).data
        for graph in policy.applies_to:
            catalog = self._catalogs.get(graph)
            if data is None or catalog is None:
                continue
            data.check_keys(catalog)
            for name in find_places(data.names, catalog, tuple)[1]:
                said = f"it names {name}, which the schema of {graph!r} does not have: only older commits may"
                self._findings.warn("policy_name_unknown", policy.file, said, bundle.places.get(("data",)))

    def mapping(self, pipeline: PipelineDeclaration) -> tuple[str, str] | None:
        """Return the name and the text of a pipeline's mapping file."""
        file = pipeline.mapping_file
        if file is None:
            return None
        text = self._read_text(file, f"pipelines.{pipeline.name}.mapping", pipeline.at)
        if text is None:
            return None
        try:
            parse_mapping(text, file)
        except OmniError as error:
            self._report(error, file)
        return Path(file).name, text

    def check_pipeline(self, pipeline: PipelineDeclaration, schema: str | None) -> None:
        """Refuse a pipeline for a type that its graph does not declare."""
        if not schema or pipeline.type is None:
            return
        try:
            catalog = compile_schema(schema)
        except OmniError:
            return
        if all(table.name != pipeline.type for table in catalog.tables):
            message = f"the graph {pipeline.graph!r} has no type {pipeline.type!r}"
            path = f"pipelines.{pipeline.name}.type"
            self._findings.error("unknown_reference", path, message, pipeline.at)

    def _query_files(self, graph: GraphDeclaration) -> list[DeclaredQueries]:
        if graph.query_folder is None:
            return list(graph.queries)
        path = f"graphs.{graph.id}.queries"
        folder = self._folder / graph.query_folder
        if not folder.is_dir():
            self._findings.error("file_missing", path, f"there is no folder {graph.query_folder}", graph.at)
            return []
        files = sorted(item.relative_to(self._folder).as_posix() for item in folder.glob("*.gq"))
        return [DeclaredQueries(file, None, path, graph.at) for file in files]

    def _check_query(self, name: str, text: str, file: str, catalog: Catalog | None) -> None:
        if catalog is None:
            return
        try:
            compile_query(text, catalog, name, file=file)
        except OmniError as error:
            self._report(error, file)

    def _read_text(self, file: str, path: str, at: tuple[int, int]) -> str | None:
        if not file:
            return None
        try:
            data = (self._folder / file).read_bytes()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self._findings.error("file_missing", path, f"{file} cannot be read: {reason}", at)
            return None
        if len(data) > _LARGEST_BYTES:
            self._findings.error("file_too_large", path, f"{file} has more than {_LARGEST_BYTES} bytes", at)
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self._findings.error("file_unreadable", path, f"{file} is not UTF-8 text: byte {error.start}", at)
            return None

    def _report(self, error: OmniError, file: str) -> None:
        if isinstance(error, ParseError | TypeCheckError):
            for item in error.diagnostics:
                self._findings.error(item.code, file, item.message, (item.line, item.column))
        else:
            self._findings.error(error.code, file, error.message)


def _split_queries(text: str, file: str) -> dict[str, str]:
    """Return the text of each query of a file; comments before a query belong to it."""
    found: dict[str, str] = {}
    start = 0
    for query in parse(text, file).queries:
        found[query.name.text] = text[start : query.span.end].strip() + "\n"
        start = query.span.end
    return found
