"""Verifying the names of branches: which cannot be read, which are lost, and which chains have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from omnigraph.base.errors import FormatTooNew, FormatTooOld, OmniError
from omnigraph.graph.branches.rename import chain_of_hold, was_renamed
from omnigraph.graph.maintenance.missing_commits import Named, has_lost_its_ref
from omnigraph.graph.maintenance.verify.repair_report import LEFTOVER, RESTORE, Findings
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.tags import StoredTag
from omnigraph.graph.manifest.truth import Truth

_UNREADABLE = "ref_unreadable"
_LOST = "branch_lost"
_REF_LOST = "ref_lost"

Chain = Sequence[CommitRecord]
"""Records of one chain, oldest first."""


@dataclass(frozen=True, slots=True)
class LostName:
    """A name that is lost or damaged, and what can be done about it without a guess."""

    name: str
    code: str
    where: str
    """Where it was found, as its finding says."""
    newest: CommitRecord | None
    """The newest record of the branch; None for a name that stands for no commits, which can be put aside."""

    @property
    def is_damaged(self) -> bool:
        """Whether an object that cannot be read stands under the name."""
        return self.code == _UNREADABLE


@dataclass
class BranchNames:
    """What stands under the names of branches."""

    refs: list[BranchRef] = field(default_factory=list)
    """Of branches that live, there where they go on."""
    unreadable: dict[str, OmniError] = field(default_factory=dict)
    """By name."""
    without_ref: Sequence[str] = ()
    """Names that were used, and whose refs are lost."""


def read_branch_names(truth: Truth, findings: Findings) -> BranchNames:
    """Read all names of branches but main's; those that cannot be read are told when all chains are known."""
    names = BranchNames(without_ref=truth.refs.names_without_ref())
    for info in layout.own(truth.store.list(layout.BRANCHES)):
        name = layout.branch_of(info.path)
        try:
            stored = truth.refs.read(name)
        except (FormatTooNew, FormatTooOld) as error:
            findings.add(_UNREADABLE, info.path, error.message, RESTORE)
        except OmniError as error:
            names.unreadable[name] = error
        else:
            if stored is not None and stored.ref is not None:
                _take(truth, stored.ref, info.path, names, findings)
    return names


def _take(truth: Truth, ref: BranchRef, path: str, names: BranchNames, findings: Findings) -> None:
    if ref.making:
        findings.add(
            "branch_unfinished",
            path,
            f"branch {ref.name!r} is being made, or its maker was cut off",
            "nothing is lost: make it again, or delete it; a cleanup after the grace period does as well",
            LEFTOVER,
        )
        return
    try:
        closed = ref.deleting and truth.is_closed(ref)
    except OmniError:
        names.refs.append(ref)  # what of its chain cannot be read is found when the chain is followed
        return
    if closed:
        findings.add(
            "delete_unfinished",
            path,
            f"branch {ref.name!r} was deleted, but its name is still taken",
            "repair with confirm frees the name; so does the next cleanup",
            LEFTOVER,
        )
        return
    on = truth.goes_on(ref)
    names.refs.append(on)
    if on.incarnation != ref.incarnation:
        findings.add(
            "rebase_unfinished",
            path,
            f"branch {ref.name!r} was rebased, but its name still stands for what it was",
            "repair with confirm puts it right; so does the next change of the branch",
            LEFTOVER,
        )


def verify_unnamed(
    truth: Truth,
    unnamed: Mapping[str, Mapping[int, CommitRecord]],
    ends: Sequence[CommitRecord],
    named: Iterable[Named],
    names: BranchNames,
    findings: Findings,
) -> list[LostName]:
    """Tell chains that have neither a branch nor an end, given by their records, and damaged names."""
    used = {item.ref.incarnation: item.by for item in named}
    of_branch: dict[str, list[Chain]] = {name: [] for name in names.unreadable}
    for records in unnamed.values():
        if records:
            of_branch.setdefault(records[max(records)].branch, []).append(
                [records[seq] for seq in sorted(records)]
            )
    lost: list[LostName] = []
    for name, chains in of_branch.items():
        found: LostName | None = None
        if name in names.unreadable:
            error, newest = names.unreadable[name], _find_own(name, chains, ends)
            found = _verify_damaged(name, error, newest, _advise_beginning(name, ends), findings)
        elif has_lost_its_ref(truth, chains[0][-1]):
            found = _verify_lost(_find_own(name, chains, ends), used, findings)
        lost += [found] if found is not None else []
        own = found.newest.incarnation if found is not None and found.newest is not None else None
        for chain in chains:
            if chain[-1].incarnation != own:
                _verify_nobodys(chain[-1], used.get(chain[-1].incarnation), findings)
    found_again = {item.name for item in lost}
    without = [name for name in names.without_ref if name not in found_again]
    return lost + [_verify_used(name, _advise_beginning(name, ends), findings) for name in without]


