"""Verifying the manifest: refs, tags, plans, schemas and every record of every live branch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from omnigraph.base.errors import OmniError
from omnigraph.graph.maintenance.missing_commits import (
    Listing,
    Named,
    commits_named_by_plan,
    commits_named_by_record,
    missing_numbers,
)
from omnigraph.graph.maintenance.verify.repair_report import LEFTOVER, RESTORE, Findings, try_read
from omnigraph.graph.maintenance.verify.verify_names import (
    LostName,
    read_branch_names,
    verify_renames,
    verify_unnamed,
)
from omnigraph.graph.maintenance.verify.verify_notes import verify_children, verify_notes
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.floors import Floor
from omnigraph.graph.manifest.lineage import Ancestry
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.schemas import Schemas
from omnigraph.graph.manifest.tags import StoredTag, way_out
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.recovery import plans
from omnigraph.graph.recovery.owner import is_alive
from omnigraph.graph.tags import is_renaming
from omnigraph.storage.objects import ObjectStore
from omnigraph.storage.tables.pages import Pages

_FLOOR_ADVICE = (
    "restore this file from a backup. Until then commits of this branch can be read and exported only by "
    "their ids, and nothing is written to it or cleaned up"
)


@dataclass
class History:
    """What could be read: the records of live branches and of tags, and the newest of each branch."""

    heads: dict[str, CommitRecord] = field(default_factory=dict)
    """By branch name."""
    records: dict[tuple[str, int], CommitRecord] = field(default_factory=dict)
    dropped: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """By chain: tables that were dropped for good, as their floors say."""
    named: set[tuple[str, int]] = field(default_factory=set)
    """Tags and forks of branches, by chain and number."""
    renames: list[StoredTag] = field(default_factory=list)
    """What holds branches that are being renamed."""
    lost: list[LostName] = field(default_factory=list)
    """Names of branches that repair can put right."""
    unnoted: list[BranchRef] = field(default_factory=list)
    """Branches of which nothing notes any more that they were forked from another."""

    def is_head(self, record: CommitRecord) -> bool:
        """Return whether a record is the newest of a branch."""
        return any(record is head for head in self.heads.values())


def verify_history(truth: Truth, lease_seconds: float, findings: Findings) -> History:
    """Read everything that the manifest says, and compare it with itself."""
    found, past = History(), Ancestry(truth.chains)
    stored = {incarnation: list(numbers) for incarnation, numbers in truth.chains.list_numbers().items()}
    paths = [layout.record_path(chain, seq) for chain, numbers in stored.items() for seq in numbers]
    names = read_branch_names(truth, findings)
    refs = [truth.stamp.main_ref, *names.refs]
    live = {ref.incarnation for ref in refs}
    reader = Pages(truth.store, paths)
    for ref in refs:
        findings.branches += 1
        _verify_chain(truth, reader, ref, stored.get(ref.incarnation, []), found, findings)
    unnamed: dict[str, dict[int, CommitRecord]] = {}
    for incarnation in sorted(stored.keys() - live):
        unnamed[incarnation] = _verify_ended(truth, reader, incarnation, stored[incarnation], found, findings)
    for ref in refs:
        _verify_head(truth, past, ref, found, findings)
    named = [item for record in found.records.values() for item in commits_named_by_record(record)]
    named += [Named(ref.fork, f"branch {ref.name!r}, forked from it") for ref in refs if ref.fork is not None]
    tagged = _verify_tags(truth, found, findings)
    by_name = [*(item.ref for item in tagged), *(ref.fork for ref in refs if ref.fork is not None)]
    found.named = {(ref.incarnation, ref.seq) for ref in by_name}
    named += tagged
    ends = [record for record in found.records.values() if record.closed]
    found.lost = verify_unnamed(truth, unnamed, ends, named, names, findings)
    verify_renames(found.renames, ends, refs, findings)
    for lost in found.lost:
        if lost.newest is not None:  # what a branch has that can be brought back is needed
            chain = lost.newest.incarnation
            found.records.update({(chain, seq): record for seq, record in unnamed[chain].items()})
    _verify_schemas(truth, found, findings)
    named += _verify_plans(truth, lease_seconds, findings)
    _verify_quarantine(truth, findings)
    verify_notes(truth.store, findings)
    found.unnoted = verify_children(truth, names.refs, findings)
    _verify_named(Listing.of(truth, stored, live), found, named, findings)
    return found


def _verify_chain(
    truth: Truth, reader: Pages, ref: BranchRef, numbers: list[int], found: History, findings: Findings
) -> None:
    before = len(findings.found)
    floor = _floor(truth, ref.incarnation, findings)
    first = floor.below if floor else ref.fork_seq + 1
    if len(findings.found) > before:  # what an unreadable floor would have said is dropped is not missed
        first = next((seq for seq in reversed(numbers) if seq - 1 not in numbers), first)
    if floor is not None:
        found.dropped[ref.incarnation] = floor.tables
    records = _records(reader, ref, numbers, floor, findings)
    # A hint is left after its record, so the chain has reached the number that it says.
    last = max(truth.chains.read_hint(ref.incarnation), *numbers, first - 1)
    _tell_missing(ref, missing_numbers(floor, first, last, set(numbers)), findings)
    _verify_links(ref, records, findings)
    found.records.update({(ref.incarnation, seq): record for seq, record in records.items()})
    if records:
        found.heads[ref.name] = records[max(records)]


def _verify_head(truth: Truth, past: Ancestry, ref: BranchRef, found: History, findings: Findings) -> None:
    """Verify what a branch was forked from, which is its head when it has no commits; all chains are read."""
    if ref.fork is not None:
        _verify_fork(truth, past, ref, ref.fork, found, findings)
    if ref.name in found.heads:
        return
    if ref.fork is not None and (place := (ref.fork.incarnation, ref.fork.seq)) in found.records:
        found.heads[ref.name] = found.records[place]
    elif ref.fork is None:
        findings.add("branch_empty", ref.name, "the main branch has no commit that can be read", RESTORE)


def _verify_ended(
    truth: Truth, reader: Pages, incarnation: str, numbers: list[int], found: History, findings: Findings
) -> dict[int, CommitRecord]:
    """Verify what is left of a deleted branch: history that was merged, or that waits for a cleanup.

    A chain that has no end is not one: its records are returned.
    """
    ref = BranchRef("", incarnation, None)
    floor = _floor(truth, incarnation, findings)
    if floor is not None:
        found.dropped[incarnation] = floor.tables
    records = _records(reader, ref, numbers, floor, findings)
    if records and not records[max(records)].closed:
        return records
    if records:
        ref = replace(ref, name=records[max(records)].branch)
        _tell_missing(ref, missing_numbers(floor, min(numbers), max(numbers), set(numbers)), findings)
    _verify_links(ref, records, findings)
    found.records.update({(incarnation, seq): record for seq, record in records.items()})
    return {}


def _floor(truth: Truth, incarnation: str, findings: Findings) -> Floor | None:
    """Return a chain's floor; one that cannot be read is told once, and verifying goes on without it."""
    path = layout.floor_path(incarnation)
    told = ("floor_unreadable", path) in {(item.code, item.where) for item in findings.found}
    aside = Findings() if told else findings
    return try_read(partial(truth.chains.floor, incarnation), aside, "floor_unreadable", path, _FLOOR_ADVICE)


