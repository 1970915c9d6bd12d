"""Compare the constraints of a type: some can be added, none can be removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from omnigraph.compiler.catalog.annotations import MARKS
from omnigraph.compiler.catalog.migration.rules import IndexRule, KeyRule, Rule, UniqueRule, rule_text
from omnigraph.compiler.catalog.migration.steps import AddConstraint, Step, UnsupportedChange
from omnigraph.compiler.catalog.model import EDGE_ENDS, Check, EdgeType, NodeType, Property, Range, TableType

_EDGE_ENDS = {name: name for name in EDGE_ENDS}


def compare_rules(old: TableType, new: TableType, names: Mapping[str, str]) -> list[Step]:
    """Return the steps between two sets of constraints; those of a dropped property go with it."""
    if isinstance(new, EdgeType):
        names = {**names, **_EDGE_ENDS}
    entity = f"{new.kind}:{new.name}"
    steps: list[Step] = []
    steps += _compare_keys(entity, old, new, names)
    steps += _compare_forms(entity, old, new)
    before = _rename_properties(_rules(old), names)
    after = _rules(new)
    steps += [
        UnsupportedChange(entity, f"{rule_text(rule)} cannot be removed")
        for rule in before
        if rule not in after
    ]
    steps += [AddConstraint(new.kind, new.name, rule) for rule in after if rule not in before]
    if isinstance(old, EdgeType) and isinstance(new, EdgeType) and old.cardinality != new.cardinality:
        if old.cardinality.is_default:
            steps.append(AddConstraint("edge", new.name, new.cardinality))
        else:
            steps.append(UnsupportedChange(entity, f"{rule_text(old.cardinality)} cannot change"))
    return steps


def compare_marks(owner: str, old: Property, new: Property) -> list[Step]:
    """Return the steps between the marks of an interface's property."""
    before = {note.name for note in old.annotations if note.name in MARKS}
    after = {note.name for note in new.annotations if note.name in MARKS}
    entity = f"interface:{owner}.{new.name}"
    steps: list[Step] = []
    for mark in MARKS:
        if mark in before and mark not in after:
            steps.append(UnsupportedChange(entity, f"@{mark} cannot be removed"))
        elif mark in after and mark not in before:
            if mark == "key":
                steps.append(UnsupportedChange(entity, "@key cannot be added"))
            else:
                rule = UniqueRule((new.name,)) if mark == "unique" else IndexRule((new.name,))
                steps.append(AddConstraint("interface", owner, rule))
    return steps


def _compare_keys(entity: str, old: TableType, new: TableType, names: Mapping[str, str]) -> list[Step]:
    before = {names.get(name, "") for name in old.key or ()}
    after = set(new.key or ())
    if before == after:
        return []
    if not before and new.kind == "edge":
        return [AddConstraint("edge", new.name, KeyRule(new.key or ()))]
    if not before:
        return [UnsupportedChange(entity, f"@key({', '.join(sorted(after))}) cannot be added")]
    if not after:
        return [UnsupportedChange(entity, f"@key({', '.join(old.key or ())}) cannot be removed")]
    return [UnsupportedChange(entity, f"@key({', '.join(old.key or ())}) cannot change")]


def _compare_forms(entity: str, old: TableType, new: TableType) -> list[Step]:
    before = {item.id for item in old.properties if item.inline_unique}
    return [
        UnsupportedChange(
            f"{entity}.{item.name}",
            "@unique cannot move from the property into the body: leave it on the property",
        )
        for item in new.properties
        if item.id in before and not item.inline_unique and (item.name,) in new.uniques
    ]


def _rules(item: TableType) -> list[Rule]:
    rules: list[Rule] = [UniqueRule(columns) for columns in item.uniques]
    key = tuple(sorted(item.key)) if item.key else None
    rules += [IndexRule(columns) for columns in item.indexes if columns != key]
    return [*rules, *item.ranges, *item.checks] if isinstance(item, NodeType) else rules


def _rename_properties(rules: Iterable[Rule], names: Mapping[str, str]) -> list[Rule]:
    """Return the rules under the new names, without those that name a dropped property."""
    renamed: list[Rule] = []
    for rule in rules:
        if isinstance(rule, UniqueRule | IndexRule):
            if all(name in names for name in rule.properties):
                renamed.append(
                    replace(rule, properties=tuple(sorted(names[name] for name in rule.properties)))
                )
        elif isinstance(rule, Range | Check) and rule.property in names:
            renamed.append(replace(rule, property=names[rule.property]))
    return renamed
