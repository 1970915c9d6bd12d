"""What `branch merge`, `branch rebase`, `commit revert` and `commit cherry-pick` share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import omnigraph as og
from omnigraph.cli.options import MetadataOption
from omnigraph.cli.output import print_json, print_note, print_table, print_text
from omnigraph.cli.session import EXIT_FAILED

_STRATEGY = typer.Option(
    help="What to do where both sides changed one entity: entity, property, ours or theirs."
)
Strategy = Annotated[str, _STRATEGY]
Resolutions = Annotated[
    Path | None, typer.Option(help="A file of answers to conflicts, such as an edited --conflicts-to file.")
]
ConflictsTo = Annotated[Path | None, typer.Option(help="Write conflicts to this file, to be answered in it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")]
_IDENTITY_FIELDS = ("kind", "entity_kind", "type_name", "entity_id", "base", "ours", "theirs")
_MISSING = object()
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
    """What a merge and a cherry-pick take."""

    message: Message = None
    metadata: MetadataOption = None


@dataclass(frozen=True, slots=True)
class RevertOptions(MergeOptions):
    """What a revert takes: which strategy is meant unless one is given depends on what is taken back."""

    strategy: Annotated[str | None, _STRATEGY] = None  # type: ignore[assignment]


def carry_out(options: RebaseOptions, as_json: bool, run: Callable[[], og.Merge | og.Rebase]) -> None:
    """Run something that merges, keep its conflicts in a file, and show what it did."""
    try:
        done = run()
    except og.MergeConflicts as error:
        keep_conflicts(options.conflicts_to, error.conflicts, options.resolutions)
        if not as_json:
            show_conflicts(error.conflicts)
        raise
    keep_conflicts(options.conflicts_to, done.conflicts, options.resolutions)
    if isinstance(done, og.Rebase):
        show_rebase(done, as_json, options.dry_run)
    else:
        show_merge(done, as_json, options.dry_run)
    if done.conflicts:
        raise typer.Exit(EXIT_FAILED)


def keep_conflicts(file: Path | None, conflicts: Sequence[og.MergeConflict], answers: Path | None) -> None:
    """Write conflicts to a file, after the answers that were given; each has a `take` to be filled in."""
    from omnigraph.storage.files.outputs import whole_file

    if file is None or not conflicts:
        return
    left = [item.to_json() for item in conflicts]
    given = [] if answers is None else _read_answers(answers, left)
    content = {"conflicts": [*given, *({**item, "take": None} for item in left)]}
    text = json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n"
    if file.is_char_device() or file.is_fifo():
        file.write_bytes(text)
    else:
        with whole_file(file.resolve()) as out:
            out.write(text)
    are = "conflict is" if len(left) == 1 else "conflicts are"
    print_note(f"{len(left)} {are} in {file}: set each `take` and give it as --resolutions")


def _read_answers(file: Path, left: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the answers in a file, except those to conflicts that were left as they are."""
    from omnigraph.graph.merge.answers.read_resolutions import list_members

    found = [{name: item[name] for name in _IDENTITY_FIELDS} for item in left]
    return [
        item
        for item in list_members(file)
        if item.get("take") is not None
        and {name: item.get(name, _MISSING) for name in _IDENTITY_FIELDS} not in found
    ]


def show_merge(done: og.Merge, as_json: bool, dry_run: bool) -> None:
    """Print what a merge did, or would do."""
    if done.branch_delete_error is not None:
        print_note(f"warning: the branch was not deleted: {done.branch_delete_error}")
    if as_json:
        print_json(_document(done, dry_run))
        return
    words = done.outcome.replace("_", " ")
    landed = f": commit {done.commit_id}" if done.commit_id else ""
    if done.conflicts:
        print_text(_refusal(done.conflicts))
    else:
        print_text(f"{'would be ' if dry_run else ''}{words}{landed}")
    if done.counts:
        rows = [(key, *asdict(counts).values()) for key, counts in done.counts.items()]
        print_table(("table", "inserted", "updated", "deleted"), rows)
    show_conflicts(done.conflicts)


def show_rebase(done: og.Rebase, as_json: bool, dry_run: bool) -> None:
    """Print what a rebase did, or would do."""
    if as_json:
        conflicts = [item.to_json() for item in done.conflicts]
        print_json({**asdict(done), "conflicts": conflicts, "dry_run": dry_run})
        return
    words, count = done.outcome.replace("_", " "), len(done.commits)
    if done.conflicts:
        print_text(_refusal(done.conflicts))
    elif dry_run:
        print_text(f"would be {words}: {count} commits made again")
    else:
        print_text(f"{words}: {count} commits made again, {done.branch} is at {done.commit_id}")
    show_conflicts(done.conflicts)


def _refusal(conflicts: Sequence[og.MergeConflict]) -> str:
    return f"would be refused: {len(conflicts)} conflict{'s' if len(conflicts) > 1 else ''}"


def show_conflicts(conflicts: Sequence[og.MergeConflict]) -> None:
    """Print places where two sides disagree, and who has made each side what it is."""
    if conflicts:
        shown = [
            (*(item.kind, item.type_name, item.entity_id, item.message), item.ours_by, item.theirs_by)
            for item in conflicts
        ]
        print_table(("conflict", "type", "id", "what", "ours by", "theirs by"), shown)


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
