"""Nodes that may be duplicates: what a merge brings, and others with the same values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compiler.catalog.model import NodeType
from omnigraph.graph.merge.choices import Choices
from omnigraph.graph.merge.duplicates.rules import DuplicateRule
from omnigraph.graph.merge.equality import same
from omnigraph.graph.merge.tables import Choice
from omnigraph.graph.write.integrity.stored import StoredData
from omnigraph.graph.write.integrity.uniqueness import tuple_texts


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two nodes that may be duplicates."""

    identity: str
    type_name: str
    gone: str
    kept: str
    on: tuple[str, ...] = ()
    """The properties that have found them; empty where somebody has named them."""


def find_candidates(rule: DuplicateRule, choices: Choices, stored: StoredData) -> Iterator[Candidate]:
    """Yield pairs of which a merge brings at least one, in a new or other state than the base had."""
    type_ = rule.table(choices.catalog)
    identity = choices.identities[type_.table_key]
    table = choices.table(identity)
    brought = table.changed_columns(True, rule.on)
    if not brought.num_rows:
        return
    lead = brought[rule.on[0]].combine_chunks()
    here = stored.rows_where(type_.table_key, rule.on[0], pc.drop_null(lead), ("id", *rule.on))
    pool = pa.concat_tables(
        [part.cast(brought.schema) for part in (brought, table.changed_columns(False, rule.on), here)]
    )
    groups = _group(type_, pool, rule.on, frozenset(brought["id"].to_pylist()))
    if not groups:
        return
    found = choices.look_up(identity, {id_ for ids in groups for id_ in ids})
    for group in groups:
        yield from _pair_up(rule, identity, [id_ for id_ in group if id_ in found], found)


def _group(type_: NodeType, pool: pa.Table, on: tuple[str, ...], brought: frozenset[str]) -> list[list[str]]:
    """Return the ids that share a tuple, as far as one of them is brought."""
    texts = tuple_texts(type_, pool, on)
    groups: dict[str, set[str]] = {}
    for text, id_ in zip(texts.to_pylist(), pool["id"].to_pylist(), strict=True):
        if text is not None:
            groups.setdefault(text, set()).add(id_)
    return [sorted(ids) for ids in groups.values() if len(ids) > 1 and not brought.isdisjoint(ids)]


def _pair_up(
    rule: DuplicateRule, identity: str, ids: list[str], found: dict[str, Choice]
) -> Iterator[Candidate]:
    """Yield each id with the one that stays, where the values are still the same in the result."""
    by_values: dict[tuple[object, ...], list[str]] = {}
    for id_ in ids:
        row = found[id_].row
        if row is not None and all(row[name] is not None for name in rule.on):
            by_values.setdefault(tuple(row[name] for name in rule.on), []).append(id_)
    for together in by_values.values():
        kept, *others = sorted(together, key=lambda id_: (_rank(found[id_]), id_))
        for id_ in others:
            if _is_new(found[id_], rule.on) or _is_new(found[kept], rule.on):
                yield Candidate(identity, rule.type_name, id_, kept, rule.on)


def _rank(choice: Choice) -> int:
    """Return what stays: what the base has before what is only on the target, and that before the rest."""
    images = choice.images
    return 0 if images.base is not None else 1 if images.ours is not None else 2


def _is_new(choice: Choice, on: tuple[str, ...]) -> bool:
    """Return whether the merge brings an entity, or these values of it."""
    row, ours = choice.row, choice.images.ours
    assert row is not None
    return ours is None or not all(same(row[name], ours[name]) for name in on)
