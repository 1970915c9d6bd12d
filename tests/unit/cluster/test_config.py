"""`cluster.yaml` is read strictly: what is wrong is told with its place, all of it at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.cluster.config.desired import read_folder
from omnigraph.cluster.config.read_config import read_config
from omnigraph.cluster.diagnostics import ClusterFindings
from omnigraph.cluster.operations.cluster import Cluster
from support.clusters import POLICY, write_cluster

HEAD = "version: 1\nmetadata: { name: c }\n"


def found(text: str) -> list[tuple[str, str, int | None, int | None]]:
    findings = ClusterFindings()
    assert read_config(text.encode(), findings) is None
    return [(item.code, item.path, item.line, item.column) for item in findings]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (HEAD + "grahps: {}\n", ("unknown_key", "grahps", 3, 1)),
        (HEAD + "graphs: {}\ngraphs: {}\n", ("duplicate_key", "graphs", 4, 1)),
        (HEAD + "graphs:\n  a: { schema: x, schema: y }\n", ("duplicate_key", "graphs.a.schema", 4, 19)),
        (HEAD + "graphs:\n  a: {}\n", ("missing_key", "graphs.a.schema", 4, 6)),
        (HEAD + "graphs: [a]\n", ("wrong_type", "graphs", 3, 1)),
        (HEAD + "graphs: !!bool x\n", ("wrong_type", "graphs", 3, 1)),
        (HEAD + "ui: {}\n", ("reserved_key", "ui", 3, 1)),
        (HEAD + "state: { lock: often }\n", ("wrong_type", "state.lock", 3, 10)),
        (HEAD + "state: { backend: paper }\n", ("invalid_value", "state.backend", 3, 10)),
        (HEAD + "x: &a 1\ny: *a\n", ("yaml_alias", "y", 3, 4)),
        (HEAD + "graphs:\n  a: {schema: [\n", ("yaml_syntax", "cluster.yaml", 5, 1)),
        (HEAD + "graphs:\n  'a/b': { schema: s }\n", ("invalid_name", "graphs.a/b", None, None)),
        (
            HEAD + "graphs:\n  a: { schema: s, embedding_provider: p }\n",
            ("unknown_reference", "graphs.a.embedding_provider", 4, 6),
        ),
        (
            HEAD + "providers: { embedding: { p: { kind: mock, api_key: s3cr3t } } }\n",
            ("inline_secret", "providers.embedding.p.api_key", 3, 44),
        ),
        (
            HEAD
            + "graphs:\n  a:\n    schema: s\n    external_blobs:\n"
            + "      allow: [{ base: 'file:///d', scope: server_safe }]\n",
            ("invalid_value", "graphs.a.external_blobs.allow[0].scope", 7, 36),
        ),
        (
            HEAD + "graphs:\n  a: { schema: s }\npolicies:\n  p: { file: f, applies_to: [a, cluster] }\n",
            ("policy_mixed_scopes", "policies.p.applies_to", 6, 17),
        ),
        (
            HEAD
            + "graphs:\n  a: { schema: s }\npolicies:\n"
            + "  p: { file: f, applies_to: [a] }\n  q: { file: f, applies_to: [a] }\n",
            ("policy_scope_taken", "policies.q.applies_to", 7, 6),
        ),
        (
            HEAD + "graphs:\n  a: { schema: s }\npipelines:\n  p: { graph: a, source: ../x, mode: merge }\n",
            ("invalid_value", "pipelines.p.source", 6, 18),
        ),
        ("metadata: { name: c }\n", ("missing_key", "version", 1, 1)),
        ("version: 2\nmetadata: { name: c }\n", ("unknown_version", "version", 1, 1)),
        ("", ("config_empty", "cluster.yaml", None, None)),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, wanted: tuple[str, str, int, int]) -> None:
    assert wanted in found(text)


def test_a_secret_is_not_repeated() -> None:
    findings = ClusterFindings()
    read_config(
        (HEAD + "providers: { embedding: { p: { kind: mock, api_key: s3cr3t } } }").encode(), findings
    )
    assert "s3cr3t" not in repr(list(findings))


def test_comments_and_formatting_do_not_change_the_digest_and_a_query_does(tmp_path: Path) -> None:
    cluster = Cluster(write_cluster(tmp_path))
    first = cluster.validate()["config_digest"]
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "# why\nmetadata:\n    name: 'test'\n" + path.read_text().replace("metadata: { name: test }", "")
    )
    assert cluster.validate()["config_digest"] == first
    write_cluster(tmp_path, queries={"all": "query everybody() { match { $p: Person } return { $p.age } }"})
    assert cluster.validate()["config_digest"] != first


def test_files_are_compiled_against_each_other_and_all_that_is_wrong_is_told(tmp_path: Path) -> None:
    broken = (
        "// one that is not right\n\nquery everybody() {\n  match { $p: Person }\n  return { $p.shoe }\n}\n"
    )
    more = "policies:\n  p: { file: p.yaml, applies_to: [people] }\n"
    more += "pipelines:\n  l: { graph: people, source: x.csv, mode: merge, type: Shoe }\n"
    write_cluster(tmp_path, queries={"a": broken, "b": broken}, more=more)
    (tmp_path / "p.yaml").write_text(POLICY.replace("[read,", "[raed,"))
    report = Cluster(tmp_path).validate()
    assert not report.ok
    assert {"T6", "duplicate_query", "unknown_reference"} <= set(report.codes)
    assert ("queries/a.gq", 5) in {(item.path, item.line) for item in report.diagnostics}
    assert any(item.path == "p.yaml" and item.line == 8 for item in report.diagnostics)


def test_files_are_looked_at_also_where_names_lead_nowhere(tmp_path: Path) -> None:
    write_cluster(tmp_path, more="policies:\n  p: { file: none.yaml, applies_to: [pepole] }\n")
    report = Cluster(tmp_path).validate()
    assert {"unknown_reference", "file_missing"} <= set(report.codes)


def test_policies_about_data_are_read_and_compared_with_the_schema(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(
        HEAD + "graphs:\n  a: { schema: s.pg }\npolicies:\n  p: { file: p.yaml, applies_to: [a] }\n"
    )
    (tmp_path / "s.pg").write_text("node Person { name: String @key  salary: I32? }")
    rules = "version: 1\ngroups: {team: [ada]}\nrules: []\ndata:\n  hidden:\n    - properties: [Person.%s]\n"
    told = {}
    for name in ("salary", "salaryy", "name"):
        (tmp_path / "p.yaml").write_text(rules % name)
        findings = ClusterFindings()
        read_folder(tmp_path, findings)
        told[name] = [(item.severity, item.code, item.path, item.line) for item in findings]
    assert told["salary"] == []
    assert told["salaryy"] == [("warning", "policy_name_unknown", "p.yaml", 4)]
    assert told["name"] == [("error", "bad_input", "p.yaml", None)]
    (tmp_path / "p.yaml").write_text("version: 1\nrules: []\ndata:\n  rows: |\n    permit(everybody);\n")
    findings = ClusterFindings()
    assert read_folder(tmp_path, findings)[1] is None
    assert [(item.code, item.path, item.line) for item in findings] == [("not_cedar", "p.yaml", 5)]
