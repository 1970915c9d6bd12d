"""The change feed of a branch: blocks of commits along first parents, from a cursor to the head of now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from omnigraph.base.errors import BadInput, ChangeFeedGap, NotFound
from omnigraph.graph.access import ActorAccess
from omnigraph.graph.changes.commit import comparison_of, queries_change, schema_change
from omnigraph.graph.changes.feed.first_parents import FirstParents
from omnigraph.graph.changes.model import Cause, ChangeBlock, ChangeFilter, Json
from omnigraph.graph.changes.paging import ChangeStream, PageBudget, kept, whole
from omnigraph.graph.changes.tokens import cursor_rejected_error, seal, unseal
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.truth import BranchState
from omnigraph.graph.opening import Core
from omnigraph.graph.revisions import find_revision

_CURSOR, _PAGE_TOKEN = "cursor", "feed page token"
DEFAULT_COMMITS, MOST_COMMITS = 128, 512


@dataclass(frozen=True)
class FeedPage:
    """What a poll gave. `cursor` stands at the end of a whole block, `page_token` inside of one."""

    blocks: tuple[ChangeBlock, ...]
    cursor: str | None
    page_token: str | None
    caught_up: bool
    """Whether nothing newer had been committed when the page was made."""
    version: int = 0
    """The number of the last commit of the branch that came completely, in this page or before it."""

    def __iter__(self) -> Iterator[ChangeBlock]:
        return iter(self.blocks)

    def to_json(self) -> Json:
        """Return the page as JSON data."""
        data: Json = {"blocks": [block.to_json() for block in self.blocks]}
        if self.cursor is not None:
            data["cursor"] = self.cursor
        if self.page_token is not None:
            data["page_token"] = self.page_token
        return {**data, "caught_up": self.caught_up}


@dataclass(frozen=True, slots=True)
class _FeedPosition:
    """Where a poll goes on: after a commit, up to a cut, perhaps inside the block that comes next."""

    seq: int
    """The number of the last commit whose block is complete; 0 before the first."""
    commit: str | None
    cut: int
    passed: int = 0


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Some successive commits of a feed: the cursor before them, the first one's number, how many."""

    cursor: str
    version: int
    commits: int


