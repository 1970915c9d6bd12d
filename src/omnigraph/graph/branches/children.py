"""Which branches were forked from a chain: a note for each, so that nobody has to look at all branches.

Nothing is noted of forks of main, which is never deleted.
"""

from __future__ import annotations

from omnigraph.base.errors import CorruptState
from omnigraph.graph.branches.unfinished import is_over
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
    found: set[str] = set()
    for info in layout.own(truth.store.list(layout.forks_of(parent))):
        child = info.path.rsplit("/", 1)[1].removesuffix(".json")
        data = truth.store.get_many([info.path])[0]
        if data is None:
            continue
        found.update(ref.name for ref in _candidates(truth, data, info.path) if _is_live(truth, ref, child))
    return sorted(found)


def decode_note(data: bytes, path: str) -> str:
    """Return the branch that a note names."""
    return stored_format.decode(data, path, "note", lambda content: str(content["branch"]))


def _candidates(truth: Truth, note: bytes, path: str) -> list[BranchRef]:
    """Return the branches that may have the chain that a note is of: the one that it names.

    All of them when the note is damaged: the chain is told by its path, and every branch names its chain.
    """
    try:
        name = decode_note(note, path)
    except CorruptState:
        return truth.refs.list()
    stored = truth.refs.read(name)
    return [stored.ref] if stored is not None and stored.ref is not None else []


def _is_live(truth: Truth, ref: BranchRef, chain: str) -> bool:
    if ref.onto is not None and ref.onto.incarnation == chain:
        return True  # it is being rebased, and may go on there
    if chain not in (ref.incarnation, truth.goes_on(ref).incarnation):
        return False
    return not is_over(truth, ref)
