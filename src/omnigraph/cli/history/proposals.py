"""Proposals as people read them: what they are, what has happened to them, what keeps them from a merge."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from omnigraph.cli.output import print_table, print_text

if TYPE_CHECKING:
    import omnigraph as og

_WIDTH_LETTERS = 80


def show_proposal(found: og.Proposal) -> None:
    """Print a proposal, and what has happened to it."""
    print_text(f"{found.title}\n{found.state}: {found.source} → {found.into}, by {found.author or '-'}")
    if found.description:
        print_text(textwrap.fill(found.description, _WIDTH_LETTERS, replace_whitespace=False))
    for name in ("base_commit", "source_commit", "target_commit", "merged_commit"):
        if getattr(found, name):
            print_text(f"{name.removesuffix('_commit')}: {getattr(found, name)}")
    for event in found.events:
        said = event.facts.get("text", "")
        about = event.facts.get("entity")
        where = f" on {'/'.join(about.values())}" if about else ""
        line = f"{event.at:%Y-%m-%d %H:%M} {event.actor or '-'} {event.kind.replace('_', ' ')}{where}"
        _print_wrapped(f"{line}: {said}" if said else line)


def show_mergeability(judged: og.Mergeability) -> None:
    """Print whether a proposal can be merged, and if not, why."""
    if judged.mergeable:
        print_text(f"can be merged ({(judged.outcome or '').replace('_', ' ')})")
    for reason in judged.reasons:
        _print_wrapped(f"{reason.code}: {reason.message}")
    for conflict in judged.conflicts:
        _print_wrapped(f"  {conflict.kind}: {conflict.message}")
        for side, cause in (("ours", conflict.ours_by), ("theirs", conflict.theirs_by)):
            if cause is not None:
                print_text(f"    {side} by {cause}")
    for check in judged.checks:
        print_text(f"check {check.name}: {'passed' if check.ok else 'failed'}")
        if check.rows:
            print_table(check.columns, [[row[name] for name in check.columns] for row in check.rows])


def _print_wrapped(text: str) -> None:
    print_text(textwrap.fill(text, _WIDTH_LETTERS, subsequent_indent="    "))
