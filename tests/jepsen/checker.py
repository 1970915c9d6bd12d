"""Compares what clients were told and saw with what is there; it knows nothing of the engine's logic.

Each rule takes the model of a history and what was observed at the end, and tells anomalies with the
operations that show them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from jepsen.content import seen_in
from jepsen.history import BROKEN, FAIL, OK, UNKNOWN, History, Op
from jepsen.model import (
    READING,
    Model,
    both,
    failed,
    joined,
    mask_of,
    names_in,
    without,
)

MOMENTS = ("left", "settled", "cleaned")
"""When the graph was read at the end: as it was left, after plans were settled, after cleanups."""
SILENCE_SECONDS = 60.0
"""How long it may take until any client is answered."""

_RACES = frozenset({"contention", "expected_version_mismatch"})
_GONE = frozenset({"not_found", "branch_gone"})
_DROPPED = frozenset({"historical_version_reclaimed"})
EXPECTED: Mapping[str, frozenset[str]] = {
    "open": frozenset(),
    "look": _DROPPED | _GONE,
    "append": _RACES | _GONE,
    "note": _RACES | {"type_error"},
    "scratch": _RACES | {"type_error"},
    "transfer": _RACES | _DROPPED | {"precondition_failed"},
    "load": _RACES | _GONE,
    "again": _RACES,
    "claim": _RACES | {"validation_error"},
    "ticket": _RACES | {"key_conflict"},
    "person": _RACES,
    "edge": _RACES | {"validation_error"},
    "delete_person": _RACES,
    "create_branch": _RACES | _GONE | _DROPPED | {"already_exists", "branch_in_use"},
    "delete_branch": _RACES | _GONE | {"branch_in_use"},
    "merge": _RACES | _GONE | _DROPPED,
    "read": _GONE | _DROPPED,
    "travel": _GONE | _DROPPED,
    "tag": _DROPPED | _GONE | {"contention"},
    "untag": frozenset(),
    "schema": _RACES | {"schema_change_unsupported"},
    "cleanup": frozenset({"contention"}),
    "optimize": _RACES | _GONE,
}
"""Errors that an operation may end with; any other one is an anomaly."""
NEEDS_BRANCH = ("append", "load", "read", "optimize")


@dataclass(frozen=True)
class Anomaly:
    """Something that must never happen, and the operations that show it."""

    kind: str
    what: str
    ops: tuple[Op, ...] = ()

    def __str__(self) -> str:
        return "\n    ".join([f"{self.kind}: {self.what}", *(str(op) for op in self.ops)])


Observed = Mapping[str, Any]
Rule = Callable[[Model, Observed], Iterator[Anomaly]]


def check(history: History, observed: Observed) -> list[Anomaly]:
    """Return all anomalies of a run."""
    model = Model(history)
    return [anomaly for rule in RULES for anomaly in rule(model, observed)]


def broken_answers(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """Nobody meets damage, an exception without a type, or an error that does not belong to the operation."""
    for op in model.raw.ops:
        if op.outcome == BROKEN:
            kind = "corrupt_state" if op.code.islower() else "untyped_error"
            yield Anomaly(kind, f"{op.code}: {op.answer.get('trace') or op.answer.get('message')}", (op,))
        elif op.code and op.code not in _expected(op):
            yield Anomaly("unexpected_error", f"{op.code}: {op.answer.get('message')}", (op,))
        elif op.answer.get("errors"):
            yield Anomaly("unexpected_error", f"a table was not swept: {op.answer['errors']}", (op,))


def _expected(op: Op) -> frozenset[str]:
    expected = EXPECTED[op.kind]
    if op.outcome == UNKNOWN:
        expected |= {"unavailable", "outcome_unknown"}
    on_main = op.kind in NEEDS_BRANCH and op.facts["branch"] == "main"
    return expected - _GONE if on_main or op.kind == "look" else expected


def deaths(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """A client ends when it is told to, and only the nemesis kills."""
    for fault in model.history.faults:
        if fault["is"] in ("died", "hung"):
            last = [op for op in model.history.ops if op.client == fault["client"]][-1:]
            yield Anomaly(fault["is"], f"{fault['client']} {fault.get('code', '')}", tuple(last))


def silences(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """Whatever is stopped or killed, others go on."""
    ended = sorted(op.ended for op in model.history.ops if op.outcome != UNKNOWN)
    for one, other in pairwise(ended):
        if other - one > SILENCE_SECONDS:
            yield Anomaly("silence", f"no operation ended between {one:.1f} and {other:.1f}")


def snapshots(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """No snapshot, whenever read, breaks a rule by itself; a commit always says the same."""
    first: dict[str, tuple[str, tuple[Op, ...]]] = {}
    told: set[str] = set()
    for where, summary, ops in _summaries(model, observed):
        for problem in summary["problems"]:
            if problem in told:
                continue
            told.add(problem)
            kind, _, what = problem.partition(": ")
            about = _about(model, what)
            yield Anomaly(kind, f"{what} (commit {summary['commit']}, {where})", (*about, *ops))
        digest, earlier = first.setdefault(summary["commit"], (summary["digest"], ops))
        if digest != summary["digest"]:
            yield Anomaly("changed_commit", f"commit {summary['commit']} changed ({where})", (*earlier, *ops))


def _about(model: Model, what: str) -> list[Op]:
    """Return the operations, try by try, whose rows a problem names."""
    names = set(re.findall(r"c\d+g\d+-\d+", what))
    return [op for op in model.raw.ops if op.name in names or op.facts.get("of") in names]


def _summaries(model: Model, observed: Observed) -> Iterator[tuple[str, Mapping[str, Any], tuple[Op, ...]]]:
    for op in model.history.of(*READING):
        if op.outcome == OK:
            yield f"read by {op.client}", op.answer, (op,)
    for moment in MOMENTS:
        for kind in ("branches", "tags"):
            for name, summary in observed.get(moment, {}).get(kind, {}).items():
                yield f"{kind} {name}, {moment}", summary, ()


def ghosts(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """What failed, or was never asked for, is not seen anywhere."""
    fails = mask_of(failed(model.history.ops))
    known = mask_of(model.history.ops)
    told: set[str] = set()
    for where, summary, ops in _summaries(model, observed):
        seen = seen_in(summary)
        for name in {*names_in(both(seen, fails))} - told:
            told.add(name)
            yield Anomaly(
                "ghost", f"{name} failed and is seen ({where})", (model.history.by_name[name], *ops)
            )
        for name in {*names_in(without(seen, known))} - told:
            told.add(name)
            yield Anomaly("phantom", f"{name} was never asked for and is seen ({where})", ops)


def reads_of_main(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """A read sees all that was acknowledged, and all that was seen, before it began; versions only grow."""
    reads = [op for op in model.history.of("read") if op.outcome == OK and op.facts["branch"] == "main"]
    reads.sort(key=lambda op: op.began)
    acknowledged = sorted((op for op in model.on("main") if op.outcome == OK), key=lambda op: op.ended)
    earlier = sorted(reads, key=lambda op: op.ended)
    unmarked = mask_of(model.history.of("scratch"))
    must: dict[str, int] = {}
    newest: Op | None = None
    by_version: dict[int, Op] = {}
    told: set[str] = set()
    for read in reads:
        while acknowledged and acknowledged[0].ended < read.began:
            must = joined(must, mask_of([acknowledged.pop(0)]))
        while earlier and earlier[0].ended < read.began:
            before = earlier.pop(0)
            must = joined(must, without(seen_in(before.answer), unmarked))
            if newest is None or before.answer["version"] > newest.answer["version"]:
                newest = before
        for name in {*names_in(without(must, seen_in(read.answer)))} - told:
            op = model.history.by_name.get(name)
            if op is not None and not model.may_be_deleted(op, read.ended):
                told.add(name)
                yield Anomaly("lost", f"{name} was there and a later read lacks it", (op, read))
        if newest is not None and read.answer["version"] < newest.answer["version"]:
            yield Anomaly("time_travel", "a later read saw an earlier version of main", (newest, read))
        same = by_version.setdefault(read.answer["version"], read)
        if same.answer["commit"] != read.answer["commit"]:
            yield Anomaly("fork", f"version {read.answer['version']} of main is two commits", (same, read))
        if not model.may_be_schema(read.answer["schema"], read.began, read.ended):
            yield Anomaly("schema", f"a read saw the schema {read.answer['schema']!r}", (read,))


def reads_of_branches(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """A read of a branch sees all that was acknowledged there, unless the branch may be another by then."""
    for read in model.history.of("read"):
        if read.outcome != OK or read.facts["branch"] == "main":
            continue
        seen = seen_in(read.answer)
        for op in model.on(read.facts["branch"]):
            must = op.outcome == OK and op.ended < read.began and not model.may_have_ended(op, read.ended)
            if must and not seen.get(op.client, 0) >> op.number & 1:
                yield Anomaly(
                    "lost", f"{op.name} was on {read.facts['branch']} and a read lacks it", (op, read)
                )


def final_main(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """All that was acknowledged on main, or merged into it, is there at the end."""
    for moment in MOMENTS:
        main = observed.get(moment, {}).get("branches", {}).get("main")
        if main is None:
            continue
        seen = set(names_in(seen_in(main)))
        for op in model.marks:
            is_main = op.facts["branch"] == "main"
            if is_main and op.outcome == OK and op.name not in seen and not model.deletes_of(op):
                yield Anomaly("lost", f"{op.name} was acknowledged and is not there ({moment})", (op,))
            merge = None if is_main or op.name in seen else model.must_be_merged(op)
            if merge is not None:
                yield Anomaly("lost", f"{op.name} was merged and is not on main ({moment})", (op, merge))
            if not is_main and op.name in seen and not model.may_be_merged(op):
                yield Anomaly("phantom", f"{op.name} was not merged and is on main ({moment})", (op,))
        if not model.may_be_schema(main["schema"]):
            last = tuple(op for op in model.history.of("schema") if op.may_have_happened)[-3:]
            yield Anomaly("schema", f"the schema is {main['schema']!r} ({moment})", last)


def deletes(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """Who was deleted stays so, and gets no edges."""
    ends = [
        ("the end", seen_in(observed[moment]["branches"]["main"]), None)
        for moment in MOMENTS
        if "main" in observed.get(moment, {}).get("branches", {})
    ]
    reads = [
        (f"read {op.name}", seen_in(op.answer), op)
        for op in model.history.of("read")
        if op.outcome == OK and op.facts["branch"] == "main"
    ]
    edges = [op for op in model.history.of("edge") if op.outcome == OK]
    for person, delete in model.deleted_people():
        for where, seen, read in [*ends, *reads]:
            if read is not None and read.began < delete.ended:
                continue
            if seen.get(person.client, 0) >> person.number & 1:
                yield Anomaly(
                    "undeleted", f"{person.name} was deleted and is there ({where})", (person, delete)
                )
                break
        for edge in edges:
            if edge.began > delete.ended and person.name in (edge.facts["source"], edge.facts["target"]):
                yield Anomaly(
                    "orphan", f"{edge.name} was acknowledged after its end was deleted", (delete, edge)
                )


def branches(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """Branches exist when they must, and hold what was written to them."""
    for moment in MOMENTS:
        found: Mapping[str, Any] | None = observed.get(moment, {}).get("branches")
        if not found:
            continue
        for name in {*model.makers, *model.enders, *found} - {"main"}:
            yield from _existence(model, name, name in found, moment)
        seen = {name: set(names_in(seen_in(summary))) for name, summary in found.items()}
        for op in model.marks:
            branch = op.facts["branch"]
            if branch != "main" and model.must_be_on_branch(op) and op.name not in seen.get(branch, set()):
                yield Anomaly("lost", f"{op.name} is not on branch {branch} ({moment})", (op,))


def _existence(model: Model, name: str, exists: bool, moment: str) -> Iterator[Anomaly]:
    makers, enders = model.makers.get(name, []), model.enders.get(name, [])
    for maker in makers:
        if not exists and maker.outcome == OK and not any(end.ended > maker.began for end in enders):
            yield Anomaly("lost_branch", f"branch {name} is gone ({moment})", (maker, *enders[-2:]))
    for end in enders:
        if exists and end.outcome == OK and not any(maker.ended > end.began for maker in makers):
            yield Anomaly("undeleted", f"branch {name} was deleted and is there ({moment})", (end,))
    if exists and not makers:
        yield Anomaly("phantom", f"nobody made the branch {name} ({moment})")


def orphan_branches(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """A branch is not deleted while another one that was forked from it lives."""
    for child, makers in model.makers.items():
        for maker in makers:
            parent = maker.facts["origin"]
            for delete in model.enders.get(parent, []):
                surely = delete.outcome == OK and model.has_surely_made(maker, child)
                if surely and _orphans(model, child, maker, parent, delete):
                    what = f"{child} was forked from {parent}, which was deleted under it"
                    yield Anomaly("orphan_branch", what, (maker, delete))


def _orphans(model: Model, child: str, maker: Op, parent: str, delete: Op) -> bool:
    """Say whether neither order of making a child and deleting its parent explains that both went well."""
    if maker.began > delete.ended:
        return False
    first, last = min(maker.began, delete.began), max(maker.ended, delete.ended)
    others = [*model.makers.get(parent, []), *model.enders.get(parent, [])]
    if any(op.ended > first and op.began < last for op in others if op is not maker and op is not delete):
        return False
    if any(end.began < delete.ended and end.ended > maker.began for end in model.enders.get(child, [])):
        return False
    # A branch without commits of its own is forked from as its own parent is: nothing depends on it.
    return any(
        op.outcome == OK and op.ended < maker.began and not model.may_have_ended(op, delete.began)
        for op in model.on(parent)
    )


def tags(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """A tag stays until it is taken back, names the same commit, and can be read."""
    gone = {op.facts["tag"]: op for op in model.history.of("untag") if op.may_have_happened}
    made = {op.facts["tag"]: op for op in model.history.of("tag")}
    for moment in MOMENTS:
        found: Mapping[str, Any] | None = observed.get(moment, {}).get("tags")
        if found is None:
            continue
        for name, op in made.items():
            if op.outcome == OK and name not in gone and name not in found:
                yield Anomaly("lost_tag", f"{name} is gone, or cannot be read ({moment})", (op,))
            if op.outcome == FAIL and name in found:
                yield Anomaly("ghost", f"tag {name} failed and is there ({moment})", (op,))
            if op.outcome == OK and name in found and found[name]["commit"] != op.answer["commit"]:
                yield Anomaly("moved_tag", f"{name} names {found[name]['commit']} ({moment})", (op,))
        for name, op in gone.items():
            if op.outcome == OK and name in found:
                yield Anomaly("undeleted", f"tag {name} was taken back and is there ({moment})", (op,))
    for read in model.history.of("travel"):
        tag = made.get(read.facts.get("tag", ""))
        if tag is None or tag.outcome != OK:
            continue
        taken_back = gone.get(tag.facts["tag"])
        if (
            read.outcome == FAIL
            and (taken_back is None or taken_back.began > read.ended)
            and tag.ended < read.began
        ):
            yield Anomaly("lost_tag", f"{tag.facts['tag']} cannot be read: {read.code}", (tag, read))
        if read.outcome == OK and read.answer["commit"] != tag.answer["commit"]:
            yield Anomaly("moved_tag", f"{tag.facts['tag']} is read as another commit", (tag, read))


def chains(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """History is one line back to its beginning, with gaps only where a cleanup dropped commits."""
    for branch, commits in observed.get("history", {}).items():
        by_id = {commit["commit"]: commit for commit in commits}
        if len(by_id) != len(commits):
            yield Anomaly("fork", f"a commit stands twice in the history of {branch}")
        yield from _walk(model, branch, by_id, observed)
    own = [item for item in observed.get("history", {}).get("main", []) if item["branch"] == "main"]
    for one, other in pairwise(sorted(own, key=lambda item: item["version"])):
        if one["version"] == other["version"]:
            yield Anomaly(
                "fork", f"version {one['version']} of main is {one['commit']} and {other['commit']}"
            )


def _walk(
    model: Model, branch: str, by_id: Mapping[str, Mapping[str, Any]], observed: Observed
) -> Iterator[Anomaly]:
    head = observed["settled"]["branches"].get(branch)
    commit = by_id.get(head["commit"]) if head else None
    if head and commit is None:
        yield Anomaly("gap", f"the head {head['commit']} of {branch} is not in its history")
    while commit is not None and commit["parent"] is not None:
        parent = by_id.get(commit["parent"])
        if parent is None:
            if not model.drops_commits:
                yield Anomaly(
                    "gap", f"{commit['commit']} of {branch} has lost its parent, and no cleanup ran"
                )
            return
        if parent["version"] != commit["version"] - 1:
            yield Anomaly("gap", f"{branch}: version {commit['version']} comes after {parent['version']}")
        if parent["at"] > commit["at"]:
            yield Anomaly("gap", f"{branch}: {commit['commit']} is older than its parent {parent['commit']}")
        commit = parent
    if commit is not None and commit["version"] != 1:
        yield Anomaly("gap", f"{branch} begins with version {commit['version']}")


def keys(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """All tries under one idempotency key are told the same commit."""
    first: dict[str, Op] = {}
    for op in model.raw.ops:
        if op.outcome == OK and op.facts.get("keyed"):
            told = first.setdefault(op.facts["of"], op)
            if told.answer["commit"] != op.answer["commit"]:
                yield Anomaly("moved_commit", "one idempotency key was told two commits", (told, op))


def commits(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """An operation is one commit, the one that it was told; no plan is settled twice."""
    stored = {item["commit"]: item for items in observed.get("history", {}).values() for item in items}
    by_op: dict[str, list[Mapping[str, Any]]] = {}
    notes: dict[str, str] = {}
    for item in stored.values():
        if item["message"] in model.history.by_name:
            by_op.setdefault(item["message"], []).append(item)
        for note in item["notes"]:
            if note in notes:
                yield Anomaly("doubled", f"plan {note} is settled by {notes[note]} and {item['commit']}")
            notes[note] = item["commit"]
    for name, found in by_op.items():
        op = model.history.by_name[name]
        ids = [item["commit"] for item in found]
        if len(ids) > 1:
            yield Anomaly("doubled", f"{name} is {len(ids)} commits: {', '.join(ids)}", (op,))
        if op.outcome == FAIL:
            yield Anomaly("ghost", f"{name} failed and is the commit {ids[0]}", (op,))
        if op.outcome == OK and op.answer.get("commit") not in ids:
            yield Anomaly("moved_commit", f"{name} was told another commit than {ids[0]}", (op,))
    main = {item["commit"] for item in observed.get("history", {}).get("main", [])}
    if main and not model.drops_commits:
        for op in model.on("main"):
            if op.outcome == OK and op.answer["commit"] not in main:
                yield Anomaly("lost", f"the commit {op.answer['commit']} is not in the history", (op,))


def upkeep(model: Model, observed: Observed) -> Iterator[Anomaly]:
    """The graph opens, is not damaged, can be cleaned up without changing what it says, and takes a write."""
    for error in observed.get("errors", []):
        yield Anomaly(
            "unusable", f"{error['stage']}: {error['code']}: {error.get('trace') or error['message']}"
        )
    for moment in ("damage", "damage_after_cleanup"):
        for found in observed.get(moment, []):
            yield Anomaly("damage", f"{found} ({moment})")
    before, after = observed.get("settled", {}), observed.get("cleaned", {})
    for kind in ("branches", "tags"):
        for name, summary in before.get(kind, {}).items():
            cleaned = after.get(kind, {}).get(name)
            if cleaned is None or cleaned["digest"] != summary["digest"]:
                yield Anomaly("changed_by_cleanup", f"{kind} {name}")
    if observed.get("files_left", 0):
        yield Anomaly("leftovers", f"{observed['files_left']} files are left after three cleanups")
    if observed.get("last_writes", 1) != 1:
        yield Anomaly("lost", f"the last write is there {observed['last_writes']} times")


RULES: tuple[Rule, ...] = (
    broken_answers,
    deaths,
    silences,
    snapshots,
    ghosts,
    reads_of_main,
    reads_of_branches,
    final_main,
    deletes,
    branches,
    orphan_branches,
    tags,
    chains,
    keys,
    commits,
    upkeep,
)

_SHOWN = 12


def report(anomalies: Iterable[Anomaly]) -> str:
    """Return the anomalies as a text: how many of each kind, then the first ones in full."""
    found = list(anomalies)
    kinds: dict[str, int] = {}
    for anomaly in found:
        kinds[anomaly.kind] = kinds.get(anomaly.kind, 0) + 1
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    shown = [str(anomaly) for anomaly in found[:_SHOWN]]
    return "\n".join([f"{len(found)} anomalies: {counts}", *shown])
