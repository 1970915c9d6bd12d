"""Folders that declare clusters, for tests."""

from __future__ import annotations

from pathlib import Path

import omnigraph as og
from omnigraph.cluster.operations.cluster import Cluster
from omnigraph.cluster.operations.report import ClusterReport
from omnigraph.sdk.managed import apply_for_cluster

PEOPLE = "node Person {\n  name: String @key\n  age: I32?\n}\n"
OLDER = PEOPLE.replace("  age: I32?\n", "  age: I32?\n  town: String?\n")
TEAM = "query everybody() {\n  match { $p: Person }\n  return { $p.name }\n}\n"
POLICY = """version: 1
groups:
  staff: [act-ada, agent-7]
rules:
  - id: staff
    allow:
      actors: { group: staff }
      actions: [read, change, export]
"""
GRAPH = "  {id}:\n    schema: people.pg\n    queries: queries\n"


def write_cluster(
    folder: Path,
    graphs: tuple[str, ...] = ("people",),
    *,
    schema: str = PEOPLE,
    queries: dict[str, str] | None = None,
    more: str = "",
    storage: str | None = None,
) -> Path:
    """Write the files of a cluster whose graphs have one schema and the same queries."""
    (folder / "queries").mkdir(parents=True, exist_ok=True)
    lines = ["version: 1", "metadata: { name: test }"]
    lines += [f"storage: {storage}"] if storage else []
    lines += ["graphs:" if graphs else "graphs: {}", *(GRAPH.format(id=id).rstrip() for id in graphs), more]
    (folder / "cluster.yaml").write_text("\n".join(lines) + "\n")
    (folder / "people.pg").write_text(schema)
    for old in (folder / "queries").iterdir():
        old.unlink()
    for name, text in (queries if queries is not None else {"all": TEAM}).items():
        (folder / "queries" / f"{name}.gq").write_text(text)
    return folder


def begin(folder: Path, options: dict[str, str] | None = None, actor: str = "act-ada") -> Cluster:
    """Make the cluster of a folder and apply it."""
    cluster = Cluster(folder, actor=actor, storage_options=options)
    assert cluster.import_().ok
    done = cluster.apply()
    assert done.ok and done["converged"], done.to_json()
    return cluster


def change_by_hand(folder: Path, schema: str, graph: str = "people") -> None:
    """Change the schema of a graph of a cluster past it: what only somebody with its storage can do."""
    with apply_for_cluster():
        og.open(folder / f"graphs/{graph}.omni").schema.apply(schema, allow_drop=True)


def dispositions(report: ClusterReport) -> dict[str, str]:
    """Return what is planned or was done, by resource."""
    return {
        change["resource"]: f"{change['operation']} {change['disposition']}" for change in report["changes"]
    }