def _advise_beginning(name: str, ends: Sequence[CommitRecord]) -> str:
    """Return how a branch is begun again that has had no commits since it was renamed or restored."""
    last = [end for end in ends if end.successor is None and (end.branch == name or was_renamed(end, name))]
    if not last or (parent := max(last, key=lambda end: end.created_at).parent) is None:
        return ""
    return (
        f"; if it lived it had what the last one of this name has had: `omnigraph branch create {name} "
        f"--commit {parent.commit}` begins it again, before a cleanup drops that"
    )


def verify_renames(
    renames: Iterable[StoredTag], ends: Sequence[CommitRecord], refs: Iterable[BranchRef], findings: Findings
) -> None:
    """Tell branches that stand under no name because their renames were cut off, given by what holds them."""
    standing = {chain for ref in refs for chain in ref.predecessors}
    ended = {end.incarnation: end for end in ends}
    for tag in renames:
        chain = chain_of_hold(tag.name)
        if chain in ended and chain not in standing:
            end = ended[chain]
            findings.add(
                "rename_unfinished",
                layout.tag_path(tag.name),
                f"branch {end.branch!r} is being {end.message}, or was when a process died: it has no name",
                f"nothing is lost: the same rename again finishes it, restoring {end.branch!r} takes it back",
                LEFTOVER,
            )


def _find_own(name: str, chains: Iterable[Chain], ends: Sequence[CommitRecord]) -> CommitRecord | None:
    """Return the newest record of the chain that a branch had last, if it had not ended.

    The others are of rebases that were not finished: older than the end of the branch, or than the chain in
    which it went on, or begun after its own.
    """
    ended = [end for end in ends if end.branch == name]
    over = max((end.created_at for end in ended if end.successor is None), default=-1)
    successors = {end.successor.incarnation for end in ended if end.successor is not None}
    left = [chain for chain in chains if chain[-1].created_at > over]
    left = [chain for chain in left if chain[-1].incarnation in successors] or left
    return min(left, key=lambda chain: chain[0].created_at)[-1] if left else None


def _verify_lost(newest: CommitRecord | None, used: Mapping[str, str], findings: Findings) -> LostName | None:
    if newest is None:
        return None
    path, ref_path = layout.record_path(newest.incarnation, newest.seq), layout.ref_path(newest.branch)
    advice = f"restore {ref_path} from a backup, or let repair with confirm bring the branch back"
    findings.add(_LOST, path, _no_ref(newest, used.get(newest.incarnation)), advice)
    return LostName(newest.branch, _LOST, path, newest)


def _verify_used(name: str, beginning: str, findings: Findings) -> LostName:
    path = layout.name_path(name)
    findings.add(
        _REF_LOST,
        path,
        f"branch {name!r} was made once, and its ref is lost",
        f"restore {layout.ref_path(name)} from a backup. The branch has no commits of its own, or was "
        f"deleted: repair with confirm frees the name{beginning}",
    )
    return LostName(name, _REF_LOST, path, None)


def _verify_nobodys(newest: CommitRecord, by: str | None, findings: Findings) -> None:
    path, ref_path = layout.record_path(newest.incarnation, newest.seq), layout.ref_path(newest.branch)
    if by is not None:
        advice = f"restore {ref_path}, or the record after this one, from a backup"
        findings.add(_LOST, path, _no_ref(newest, by), advice)
        return
    findings.add(
        "chain_unnamed",
        path,
        "a commit that no branch has: a branch was being made, or rebased",
        "cleanup removes it once it is old",
        LEFTOVER,
    )


def _no_ref(newest: CommitRecord, by: str | None) -> str:
    what = f"branch {newest.branch!r} has neither a ref nor an end"
    return f"{what}, but a commit of it is named by {by}" if by is not None else what


def _verify_damaged(
    name: str, error: OmniError, newest: CommitRecord | None, beginning: str, findings: Findings
) -> LostName:
    path = layout.ref_path(name)
    advice = (
        "restore this file from a backup, or let repair with confirm bring the branch back from its commits"
        if newest is not None
        else "restore this file from a backup. The branch has no commits of its own, or was "
        f"deleted: repair with confirm puts the file aside, and the name is free then{beginning}"
    )
    findings.add(_UNREADABLE, path, error.message, advice)
    return LostName(name, _UNREADABLE, path, newest)