def _records(
    reader: Pages, ref: BranchRef, numbers: list[int], floor: Floor | None, findings: Findings
) -> dict[int, CommitRecord]:
    records = {}
    for seq in numbers:
        if floor is not None and not floor.holds(seq):
            continue
        path = layout.record_path(ref.incarnation, seq)
        record = try_read(partial(_read_record, reader, path), findings, "record_unreadable", path)
        if record is None:
            continue
        findings.commits += 1
        records[seq] = record
    return records


def _tell_missing(ref: BranchRef, numbers: Iterable[int], findings: Findings) -> None:
    for seq in numbers:
        findings.add(
            "record_missing",
            layout.record_path(ref.incarnation, seq),
            f"branch {ref.name!r} does not have its commit number {seq} any more",
            RESTORE,
        )


def _read_record(store: ObjectStore | Pages, path: str) -> CommitRecord:
    return CommitRecord.decode(store.get(path), path)


def _verify_links(ref: BranchRef, records: Mapping[int, CommitRecord], findings: Findings) -> None:
    for older, newer in pairwise(sorted(records)):
        one, next_ = records[older], records[newer]
        path = layout.record_path(ref.incarnation, newer)
        is_named = next_.parent is not None and next_.parent.commit == one.commit
        if newer == older + 1 and not (is_named and next_.parent_digest == one.digest):
            named = next_.parent.commit if next_.parent else "none"
            findings.add(
                "parent_differs",
                path,
                f"its parent is {named}, but the commit before it is {one.commit}",
                "one of the two was replaced from outside: restore both from one backup",
            )
        if next_.created_at < one.created_at:
            findings.add("time_goes_back", path, "it is older than the commit before it", RESTORE)


def _verify_fork(
    truth: Truth, past: Ancestry, ref: BranchRef, fork: CommitRef, found: History, findings: Findings
) -> None:
    path = layout.record_path(fork.incarnation, fork.seq)
    record = found.records.get((fork.incarnation, fork.seq))
    if record is None:
        record = try_read(partial(_read_record, truth.store, path), findings, "fork_missing", path)
        if record is not None:
            found.records[fork.incarnation, fork.seq] = record
    if record is not None and record.commit != fork.commit:
        findings.add(
            "fork_differs", path, f"branch {ref.name!r} was forked from commit {fork.commit}", RESTORE
        )
    floor = _floor(truth, fork.incarnation, findings)
    if record is not None and floor is not None and not floor.holds(fork.seq):
        findings.add(
            "fork_dropped",
            path,
            f"branch {ref.name!r} was forked from a commit that a cleanup has dropped; cleanup stops here",
            f"export what you need of {ref.name!r} and delete it, or restore the graph from a backup",
        )


