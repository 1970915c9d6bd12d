"""A policy about data fits the graph that it is for: what it names is there, or was, under any name."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.policy.gate import Gate
from omnigraph.policy.read_bundle import read_bundle
from omnigraph.sdk.sharing import share_graph
from omnigraph.server.graphs import ServedGraphs
from omnigraph.server.policies import ServerPolicies

SCHEMA = """
interface Named { name: String }
node Person implements Named { name: String @key  salary: I32?  level: I32? }
node City implements Named { name: String @key }
edge Knows: Person -> Person { since: Date? }
"""
SALARY = "query q() { match { $p: Person } return { $p.salary } }"
PEOPLE = "query q() { match { $p: Person } return { $p.name } }"


def policy(hidden: tuple[str, ...] = (), rows: str = "") -> dict[str, Any]:
    data: dict[str, Any] = {"hidden": [{"properties": list(hidden)}]} if hidden else {}
    if rows:
        data["rows"] = rows
    return {
        "version": 1,
        "groups": {"team": ["ada"]},
        "rules": [
            {"id": "all", "allow": {"actors": {"group": "team"}, "actions": ["read", "change"]}},
        ],
        "data": data,
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "g"
    og.init(folder, SCHEMA).mutate('query q() { insert Person { name: "bob", salary: 7, level: 1 } }')
    return folder


@pytest.fixture
def graph(made: Path, tmp_path: Path) -> og.Graph:
    shutil.copytree(made, tmp_path / "g")
    return og.open(tmp_path / "g")


def opened(graph: og.Graph, given: dict[str, Any], **other: Any) -> og.Graph:
    return og.open(graph.uri, actor="ada", policy=given, **other)


@pytest.mark.parametrize(
    ("hidden", "rows", "unknown"),
    [
        (("Person.salaryy",), "", "Person.salaryy"),
        (("Persn.salary",), "", "Persn.salary"),
        (("City.salary",), "", "City.salary"),
        (("*.salaryy",), "", "*.salaryy"),
        ((), "permit(principal, action, resource is Persn);", "Persn"),
        ((), 'permit(principal, action, resource in Type::"Namd");', "Namd"),
        ((), 'permit(principal, action, resource == Persn::"bob");', "Persn"),
        ((), "permit(principal, action, resource) when { resource is Persn };", "Persn"),
        ((), 'permit(principal, action, resource) when { resource.from == Persn::"bob" };', "Persn"),
        ((), "forbid(principal, action, resource) when { resource has salaryy };", "*.salaryy"),
        ((), "permit(principal, action, resource) when { resource.salaryy > 3 };", "*.salaryy"),
    ],
)
def test_a_graph_is_not_opened_by_a_policy_that_names_what_it_never_had(
    graph: og.Graph, hidden: tuple[str, ...], rows: str, unknown: str
) -> None:
    with pytest.raises(og.BadInput, match="no schema of this graph") as refused:
        opened(graph, policy(hidden, rows))
    assert refused.value.details["unknown"] == [unknown]


@pytest.mark.parametrize(
    ("hidden", "rows"),
    [
        (("Person.salary", "*.since", "Knows.since"), ""),
        ((), 'permit(principal, action, resource in Type::"Named");'),
        ((), 'permit(principal in Group::"team", action == Action::"read", resource is Knows);'),
        ((), 'permit(principal, action, resource) when { resource.from == Person::"bob" };'),
        ((), "permit(principal, action, resource) when { resource has level && resource.level > 3 };"),
    ],
)
def test_one_that_names_what_is_there_opens_it(graph: og.Graph, hidden: tuple[str, ...], rows: str) -> None:
    assert opened(graph, policy(hidden, rows)).branch == "main"


def test_a_key_is_not_hidden(graph: og.Graph) -> None:
    with pytest.raises(og.BadInput, match="ids are made of"):
        opened(graph, policy(("Person.name",)))


def test_a_handle_that_was_made_another_way_is_denied(graph: og.Graph) -> None:
    gate = Gate(read_bundle(policy(("Person.salaryy",))))
    with pytest.raises(og.PolicyDenied, match="salaryy"):
        share_graph(graph, "ada", policy=gate).query(PEOPLE)


def test_a_server_leaves_a_graph_out_whose_policy_does_not_fit(graph: og.Graph, tmp_path: Path) -> None:
    other = og.init(tmp_path / "other", SCHEMA)
    gates = {name: Gate(read_bundle(policy((hidden,))), name)
             for name, hidden in (("good", "Person.salary"), ("bad", "Person.salaryy"))}  # fmt: skip
    served = ServedGraphs({"good": graph.uri, "bad": other.uri}, ServerPolicies.choose(True, gates, None))
    served.open_all()
    assert served.names == ["good"]
    assert "salaryy" in served.quarantined["bad"].error.message
    served.close()


def test_what_only_older_commits_have_is_a_name(graph: og.Graph) -> None:
    before = graph.snapshot().commit_id
    graph.schema.apply(SCHEMA.replace("salary: I32?", ""), allow_drop=True)
    g = opened(graph, policy(("Person.salary",)))
    with pytest.raises(og.TypeCheckError):
        g.query(SALARY, snapshot=before)
    assert g.query(PEOPLE, snapshot=before).rows == [{"p.name": "bob"}]


def test_what_only_another_branch_has_is_a_name(graph: og.Graph) -> None:
    graph.branches.create("draft")
    og.open(graph.uri, branch="draft").schema.apply(
        SCHEMA.replace("level: I32?", "bonus: I32?"), allow_drop=True
    )
    g = opened(graph, policy(("Person.bonus",)))
    assert (
        "bonus" not in g.query("query q() { match { $p: Person } return { $p.* } }", branch="draft").columns
    )


def rename(graph: og.Graph) -> None:
    graph.schema.apply(SCHEMA.replace("salary: I32?", 'wage: I32? @rename_from("salary")'))


@pytest.mark.parametrize("name", ["Person.salary", "Person.wage", "*.wage"])
def test_a_hidden_property_is_hidden_under_the_names_that_it_has_and_had(graph: og.Graph, name: str) -> None:
    before = graph.snapshot().commit_id
    graph.branches.create("draft")
    rename(graph)
    g = opened(graph, policy((name,)))
    for text, place in (
        (SALARY, {"snapshot": before}),
        (SALARY, {"branch": "draft"}),
        (SALARY.replace("salary", "wage"), {}),
    ):
        with pytest.raises(og.TypeCheckError):
            g.query(text, **place)
    assert g.query(PEOPLE).rows == [{"p.name": "bob"}]


def test_a_rename_while_a_graph_is_open_shows_nothing(graph: og.Graph) -> None:
    g = opened(graph, policy(("Person.salary",)))
    assert len(g.query(PEOPLE)) == 1
    rename(graph)
    with pytest.raises(og.TypeCheckError):
        g.query(SALARY.replace("salary", "wage"))


def test_rows_are_hidden_where_rules_call_them_by_another_name(graph: og.Graph) -> None:
    before = graph.snapshot().commit_id
    rename(graph)
    rows = "permit(principal, action, resource); forbid(principal, action, resource) when {{ {} }};"
    new, old = (f"resource has {name} && resource.{name} > 5" for name in ("wage", "salary"))
    g = opened(graph, policy(rows=rows.format(new)))
    assert (len(g.query(PEOPLE)), len(g.query(PEOPLE, snapshot=before))) == (0, 0)
    g = opened(graph, policy(rows=rows.format(f"({new.replace('5', '9')}) || ({old.replace('5', '9')})")))
    assert (len(g.query(PEOPLE)), len(g.query(PEOPLE, snapshot=before))) == (1, 1)
    g = opened(graph, policy(rows=rows.format(new.replace("5", "9"))))
    assert (len(g.query(PEOPLE)), len(g.query(PEOPLE, snapshot=before))) == (1, 0)


def test_a_type_that_was_renamed_does_not_escape_what_forbids_it(graph: og.Graph) -> None:
    before = graph.snapshot().commit_id
    graph.schema.apply(
        SCHEMA.replace("node Person implements", 'node Human @rename_from("Person") implements').replace(
            "Person -> Person", "Human -> Human"
        )
    )
    rows = "permit(principal, action, resource); forbid(principal, action, resource is {});"
    for name in ("Human", "Person"):
        g = opened(graph, policy(rows=rows.format(name)))
        assert len(g.query(PEOPLE, snapshot=before)) == 0
        assert len(g.query(PEOPLE.replace("Person", "Human"))) == 0
