"""What `branch merge`, `branch rebase`, `commit revert` and `commit cherry-pick` share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import omnigraph as og
from omnigraph.cli.output import print_json, print_note, print_table, print_text

Strategy = Annotated[
    str,
    typer.Option(help="What to do where both sides changed one entity: entity, property, ours or theirs."),
]
Resolutions = Annotated[
    Path | None, typer.Option(help="A file of answers to conflicts, such as an edited --conflicts-to file.")
]
ConflictsTo = Annotated[Path | None, typer.Option(help="Write conflicts to this file, to be answered in it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")]
Message = Annotated[str | None, typer.Option("--message", "-m", help="Why.")]


@dataclass(frozen=True, slots=True)
class RebaseOptions:
    """What a rebase takes, and everything else that may meet conflicts."""

    strategy: Strategy = "entity"
    resolutions: Resolutions = None
    conflicts_to: ConflictsTo = None
    dry_run: DryRun = False


@dataclass(frozen=True, slots=True)
class MergeOptions(RebaseOptions):
    """What a merge, a revert and a cherry-pick take."""

    message: Message = None


def carry_out(options: RebaseOptions, as_json: bool, run: Callable[[], og.Merge | og.Rebase]) -> None:
    """Run something that merges, keep its conflicts in a file, and show what it did."""
    with conflicts_kept(options.conflicts_to):
        done = run()
    keep_conflicts(options.conflicts_to, done.conflicts)
    if isinstance(done, og.Rebase):
        show_rebase(done, as_json, options.dry_run)
    else:
        show_merge(done, as_json, options.dry_run)


@contextmanager
def conflicts_kept(file: Path | None) -> Iterator[None]:
    """Write the conflicts that end a block to a file, where they can be answered."""
    try:
        yield
    except og.MergeConflicts as error:
        keep_conflicts(file, error.conflicts)
        raise


def keep_conflicts(file: Path | None, conflicts: Sequence[og.MergeConflict]) -> None:
    """Write conflicts to a file; `take` in each is there to be filled in."""
    if file is None or not conflicts:
        return
    content = {"conflicts": [{**item.to_json(), "take": None} for item in conflicts]}
    try:
        file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"the conflicts cannot be written to {file}: {error}") from error
    print_note(f"{len(conflicts)} conflicts are in {file}: set each `take` and give it as --resolutions")


def show_merge(done: og.Merge, as_json: bool, dry_run: bool) -> None:
    """Print what a merge did, or would do."""
    if done.branch_delete_error is not None:
        print_note(f"warning: the branch was not deleted: {done.branch_delete_error}")
    if as_json:
        print_json(_document(done, dry_run))
        return
    words = done.outcome.replace("_", " ")
    landed = f": commit {done.commit_id}" if done.commit_id else ""
    print_text(f"{'would be ' if dry_run else ''}{words}{landed}")
    if done.counts:
        rows = [(key, *asdict(counts).values()) for key, counts in done.counts.items()]
        print_table(("table", "inserted", "updated", "deleted"), rows)
    _show_conflicts(done.conflicts)


def show_rebase(done: og.Rebase, as_json: bool, dry_run: bool) -> None:
    """Print what a rebase did, or would do."""
    if as_json:
        conflicts = [item.to_json() for item in done.conflicts]
        print_json({**asdict(done), "conflicts": conflicts, "dry_run": dry_run})
        return
    words, count = done.outcome.replace("_", " "), len(done.commits)
    if dry_run:
        print_text(f"would be {words}: {count} commits made again")
    else:
        print_text(f"{words}: {count} commits made again, {done.branch} is at {done.commit_id}")
    _show_conflicts(done.conflicts)


def _show_conflicts(conflicts: Sequence[og.MergeConflict]) -> None:
    if conflicts:
        shown = [(item.kind, item.type_name, item.entity_id, item.message) for item in conflicts]
        print_table(("conflict", "type", "id", "what"), shown)


def _document(done: og.Merge, dry_run: bool) -> dict[str, Any]:
    return {
        "source": done.source,
        "target": done.target,
        "outcome": done.outcome,
        "commit": done.commit_id,
        "base": done.base,
        "dry_run": dry_run,
        "counts": {key: asdict(counts) for key, counts in done.counts.items()},
        "conflicts": [item.to_json() for item in done.conflicts],
        "branch_deleted": done.branch_deleted,
        "branch_delete_error": done.branch_delete_error,
    }