@dataclass
class Feed:
    """The feed of one branch incarnation, for one filter."""

    core: Core
    state: BranchState
    only: ChangeFilter
    access: ActorAccess | None = None
    """What the reader may see of the commits that `start` may name."""
    _line: FirstParents = field(init=False)

    def __post_init__(self) -> None:
        self._line = FirstParents(self.core.truth, self.state)

    def cursor_at(self, record: CommitRecord) -> str:
        """Return the cursor that stands after a commit."""
        return seal(_CURSOR, self._bind(), {"seq": record.seq, "commit": record.commit})

    def cursor_from(self, start: str | None) -> str:
        """Return the cursor that stands where a poll from `start` would begin."""
        return self._seal(self._place(None, start, None))

    def check_cursor(self, cursor: str) -> str:
        """Return a cursor, or refuse one that does not belong to this feed."""
        return self._seal(self._place(cursor, None, None))

    def cursor_on(self, cursor: str, commits: int | None = None, until: str | None = None) -> str:
        """Return the cursor so many commits later; at the head, or at `until`, if that comes first."""
        place = self._place(cursor, None, None)
        last = self._place(until, None, None) if until is not None else self._place(None, "now", None)
        if place.seq >= last.seq:
            return cursor
        if commits is None or place.seq + commits >= last.seq:
            return self._seal(last)
        return self._cursor_after(place, place.seq + commits)

    def stretches(self, start: str, end: str, most: int) -> list[CommitRange]:
        """Cut the way from one cursor to another into stretches of at most so many commits.

        History that was removed is told here: cleanups take the oldest first.
        """
        first, last = self._place(start, None, None), self._place(end, None, None)
        if first.seq < last.seq and not self._line.is_passed_over(first.seq + 1):
            self._block(first, PageBudget.of(1, None), None, first=True)
        return [
            CommitRange(self._cursor_after(first, seq), seq + 1, min(most, last.seq - seq))
            for seq in range(first.seq, last.seq, most)
        ]

    def poll(
        self,
        cursor: str | None = None,
        start: str | None = None,
        page_token: str | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
        commits: int | None = None,
    ) -> FeedPage:
        """Return the next page of the feed."""
        if sum(item is not None for item in (cursor, start, page_token)) > 1:
            raise BadInput("give one of cursor, start and page_token")
        budget = PageBudget.of(limit, max_bytes)
        most = whole("commits", commits, DEFAULT_COMMITS, MOST_COMMITS)
        place = self._place(cursor, start, page_token)
        blocks: list[ChangeBlock] = []
        given = page_token
        last = min(place.cut, place.seq + most)
        while place.seq < last and not (blocks and budget.is_spent):
            if self._line.is_passed_over(place.seq + 1):
                place = _FeedPosition(place.seq + 1, None, place.cut)
                continue
            block, rest = self._block(place, budget, given, first=not blocks)
            given = None
            if block is None:
                break
            blocks.append(block)
            if rest is not None:
                return self._inside(place, blocks, rest)
            place = _FeedPosition(place.seq + 1, block.cause.commit_id, place.cut)
        return self._boundary(place, blocks)

    def _block(
        self, place: _FeedPosition, budget: PageBudget, token: str | None, first: bool
    ) -> tuple[ChangeBlock | None, ChangeStream | None]:
        """Return the next block, or what fits of it with the rest; nothing where history was removed."""
        try:
            record, before = self._line.with_parent(place.seq + 1)
            # A cursor may stand at a fence that was dropped since: then the commit before it is older.
            stands = before if before is not None and before.seq == place.seq else None
            if stands is not None and place.commit not in (None, stands.commit):
                raise cursor_rejected_error("the branch does not have the commit that it stands at")
            stream = kept.take(self.core, token) or ChangeStream(
                comparison_of(self.core, before, record, self.only).stream(place.passed), place.passed
            )
            changes = stream.fill(budget)
            done = stream.peek() is None
            schema = schema_change(self.core, before, record) if not place.passed else None
            queries = queries_change(self.core, before, record) if not place.passed else None
        except NotFound as error:
            if first:
                raise self._gap(place, error) from error
            return None, None
        block = ChangeBlock(Cause.of(record), schema, changes, place.passed, done, record.seq, queries)
        return block, None if done else stream

    def _place(self, cursor: str | None, start: str | None, page_token: str | None) -> _FeedPosition:
        head = self.state.head
        if page_token is not None:
            numbers = ["seq", "cut", "passed"]
            place = _FeedPosition(**unseal(page_token, _PAGE_TOKEN, self._bind(), numbers, "commit"))
            if place.cut > head.seq:
                raise cursor_rejected_error("the branch does not have the commit that it stands at")
            return place
        if cursor is not None:
            found = unseal(cursor, _CURSOR, self._bind(), ["seq"], "commit")
            if found["seq"] > head.seq or (found["seq"] == head.seq and found["commit"] != head.commit):
                raise cursor_rejected_error("the branch does not have the commit that it stands at")
            return _FeedPosition(found["seq"], found["commit"], head.seq)
        if start in (None, "now"):
            return _FeedPosition(head.seq, head.commit, head.seq)
        if start == "beginning":
            return _FeedPosition(0, None, head.seq)
        if isinstance(start, str) and start.startswith("after:"):
            return self._after(start.removeprefix("after:"))
        raise BadInput(f"start is {start!r}: use 'now', 'beginning' or 'after:<commit>'")

    def _after(self, commit: str) -> _FeedPosition:
        branch = self.state.ref.name
        try:
            found = find_revision(self.core.truth, commit, branch, self.access)
        except NotFound:
            raise cursor_rejected_error(f"there is no commit {commit}") from None
        if found.seq > self.state.head.seq or self._line.record(found.seq).commit != found.commit:
            raise cursor_rejected_error(f"commit {commit} is not on the line of branch {branch!r}")
        return _FeedPosition(found.seq, found.commit, self.state.head.seq)

    def _cursor_after(self, place: _FeedPosition, seq: int) -> str:
        if seq == place.seq:
            return self._seal(place)
        try:
            if self._line.is_passed_over(seq):
                return self._seal(_FeedPosition(seq, None, place.cut))
            return self.cursor_at(self._line.record(seq))
        except NotFound as error:
            raise self._gap(place, error) from error

    def _seal(self, place: _FeedPosition) -> str:
        return seal(_CURSOR, self._bind(), {"seq": place.seq, "commit": place.commit})

    def _inside(self, place: _FeedPosition, blocks: list[ChangeBlock], rest: ChangeStream) -> FeedPage:
        where: dict[str, Any] = {
            "seq": place.seq,
            "commit": place.commit,
            "cut": place.cut,
            "passed": rest.passed,
        }
        token = seal(_PAGE_TOKEN, self._bind(), where)
        kept.put(self.core, token, rest)
        return FeedPage(tuple(blocks), None, token, caught_up=False, version=place.seq)

    def _boundary(self, place: _FeedPosition, blocks: list[ChangeBlock]) -> FeedPage:
        cursor = self._seal(place)
        head = self.core.truth.refresh(self.state).head
        return FeedPage(tuple(blocks), cursor, None, caught_up=place.seq == head.seq, version=place.seq)

    def _gap(self, place: _FeedPosition, error: NotFound) -> ChangeFeedGap:
        cursor = self._seal(place)
        unreadable = self._line.commit_id(place.seq + 1)
        return ChangeFeedGap(
            f"commit {unreadable or 'after the cursor'} can no longer be read: a cleanup has removed history "
            "that the feed needs. Take a new baseline",
            cursor=cursor if place.seq else None,
            first_unreadable_commit_id=unreadable,
            cause=error.message,
        )

    def _bind(self) -> dict[str, Any]:
        stamp = self.core.truth.stamp
        ref = self.state.ref
        return {
            "graph": [stamp.graph_id, stamp.main],
            "branch": [ref.name, ref.incarnation],
            "filter": self.only.digest(),
        }
