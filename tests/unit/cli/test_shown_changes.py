"""A change as people see it: within 80 columns, by words, vectors by distance, blobs by size."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.cli.history.changes import PropertyKinds, describe_change
from omnigraph.graph.changes.model import Change

KINDS = PropertyKinds(frozenset({("Person", "vec")}), frozenset({("Person", "photo")}))


def shown(
    before: dict[str, Any] | None, after: dict[str, Any] | None, id_: str = "ada", width: int = 80
) -> str:
    op = "insert" if before is None else "delete" if after is None else "update"
    images = [None if item is None else {"properties": item} for item in (before, after)]
    change = Change("node", "1", "Person", id_, op, 1, *images)
    lines = describe_change(change, KINDS, width)
    return "".join("".join(piece.text for piece in line) + "\n" for line in lines)


def test_an_update_shows_what_differs_before_and_after() -> None:
    assert shown({"age": 36, "name": "ada"}, {"age": 37, "name": "ada"}) == "~ Person ada\n    age  36 → 37\n"
    assert shown({"age": None}, {"age": ""}) == '~ Person ada\n    age  null → ""\n'


def test_what_came_and_what_is_gone_shows_its_values() -> None:
    assert shown(None, {"age": 1, "town": None}) == "+ Person ada\n    age  1\n"
    assert shown({"age": 1}, None) == "- Person ada\n    age  1\n"


def test_a_long_text_is_compared_by_words_and_what_stays_is_left_out() -> None:
    words = [f"w{number}" for number in range(60)]
    after = [*words[:30], "new", *words[31:]]
    text = shown({"t": " ".join(words)}, {"t": " ".join(after)})
    assert text == "~ Person ada\n    t  … w26 w27 w28 w29 [-w30-] {+new+} w31 w32 w33 w34 …\n"


def test_a_list_is_compared_by_its_items() -> None:
    assert shown({"t": ["a", "b"]}, {"t": ["a", "c"]}).endswith('    t  "a" [-"b"-] {+"c"+}\n')


def test_a_vector_is_a_distance_and_a_blob_a_size() -> None:
    before = {"vec": [1.0, 0.0], "photo": "base64:AAEC"}
    after = {"vec": [0.0, 1.0], "photo": "base64:" + "AAAA" * 1024}
    assert shown(before, after) == (
        "~ Person ada\n    vec    2 numbers, cosine distance 1\n    photo  3 bytes → 3.0 KiB\n"
    )
    assert "3 bytes → other 3 bytes" in shown({"photo": "base64:AAEC"}, {"photo": "base64:AAED"})
    assert shown(None, after).count("AAAA") == 0


def test_nothing_that_is_stored_steers_the_terminal() -> None:
    text = shown({"t": "a"}, {"t": "\x1b[2J\u202e"}, id_="\x1b]0;x\x07")
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text


@given(st.text(max_size=300), st.text(max_size=300), st.integers(20, 100))
def test_no_line_is_longer_than_the_terminal(before: str, after: str, width: int) -> None:
    assert max(map(len, shown({"t": before}, {"t": after}, before[:90], width).splitlines())) <= width
