"""The planner: identity, drops, and what the engine reads from a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.base.errors import SchemaChangeUnsupported
from omnigraph.compiler.catalog.migration import MigrationPlan, plan_migration
from omnigraph.compiler.catalog.migration.codes import MigrationCode
from omnigraph.compiler.catalog.migration.steps import AddConstraint, AddProperty, DropType, RequireProperty
from omnigraph.compiler.catalog.model import Catalog, Default
from omnigraph.compiler.frontend import compile_schema
from omnigraph.compiler.schema.parser import parse_schema


def _apply(accepted: Catalog, desired: str) -> Catalog:
    plan = plan_migration(accepted, desired)
    assert plan.supported
    return plan.target


def _plan(before: str, after: str, allow_data_loss: bool = False) -> MigrationPlan:
    return plan_migration(compile_schema(before), after, allow_data_loss)


def test_a_renamed_type_keeps_its_id_table_and_properties() -> None:
    before = compile_schema("node A { x: I32  y: I32 }")
    after = _apply(before, 'node B @rename_from("A") { x: I32  z: I32 @rename_from("y") }')
    old, new = before.nodes[0], after.nodes[0]
    assert (old.id, old.table_id) == (new.id, new.table_id)
    assert [item.id for item in old.properties] == [item.id for item in new.properties]
    assert after.last_id == before.last_id


def test_a_dropped_name_comes_back_with_new_ids() -> None:
    first = compile_schema("node A { x: I32? }\nnode B { x: I32? }")
    without = _apply(first, "node B { }")
    again = _apply(without, "node A { x: I32? }\nnode B { x: I32? }")
    for name in ("A", "B"):
        old, new = first.node(name), again.node(name)
        assert old is not None
        assert new is not None
        assert new.by_name["x"].id > first.last_id
        assert (new.id == old.id) == (name == "B")
        assert (new.table_id == old.table_id) == (name == "B")


def test_new_ids_follow_the_order_of_a_new_graph() -> None:
    before = compile_schema("node A { x: I32? }")
    after = _apply(before, "interface I {}\nnode A { w: I32?  x: I32? }\nnode B { y: I32 }\nedge E: A -> B")
    new_b = after.node("B")
    old_a = after.node("A")
    assert new_b is not None
    assert old_a is not None
    last = before.last_id
    assert [after.interfaces[0].id, new_b.id, after.edges[0].id] == [last + 1, last + 2, last + 3]
    assert [old_a.by_name["w"].id, new_b.by_name["y"].id] == [last + 4, last + 5]
    assert [new_b.table_id, after.edges[0].table_id, after.last_id] == [last + 6, last + 7, last + 7]


def test_a_renamed_key_member_keeps_its_place_in_the_key() -> None:
    before = compile_schema("node A { a: I32  b: I32  @key(a, b) }")
    after = _apply(before, 'node A { z: I32 @rename_from("a")  b: I32  @key(b, z) }')
    assert before.nodes[0].key == ("a", "b")
    assert after.nodes[0].key == ("z", "b")


def test_an_empty_plan_leaves_the_accepted_catalog() -> None:
    accepted = compile_schema("node A { x: I32  @unique(x) }")
    plan = plan_migration(accepted, "node A { x: I32 @unique }")
    assert plan.steps == ()
    assert plan.target is accepted


def test_drops_are_hard_only_with_data_loss_allowed() -> None:
    texts = ("node A { x: I32 }\nnode B {}\nedge E: B -> A { w: I32 }", "node A {}")
    for allowed, mode in ((False, "soft"), (True, "hard")):
        plan = _plan(*texts, allow_data_loss=allowed)
        assert [step.to_json()["mode"] for step in plan.steps] == [mode] * 3


def test_edges_are_dropped_before_the_nodes_they_touch() -> None:
    plan = _plan("node A {}\nnode B {}\nedge E: A -> B", "node A {}")
    assert plan.steps == (DropType("edge", "E", "soft"), DropType("node", "B", "soft"))


def test_a_required_property_brings_its_default_to_stored_rows() -> None:
    (step,) = _plan("node A {}", "node A { n: I64 @default(3) }").steps
    assert isinstance(step, AddProperty)
    assert step.default == Default(3)


def test_validated_steps_name_the_code_of_their_failure() -> None:
    plan = _plan(
        "node A { n: I32?  s: String }\nedge E: A -> A",
        'node A { n: I32 @unique  s: String  @range(n, 0..)  @check(s, "x") }\nedge E: A -> A @card(0..1)',
    )
    codes = [step.validation_code for step in plan.steps if isinstance(step, AddConstraint | RequireProperty)]
    assert codes == [
        MigrationCode.NULL_TIGHTENING,
        MigrationCode.ADD_UNIQUE,
        MigrationCode.ADD_RANGE,
        MigrationCode.ADD_CHECK,
        MigrationCode.ADD_CARDINALITY,
    ]


def test_the_first_unsupported_change_is_raised_with_its_code() -> None:
    plan = _plan("node A { x: I32  y: I32 }", "node A { x: String  y: I32?  z: I32 }")
    assert not plan.supported
    with pytest.raises(SchemaChangeUnsupported) as caught:
        plan.require_supported()
    assert caught.value.message.startswith("[OG-MF-103] node:A.z: ")
    assert caught.value.migration_code == "OG-MF-103"
    _plan("node A {}", "node A {}").require_supported()


def test_a_stale_hint_in_an_interface_does_not_stop_a_new_type() -> None:
    before = "interface I { y: I32? }\nnode A implements I { }"
    renamed = 'interface I { z: I32? @rename_from("y") }\nnode A implements I { }'
    first = plan_migration(compile_schema(before), renamed)
    assert [step.kind for step in first.steps] == ["rename_property", "rename_property"]
    second = plan_migration(first.target, renamed + "\nnode B implements I { }")
    assert [step.kind for step in second.steps] == ["add_type"]
    assert len(second.warnings) == 1


def test_a_tree_can_be_planned_as_well_as_a_text() -> None:
    accepted = compile_schema("node A { x: I32 }")
    desired = "node A { x: I64 }"
    assert plan_migration(accepted, parse_schema(desired)) == plan_migration(accepted, desired)


def test_every_migration_code_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "schema-migration.md").read_text(encoding="utf-8")
    assert [code for code in MigrationCode if f"| {code} |" not in page] == []
