"""What the first version accepted is accepted still, and means the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from omnigraph.compiler.query.parser import parse_all
from omnigraph.compiler.query.tokens import KEYWORDS
from support.original_grammar import parse_original
from support.query_trees import without_places

TEXTS = [
    "match { $a : T $a e $b } return { $a . p as x $b } order { x desc , $a . p } limit 3",
    'match { $a : T { p : "v" , q : [ 1 , 2.5 ] , } not { $a e { 1 , 2 } $b $b . p = now ( ) } }'
    " return { count ( $a ) }",
    'match { $a $e : < e > { 1 , 1 } $b search ( $a . p , "x" ) fuzzy ( $b . q , $t , 2 ) = true }'
    " return { $e . p , 1 , x }",
    'match { $a contains $b $t contains "x" $a < $b $a < e > $b 3 < $a . p } return { $a }',
    "match { $a : T } return { $a }"
    ' order { rrf ( nearest ( $a . v , $q ) , bm25 ( $a . t , "x" ) , 3 ) , y asc } limit 2',
    'match { $a : T $a . p = $b $b e $c x = y } return { true , date ( "d" ) as d , datetime ( "t" ) }'
    " order { true , now ( ) }",
    "insert T { a : 1 b : now ( ) , c : [ true ] } update T set { d : $x } where e != 3"
    ' delete T where f = "g"',
]
WORDS = sorted(KEYWORDS)
SAME_KIND = {
    r"[a-z_0-9]*[a-z_]": [*WORDS, "x"],
    r"\$.*": ["$a", "$b", "$t", "$not"],
    r"\d.*|\".*": ["1", "2.5", '"s"', "true", "$t", "x"],
    r"[<>=!]+": ["=", "!=", "<", ">", "<=", ">=", "contains", "starts_with"],
}
ANY = [*WORDS, "x", "$a", "T", "1", '"s"', "{", "}", "(", ")", "[", "]", ":", ",", ".", "<", ">", "="]


def agrees(text: str) -> bool:
    """Compare both parsers on a text; say whether the first version accepted it."""
    original = parse_original(text)
    if original is None:
        return False
    file, problems = parse_all(text)
    assert not problems, f"{text}\n{problems}"
    assert without_places(replace(file, comments=())) == without_places(original), text
    return True


@pytest.mark.parametrize("text", TEXTS)
def test_the_examples_mean_the_same(text: str) -> None:
    assert agrees(f"query q($t: String) {{ {text} }}")


@st.composite
def changed(draw: st.DrawFn) -> str:
    """Return an example with some tokens replaced by others of their kind, and perhaps one by any."""
    tokens = draw(st.sampled_from(TEXTS)).split()
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(tokens) - 1))
        kinds = [words for pattern, words in SAME_KIND.items() if re.fullmatch(pattern, tokens[at])]
        if kinds:
            tokens[at] = draw(st.sampled_from(kinds[0]))
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(tokens) - 1))
        tokens[at : at + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(ANY), max_size=2))
    return " ".join(tokens)


@pytest.mark.long
@settings(max_examples=1000, deadline=None)
@given(changed())
def test_changed_examples_that_the_first_version_accepts_mean_the_same(text: str) -> None:
    event(f"accepted by the first version: {agrees(f'query q($t: String) {{ {text} }}')}")


@pytest.mark.parametrize("word", WORDS)
def test_each_word_in_each_place_of_a_name_means_the_same(word: str) -> None:
    places = [
        f"match {{ $a {word} $b }} return {{ $a }}",
        f"match {{ $a {word}{{1,2}} $b $c: T }} return {{ $a }}",
        f"match {{ $a <{word}> $b }} return {{ $a }}",
        f"match {{ $a ${word}:{word} $b }} return {{ ${word}.{word} }}",
        f"match {{ ${word}: T {{ {word}: 1 }} ${word}.{word} = 2 }} return {{ ${word} as {word} }}",
        f"match {{ $a: T }} return {{ $a as {word} $a.{word} as x }} order {{ {word} asc, {word} }} limit 1",
        f"insert T {{ {word}: 1 {word}x: true, y: ${word} }} update T set {{ {word}: 1 }} where {word} = 2",
        f"delete T where {word} != 3 delete T where x{word} <= ${word}",
    ]
    assert sum(agrees(f"query {word}(${word}: I32) {{ {text} }}") for text in places) >= 4
