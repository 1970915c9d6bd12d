"""Combining two catalogs: pure, by identity, the same from both sides."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import OmniError
from omnigraph.compiler.catalog.combine import Clash, Side, combine_schemas
from omnigraph.compiler.catalog.migration import plan_migration
from omnigraph.compiler.catalog.migration.plan import steps_between
from omnigraph.compiler.catalog.migration.steps import DropProperty, DropType
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_schema
from support.examples import examples
from support.schemas import all_ids, schema_texts, without_ids

BASE = """
interface Named { label: String? }
node Person implements Named { name: String @key  age: I32?  kind: enum(a, b)? }
node City { name: String @key }
edge Knows: Person -> Person
"""
MIRRORED: dict[Side, Side] = {"base": "base", "ours": "theirs", "theirs": "ours"}
STEPS = ["node", "edge", "property", "wider", "range", "enum", "index", "unique", "rename"]
STEPS += ["note", "given", "card", "drop"]
"""Changes that do not touch each other, but for the last two."""


def text_with(*steps: str) -> str:
    """Return the schema with some of the steps made."""

    def add(step: str, text: str, otherwise: str = "") -> str:
        return text if step in steps else otherwise

    city = add("rename", "Town", "City")
    hint, note = add("rename", '@rename_from("City")'), add("note", '@description("who")')
    lines = [
        f"interface Named {{ label: String? {add('given', 'rank: I32 @default(1)')} }}",
        f"node Person {note} implements Named {{ name: String @key",
        f"age: {add('wider', 'I64', 'I32')}? {add('property', 'nick: String?')}",
        add("range", "@range(age, 0..9)"),
        f"kind: enum(a, b{add('enum', ', c')})? {add('index', '@index')} }}",
        f"node {city} {hint} {{ name: String @key",
        f"{add('unique', 'zip: String? @unique')} }}",
        add("node", "node Club { name: String @key }"),
        add("edge", f"edge Lives: Person -> {city}"),
        add("drop", "", f"edge Knows: Person -> Person {add('card', '@card(0..3)')}"),
    ]
    return "\n".join(lines)


def apply(accepted: Catalog, text: str) -> Catalog:
    plan = plan_migration(accepted, text, on_branch=True)
    plan.require_supported()
    return plan.target


def comparable(catalog: Catalog | None) -> Catalog:
    assert catalog is not None
    return replace(catalog, last_id=0)


@pytest.mark.parametrize("theirs", STEPS)
@pytest.mark.parametrize("ours", STEPS)
def test_steps_that_do_not_touch_each_other_combine_to_what_both_orders_make(ours: str, theirs: str) -> None:
    base = compile_schema(BASE)
    here, there = apply(base, text_with(ours)), apply(base, text_with(theirs))
    found = combine_schemas(base, here, there)
    if {ours, theirs} == {"card", "drop"}:
        assert [clash.place for clash in found.clashes] == ["edge Knows drop"]
        return
    assert found.clashes == ()
    both = text_with(ours, theirs)
    assert comparable(found.catalog) == comparable(apply(here, both)) == comparable(apply(there, both))
    assert without_ids(compile_schema(found.source)) == without_ids(compile_schema(both))


@given(schema_texts(hints=True), schema_texts(hints=True))
@settings(deadline=None, max_examples=examples(60))
@pytest.mark.long
def test_with_one_side_unchanged_the_result_is_the_other(before: str, after: str) -> None:
    base = compile_schema(before)
    other = plan_or_none(base, after)
    assume(other is not None)
    assert other is not None
    for found in (combine_schemas(base, other, base), combine_schemas(base, base, other)):
        assert comparable(found.catalog) == comparable(other)
    assert comparable(combine_schemas(base, other, other).catalog) == comparable(other)


@given(
    schema_texts(),
    schema_texts(hints=True),
    schema_texts(hints=True),
    st.sampled_from(["base", "ours", "theirs"]),
)
@example(
    "node A { a: String @unique @index }",
    "node A { }",
    "node A { a: String @unique @index  @key(a) }",
    "base",
)
@settings(deadline=None, max_examples=examples(150))
@pytest.mark.long
def test_combining_is_the_same_from_both_sides(before: str, one: str, two: str, take: Side) -> None:
    base = compile_schema(before)
    sides = []
    for text in (one, two):
        target = plan_or_none(base, text)
        sides.append(base if target is None else target)
    ours, theirs = sides
    here, there = combine_schemas(base, ours, theirs), combine_schemas(base, theirs, ours)
    assert {clash.place for clash in here.clashes} == {clash.place for clash in there.clashes}
    mirrored = {clash.place: clash for clash in there.clashes}
    for clash in here.clashes:
        other = mirrored[clash.place]
        assert (clash.base, clash.ours, clash.theirs) == (other.base, other.theirs, other.ours)
    answered = combine_schemas(base, ours, theirs, lambda _: take)
    again = combine_schemas(base, theirs, ours, lambda _: MIRRORED[take])
    assert (answered.catalog is None) == (again.catalog is None)
    if answered.catalog is not None:
        assert comparable(answered.catalog) == comparable(again.catalog)
        assert len(all_ids(answered.catalog)) == len(set(all_ids(answered.catalog)))
        assert without_ids(compile_schema(answered.source)) == without_ids(answered.catalog)
    if here.catalog is not None:
        check_contains_both(base, ours, theirs, here.catalog)


def plan_or_none(base: Catalog, text: str) -> Catalog | None:
    try:
        return plan_migration(base, text, on_branch=True).target
    except OmniError:
        return None


def check_contains_both(base: Catalog, ours: Catalog, theirs: Catalog, found: Catalog) -> None:
    """What a side added is there, what it dropped is not, and from each side only steps remain."""
    before, after = set(all_ids(base)), set(all_ids(found))
    for side in (ours, theirs):
        ids = set(all_ids(side))
        other = set(all_ids(theirs if side is ours else ours))
        assert ids - before <= after
        assert not (before - ids) & after
        drops = [step for step in steps_between(side, found) if isinstance(step, DropType | DropProperty)]
        assert bool(drops) <= bool(before - other)


def clashes(ours: str, theirs: str, base: str = BASE) -> dict[str, Clash]:
    accepted = compile_schema(base)
    found = combine_schemas(accepted, apply(accepted, ours), apply(accepted, theirs))
    assert found.catalog is None
    return {clash.place: clash for clash in found.clashes}


def test_a_clash_says_which_step_and_what_each_side_has() -> None:
    found = clashes(
        BASE.replace("node City", 'node Town @rename_from("City")').replace(
            "age: I32?", 'age: I32? @description("x")'
        ),
        BASE.replace("node City", 'node Place @rename_from("City")').replace(
            "age: I32?", 'age: I32? @description("y")'
        ),
    )
    assert set(found) == {"node City name", "node Person.age description"}
    name = found["node City name"]
    assert (name.base, name.ours, name.theirs) == ({"name": "City"}, {"name": "Town"}, {"name": "Place"})
    assert name.message == "both sides changed the name of node City, differently"


def test_two_things_that_get_one_name_clash() -> None:
    found = clashes(
        BASE.replace("node City", 'node Club @rename_from("City")'),
        BASE + "node Club { name: String @key }\n",
    )
    assert set(found) == {"node Club name"}
    base = compile_schema(BASE)
    ours = apply(base, BASE.replace("node City", 'node Club @rename_from("City")'))
    theirs = apply(base, BASE + "node Club { name: String @key }\n")
    names = {
        side: sorted(node.name for node in result.nodes)
        for side in ("base", "ours", "theirs")
        if (result := combine_schemas(base, ours, theirs, lambda _, side=side: side).catalog) is not None
    }
    assert names == {
        "base": ["City", "Person"],
        "ours": ["Club", "Person"],
        "theirs": ["City", "Club", "Person"],
    }


def test_a_dropped_property_that_the_other_made_a_rule_of_clashes() -> None:
    found = clashes(BASE.replace("age: I32?", ""), BASE.replace("age: I32?", "age: I32? @index"))
    assert set(found) == {"node Person.age drop"}
    assert found["node Person.age drop"].theirs == {"declaration": "age: I32?", "rules": ["@index(age)"]}


def test_branches_that_counted_alike_are_refused_and_not_mixed_up() -> None:
    base = compile_schema("node A { name: String @key }")
    ours = plan_migration(base, "node A { name: String @key }\nnode B { name: String @key }").target
    theirs = plan_migration(base, "node A { name: String @key  x: I32? }").target
    (clash,) = combine_schemas(base, ours, theirs).clashes
    assert clash.place == ""
    assert "under one number" in clash.message


def test_a_name_that_went_away_comes_back_as_something_else() -> None:
    base = compile_schema(BASE)
    more = apply(base, BASE.replace("age: I32?", "age: I32?  nick: String?"))
    without = apply(more, BASE)
    again = apply(without, BASE.replace("age: I32?", "age: I32?  nick: String?"))
    assert not (set(all_ids(more)) - set(all_ids(base))) & set(all_ids(again))
    other = apply(base, BASE.replace("age: I32?", "age: I32?  nick: String?  hat: I32?"))
    assert set(all_ids(more)) < set(all_ids(other))
