"""What an actor may see of each type, as values: a condition about rows, and properties that are hidden."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from omnigraph.compiler.catalog.model import Catalog, EdgeType
from omnigraph.compiler.ir.conditions import Condition
from omnigraph.policy.data.evaluate import columns_of, evaluate
from omnigraph.policy.data.logic import all_of
from omnigraph.storage.restrictions.restriction import Reference, Restriction


@dataclass(frozen=True)
class TypeRule:
    """What of one type is there for an actor."""

    rows: Condition | bool = True
    """What must be true of a row; unknown hides it."""
    hidden: frozenset[str] = frozenset()
    """The properties that are not there."""

    @property
    def is_open(self) -> bool:
        """Whether nothing is hidden."""
        return self.rows is True and not self.hidden

    def narrow(self, other: TypeRule) -> TypeRule:
        """Return what both leave."""
        return TypeRule(all_of(self.rows, other.rows), self.hidden | other.hidden)


@dataclass(frozen=True)
class ConditionRule:
    """A condition as storage asks it: which rows of a table may be seen."""

    condition: Condition | bool

    @cached_property
    def columns(self) -> Sequence[str]:
        """The columns that the condition reads."""
        return sorted(columns_of(self.condition))

    @cached_property
    def digest(self) -> str:
        """A hash of the condition."""
        return hashlib.sha256(repr(self.condition).encode()).hexdigest()

    def allows(self, rows: pa.Table) -> pa.BooleanArray:
        """Return for each row whether the condition is true; NULL where it is unknown."""
        return evaluate(self.condition, rows)


@dataclass(frozen=True)
class DataRules:
    """What an actor may see or change of the data of a branch, by table key. An unknown type is hidden."""

    types: Mapping[str, TypeRule] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """A hash of the rules."""
        said = sorted((key, repr(rule.rows), sorted(rule.hidden)) for key, rule in self.types.items())
        return hashlib.sha256(repr(said).encode()).hexdigest()

    @property
    def is_open(self) -> bool:
        """Whether nothing is hidden."""
        return all(rule.is_open for rule in self.types.values())

    def of(self, table_key: str) -> TypeRule:
        """Return the rule of a type."""
        return self.types.get(table_key, TypeRule(rows=False))

    def narrow(self, other: DataRules) -> DataRules:
        """Return what both leave."""
        keys = self.types.keys() | other.types.keys()
        return DataRules({key: self.of(key).narrow(other.of(key)) for key in sorted(keys)})

    def restrictions(self, catalog: Catalog) -> dict[str, Restriction]:
        """Return what is hidden of each table; an edge is hidden with a node at one of its ends."""
        found = {}
        for table in catalog.tables:
            rule = self.of(table.table_key)
            references: tuple[Reference, ...] = ()
            if isinstance(table, EdgeType):
                ends = (("src", f"node:{table.source}"), ("dst", f"node:{table.target}"))
                references = tuple(Reference(*end) for end in ends if self.of(end[1]).rows is not True)
            if not rule.is_open or references:
                rows = None if rule.rows is True else ConditionRule(rule.rows)
                found[table.table_key] = Restriction(rows, references, rule.hidden)
        return found