def _verify_tags(truth: Truth, found: History, findings: Findings) -> list[Named]:
    named: list[Named] = []
    for info in layout.own(truth.store.list(layout.TAGS)):
        name = layout.branch_of(info.path)
        advice = f"restore this file from a backup, or {way_out(name)}"
        tag = try_read(partial(truth.tags.read, name), findings, "tag_unreadable", info.path, advice)
        if tag is None or _is_void(truth, tag):
            continue
        if is_renaming(name):
            found.renames.append(tag)
        path = layout.record_path(tag.ref.incarnation, tag.ref.seq)
        record = found.records.get((tag.ref.incarnation, tag.ref.seq))
        if record is None:
            record = try_read(partial(_read_record, truth.store, path), findings, "tag_dangling", info.path)
        if record is not None:
            found.records[tag.ref.incarnation, tag.ref.seq] = record
            if record.commit == tag.ref.commit:
                named.append(Named(tag.ref, f"tag {name!r}"))
            else:
                findings.add(
                    "tag_dangling",
                    info.path,
                    f"it names commit {tag.ref.commit}, but in its place stands {record.commit}",
                    RESTORE,
                )
    return named


def _is_void(truth: Truth, tag: StoredTag) -> bool:
    try:
        return tag.void or truth.chains.has_dropped(tag.ref)
    except OmniError:
        return False  # the floor cannot be read, which is among the findings


def _verify_named(listing: Listing, found: History, named: Iterable[Named], findings: Findings) -> None:
    """Look for every commit that another one or a pending plan names, the newest of a chain among them."""
    told = {item.where for item in findings.found}
    for item in named:
        place = (item.ref.incarnation, item.ref.seq)
        path = layout.record_path(*place)
        if path in told:
            continue
        record = found.records.get(place)
        if record is not None and record.commit != item.ref.commit:
            what = f"in the place of commit {item.ref.commit} stands {record.commit}"
        elif record is None and _is_lost(listing, item.ref):
            what = f"commit {item.ref.commit} is missing, and no cleanup has dropped it"
        else:
            continue
        told.add(path)
        findings.add("commit_missing", path, f"{what}; it is named by {item.by}", RESTORE)


def _is_lost(listing: Listing, ref: CommitRef) -> bool:
    try:
        return listing.is_lost(ref)
    except OmniError:
        return False  # the floor cannot be read, which is among the findings


def _verify_schemas(truth: Truth, found: History, findings: Findings) -> None:
    schemas = Schemas(truth.store)
    for address in sorted({record.schema for record in found.records.values()}):
        path = layout.schema_path(address)
        try_read(partial(schemas.get, address), findings, "schema_unreadable", path)
    for address in sorted({record.queries for record in found.records.values()} - {""}):
        path = layout.schema_path(address)
        try_read(partial(schemas.queries, address), findings, "queries_unreadable", path)


def _verify_plans(truth: Truth, lease_seconds: float, findings: Findings) -> list[Named]:
    named: list[Named] = []
    for info in layout.own(truth.store.list(layout.RECOVERY)):
        try:
            durable = plans.read_plan(truth.store, info.path)
        except OmniError as error:
            findings.add(
                "plan_unreadable",
                info.path,
                error.message,
                "copy the file if you need what the write that left it did; the next write puts it aside",
            )
            continue
        if durable is None:
            continue
        plan = durable.plan
        named += commits_named_by_plan(durable)
        alive = is_alive(durable.owner, plan.operation_id, durable.created_at, lease_seconds)
        if not alive:
            findings.add(
                "plan_abandoned",
                info.path,
                f"a {plan.operation} on branch {plan.branch!r} was staged by a process that is gone",
                "repair with confirm finishes or discards it; so does the next write of any process",
                LEFTOVER,
            )
    return named


def _verify_quarantine(truth: Truth, findings: Findings) -> None:
    for info in truth.store.list(layout.QUARANTINE):
        if "/" in info.path.removeprefix(f"{layout.QUARANTINE}/"):
            findings.add(
                "name_quarantined",
                info.path,
                "the name of a branch or a tag that could not be read was put aside",
                "remove the file when you do not need it any more",
                LEFTOVER,
            )
            continue
        findings.add(
            "plan_quarantined",
            info.path,
            "a plan that could not be read was put aside; the write that left it may not have happened",
            "make that write again if it is missing, and remove the file",
            LEFTOVER,
        )
