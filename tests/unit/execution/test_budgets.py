"""What a query may use: each limit ends in a typed error with its facts, and the handle goes on working."""

from __future__ import annotations

from typing import Any

import pytest

import omnigraph as og
from support.another_process import as_another_process

SCHEMA = "node Person { name: String @key  n: I32 }\nedge Knows: Person -> Person"
COUNT = "query q() { match { $p: Person } return { count($p) as n } }"
PAIRS = "query q() { match { $p: Person  $q: Person } return { $p.name, $q.name as other } }"
SORTED = "query q() { match { $p: Person  $q: Person } return { $p.n, $q.n as m } order { $p.n, m } }"
WALKS = "query q() { match { $p: Person  $p knows{1,9} $q } return { $p.name, $q.name as other } }"
STAGE = (
    "query q() { match { $p: Person  $q: Person } with { $p.n as $n, $q.n as $m } return { max($n) as n } }"
)
PEOPLE = 40


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A ring of people."""
    graph = og.init(tmp_path_factory.mktemp("budgets") / "graph", SCHEMA)
    nodes = [{"type": "Person", "data": {"name": f"p{n}", "n": n}} for n in range(PEOPLE)]
    edges = [{"edge": "Knows", "from": f"p{n}", "to": f"p{(n + 1) % PEOPLE}"} for n in range(PEOPLE)]
    graph.load(nodes + edges, mode="append")
    return graph.uri


def _refused(graph: og.Graph, gq: str, **how: Any) -> dict[str, Any]:
    """Return the facts of a limit that a query meets, and show that the handle answers the next one."""
    with pytest.raises(og.ResourceLimit) as caught:
        graph.query(gq, **how)
    assert caught.value.code == "resource_limit"
    assert not caught.value.retryable
    assert f"OMNIGRAPH_{caught.value.details['resource'].upper()}" in caught.value.message
    assert graph.query(COUNT, timeout=60).rows == [{"n": PEOPLE}]
    return caught.value.details


@pytest.mark.parametrize("gq", [PAIRS, SORTED, WALKS, STAGE])
@pytest.mark.parametrize("optimise", [True, False])
def test_too_many_rows_on_their_way(
    uri: str, gq: str, optimise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_ROWS", "100")
    facts = _refused(og.open(uri, read_only=True), gq, optimise=optimise)
    assert (facts["resource"], facts["limit"]) == ("query_rows", 100)
    assert facts["actual"] > 100


@pytest.mark.parametrize("gq", [PAIRS, SORTED, STAGE])
def test_too_much_memory_for_the_rows_of_a_result(uri: str, gq: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_BYTES", "5000")
    facts = _refused(og.open(uri, read_only=True), gq)
    assert (facts["resource"], facts["limit"]) == ("query_bytes", 5000)
    assert facts["actual"] > 5000


def test_what_is_counted_needs_no_rows_and_no_memory(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_ROWS", str(PEOPLE))
    monkeypatch.setenv("OMNIGRAPH_QUERY_BYTES", str(32 * PEOPLE))
    graph = og.open(uri, read_only=True)
    paths = "query q() { match { $a: Person  $b: Person  $c: Person } return { count($a) as n } }"
    assert graph.query(paths).rows == [{"n": PEOPLE**3}]


@pytest.mark.parametrize("gq", [COUNT, PAIRS, WALKS])
def test_too_long_by_the_setting_of_the_handle(uri: str, gq: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_QUERY_SECONDS", "1e-9")
    facts = _refused(og.open(uri, read_only=True), gq)
    assert (facts["resource"], facts["limit"]) == ("query_seconds", 1e-9)
    assert facts["actual"] >= 0


def test_too_long_by_the_timeout_of_the_call(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = og.open(uri, read_only=True)
    assert _refused(graph, COUNT, timeout=1e-9)["resource"] == "query_seconds"
    with pytest.raises(og.ResourceLimit):
        graph.snapshot().query(COUNT, timeout=1e-9)
    with pytest.raises(og.ResourceLimit):
        list(graph.stream(PAIRS, timeout=1e-9))
    for asked in (graph, graph.snapshot()):
        with pytest.raises(og.ResourceLimit):
            asked.explain(COUNT, analyze=True, timeout=1e-9)
        assert "count" in str(asked.explain(COUNT, timeout=1e-9)), "a plan alone takes no time"
    with pytest.raises(og.ResourceLimit):
        graph.prepare(COUNT)(timeout=1e-9)
    monkeypatch.setenv("OMNIGRAPH_QUERY_SECONDS", "1e-9")
    hasty = og.open(uri, read_only=True)
    assert hasty.query(COUNT, timeout=0).rows == [{"n": PEOPLE}], "0 is any time"


@pytest.mark.parametrize("timeout", [-1, float("nan"), "5", []])
def test_a_timeout_is_a_number_of_seconds(uri: str, timeout: Any) -> None:
    with pytest.raises(og.BadInput, match="timeout"):
        og.open(uri, read_only=True).query(COUNT, timeout=timeout)


def test_a_product_that_no_integer_counts_is_refused(uri: str) -> None:
    variables = "  ".join(f"$v{number}: Person" for number in range(13))
    gq = f"query q() {{ match {{ {variables} }} return {{ count($v0) as n }} }}"
    with pytest.raises(og.ResourceLimit, match="64-bit"):
        og.open(uri, read_only=True).query(gq, engine="local")


def test_what_queries_have_read_is_let_go_when_it_takes_too_much(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reads(graph: og.Graph) -> dict[str, int]:
        graph.query(PAIRS)
        return graph.explain(PAIRS, analyze=True).io

    assert reads(og.open(uri, read_only=True)) == {}
    monkeypatch.setenv("OMNIGRAPH_CACHE_BYTES", "0")
    forgetful = og.open(uri, read_only=True)
    with as_another_process():
        assert reads(forgetful) != {}
        assert reads(forgetful) != {}
    assert len(forgetful.query(PAIRS)) == PEOPLE**2
