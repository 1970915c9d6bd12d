"""Every error crosses HTTP as what it is, with a status that the documents name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.base.diagnostics import Diagnostic
from omnigraph.base.errors import (
    EmbeddingUnavailable,
    ExpectedVersionMismatch,
    OmniError,
    ParameterError,
    ParseError,
    TypeCheckError,
    Unavailable,
)
from omnigraph.wire.errors import HTTP_CODES, STATUS, answer_error, read_error

PAGE = Path(__file__).parents[3] / "docs" / "errors.md"


def kinds(kind: type[OmniError] = OmniError) -> Iterator[type[OmniError]]:
    if not kind.__name__.startswith("_"):
        yield kind
    for child in kind.__subclasses__():
        yield from kinds(child)


KINDS = [kind for kind in kinds() if kind.__module__ == "omnigraph.base.errors"]


def sample(kind: type[OmniError]) -> OmniError:
    if issubclass(kind, ParameterError):
        return kind("what happened", parameter="x")
    if issubclass(kind, (ParseError, TypeCheckError)):
        return kind([Diagnostic("T1", "unknown", 2, 3, "a line", 4, "a hint")])
    return kind("what happened", table_key="node:Person", expected=2, actual=3)


def test_every_code_has_a_status_and_every_status_a_code() -> None:
    assert {kind.code for kind in KINDS} == set(STATUS)


def test_the_page_names_the_status_of_every_code_and_how_long_to_wait() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| .* \| (?:yes|no) \| (\d{3}) \| (\d+|–) \| ", PAGE.read_text(), re.MULTILINE
    )
    waits = {kind.code: answer_error(sample(kind)).retry_after for kind in KINDS}
    assert {code: (int(status), wait) for code, status, wait in rows} == {
        code: (status, "–" if waits[code] is None else str(waits[code])) for code, status in STATUS.items()
    }


def test_the_page_names_the_codes_that_only_http_has() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\d{3}) \| ", PAGE.read_text(), re.MULTILINE)
    assert {code: int(status) for code, status in rows} == HTTP_CODES
    assert not set(HTTP_CODES) & set(STATUS)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_back_as_what_it_was(kind: type[OmniError]) -> None:
    error = sample(kind)
    answer = answer_error(error)
    again = read_error(answer.status, answer.body)
    assert (type(again), again.code, again.message) == (kind, kind.code, error.message)
    assert again.details == error.details
    assert (answer.retry_after is not None) == kind.retryable


def test_a_moved_table_is_also_told_by_the_name_that_older_clients_know() -> None:
    body = answer_error(ExpectedVersionMismatch("moved", table_key="node:P", expected=1, actual=2)).body
    assert body["manifest_conflict"] == {"table_key": "node:P", "expected": 1, "actual": 2}


def test_a_provider_says_how_long_to_wait() -> None:
    assert answer_error(EmbeddingUnavailable("busy", retry_after=7.4)).retry_after == 7
    assert answer_error(EmbeddingUnavailable("busy", retry_after=0.1)).retry_after == 1


@pytest.mark.parametrize("body", [None, [], "x", {}, {"code": "nope", "error": "x"}, {"code": "not_found"}])
def test_an_answer_that_is_not_ours_is_unavailable(body: object) -> None:
    assert isinstance(read_error(502, body), Unavailable)
