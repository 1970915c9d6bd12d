"""Answers to conflicts: what they settle, what they leave alone, and which of several counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph as og

SCHEMA = """
node Person { name: String @key  age: I32?  nick: String?  mail: String? @unique  rate: F64?
              hits: I64? @merge(sum)  seal: String? @merge(manual)  @range(age, 0..150)  @range(hits, 0..99) }
edge Knows: Person -> Person @card(0..2) { note: String?  since: I32? }
"""
ADA: dict[str, Any] = {"entity_kind": "node", "type_name": "Person", "entity_id": "ada"}


@pytest.fixture
def g(tmp_path: Path) -> og.Graph:
    """Ada, Bob, a person called `*`, who all know Bob; a branch `work`."""
    graph = og.init(tmp_path / "graph", SCHEMA)
    graph.load(
        [
            *(person(name, age=1, nick="base", hits=10) for name in ("ada", "bob", "*")),
            *(knows(f"k{at}", name, "bob") for at, name in enumerate(("ada", "bob", "*"))),
        ],
        mode="append",
    )
    graph.branches.create("work")
    return graph


def person(name: str, **data: Any) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, **data}}


def knows(id_: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": "Knows", "from": source, "to": target, "data": {"id": id_, **data}}


def put(graph: og.Graph, branch: str, *records: dict[str, Any]) -> str:
    """Write what the records name; what they do not name of a person stays as it is."""
    now = people(graph, branch)
    whole = [
        {**record, "data": {**now.get(record["data"].get("name"), {}), **record["data"]}}
        for record in records
    ]
    done = graph.load(whole, mode="merge", branch=branch)
    assert done.commit_id is not None
    return done.commit_id


def drop(graph: og.Graph, branch: str, name: str) -> None:
    graph.mutate("query q($n: String) { delete Person where name = $n }", {"n": name}, branch=branch)


def people(graph: og.Graph, branch: str = "main") -> dict[str, dict[str, Any]]:
    found = [record["data"] for record in graph.export(branch=branch, types=["Person"])]
    return {data["name"]: data for data in found}


def some(graph: og.Graph, *names: str, who: str = "ada", branch: str = "main") -> tuple[Any, ...]:
    data = people(graph, branch)[who]
    return tuple(data.get(name) for name in names)


def refused(graph: og.Graph, **how: Any) -> tuple[Any, ...]:
    with pytest.raises(og.MergeConflicts) as caught:
        graph.branches.merge("work", **how)
    found: tuple[Any, ...] = caught.value.conflicts
    return found


def _differ(g: og.Graph) -> tuple[str, str]:
    """Let both sides change the age and the hits, ours also the nick; return both commits."""
    ours = put(g, "main", person("ada", age=2, nick="ours", hits=13))
    return ours, put(g, "work", person("ada", age=3, hits=14))


@pytest.mark.parametrize(("take", "age"), [("base", 1), ("ours", 2), ("theirs", 3)])
@pytest.mark.parametrize("named", [{"entity_id": "ada"}, ADA, {}])
def test_an_answer_settles_what_clashes_on_top_of_what_combines(
    g: og.Graph, take: str, age: int, named: dict[str, Any]
) -> None:
    _differ(g)
    g.branches.merge("work", strategy="property", resolutions=[{**named, "take": take}])
    assert some(g, "age", "nick", "hits") == (age, "ours", 17)


def test_an_answer_for_a_whole_entity_leaves_properties_with_a_rule_to_their_rules(g: og.Graph) -> None:
    _differ(g)
    g.branches.merge("work", resolutions=[{**ADA, "take": "theirs"}])
    assert some(g, "age", "nick", "hits") == (3, "base", 17)


@pytest.mark.parametrize("strategy", ["property", "entity"])
def test_a_custom_image_leaves_out_what_combined(g: og.Graph, strategy: str) -> None:
    _differ(g)
    put(g, "work", person("ada", rate=1.5))
    custom = {**ADA, "take": "custom", "image": {"properties": {"age": 9}}}
    g.branches.merge("work", strategy=strategy, resolutions=[custom])
    # Whole entities do not combine: what nobody names is ours then.
    assert some(g, "age", "nick", "hits", "rate") == (9, "ours", 17, 1.5 if strategy == "property" else None)


@pytest.mark.parametrize("strategy", ["entity", "property", "ours", "theirs"])
def test_an_answer_to_a_sealed_property_settles_nothing_else(g: og.Graph, strategy: str) -> None:
    put(g, "main", person("ada", seal="ours", nick="ours", hits=13))
    put(g, "work", person("ada", seal="theirs", hits=14))
    (found,) = refused(g, strategy=strategy)
    assert found.properties == ("seal",)
    g.branches.merge("work", strategy=strategy, resolutions=[{"entity_id": "ada", "take": "theirs"}])
    assert some(g, "seal", "nick", "hits") == ("theirs", "ours", 17)


def test_answers_leave_what_combined_alone_in_cherry_picks_and_reverts_too(g: og.Graph) -> None:
    _, theirs = _differ(g)
    how: dict[str, Any] = {"strategy": "property", "resolutions": [{"entity_id": "ada", "take": "theirs"}]}
    g.commits.cherry_pick(theirs, onto="main", **how)
    assert some(g, "age", "nick", "hits") == (3, "ours", 17)
    put(g, "main", person("ada", age=5, nick="later"))
    g.commits.revert(theirs, branch="main", **how)
    assert some(g, "age", "nick", "hits") == (1, "later", 13)


def test_answers_leave_what_combined_alone_in_a_rebase_too(g: og.Graph) -> None:
    _differ(g)
    answers = [{"entity_id": "ada", "take": "theirs"}]
    g.branches.rebase("work", onto="main", strategy="property", resolutions=answers)
    assert some(g, "age", "nick", "hits", branch="work") == (3, "ours", 17)


def test_in_a_rebase_a_named_entity_is_settled_where_a_commit_touches_it_or_needs_it(g: og.Graph) -> None:
    put(g, "work", person("bob", age=5))
    put(g, "work", person("ada", age=3))
    put(g, "work", knows("new", "ada", "*"))
    put(g, "main", person("ada", age=2, nick="ours"))
    drop(g, "main", "*")
    answers = [{**ADA, "take": "theirs"}, {**ADA, "entity_id": "*", "take": "theirs"}]
    g.branches.rebase("work", onto="main", strategy="property", resolutions=answers)
    assert some(g, "age", "nick", branch="work") == (3, "ours")
    assert "*" in people(g, "work")


def test_an_answer_to_a_broken_rule_settles_the_properties_that_break_it(g: og.Graph) -> None:
    put(g, "main", person("ada", hits=60, nick="ours"), person("bob", mail="x"))
    put(g, "work", person("ada", hits=80, rate=1.5), person("*", mail="x", rate=2.5))
    assert {item.kind for item in refused(g, strategy="property")} == {
        "ValueConstraintViolation",
        "UniqueViolation",
    }
    g.branches.merge("work", strategy="property", resolutions=[{"take": "ours"}])
    assert some(g, "hits", "nick", "rate") == (60, "ours", 1.5)
    assert some(g, "mail", "rate", who="*") == (None, 2.5)


def test_answers_to_several_broken_rules_of_one_entity_are_all_used(g: og.Graph) -> None:
    put(g, "main", person("ada", hits=60), person("bob", mail="x"))
    put(g, "work", person("ada", hits=80, mail="x"))
    answers = [
        {**ADA, "kind": "UniqueViolation", "take": "custom", "image": {"properties": {"mail": "y"}}},
        {**ADA, "kind": "ValueConstraintViolation", "take": "theirs"},
    ]
    g.branches.merge("work", strategy="property", resolutions=answers)
    assert some(g, "hits", "mail") == (80, "y")


def test_an_answer_that_does_not_help_is_told(g: og.Graph) -> None:
    put(g, "main", person("bob", mail="x"))
    put(g, "work", person("ada", mail="x"))
    (left,) = refused(g, resolutions=[{"kind": "UniqueViolation", "take": "theirs"}])
    assert "does not settle this" in left.message


def test_an_entity_that_is_named_is_settled_though_the_target_has_not_moved(g: og.Graph) -> None:
    put(g, "work", person("ada", age=77), person("bob", age=78))
    drop(g, "work", "*")
    keep = [{**ADA, "take": "ours"}, {**ADA, "entity_id": "*", "take": "ours"}]
    tried = g.branches.merge("work", dry_run=True, resolutions=keep)
    assert tried.outcome == "merged"
    done = g.branches.merge("work", resolutions=keep)
    assert (done.outcome, done.counts["node:Person"].updated) == ("merged", 1)
    assert {name: data["age"] for name, data in people(g).items()} == {"ada": 1, "bob": 78, "*": 1}
    assert g.branches.merge("work").outcome == "already_up_to_date"


def test_an_answer_by_rule_or_for_a_kind_leaves_a_fast_forward_as_it_is(g: og.Graph) -> None:
    put(g, "work", person("ada", age=77))
    answers = [{"take": "ours"}, {**ADA, "kind": "DivergentUpdate", "take": "ours"}]
    assert g.branches.merge("work", resolutions=answers).outcome == "fast_forward"
    assert some(g, "age") == (77,)


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"image": {"endpoints": {"frm": "ada"}}}, "frm"),
        ({"image": {"props": {}}}, "props"),
        ({"image": {"properties": {"nte": "x"}}}, "nte"),
        ({"image": {}, "ours": {"property": {}}}, "property"),
        ({"image": {}, "tke": 1}, "tke"),
    ],
)
def test_a_misspelt_member_is_refused_wherever_it_stands(
    g: og.Graph, item: dict[str, Any], name: str
) -> None:
    put(g, "main", knows("k0", "ada", "bob", note="m"))
    put(g, "work", knows("k0", "ada", "bob", note="w"))
    with pytest.raises(og.BadInput, match=f"'{name}'"):
        g.branches.merge("work", resolutions=[{"entity_id": "k0", "take": "custom", **item}])
    with pytest.raises(og.BadInput, match="'resolution'"):
        g.branches.merge("work", resolutions={"conflicts": [], "resolution": [{"take": "ours"}]})


def test_a_node_has_no_endpoints(g: og.Graph) -> None:
    _differ(g)
    image = {"endpoints": {"from": "ada"}}
    with pytest.raises(og.BadInput, match="endpoints"):
        g.branches.merge("work", resolutions=[{"entity_id": "ada", "take": "custom", "image": image}])


@pytest.mark.parametrize("other", [ADA, {"type_name": "Person", "entity_id": "ada"}, {"entity_id": "ada"}])
def test_two_different_answers_for_one_entity_are_refused(g: og.Graph, other: dict[str, Any]) -> None:
    _differ(g)
    rule, mine = {"take": "ours"}, {**ADA, "take": "theirs"}
    for answers in ([mine, rule, {**other, "take": "ours"}], [{**other, "take": "ours"}, rule, mine]):
        with pytest.raises(og.BadInput, match=r"resolutions 1 and 3 .*'ada'"):
            g.branches.merge("work", resolutions=answers)
    again = {**other, "take": "theirs"}
    g.branches.merge("work", resolutions=[mine, rule, again])
    assert some(g, "age") == (3,)


def test_an_answer_that_names_the_kind_goes_before_one_that_does_not(g: og.Graph) -> None:
    _differ(g)
    answers = [{**ADA, "take": "ours"}, {**ADA, "kind": "DivergentUpdate", "take": "theirs"}]
    g.branches.merge("work", resolutions=answers)
    assert some(g, "age") == (3,)


def test_answers_to_one_entity_at_different_commits_of_a_rebase_stand_side_by_side(g: og.Graph) -> None:
    for age in (3, 4):
        put(g, "work", person("ada", age=age))
    put(g, "main", person("ada", age=2))
    answers: list[dict[str, Any]] = []
    for take in ("ours", "theirs"):
        tried = g.branches.rebase("work", onto="main", resolutions=answers, dry_run=True)
        (left,) = tried.conflicts
        answers.append({**left.to_json(), "take": take})
    g.branches.rebase("work", onto="main", resolutions=answers)
    assert some(g, "age", branch="work") == (4,)


@pytest.mark.parametrize("with_images", [True, False])
def test_an_entity_whose_key_is_a_star_is_answered_alone(g: og.Graph, with_images: bool) -> None:
    for branch, age in (("main", 6), ("work", 5)):
        put(g, branch, person("*", age=age), person("ada", age=age))
    listed = [item.to_json() for item in refused(g)]
    answers = [{**item, "take": "theirs"} for item in listed if item["entity_id"] == "*"]
    if not with_images:
        answers = [{"entity_id": "*", "take": "theirs"}]
    (left,) = refused(g, resolutions=answers)
    assert left.entity_id == "ada"
    g.branches.merge("work", resolutions=[*answers, {"take": "ours"}])
    assert (some(g, "age", who="*"), some(g, "age")) == ((5,), (6,))


def test_zeros_of_both_signs_are_two_values_in_a_merge_as_in_a_diff(g: og.Graph) -> None:
    put(g, "main", person("ada", rate=0.0))
    g.branches.create("zero")
    before = g.snapshot("zero").commit_id
    after = put(g, "zero", person("ada", rate=-0.0))
    put(g, "main", person("ada", nick="ours"))
    assert len(list(g.diff(before, after))) == 1
    (found,) = g.branches.merge("zero", dry_run=True).conflicts
    assert found.properties == ("nick", "rate")
    g.branches.merge("zero", strategy="property")
    assert str(some(g, "rate")[0]) == "-0.0"


def test_a_unique_violation_names_both_entities(g: og.Graph) -> None:
    put(g, "main", person("bob", mail="x"))
    put(g, "work", person("ada", mail="x"))
    (found,) = refused(g)
    assert found.entity_id == "ada"
    assert "'ada'" in found.message
    assert "the stored Person 'bob'" in found.message


def test_a_cardinality_violation_names_its_edges_and_tells_that_a_rule_is_no_answer(g: og.Graph) -> None:
    put(g, "main", knows("m", "ada", "ada"))
    put(g, "work", knows("w", "ada", "*"))
    (found,) = refused(g)
    assert found.entity_id is None
    assert found.message.startswith("edge Knows 'w': ")
    assert "not used" not in found.message
    for answer in ({"take": "ours"}, {**found.to_json(), "take": "ours"}):
        (left,) = refused(g, resolutions=[answer])
        assert "answer for one of its edges by its id" in left.message
    one = {"entity_kind": "edge", "type_name": "Knows", "entity_id": "w", "take": "ours"}
    assert g.branches.merge("work", resolutions=[one]).outcome == "merged"


def test_counts_of_a_merge_with_conflicts_leave_out_types_that_do_not_change(g: og.Graph) -> None:
    _differ(g)
    assert g.branches.merge("work", dry_run=True).counts == {}
