"""What stands for a commit: its id or how it begins, a branch, a tag, HEAD, `main~2`, `main@{2026-01-31}`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from omnigraph.base.errors import BadInput, CorruptState, InvalidName, NotFound
from omnigraph.base.ids import ULID_LENGTH, is_ulid, is_ulid_prefix
from omnigraph.graph.access import ActorAccess
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.history import at_time, find_commit, no_commit
from omnigraph.graph.manifest import lineage
from omnigraph.graph.manifest.floors import Floor
from omnigraph.graph.manifest.record import CommitRecord, CommitRef
from omnigraph.graph.manifest.tags import no_tag
from omnigraph.graph.manifest.truth import Truth
from omnigraph.graph.tags import find_tagged

HEAD = "HEAD"
MIN_PREFIX_LETTERS = 6
_MAX_NAMED_CANDIDATES = 5
_AT_TIME = re.compile(r"(?P<branch>.*)@\{(?P<timestamp>[^{}]*)\}", re.DOTALL)
_STEPS = re.compile(r"(?P<start>[^~^]*)(?P<steps>(?:~\d*|\^)*)", re.DOTALL)
_STEP = re.compile(r"~(\d*)|\^")


def find_revision(
    truth: Truth, revision: str, branch: str, access: ActorAccess | None = None
) -> CommitRecord:
    """Return the record that a revision stands for; `branch` is the one whose newest commit is HEAD.

    With `access` only what somebody may see is found; the rest is as if it were not there. A name that a
    branch and a tag have is refused: `branch:NAME` and `tag:NAME` tell which is meant.
    """
    if not isinstance(revision, str) or (found := _STEPS.fullmatch(revision.strip())) is None:
        raise _unknown(revision)
    record = _find_start(truth, found["start"], branch, revision, access)
    for step in _STEP.finditer(found["steps"]):
        for _ in range(int(step[1] or 1)):
            record = _find_parent(truth, record, revision)
    return record


def _find_start(
    truth: Truth, name: str, branch: str, revision: str, access: ActorAccess | None
) -> CommitRecord:
    if name == HEAD:
        return _head_of(truth, branch, access)
    if (timed := _AT_TIME.fullmatch(name)) is not None:
        of = timed["branch"].removeprefix("branch:")
        named_branch = branch if of in ("", HEAD) else normalise(of)
        if access is not None:
            access.check(named_branch)
        state = truth.state(named_branch)
        return at_time(truth, state, timed["timestamp"])
    if is_ulid(name.upper()):
        return _find_by_id(truth, name, access)
    kind, colon, rest = name.partition(":")
    if colon and kind == "branch":
        return _head_of(truth, normalise(rest), access)
    if colon and kind == "tag":
        tagged = find_tagged(truth, rest)
        if access is not None and not access.sees(tagged):
            access.check_any()
            raise no_tag(rest.strip())
        return tagged
    candidates = (_find_branch(truth, name, access), _find_tag(truth, name, access))
    named = [record for record in candidates if record is not None]
    if len(named) == 2 and named[0].commit != named[1].commit:
        raise BadInput(
            f"{name!r} is a branch and a tag: write 'branch:{name}' or 'tag:{name}'", commit=revision
        )
    found = named[0] if named else _find_shortened(truth, name.upper(), access)
    if found is None:
        _refuse_branch(name, access)
        raise _unknown(revision)
    return found


def _head_of(truth: Truth, branch: str, access: ActorAccess | None) -> CommitRecord:
    if access is not None:
        access.check(branch)
    return truth.state(branch).head


def _refuse_branch(name: str, access: ActorAccess | None) -> None:
    """Refuse a name that may be of a branch which somebody may not see, whether there is one or not."""
    if access is not None:
        access.check_any()
        with suppress(InvalidName):
            access.check(normalise(name))


def _find_by_id(truth: Truth, name: str, access: ActorAccess | None) -> CommitRecord:
    try:
        found = find_commit(truth, name.upper())
        if access is not None and not access.sees(found):
            access.check_any()
            raise no_commit(name.upper())
        return found
    except NotFound:
        # A branch or a tag may be called like an id; what is stored under the id comes first.
        other = _find_branch(truth, name, access) or _find_tag(truth, name, access)
        if other is None:
            raise
        return other


def _find_branch(truth: Truth, name: str, access: ActorAccess | None) -> CommitRecord | None:
    try:
        branch = normalise(name)
        return truth.state(branch).head if access is None or access.allows(branch) else None
    except (InvalidName, NotFound):
        return None


def _find_tag(truth: Truth, name: str, access: ActorAccess | None) -> CommitRecord | None:
    try:
        found = find_tagged(truth, name)
        return found if access is None or access.sees(found) else None
    except (InvalidName, NotFound):
        return None


def _find_shortened(truth: Truth, prefix: str, access: ActorAccess | None) -> CommitRecord | None:
    """Return the one commit of a living branch, or of what one began from, whose id begins so."""
    if len(prefix) < MIN_PREFIX_LETTERS or not is_ulid_prefix(prefix):
        return None
    found = {
        record.commit: record
        for newest, floor in _list_chains(truth)
        for record in lineage.find_by_prefix(truth.chains, newest, floor, prefix)
        if access is None or access.sees(record)
    }
    if len(found) > 1:
        candidates = sorted(found)
        more = ", …" if len(candidates) > _MAX_NAMED_CANDIDATES else ""
        raise BadInput(
            f"{len(found)} commits begin with {prefix!r}: "
            f"{', '.join(candidates[:_MAX_NAMED_CANDIDATES])}{more}; give more letters",
            commit=prefix,
            candidates=candidates[:_MAX_NAMED_CANDIDATES],
        )
    return next(iter(found.values()), None)


def _list_chains(truth: Truth) -> Iterator[tuple[CommitRecord, Floor | None]]:
    """Yield the newest record and the floor of every chain that a living branch has, or began from."""
    past = lineage.Ancestry(truth.chains)
    places: list[CommitRef | None] = [CommitRef("", truth.stamp.main, 0)]
    for ref in truth.refs.scan()[0]:
        if not (ref.deleted or ref.making):
            places += [CommitRef("", ref.incarnation, 0), ref.fork]
    seen: set[str] = set()
    while places:
        place = places.pop()
        if place is None or place.incarnation in seen:
            continue
        seen.add(place.incarnation)
        with suppress(CorruptState):  # a damaged branch hides no commit of another
            newest = truth.newest_of(place.incarnation)
            if newest is not None:
                yield newest, past.floor(place.incarnation)
                places.append(past.fork_of(newest))


def _find_parent(truth: Truth, record: CommitRecord, revision: str) -> CommitRecord:
    if record.parent is None:
        raise NotFound(
            f"{revision!r} goes back beyond the first commit, {record.commit}", commit=record.commit
        )
    return truth.chains.at(record.parent)


def _unknown(revision: object) -> NotFound:
    return NotFound(
        f"{revision!r} does not name a commit: give its id ({ULID_LENGTH} capital letters and digits, or at "
        f"least the first {MIN_PREFIX_LETTERS}), a branch, a tag, {HEAD}, or one of these with ~N behind it, "
        "or what a branch was at a moment: main@{2026-01-31T12:00:00Z}",
        commit=revision,
    )
