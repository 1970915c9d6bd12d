"""Small graphs for tests of the engine: a schema, rows, what a graph says, and whether it is sound."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

import omnigraph as og
from omnigraph.graph.handle import Graph
from omnigraph.graph.history import Commit
from omnigraph.graph.snapshot import Snapshot
from omnigraph.storage.objects import open_store

PERSON, COMPANY, WORKS_AT = "node:Person", "node:Company", "edge:WorksAt"
SCHEMA = """
node Person { note: String? }
node Company { note: String? }
edge WorksAt: Person -> Company { note: String? }
"""

Contents = dict[str, dict[str, str]]
"""Table key to row id to note."""


def rows(key: str, ids: Iterable[str], note: str) -> pa.Table:
    """Return rows of a table of `SCHEMA`, or of any schema whose types have the one property `note`."""
    names = list(ids)
    columns = {"id": names, "note": [note] * len(names)}
    fields = [pa.field("id", pa.string(), nullable=False)]
    if key.startswith("edge:"):
        columns["src"] = columns["dst"] = names
        fields += [pa.field(name, pa.string(), nullable=False) for name in ("src", "dst")]
    fields.append(pa.field("note", pa.string()))
    return pa.table(columns, schema=pa.schema(fields))


def contents(snapshot: Snapshot) -> Contents:
    """Scan every table; the scan must agree with the commit record and no id may stand twice."""
    found: Contents = {}
    for info in snapshot.tables:
        scanned = snapshot.table(info.key).scan(columns=["id", "note"])
        table = dict(zip(scanned["id"].to_pylist(), scanned["note"].to_pylist(), strict=True))
        assert scanned.num_rows == info.rows, f"{info.key}: {scanned.num_rows} rows, recorded {info.rows}"
        assert len(table) == scanned.num_rows, f"{info.key} holds an id twice"
        found[info.key] = table
    return found


def plan_paths(uri: str, options: Mapping[str, str] | None = None) -> list[str]:
    """Return the recovery plans that lie in a graph."""
    return [info.path for info in open_store(uri, options).list("__recovery")]


def all_commits(graph: Graph) -> dict[str, Commit]:
    """Return every commit that any live branch reaches, by id."""
    return {commit.id: commit for branch in graph.branches.list() for commit in graph.commits.list(branch)}


def notes(graph: Graph) -> list[str]:
    """Return the kinds of all recovery notes; no plan may have two."""
    found = [note for commit in all_commits(graph).values() for note in commit.recovery]
    operations = [note["operation_id"] for note in found]
    assert len(operations) == len(set(operations)), "two notes about one plan"
    return sorted(str(note["kind"]) for note in found)


def assert_sound(uri: str, options: Mapping[str, str] | None = None) -> dict[str, Contents]:
    """Check every branch from a fresh read-only handle: one linear chain, readable pins, right counts."""
    graph = og.open(uri, read_only=True, storage_options=options)
    said = {}
    for branch in graph.branches.list():
        chain = graph.commits.list(branch)
        assert [commit.version for commit in chain] == list(range(len(chain), 0, -1))
        assert all(newer.parent == older.id for newer, older in pairwise(chain))
        assert all(newer.created_at >= older.created_at for newer, older in pairwise(chain))
        assert chain[-1].parent is None
        assert len({commit.id for commit in chain}) == len(chain)
        said[branch] = contents(graph.snapshot(branch))
    notes(graph)
    return said


def fingerprint(root: Path) -> dict[str, str]:
    """Return the hash of every file under a folder."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else "folder"
        for path in sorted(root.rglob("*"))
    }
