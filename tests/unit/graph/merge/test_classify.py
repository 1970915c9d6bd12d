"""One entity, three images: what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.compiler.frontend import compile_schema
from omnigraph.graph.merge.classify import Disagreed, Settled, Strategy, classify

TABLE = compile_schema(
    """
    node Thing {
      a: String?  b: String?
      top: I32? @merge(max)  hits: I32? @merge(sum)  rate: F32? @merge(sum)  tags: [String]? @merge(union)
      mine: String? @merge(ours)  yours: String? @merge(theirs)  seal: String? @merge(manual)
    }
    """
).nodes[0]
ALL = tuple(Strategy)


def thing(**values: Any) -> dict[str, Any]:
    return {name: values.get(name) for name in TABLE.by_name}


def settle(base: Any, ours: Any, theirs: Any, strategy: Strategy = Strategy.ENTITY) -> Any:
    found = classify(TABLE, base, ours, theirs, strategy)
    if isinstance(found, Settled):
        return found.row
    assert isinstance(found, Disagreed)
    return found.kind.value, found.properties


OLD, NEW, NEWER = thing(a="old"), thing(a="new"), thing(a="newer")


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        (None, None, NEW, NEW),
        (None, NEW, None, NEW),
        (None, NEW, thing(a="new"), NEW),
        (OLD, OLD, OLD, OLD),
        (OLD, NEW, OLD, NEW),
        (OLD, OLD, NEW, NEW),
        (OLD, NEW, thing(a="new"), NEW),
        (OLD, OLD, None, None),
        (OLD, None, OLD, None),
        (OLD, None, None, None),
    ],
)
def test_what_one_side_did_or_both_did_alike_needs_no_strategy(
    base: Any, ours: Any, theirs: Any, result: Any, strategy: Strategy
) -> None:
    assert settle(base, ours, theirs, strategy) == result


def test_disagreements_are_conflicts_of_the_whole_entity() -> None:
    assert settle(None, NEW, NEWER) == ("DivergentInsert", ("a",))
    assert settle(OLD, NEW, NEWER) == ("DivergentUpdate", ("a",))
    assert settle(OLD, NEW, None) == ("DeleteVsUpdate", ())
    assert settle(OLD, None, NEW) == ("DeleteVsUpdate", ())
    different_properties = settle(thing(a="1", b="1"), thing(a="2", b="1"), thing(a="1", b="2"))
    assert different_properties == ("DivergentUpdate", ("a", "b"))


@pytest.mark.parametrize(("value", "other"), [(None, ""), (("a, b",), ("a", "b")), ((), None)])
def test_equality_is_typed(value: Any, other: Any) -> None:
    name = "b" if not isinstance(value, tuple) else "tags"
    base, changed = thing(**{name: value}), thing(**{name: other})
    assert settle(base, changed, {**base, "a": "x"}) != {**base, "a": "x"}


def test_property_by_property_only_a_property_that_both_changed_clashes() -> None:
    base, ours, theirs = thing(a="1", b="1"), thing(a="2", b="1"), thing(a="1", b="2")
    assert settle(base, ours, theirs, Strategy.PROPERTY) == thing(a="2", b="2")
    assert settle(base, ours, thing(a="3", b="2"), Strategy.PROPERTY) == ("DivergentUpdate", ("a",))
    assert settle(None, thing(a="1"), thing(a="2"), Strategy.PROPERTY) == ("DivergentInsert", ("a",))
    assert settle(OLD, NEW, None, Strategy.PROPERTY) == ("DeleteVsUpdate", ())


def test_ours_and_theirs_take_a_side_only_where_sides_disagree() -> None:
    assert settle(OLD, NEW, NEWER, Strategy.OURS) == NEW
    assert settle(OLD, NEW, NEWER, Strategy.THEIRS) == NEWER
    assert settle(OLD, None, NEWER, Strategy.OURS) is None
    assert settle(OLD, None, NEWER, Strategy.THEIRS) == NEWER
    assert settle(OLD, OLD, NEWER, Strategy.OURS) == NEWER


@pytest.mark.parametrize("strategy", ALL)
def test_a_property_with_a_rule_is_settled_by_it_whatever_the_strategy(strategy: Strategy) -> None:
    base = thing(a="x", top=1, hits=10, rate=1.5, tags=("a",), mine="m", yours="y")
    ours = thing(a="x", top=5, hits=13, rate=2.5, tags=("a", "b"), mine="m1", yours="y1")
    theirs = thing(a="x", top=3, hits=14, rate=1.0, tags=("c", "a"), mine="m2", yours="y2")
    assert settle(base, ours, theirs, strategy) == thing(
        a="x", top=5, hits=17, rate=2.0, tags=("a", "b", "c"), mine="m1", yours="y2"
    )


def test_rules_work_without_a_base_and_with_missing_values() -> None:
    assert settle(None, thing(hits=3), thing(hits=4)) == thing(hits=7)
    assert settle(thing(hits=5), thing(hits=None), thing(hits=7)) == thing(hits=2)
    assert settle(thing(top=5), thing(top=None), thing(top=4)) == thing(top=4)
    assert settle(thing(tags=("a",)), thing(tags=None), thing(tags=())) == thing(tags=())


def test_a_rule_on_one_property_leaves_the_rest_to_the_strategy() -> None:
    base = thing(a="1", b="1", hits=1)
    both = settle(base, thing(a="2", b="1", hits=2), thing(a="1", b="2", hits=3))
    assert both == ("DivergentUpdate", ("a", "b"))
    assert settle(base, thing(a="2", b="1", hits=2), thing(a="1", b="1", hits=3)) == thing(
        a="2", b="1", hits=4
    )


@pytest.mark.parametrize("strategy", ALL)
def test_a_sealed_property_that_both_changed_is_always_a_conflict(strategy: Strategy) -> None:
    found = settle(thing(seal="1"), thing(seal="2"), thing(seal="3"), strategy)
    assert found == ("DivergentUpdate", ("seal",))
    assert settle(thing(seal="1"), thing(seal="2"), thing(seal="1", hits=1), strategy) == thing(
        seal="2", hits=1
    )


def test_a_sum_that_cannot_be_stored_is_a_conflict() -> None:
    most = 2**31 - 1
    assert settle(thing(hits=0), thing(hits=most), thing(hits=1)) == ("DivergentUpdate", ("hits",))
    assert settle(thing(rate=0.0), thing(rate=3e38), thing(rate=3.1e38)) == ("DivergentUpdate", ("rate",))
