"""Verifying the small notes of the manifest, and telling what lies there and is not a graph's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from omnigraph.base.errors import OmniError
from omnigraph.graph.branches.children import decode_note
from omnigraph.graph.maintenance.verify.repair_report import Findings
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.condemned import decode_list
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.write.keys import decode_claim
from omnigraph.storage.objects import ObjectStore


def decode_as_it_is(data: bytes, path: str) -> object:
    """Return what an object holds, whose meaning is not looked at."""
    return stored_format.decode(data, path, "proposal", dict)


NOTE_LOST = "note_lost"
_NOTES_PER_READ = 256
_NOTE_KINDS: tuple[tuple[str, str, Callable[[bytes, str], object], str], ...] = (
    (
        layout.FORKS,
        "note_unreadable",
        decode_note,
        "restore it from a backup; until then all branches are looked at in its place, and it goes with "
        "the branch that was forked from",
    ),
    (
        layout.KEYS,
        "claim_unreadable",
        decode_claim,
        "restore it from a backup; until then a write with its idempotency key fails. If you know whether "
        "that write was made you may remove the file: the key is free then",
    ),
    (
        layout.PROPOSALS,
        "proposal_unreadable",
        decode_as_it_is,
        "restore it from a backup; until then nothing can be done with this proposal; others are sound",
    ),
    (
        layout.CONDEMNED,
        "list_unreadable",
        decode_list,
        "restore it from a backup; until then a write that began before that cleanup may fail, and can be "
        "made again",
    ),
)
"""Where such notes lie, what a damaged one is called, how one is read, and what to do."""


def verify_notes(store: ObjectStore, findings: Findings) -> None:
    """Read all notes about forks, claims of idempotency keys and lists of cleanups; tell foreign files."""
    notes: dict[str, list[str]] = {}
    for prefix in (layout.MANIFEST, layout.RECOVERY):
        for info in store.list(prefix):
            if not layout.is_own(info.path):
                findings.add_foreign(info.path)
                continue
            for folder, *_ in _NOTE_KINDS:
                if info.path.startswith(f"{folder}/"):
                    notes.setdefault(folder, []).append(info.path)
    for folder, code, decode, advice in _NOTE_KINDS:
        for path, error in _unreadable(store, notes.get(folder, []), decode):
            findings.add(code, path, error, advice)


def verify_children(truth: Truth, refs: Iterable[BranchRef], findings: Findings) -> list[BranchRef]:
    """Tell the branches of which nothing says that they were forked from another, and return them."""
    forked = [(ref, ref.fork.incarnation) for ref in refs if ref.fork is not None]
    forked = [(ref, parent) for ref, parent in forked if parent != truth.stamp.main]
    paths = [layout.fork_path(parent, ref.incarnation) for ref, parent in forked]
    lost = []
    for (ref, _), path, data in zip(forked, paths, truth.store.get_many(paths), strict=True):
        if data is None:
            findings.add(
                NOTE_LOST,
                path,
                f"nothing notes any more what branch {ref.name!r} was forked from, which could be deleted",
                "repair with confirm notes it again",
            )
            lost.append(ref)
    return lost


def _unreadable(
    store: ObjectStore, paths: list[str], decode: Callable[[bytes, str], object]
) -> Iterable[tuple[str, str]]:
    for start in range(0, len(paths), _NOTES_PER_READ):
        page = paths[start : start + _NOTES_PER_READ]
        for path, data in zip(page, store.get_many(page), strict=True):
            try:
                if data is not None:
                    decode(data, path)
            except OmniError as error:
                yield path, error.message
