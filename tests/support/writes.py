"""The kinds of write that crash tests make, each with what it makes of a graph."""

from __future__ import annotations

from omnigraph.graph.write.work import CommitWork
from support.compaction import Compaction
from support.graphs import COMPANY, PERSON, WORKS_AT, Contents, rows
from support.row_changes import Append, Delete, Overwrite, RowChanges, Upsert

KINDS = ("append", "upsert", "delete", "overwrite", "many", "compact")
TABLES = {
    "append": {PERSON},
    "upsert": {PERSON},
    "delete": {PERSON, WORKS_AT},
    "overwrite": {COMPANY},
    "many": {PERSON, COMPANY, WORKS_AT},
    "compact": {PERSON, COMPANY, WORKS_AT},
}
"""Which tables each kind writes."""

DELETED = {"crashed": ("2", "3"), "next": ("4", "5"), "other": ("6",)}
"""What a delete with this tag deletes: persons `p…` and edges `w…`."""


def work(kind: str, tag: str) -> CommitWork:
    """Return a write of a kind; what it writes carries the tag."""
    if kind == "compact":
        return Compaction()
    return RowChanges(
        {
            "append": [Append(PERSON, rows(PERSON, [f"{tag}-1", f"{tag}-2"], tag))],
            "upsert": [Upsert(PERSON, rows(PERSON, ["p1", f"{tag}-1"], tag))],
            "delete": [
                Delete(PERSON, [f"p{n}" for n in DELETED.get(tag, ())]),
                Delete(WORKS_AT, [f"w{n}" for n in DELETED.get(tag, ())]),
            ],
            "overwrite": [Overwrite(COMPANY, rows(COMPANY, [f"{tag}-1"], tag))],
            "many": [
                Append(PERSON, rows(PERSON, [f"{tag}-1"], tag)),
                Upsert(COMPANY, rows(COMPANY, ["c1", f"{tag}-1"], tag)),
                Append(WORKS_AT, rows(WORKS_AT, [f"{tag}-1"], tag)),
            ],
        }[kind],
        operation=kind,
    )


def after(kind: str, tag: str, before: Contents) -> Contents:
    """Return what a graph says after a write."""
    said = {key: dict(table) for key, table in before.items()}
    if kind == "append":
        said[PERSON] |= {f"{tag}-1": tag, f"{tag}-2": tag}
    elif kind == "upsert":
        said[PERSON] |= {"p1": tag, f"{tag}-1": tag}
    elif kind == "delete":
        for number in DELETED.get(tag, ()):
            said[PERSON].pop(f"p{number}", None)
            said[WORKS_AT].pop(f"w{number}", None)
    elif kind == "overwrite":
        said[COMPANY] = {f"{tag}-1": tag}
    elif kind == "many":
        said[PERSON] |= {f"{tag}-1": tag}
        said[COMPANY] |= {"c1": tag, f"{tag}-1": tag}
        said[WORKS_AT] |= {f"{tag}-1": tag}
    return said
