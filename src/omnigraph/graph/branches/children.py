"""Which branches were forked from a chain: a note for each, so that nobody has to look at all branches.

Nothing is noted of forks of main, which is never deleted.
"""

from __future__ import annotations

from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import Truth


def note_child(truth: Truth, parent: str, child: str, name: str) -> None:
    """Note that a chain is about to be forked from another, before it gets its name."""
    if parent != truth.stamp.main:
        path = layout.fork_path(parent, child)
        truth.store.put(path, stored_format.encode({"branch": name}, path))


def children_of(truth: Truth, parent: str) -> list[str]:
    """Return the names of the live branches that were forked from a chain, sorted."""
    found = []
    for info in truth.store.list(layout.forks_of(parent)):
        child = info.path.rsplit("/", 1)[1].removesuffix(".json")
        data = truth.store.get_many([info.path])[0]
        if data is None:
            continue
        name = stored_format.decode(data, info.path, "note", lambda content: str(content["branch"]))
        stored = truth.refs.read(name)
        if stored is not None and stored.ref is not None and _is_live(truth, stored.ref, child):
            found.append(name)
    return sorted(found)


def _is_live(truth: Truth, ref: BranchRef, chain: str) -> bool:
    if chain not in (ref.incarnation, truth.goes_on(ref).incarnation):
        return False
    return not truth.is_closed(ref) and not truth.is_void(ref)
