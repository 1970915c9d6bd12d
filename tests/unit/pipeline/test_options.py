"""Options of the data source are checked before anything is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.pipeline.options import (
    check_options,
    open_from_options,
    read_count,
    read_list,
    with_own_names,
)


@pytest.mark.parametrize(
    "told",
    [
        {"graph": "g", "path": "Person", "where": "[]", "columns": "name", "storage.region": "x"},
        {"graph": "g", "branch": "dev", "query": "query q() {}", "params": "{}", "version": "3"},
        {"graph": "g", "changes": "beginning", "kinds": "node", "ops": "insert", "commits": "3"},
    ],
)
def test_options_that_go_together_are_taken(told: dict[str, str]) -> None:
    assert check_options(told) is None


@pytest.mark.parametrize(
    ("told", "option", "message"),
    [
        ({"brunch": "dev"}, "brunch", "branch"),
        ({"changes": "beginning", "tag": "v1"}, "tag", "combined with changes"),
        ({"changes": "beginning", "where": "[]"}, "where", "combined with changes"),
        ({"changes": "beginning", "query": "q"}, "query", "combined with changes"),
        ({"ops": "insert"}, "ops", "change feed"),
        ({"query": "q", "path": "Person"}, "path", "combined with query"),
        ({"params": "{}"}, "params", "give the option query"),
    ],
)
def test_an_option_that_means_nothing_is_named(told: dict[str, str], option: str, message: str) -> None:
    with pytest.raises(og.BadInput, match=message) as caught:
        check_options(told)
    assert caught.value.details["option"] == option


def test_an_option_that_lists_words_is_cut_at_commas() -> None:
    assert read_list({"ops": " insert, ,delete "}, "ops") == ["insert", "delete"]
    assert read_list({}, "ops") is None


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "x", "٣"])
def test_a_number_is_a_whole_one_of_at_least_one(text: str) -> None:
    assert read_count({"commits": "12"}, "commits") == 12
    assert read_count({}, "commits") is None
    with pytest.raises(og.BadInput, match="whole number"):
        read_count({"commits": text}, "commits")


def test_options_open_the_branch_that_they_name(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node Person { name: String @key }")
    graph.branches.create("dev")
    told = {"graph": str(tmp_path / "graph"), "branch": "dev"}
    assert open_from_options(told, read_only=True).snapshot().commit_id == graph.snapshot("dev").commit_id
    with pytest.raises(og.BadInput, match="which graph"):
        open_from_options({}, read_only=True)


def test_what_others_call_an_option_is_understood() -> None:
    told = {"uri": "people", "Type": "Person", "versionasof": "3", "branch": "dev"}
    assert with_own_names(told) == {"graph": "people", "path": "Person", "version": "3", "branch": "dev"}
    assert with_own_names({"path": "Person", "table": "Person"}) == {"path": "Person"}
    with pytest.raises(og.BadInput, match="option path is given twice: as 'Person', and as type 'Firm'"):
        with_own_names({"path": "Person", "type": "Firm"})
