"""`g.proposals`: what is to be merged, and what people and checks say to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as replace_fields
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from omnigraph.base.choices import MergeStrategy
from omnigraph.base.errors import BadInput, PolicyDenied
from omnigraph.base.ids import new_commit_id, new_ulid
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.manifest.record import CommitRecord, storable, storable_metadata
from omnigraph.graph.manifest.refs import MAIN
from omnigraph.graph.merge.answers.read_resolutions import list_members
from omnigraph.graph.merge.duplicates.rules import read_rules
from omnigraph.graph.merge.run import Merge, options
from omnigraph.graph.proposals.answers import complete_answers, read_answers
from omnigraph.graph.proposals.describe import describe_proposal
from omnigraph.graph.proposals.events import EventKind, StoredProposal
from omnigraph.graph.proposals.feed import find_end, poll_events
from omnigraph.graph.proposals.fold import ProposalFacts, fold
from omnigraph.graph.proposals.judge import judge_proposal
from omnigraph.graph.proposals.merge import merge_proposal
from omnigraph.graph.proposals.model import Mergeability, Proposal, ProposalPage
from omnigraph.graph.proposals.sides import involved_in, refuse_unseen
from omnigraph.graph.proposals.stored import ProposalContext, no_proposal
from omnigraph.graph.proposals.verbs import (
    add_event,
    closed_error,
    read_all,
    read_proposal,
    verdict_of,
    was_said,
)
from omnigraph.graph.proposals.work import RunChecks
from omnigraph.graph.write.keys import check_key, claim_key
from omnigraph.policy.actions import BranchScope
from omnigraph.sdk.proposals.checks import run_checks
from omnigraph.sdk.proposals.entity_names import read_entity
from omnigraph.sdk.proposals.sight import ProposalSight

if TYPE_CHECKING:
    from omnigraph.sdk.reading import ReadableGraph

STATES = ("open", "merged", "closed")
_OPERATION = "propose"


def check_state(state: str | None) -> None:
    """Refuse what is not a state of a proposal."""
    if state is not None and state not in STATES:
        raise BadInput(f"state is {state!r}: use one of {', '.join(STATES)}")


class Proposals:
    """The proposals of a graph."""

    def __init__(self, graph: ReadableGraph) -> None:
        self._graph = graph
        self._internals = graph.internals
        self._sight = ProposalSight(graph)

    def create(
        self,
        source: str,
        into: str = MAIN,
        title: str = "",
        description: str = "",
        *,
        reviewers: Sequence[str] = (),
        checks: Sequence[str] = (),
        strategy: MergeStrategy = "entity",
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        same_as: Any = None,
    ) -> Proposal:
        """Propose to merge a branch into another; nothing of either changes.

        `checks` are names of stored queries that must return no rows on the merged result, beside those that
        the target demands. `metadata` is noted in the commit of the merge. The same `idempotency_key` again
        answers with the first proposal. `same_as` finds duplicates, as in a merge.
        """
        context, (source, into) = self._writable_context(), (normalise(source), normalise(into))
        self._check_policy(_OPERATION, source, into)
        self._internals.check_allowed("read", source)  # what is proposed tells of its head
        if source == into:
            raise BadInput(f"branch {source!r} cannot be proposed to itself", branch=source)
        options(strategy, None)
        limit = self._graph.settings.commit_text_bytes
        state, _ = (context.core.truth.state(name) for name in (source, into))
        told = {
            "source": source,
            "into": into,
            "title": storable("title", title, limit) or state.head.message or f"merge {source}",
            "description": storable("description", description, limit) or "",
            "commit": state.head.commit,
            "reviewers": [*_names("reviewers", reviewers)],
            "checks": [*_names("checks", checks)],
            "strategy": strategy,
            "metadata": dict(storable_metadata(metadata, limit)),
            **({"same_as": rules} if (rules := _read_rules(same_as, state.head, context)) else {}),
        }
        key = check_key(self._internals.idempotency_key if idempotency_key is None else idempotency_key)
        id = new_ulid()
        if key is not None:
            # A key is claimed for something of main, whose ids say so.
            main = context.core.truth.stamp.main
            id = claim_key(context.core.truth, main, key, new_commit_id(main), _OPERATION).commit
        stored = context.stored.create(id, context.make_event(EventKind.CREATED, told))
        return self._describe(context, stored or context.stored.read(id).stored)

    def show(self, id: str) -> Proposal:
        """Return a proposal, by its id or the beginning of it."""
        context, id = self._find(id)
        return self._describe(context, read_proposal(context, id).stored)

    def comment(
        self,
        id: str,
        text: str,
        *,
        entity: Mapping[str, str] | Sequence[str] | None = None,
        commit: str | None = None,
    ) -> Proposal:
        """Say something about a proposal, or about an entity: (type, id), or (type, id, property)."""
        context, id = self._find(id, writes=True)
        limit = self._graph.settings.commit_text_bytes
        if not storable("text", text, limit):
            raise BadInput("a comment needs a text")
        told: dict[str, Any] = {"text": text}
        if entity is not None:
            told["entity"] = read_entity(entity)
        if (key := check_key(self._internals.idempotency_key)) is not None:
            told["idempotency_key"] = key

        def decide(facts: ProposalFacts) -> Mapping[str, Any] | None:
            self._check_policy(
                "approve" if self._may_approve(facts) else _OPERATION, facts.source, facts.into
            )
            if was_said(facts, context.actor, told):
                return None
            return {**told, "commit": commit or self._commit_of(facts)}

        return self._describe(
            context, add_event(context, id, EventKind.COMMENTED, decide, only_open=False).stored
        )

    def approve(self, id: str, *, commit: str | None = None, text: str = "") -> Proposal:
        """Approve a proposal as its source is now; a later push voids that, and so do other saved answers.

        `commit` is what was looked at: when the source is another one by now, nothing is approved. Nobody
        approves what they have opened, written or answered.
        """
        context, id = self._find(id, writes=True)
        actor = self._reviewer()

        def decide(facts: ProposalFacts) -> Mapping[str, Any]:
            self._check_policy("approve", facts.source, facts.into)
            source = self._looked_at(facts, commit)
            target = context.core.truth.state(facts.into).head
            if actor in involved_in(context.core.truth, facts, target, source):
                raise PolicyDenied(
                    f"{actor!r} may not approve proposal {facts.id}: nobody approves what they have opened, "
                    "written or answered",
                    action="approve",
                    actor=actor,
                    proposal=facts.id,
                )
            return verdict_of(facts, source, text)

        return self._describe(context, add_event(context, id, EventKind.APPROVED, decide).stored)

    def request_changes(self, id: str, text: str = "", *, commit: str | None = None) -> Proposal:
        """Ask for changes of a proposal as its source is now: until then it is not merged.

        A push answers it, other saved answers do, and so does an approval of the same actor.
        """
        context, id = self._find(id, writes=True)
        self._reviewer()

        def decide(facts: ProposalFacts) -> Mapping[str, Any]:
            self._check_policy("approve", facts.source, facts.into)
            return verdict_of(facts, self._looked_at(facts, commit), text)

        return self._describe(context, add_event(context, id, EventKind.CHANGES_REQUESTED, decide).stored)

    def resolve(self, id: str, resolutions: Any, *, replace: bool = False) -> Proposal:
        """Save answers to conflicts, some or all, in the place of earlier ones for the same conflicts.

        They are those of a merge; one whose `take` is None takes an earlier answer away. An answer to a
        conflict is kept with what the conflict shows, and is not used when either side says something else
        by the time of the merge. With `replace` no earlier answer stays.
        """
        context, id = self._find(id, writes=True)
        self._sight.check(fold(context.stored.read(id).stored), "an answer to the conflicts of a proposal")
        given = read_answers(list_members(resolutions))

        def decide(facts: ProposalFacts) -> Mapping[str, Any]:
            self._check_policy(_OPERATION, facts.source, facts.into)
            return {"answers": complete_answers(context, facts, given, replace), "replace": replace}

        return self._describe(context, add_event(context, id, EventKind.RESOLVED, decide).stored)

    def mergeable(self, id: str) -> Mergeability:
        """Return whether a proposal can be merged now; if not, why: each reason has a code.

        Nothing is merged. Checks are run on what the merge would make of the target.
        """
        context, id = self._find(id)
        stored = read_proposal(context, id).stored
        self._sight.check(fold(stored), "a look at what a proposal would do")
        return judge_proposal(context, stored, self._run_checks, self._demanded_by_policy(fold(stored).into))

    def merge(
        self,
        id: str,
        *,
        message: str | None = None,
        metadata: Mapping[str, str] | None = None,
        delete_branch: bool = False,
        commit: str | None = None,
    ) -> Merge:
        """Merge a proposal that meets what its target demands, as one commit that names it.

        What cannot be merged is `NotMergeable`, with reasons, or `MergeConflicts`. With `commit` nothing is
        merged when the source says something else than this. A proposal that is merged already answers with
        its commit.
        """
        context, id = self._find(id, writes=True)
        facts = fold(context.stored.read(id).stored)
        self._sight.check(facts, "a merge of a proposal")
        self._check_policy("branch_merge", facts.source, facts.into)
        said = facts.title if message is None else message
        request = self._internals.make_request(facts.into, said, False, metadata=metadata)
        needed = self._demanded_by_policy(facts.into)
        done = self._internals.delete_branch if delete_branch else None
        seen = None if commit is None or facts.merged is not None else self._graph.find(commit)
        return merge_proposal(context, id, request, self._run_checks, needed, done, seen)

    def close(self, id: str, text: str = "") -> Proposal:
        """Close a proposal without merging it; `reopen` takes that back."""
        return self._turn(id, EventKind.CLOSED, "open", text)

    def reopen(self, id: str, text: str = "") -> Proposal:
        """Open a closed proposal again."""
        return self._turn(id, EventKind.REOPENED, "closed", text)

    def poll(self, cursor: str | None = None, *, limit: int = 1_000) -> ProposalPage:
        """Return what has happened to proposals after a cursor, all that has happened without one.

        Events of one proposal come in their order; each comes once to who goes on from cursor to cursor.
        """
        return self._cut(poll_events(self._context(), cursor, limit, self._may_see))

    def _poll_about(self, branch: str, cursor: str | None, limit: int, from_now: bool) -> ProposalPage:
        """Return the same about the proposals from a branch, or into it; or none, and where to go on."""
        if from_now:
            return ProposalPage((), find_end(self._context()))

        def is_shown(facts: ProposalFacts) -> bool:
            return branch in (facts.source, facts.into) and self._may_see(facts)

        return self._cut(poll_events(self._context(), cursor, limit, is_shown))

    def _cut(self, page: ProposalPage) -> ProposalPage:
        """Return events without what of the data only those may know who see all of it."""
        stored, ids = self._context().stored, {item.proposal for item in page.events}
        seen = {id for id in ids if self._sight.sees(fold(stored.read(id).stored))}
        events = (item if item.proposal in seen else replace_fields(item, facts={}) for item in page.events)
        return replace_fields(page, events=tuple(events))

    def list(
        self,
        state: str | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
        source: str | None = None,
        into: str | None = None,
    ) -> list[Proposal]:
        """Return proposals, newest first: of one state, source or target, and those that follow an id."""
        check_state(state)
        context = self._context()
        ids = [id for id in context.stored.ids() if after is None or id < after]
        wanted = {"state": state, "source": source, "into": into}
        found = (
            stored
            for stored in read_all(context, ids)
            if self._may_see(facts := fold(stored))
            and all(value in (None, getattr(facts, name)) for name, value in wanted.items())
        )
        return [self._describe(context, stored) for stored in islice(found, limit)]

    def stamp(self) -> str:
        """Return what is another text whenever something has happened to a proposal."""
        return self._context().stored.stamp()

    def _turn(self, id: str, kind: EventKind, state: str, text: str) -> Proposal:
        context, id = self._find(id, writes=True)
        storable("text", text, self._graph.settings.commit_text_bytes)

        def decide(facts: ProposalFacts) -> Mapping[str, Any] | None:
            self._check_policy(_OPERATION, facts.source, facts.into)
            if facts.state == "merged":
                raise closed_error(facts)
            return ({"text": text} if text else {}) if facts.state == state else None

        return self._describe(context, add_event(context, id, kind, decide, only_open=False).stored)

    def _looked_at(self, facts: ProposalFacts, commit: str | None) -> CommitRecord:
        """Return the head of the source, which must be what the caller has looked at."""
        head = self._internals.core.truth.state(facts.source).head
        if commit is None:
            return head
        refuse_unseen(facts.source, head, self._graph.find(commit))
        return head

    def _commit_of(self, facts: ProposalFacts) -> str | None:
        truth = self._internals.core.truth
        return truth.state(facts.source).head.commit if truth.has(facts.source) else None

    def _reviewer(self) -> str:
        if self._graph.actor is None:
            raise BadInput("a verdict needs a name: open the graph with actor=")
        return self._graph.actor

    def _find(self, id: str, writes: bool = False) -> tuple[ProposalContext, str]:
        context = self._writable_context() if writes else self._context()
        found = context.stored.find_id(id)
        if self._graph.policy is not None and not self._may_see(fold(context.stored.read(found).stored)):
            raise no_proposal(id)
        return context, found

    def _describe(self, context: ProposalContext, stored: StoredProposal) -> Proposal:
        """Return a proposal, without what of the data only those may know who see all of it."""
        return self._sight.cut(describe_proposal(context, stored), fold(stored))

    def _context(self) -> ProposalContext:
        internals, graph = self._internals, self._graph
        return ProposalContext(internals.whole, graph.actor, not graph.read_only, internals.find_pairs)

    def _writable_context(self) -> ProposalContext:
        self._internals.check_writable()
        return self._context()

    @property
    def _run_checks(self) -> RunChecks:
        return partial(run_checks, self._graph.reader)

    def _check_policy(self, action: str, source: str, into: str) -> None:
        policy = self._graph.policy
        if policy is not None:
            policy.check(self._graph.actor, action, branch=source, target_branch=into)

    def _may_see(self, facts: ProposalFacts) -> bool:
        """Return whether a proposal is shown: it tells of both of its branches."""
        policy, branches = self._graph.policy, (facts.source, facts.into)
        return policy is None or all(
            policy.allows(self._graph.actor, "read", branch=branch) for branch in branches
        )

    def _may_approve(self, facts: ProposalFacts) -> bool:
        policy, branches = self._graph.policy, {"branch": facts.source, "target_branch": facts.into}
        return policy is not None and policy.allows(self._graph.actor, "approve", **branches)

    def _demanded_by_policy(self, branch: str) -> int:
        """Return how many approvals a branch needs because the policy protects it."""
        policy = self._graph.policy
        return int(policy is not None and policy.bundle.scope_of(branch) is BranchScope.PROTECTED)


def _read_rules(same_as: Any, head: CommitRecord, context: ProposalContext) -> list[dict[str, Any]]:
    """Return rules that find duplicates, as they are stored; the source has their types."""
    rules = read_rules(same_as)
    for rule in rules:
        rule.table(context.core.catalog_at(head))
    return [rule.to_json() for rule in rules]


def _names(what: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BadInput(f"{what} is {given!r}: give a list of names")
    names = tuple(dict.fromkeys(given))
    if not all(isinstance(name, str) and name for name in names):
        raise BadInput(f"{what} is {given!r}: give a list of names")
    return names
