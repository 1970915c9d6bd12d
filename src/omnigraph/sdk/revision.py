"""What users give where a commit is meant: a snapshot, or words that stand for one."""

from __future__ import annotations

from typing import Any

from omnigraph.base.errors import BadInput


def revision_of(target: Any) -> str:
    """Return the commit of a snapshot, or the words."""
    found = target if isinstance(target, str) else getattr(target, "commit_id", None)
    if not isinstance(found, str):
        raise BadInput(f"{target!r} is neither a snapshot nor the name of a branch or commit")
    return found
