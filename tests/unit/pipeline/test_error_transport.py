"""An error of ours can be made again from what a traceback prints of it."""

from __future__ import annotations

import traceback

import pytest

import omnigraph as og
from omnigraph.pipeline.error_transport import attach_details, graph_error


def _printed(error: og.OmniError) -> str:
    """Return what Spark keeps of an error that a worker raised."""
    with pytest.raises(og.OmniError) as caught, attach_details(), attach_details():
        raise error
    return "".join(traceback.format_exception(caught.value))


def test_an_error_that_spark_prints_comes_back_with_its_class_message_and_facts() -> None:
    printed = _printed(og.KeyConflict("the key 'é' exists\nalready", type="Person", key="é"))
    assert printed.count("omnigraph error: ") == 1
    found = graph_error(RuntimeError(f"Job aborted:\n{printed}\n\tat java.lang.Thread"))
    assert type(found) is og.KeyConflict
    assert found.message == "the key 'é' exists\nalready"
    assert found.details == {"type": "Person", "key": "é"}


def test_an_error_is_found_behind_those_that_it_caused() -> None:
    ours = og.Unavailable("the disk is full")
    try:
        try:
            raise ours
        except og.OmniError as error:
            raise ValueError("outer") from error
    except ValueError as error:
        assert graph_error(error) is ours


@pytest.mark.parametrize(
    "text",
    ["nothing of ours", "omnigraph error: [broken", 'omnigraph error: ["int", "x", {}]',
     'omnigraph error: ["NoSuchError", "x", {}]', 'omnigraph error: ["OmniError"]'],
)  # fmt: skip
def test_what_is_not_an_error_of_ours_is_none(text: str) -> None:
    assert graph_error(RuntimeError(text)) is None


def test_other_errors_pass_unchanged() -> None:
    with pytest.raises(ZeroDivisionError) as caught, attach_details():
        raise ZeroDivisionError
    assert not hasattr(caught.value, "__notes__")


def test_spark_is_given_the_words_and_not_where_they_were_found() -> None:
    def find() -> None:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise og.BadInput("too deep") from error

    with pytest.raises(og.BadInput) as caught, attach_details():
        find()
    told = "".join(traceback.format_exception(caught.value))
    assert "in find" not in told and "inner" not in told
    assert graph_error(RuntimeError(told)).message == "too deep"  # type: ignore[union-attr]
    with pytest.raises(og.BadInput) as caught, attach_details(whole=True):
        find()
    assert "in find" in "".join(traceback.format_exception(caught.value))
