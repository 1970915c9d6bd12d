"""What a manifest names, read from its bytes: the same as what Lance tells of the opened version."""

from __future__ import annotations

from pathlib import Path

import omnigraph as og
from omnigraph.graph.publish.table_files import open_pinned
from omnigraph.storage.format.manifests import manifests
from omnigraph.storage.format.version_files import list_files, read_files
from omnigraph.storage.tables.opening import open_dataset

SCHEMA = """
node Person { name: String @key  bio: String? @index  photo: Blob? }
edge Knows: Person -> Person { since: I32? }
"""


def test_the_bytes_of_a_manifest_name_what_lance_names(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", SCHEMA)
    for start in range(0, 40, 10):
        people = [
            {"type": "Person", "data": {"name": f"p{n}", "bio": "text", "photo": "base64:aGVsbG8="}}
            for n in range(start, start + 10)
        ]
        edges = [{"edge": "Knows", "from": f"p{n}", "to": f"p{start}"} for n in range(start, start + 10)]
        graph.load([*people, *edges], mode="append")
    graph.optimize()
    for name in ("p1", "p22", "p31"):
        graph.mutate(f'query q() {{ delete Person where name = "{name}" }}')
    graph.load([{"type": "Person", "data": {"name": "last"}}], mode="append")
    store = graph.internals.core.truth.store
    seen = {"deletions": False, "indexes": False, "versions": 0}
    for commit in graph.commits.list()[:6]:
        for entry in graph.snapshot(commit=commit.id).record.tables.values():
            namespace = open_pinned(store, entry.key, entry.pinned)
            manifest = manifests.get(namespace.folder(entry.key), entry.pin.path, entry.pin.digest)
            told = list_files(entry.key, open_dataset(namespace, entry.key), manifest)
            found = read_files(manifest, entry.pin.path)
            assert set(found.data) == set(told.data)
            assert found.deletions == told.deletions
            assert found.index_folders == told.index_folders
            assert found.transactions == told.transactions
            assert found.fragments == told.fragments
            seen["deletions"] |= bool(told.deletions)
            seen["indexes"] |= bool(told.index_folders)
            seen["versions"] += 1
    assert seen["deletions"] and seen["indexes"] and seen["versions"] > 6
