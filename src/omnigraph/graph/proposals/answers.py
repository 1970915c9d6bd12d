"""Saved answers: kept with what the conflicts show, so that they are used for nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from omnigraph.base.errors import BadInput, NotFound
from omnigraph.compiler.catalog.combine.clashes import SIDES
from omnigraph.graph.merge.answers.read_resolutions import read_resolutions, same_as_of, take_of
from omnigraph.graph.merge.answers.resolutions import Take
from omnigraph.graph.merge.conflicts import CAUSES, ConflictKind, MergeConflict
from omnigraph.graph.proposals.fold import ProposalFacts, place_of
from omnigraph.graph.proposals.judge import plan_proposal
from omnigraph.graph.proposals.sides import look_at_sides
from omnigraph.graph.proposals.stored import ProposalContext
from omnigraph.graph.proposals.work import ProposalMerge
from omnigraph.graph.write.integrity.json_values import as_json

_PLACE = ("kind", "entity_kind", "type_name", "entity_id")
_NOT_KEPT = ("message", "properties", "entities", "commits", *CAUSES)


def read_answers(given: Sequence[Any]) -> list[dict[str, Any]]:
    """Return answers as plain data, checked as a merge checks them; some may take nothing."""
    answers = []
    for item in given:
        data = item.to_json() if isinstance(item, MergeConflict) else item
        if not isinstance(data, Mapping):
            raise BadInput(f"a resolution is {item!r}: it must be an object")
        answers.append(_keep(as_json(dict(data))))
    read_resolutions([answer for answer in answers if answer.get("take") is not None])
    return answers


def _keep(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of an answer; what it says of two ids is said in full."""
    kept = {name: value for name, value in answer.items() if name not in _NOT_KEPT}
    if (same_as := same_as_of(answer)) is not None and take_of(answer) == Take.SAME:
        kept |= {"take": Take.SAME.value, "same_as": same_as}
    return kept


def complete_answers(
    context: ProposalContext, facts: ProposalFacts, given: Sequence[Mapping[str, Any]], replaces: bool
) -> list[dict[str, Any]]:
    """Return answers with the images of the conflicts that they are for; refuse what a merge would refuse."""
    before = replace(facts, answers=[]) if replaces else facts
    shown = _find_conflicts(context, replace(before, answers=_without(before, given)))
    complete = [_complete(dict(answer), shown) for answer in given]
    after = [*_without(before, complete), *(answer for answer in complete if answer.get("take") is not None)]
    _find_conflicts(context, replace(before, answers=after))
    return complete


def _without(facts: ProposalFacts, given: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    places = {place_of(answer) for answer in given}
    return [answer for answer in facts.answers if place_of(answer) not in places]


def _find_conflicts(context: ProposalContext, facts: ProposalFacts) -> tuple[MergeConflict, ...]:
    core = context.core
    sides = look_at_sides(core.truth, facts)
    if sides.source is None or sides.target is None:
        gone = facts.source if sides.source is None else facts.into
        raise NotFound(f"there is no branch {gone!r} any more", branch=gone)
    work = ProposalMerge(core, facts, lambda *_: (), find_pairs=context.find_pairs)
    return plan_proposal(core, work, sides).conflicts


def _complete(answer: dict[str, Any], shown: Sequence[MergeConflict]) -> dict[str, Any]:
    """Return an answer to one conflict with its place and its images; a rule is left as it is."""
    if answer.get("entity_id") is None:
        return answer
    about_two = answer.get("take") in (Take.SAME, Take.DIFFERENT)
    for conflict in shown:
        told = conflict.to_json()
        if about_two is (conflict.kind == ConflictKind.POSSIBLE_DUPLICATE) and all(
            answer.get(name) in (None, "*", told[name]) for name in _PLACE
        ):
            place = {name: told[name] for name in _PLACE}
            images = {} if any(side in answer for side in SIDES) else {side: told[side] for side in SIDES}
            return {**answer, **place, **as_json(images)}
    return answer
