"""Every error has a stable code, a place in the drawn tree, a line in the documentation, and pickles."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import errors
from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import OmniError, ParseError, TypeCheckError

PAGE = Path(__file__).parents[3] / "docs/errors.md"


def public_kinds() -> list[type[OmniError]]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OmniError)]
    return [kind for kind in kinds if not kind.__name__.startswith("_")]


def parent(kind: type[OmniError]) -> str:
    """Return the name of the closest public ancestor."""
    return next(base.__name__ for base in kind.__mro__[1:] if not base.__name__.startswith("_"))


def drawn_tree() -> dict[str, str]:
    """Return child → parent as the module's docstring draws it."""
    drawn: dict[str, str] = {}
    above: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"((?:[│ ]   )*)[├└]── (\w+)", line)
        if match:
            depth = len(match[1]) // 4
            drawn[match[2]] = above.get(depth - 1, "OmniError")
            above[depth] = match[2]
    return drawn


def documented_rows() -> dict[str, list[str]]:
    """Return the cells of each row of the page's table by class name."""
    rows = (
        [cell.strip().strip("`") for cell in line.strip("|\n ").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `")
    )
    return {
        row[1]: row for row in rows if not row[1].isdigit()
    }  # the codes that only HTTP has are no classes


KINDS = public_kinds()


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_can_be_caught_by_its_public_name(kind: type[OmniError]) -> None:
    assert getattr(og, kind.__name__) is kind


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_pickling_and_copying(kind: type[OmniError]) -> None:
    error = kind("what went wrong")
    error.details["fact"] = 17
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert (str(again), again.message, again.details) == (str(error), error.message, error.details)
        assert again.fact == 17


@pytest.mark.parametrize("kind", [ParseError, TypeCheckError])
def test_an_error_about_a_text_keeps_its_problems_through_pickling(kind: type[ParseError]) -> None:
    problem = Diagnostic("P1", "no such type", 2, 5, "x: Strin", 5, "did you mean String?")
    again = pickle.loads(pickle.dumps(kind([problem], "a.pg")))
    assert again.diagnostics == (problem,)
    assert "a.pg:2:5: [P1] no such type" in str(again)
    assert "did you mean String?" in str(again)


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_code_is_one_lower_case_word_with_underscores(kind: type[OmniError]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)


def test_the_tree_is_drawn_as_it_is() -> None:
    assert drawn_tree() == {kind.__name__: parent(kind) for kind in KINDS if kind is not OmniError}


def test_every_error_is_documented_with_its_code_and_whether_a_retry_helps() -> None:
    documented = {name: (row[0], row[3]) for name, row in documented_rows().items()}
    expected = {kind.__name__: (kind.code, "yes" if kind.retryable else "no") for kind in KINDS}
    assert documented == expected


def test_every_documented_error_says_who_acts_and_what_to_do() -> None:
    for name, row in documented_rows().items():
        assert len(row) == 7, name
        assert row[2], name
        assert len(row[6]) > 10, name


def test_a_fact_is_an_attribute_and_anything_else_is_not() -> None:
    error = OmniError("x", table_key="node:Person", expected=3)
    assert (error.table_key, error.expected) == ("node:Person", 3)
    with pytest.raises(AttributeError, match="OmniError has no attribute 'actual'"):
        _ = error.actual


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://ada:hush@bucket/a@b is no graph", "s3://…@bucket/a@b is no graph"),
        ("'https://hush@host:9000/x': no", "'https://…@host:9000/x': no"),
        ("https://host/x?api_key=hush&page=2", "https://host/x?api_key=…&page=2"),
        ("s3://bucket/mail@example", "s3://bucket/mail@example"),
        ("ada@example is no name", "ada@example is no name"),
    ],
)
def test_no_error_shows_the_credentials_of_an_address(text: str, shown: str) -> None:
    error = errors.BadInput(text, uri=text, count=3)
    assert (str(error), error.message, error.details) == (shown, shown, {"uri": shown, "count": 3})
    assert "hush" not in repr(pickle.loads(pickle.dumps(error)).__dict__)


@pytest.mark.parametrize(
    "uri", ["s3://ada:hush@bucket/x", "https://ada:hush@host/x", "file://ada:hush@host/x"]
)
def test_no_call_echoes_the_credentials_of_an_address(uri: str, tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node A { k: String @key }")
    for call in (
        lambda: og.open(uri),
        lambda: og.init(uri, "node A { k: String @key }"),
        lambda: og.restore(uri, tmp_path / "new"),
        lambda: graph.backup(uri),
        lambda: graph.export(uri),
        lambda: graph.load(uri, mode="append"),
    ):
        with pytest.raises(OmniError) as raised:
            call()
        assert "hush" not in f"{raised.value}{raised.value.details}"
