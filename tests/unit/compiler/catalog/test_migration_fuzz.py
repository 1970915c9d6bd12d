"""Random pairs and chains of schemas through the planner."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import SchemaChangeUnsupported
from omnigraph.compiler.catalog import codec
from omnigraph.compiler.catalog.migration import plan_migration
from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_schema
from support.examples import examples
from support.schemas import all_ids, schema_texts, without_ids

pytestmark = pytest.mark.long


@given(schema_texts())
@settings(deadline=None, max_examples=examples(50))
def test_the_same_schema_gives_an_empty_plan(text: str) -> None:
    accepted = compile_schema(text)
    plan = plan_migration(accepted, text)
    assert plan.steps == ()
    assert plan.supported
    assert plan.target == accepted


@given(schema_texts(), schema_texts())
@settings(deadline=None, max_examples=examples(80))
def test_the_target_is_the_desired_schema(before: str, after: str) -> None:
    accepted = compile_schema(before)
    plan = plan_migration(accepted, after)
    assert without_ids(plan.target) == without_ids(compile_schema(after))
    assert bool(plan.steps) == (plan.target != accepted)
    assert plan.to_json()["supported"] == plan.supported


@given(st.lists(schema_texts(hints=True), min_size=2, max_size=4))
@settings(deadline=None, max_examples=examples(80))
def test_ids_are_unique_and_never_return(texts: list[str]) -> None:
    current = compile_schema(texts[0])
    gone: set[int] = set()
    for text in texts[1:]:
        try:
            following = plan_migration(current, text).target
        except SchemaChangeUnsupported:
            continue
        ids = all_ids(following)
        assert len(ids) == len(set(ids))
        assert not gone & set(ids)
        assert following.last_id >= max([current.last_id, *ids])
        assert all(number in all_ids(current) or number > current.last_id for number in ids)
        gone |= set(all_ids(current)) - set(ids)
        current = following


@given(schema_texts(hints=True), schema_texts(hints=True))
@settings(deadline=None, max_examples=examples(60))
def test_catalogs_survive_the_codec(before: str, after: str) -> None:
    catalogs: list[Catalog] = [compile_schema(before), compile_schema(after)]
    stored = [json.dumps(codec.to_json(catalog), sort_keys=True, allow_nan=False) for catalog in catalogs]
    assert [codec.from_json(json.loads(text)) for text in stored] == catalogs
    assert (stored[0] == stored[1]) == (catalogs[0] == catalogs[1])
