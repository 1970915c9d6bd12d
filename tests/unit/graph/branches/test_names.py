"""Branch names (D1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import InvalidName
from omnigraph.graph.branches.names import normalise
from omnigraph.graph.manifest import layout


@pytest.mark.parametrize(
    "name",
    ["main", "a", "0", "feature-1", "a_b.c", "team/x/y", "review", "review/x", "__run__1", "été", ".a", "a."],
)
def test_a_name_of_letters_digits_and_marks_in_segments_is_allowed(name: str) -> None:
    assert normalise(name) == name


@pytest.mark.parametrize("name", [" topic", "topic ", "\ttopic\n"])
def test_surrounding_space_is_trimmed(name: str) -> None:
    assert normalise(name) == "topic"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "   ",
        "/a",
        "a/",
        "a//b",
        "/",
        "..",
        "a..b",
        "a/../b",
        "a\\b",
        "x.lock",
        "x.lock/y",
        "a b",
        "a:b",
        "a*",
        "a?",
        "a~",
        "a@b",
        "a%2Fb",
        "a\0b",
        "a\nb",
        "a" * 300,
        "é" * 120,
    ],
)
def test_any_other_name_is_refused_and_named(name: str) -> None:
    with pytest.raises(InvalidName) as raised:
        normalise(name)
    assert repr(name) in str(raised.value)


@pytest.mark.parametrize("name", ["main~1", "v1^", "main@{2026-01-31T12:00:00Z}"])
def test_what_stands_for_a_commit_is_no_name_and_the_refusal_says_where_it_goes(name: str) -> None:
    with pytest.raises(InvalidName, match=r"is not a branch name.*`commit`"):
        normalise(name)


@pytest.mark.parametrize("name", [None, 7, b"main"])
def test_what_is_no_text_is_refused(name: object) -> None:
    with pytest.raises(InvalidName):
        normalise(name)  # type: ignore[arg-type]


@given(st.text(max_size=30))
def test_an_allowed_name_is_stable_and_has_a_ref_path_of_its_own(text: str) -> None:
    try:
        name = normalise(text)
    except InvalidName:
        return
    assert normalise(name) == name
    assert layout.branch_of(layout.ref_path(name)) == name
    assert layout.ref_path(name).count("/") == layout.BRANCHES.count("/") + 1
