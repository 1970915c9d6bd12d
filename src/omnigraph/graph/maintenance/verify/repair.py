"""`repair`: verify a whole graph, explain what does not add up, and fix what needs no guess."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta

from omnigraph.base.errors import CorruptState, OmniError
from omnigraph.graph.branches.children import note_child
from omnigraph.graph.branches.unfinished import finish_branches
from omnigraph.graph.maintenance.verify.lost_names import put_right
from omnigraph.graph.maintenance.verify.repair_report import Findings, Repair
from omnigraph.graph.maintenance.verify.scrub import LostSums, Progress
from omnigraph.graph.maintenance.verify.verify_history import History, verify_history
from omnigraph.graph.maintenance.verify.verify_notes import NOTE_LOST
from omnigraph.graph.maintenance.verify.verify_rows import verify_rows
from omnigraph.graph.maintenance.verify.verify_tables import verify_tables
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.opening import Core
from omnigraph.graph.recovery.settle import settle_abandoned
from omnigraph.storage.checksums.checking import forget

_MAX_VERIFICATIONS = 3


def repair(core: Core, confirm: bool, scrub: bool = False, progress: Progress | None = None) -> Repair:
    """Look at everything; with `confirm` bring lost branches back, settle plans, finish deletes.

    With `scrub` every byte of every file that a kept commit needs is read and compared with its hash.
    """
    forget()  # what this process has found sound before may have been damaged since
    for _ in range(_MAX_VERIFICATIONS):
        newest = core.truth.condemned.newest()
        findings, history, lost = _verify(core, scrub, progress)
        if findings.is_sound or core.truth.condemned.newest() == newest:
            break
        core.truth.chains.clear()  # a cleanup came between, and may have taken what was to be looked at
    if confirm:
        _put_names_right(core, history, findings)
        _mend(core, findings)
        _write_sums(core, lost, findings)
    return Repair(
        confirm,
        tuple(findings.found),
        findings.branches,
        findings.commits,
        findings.tables,
        findings.files,
        findings.rows,
    )


def _verify(
    core: Core, scrub: bool, progress: Progress | None
) -> tuple[Findings, History, Sequence[LostSums]]:
    findings, truth = Findings(), core.truth
    history = verify_history(truth, core.settings.plan_lease_seconds, findings)
    lost = verify_tables(truth.store, history, findings, scrub, progress)
    verify_rows(truth.store, Schemas(truth.store), history, findings)
    return findings, history, lost


def _put_names_right(core: Core, history: History, findings: Findings) -> None:
    for name in history.lost:
        if put_right(core.truth, name):
            findings.note_fixed(name.code, name.where)
    for ref in history.unnoted:
        if ref.fork is not None:
            note_child(core.truth, ref.fork.incarnation, ref.incarnation, ref.name)
            findings.note_fixed(NOTE_LOST, layout.fork_path(ref.fork.incarnation, ref.incarnation))


def _mend(core: Core, findings: Findings) -> None:
    """Do what needs no guess. What was staged and never published is left to cleanup and its grace period."""
    truth, settings = core.truth, core.settings
    codes = {item.code for item in findings.found}
    if "plan_abandoned" in codes and "plan_unreadable" not in codes:
        with suppress(CorruptState):  # which is among the findings, and what waits for it stays one
            settle_abandoned(truth, settings)
        _note_fixed(findings, "plan_abandoned", truth.store.exists)
    if codes & {"branch_unfinished", "delete_unfinished", "rebase_unfinished"}:
        with suppress(CorruptState):
            finish_branches(truth, settings.cleanup_grace_seconds)
        for code in ("branch_unfinished", "delete_unfinished"):
            _note_fixed(findings, code, lambda path: _is_taken(core, path))
        _note_fixed(findings, "rebase_unfinished", lambda path: _is_marked(core, path))
    truth.store.remove_residue(timedelta(seconds=settings.cleanup_grace_seconds))


def _write_sums(core: Core, lost: Sequence[LostSums], findings: Findings) -> None:
    """Write sums again that the files have proved: they have the digest that the commit tells."""
    for sums in lost:
        core.truth.store.put(sums.where, sums.data)
        findings.note_fixed("sums_damaged", sums.where)


def _note_fixed(findings: Findings, code: str, still_there: Callable[[str], bool]) -> None:
    for item in [item for item in findings.found if item.code == code]:
        if not still_there(item.where):
            findings.note_fixed(code, item.where)


def _is_taken(core: Core, path: str) -> bool:
    return _is_ref(core, path, lambda ref: True)


def _is_marked(core: Core, path: str) -> bool:
    return _is_ref(core, path, lambda ref: ref.deleting)


def _is_ref(core: Core, path: str, condition: Callable[[BranchRef], bool]) -> bool:
    """Return whether a name stands for a branch of which something is true; so it is of an unreadable one."""
    try:
        stored = core.truth.refs.read(layout.branch_of(path))
    except OmniError:
        return True
    return stored is not None and stored.ref is not None and condition(stored.ref)
