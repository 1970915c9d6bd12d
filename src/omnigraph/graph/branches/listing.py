"""Listing branches: a damaged one hides no other."""

from __future__ import annotations

import logging

from omnigraph.base.errors import CorruptState
from omnigraph.graph.manifest.refs import MAIN, BranchRef
from omnigraph.graph.manifest.truth import Truth

_log = logging.getLogger("omnigraph")


def list_branches(truth: Truth) -> list[str]:
    """Return the names of all branches: main first, then by name; the log tells of those that are damaged."""
    refs, damaged = truth.refs.scan()
    for error in damaged:
        _log.warning("a branch is not listed: %s", error.message)
    return [MAIN, *(ref.name for ref in refs if not (ref.deleted or ref.making or _has_ended(truth, ref)))]


def _has_ended(truth: Truth, ref: BranchRef) -> bool:
    try:
        return ref.deleting and truth.is_closed(ref)
    except CorruptState:
        return False
