"""The lint report of a query file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omnigraph.base.errors import ResourceLimit
from omnigraph.compiler.catalog.model import Catalog, Property
from omnigraph.compiler.ir.queries import Update, WriteQuery
from omnigraph.compiler.lint.operation import describe_operation
from omnigraph.compiler.lower.query import lower_query
from omnigraph.compiler.query import ast
from omnigraph.compiler.query.parser import parse_all
from omnigraph.compiler.source import SourceText
from omnigraph.compiler.typecheck.check import check_query

_SEVERITIES = ("error", "warning", "info")
_HARD_CODED = "mutation declares no parameters, so its values are hard-coded"


def lint_queries(
    text: str, catalog: Catalog, schema_source: Mapping[str, str], query_path: str = ""
) -> dict[str, Any]:
    """Return the report as JSON data; `schema_source` says where the catalog came from."""
    results: list[dict[str, Any]] = []
    findings: list[dict[str, Any]] = []
    file, failure = _parse(text, query_path)
    if failure is not None:
        findings.append({"severity": "error", "code": "Q000", "message": failure})
    else:
        source = SourceText(text)
        updates: list[WriteQuery] = []
        for query in file.queries:
            results.append(_result(query, catalog, source, query_path, updates))
        findings += _unset_properties(catalog, updates)
    return _report(results, findings, schema_source, query_path)


def _parse(text: str, path: str) -> tuple[ast.File, str | None]:
    """Return the parsed file, or the problem that prevents it."""
    try:
        file, problems = parse_all(text)
    except ResourceLimit as error:
        return ast.File(()), error.message
    return file, "\n".join(item.render(path) for item in problems) or None


def _result(
    query: ast.Query, catalog: Catalog, source: SourceText, path: str, updates: list[WriteQuery]
) -> dict[str, Any]:
    mutation = isinstance(query.body, ast.Write)
    result: dict[str, Any] = {
        "name": query.name.text,
        "kind": "mutation" if mutation else "read",
        "status": "ok",
    }
    if mutation and not query.parameters:
        result["warnings"] = [_HARD_CODED]
    typed, problems = check_query(query, catalog, source)
    if typed is None:
        result["status"] = "error"
        result["error"] = "\n".join(item.render(path) for item in problems)
        return result
    compiled = lower_query(typed, catalog)
    if isinstance(compiled, WriteQuery):
        updates.append(compiled)
    result["operation"] = describe_operation(compiled)
    return result


def _unset_properties(catalog: Catalog, queries: list[WriteQuery]) -> Iterator[dict[str, Any]]:
    """Yield L201 for each nullable property of an updated node type that no update sets."""
    assigned: dict[str, set[str]] = {}
    names: dict[str, set[str]] = {}
    for query in queries:
        for statement in query.statements:
            if isinstance(statement, Update) and statement.table.kind == "node":
                name = statement.table.type_name
                assigned.setdefault(name, set()).update(item.property.name for item in statement.assignments)
                names.setdefault(name, set()).add(query.name)
    for name in sorted(assigned):
        node = catalog.node(name)
        for item in node.properties if node else ():
            if _can_be_set(item) and item.name not in assigned[name]:
                yield {
                    "severity": "warning",
                    "code": "L201",
                    "message": f"no update query sets the nullable property {name}.{item.name}",
                    "type_name": name,
                    "property": item.name,
                    "query_names": sorted(names[name]),
                }


def _can_be_set(item: Property) -> bool:
    return item.type.nullable and item.embed is None


def _report(
    results: list[dict[str, Any]],
    findings: list[dict[str, Any]],
    schema_source: Mapping[str, str],
    query_path: str,
) -> dict[str, Any]:
    findings = sorted(findings, key=_finding_order)
    failed = sum(item["status"] == "error" for item in results)
    counts = {name: sum(item["severity"] == name for item in findings) for name in _SEVERITIES}
    errors = failed + counts["error"]
    warnings = sum(len(item.get("warnings", ())) for item in results) + counts["warning"]
    return {
        "status": "error" if errors else "ok",
        "schema_source": dict(schema_source),
        "query_path": query_path,
        "queries_processed": len(results),
        "errors": errors,
        "warnings": warnings,
        "infos": counts["info"],
        "results": results,
        "findings": findings,
    }


def _finding_order(item: dict[str, Any]) -> tuple[int, str, str, str]:
    severity = _SEVERITIES.index(item["severity"])
    return severity, item.get("type_name", ""), item.get("property", ""), item["message"]
