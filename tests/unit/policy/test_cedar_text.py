"""Names in Cedar's text say exactly what they are, and texts that are not policies are told apart."""

from __future__ import annotations

import pytest

from omnigraph.policy.cedar_text import CedarProblem, is_cedar, name_entity, read_policies

IDS = ["ada", "a b_c-d./:@", 'a"b', "back\\slash", "line\nbreak", "Åsa", "雪", "🦉", "?", "*", "", "a\0b"]


@pytest.mark.parametrize("id", IDS, ids=ascii)
def test_a_name_is_read_as_it_was_written(id: str) -> None:
    told = read_policies(f"permit(principal == {name_entity('Actor', id)}, action, resource);")
    assert isinstance(told, dict)
    [policy] = told.values()
    assert policy["principal"] == {"op": "==", "entity": {"type": "Actor", "id": id}}


def test_texts_that_are_not_policies_are_told_apart() -> None:
    template = "permit(principal == ?principal, action, resource);"
    found = [read_policies("permit(everybody);"), read_policies(template)]
    assert [item.code for item in found if isinstance(item, CedarProblem)] == ["not_cedar", "template"]
    assert is_cedar(template) and not is_cedar("permit(everybody);")
    assert read_policies(" \n") == {}
