"""Stages and unions of reads: what they cost and how they are shown; the answers are conformance cases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.compiler.frontend import compile_schema, lint

SCHEMA = """node Person { name: String @key  n: I32?  big: I64?  wide: F32?  born: Date? }
node City { name: String @key  size: F64? }
edge Knows: Person -> Person
edge LivesIn: Person -> City"""
PEOPLE = 60
BUSY = """query q($least: I64) {
  match { $p knows $q }
  with { $p, count($q) as $n } having { $n >= $least } order { $n desc } limit 5
  match { $p livesIn $c }
  return { $p.name, $c.name as city, $n } order { $n desc, $p.name } }"""
BOTH = """query q() {
  match { $p: Person } return { $p.name as name, $p.big as x, $p.born as day }
  union all
  match { $c: City } return { $c.name as name, $c.size as x, null as day } }"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> og.Graph:
    """People who know those before them, in two cities."""
    graph = og.init(tmp_path_factory.mktemp("stages") / "graph", SCHEMA)
    people = [
        {"name": f"p{n:02}", "n": n, "big": 2**53 + 1 + n, "wide": n / 10, "born": "2024-02-29"}
        for n in range(PEOPLE)
    ]
    records = [{"type": "Person", "data": data} for data in people]
    records += [{"type": "City", "data": {"name": name, "size": 0.5}} for name in ("Oslo", "Rome")]
    for n in range(PEOPLE):
        records += [{"edge": "Knows", "from": f"p{n:02}", "to": f"p{m:02}"} for m in range(max(0, n - 9), n)]
        records.append({"edge": "LivesIn", "from": f"p{n:02}", "to": ("Oslo", "Rome")[n % 2]})
    graph.load(records, mode="append")
    return graph


def test_an_analysis_says_what_a_stage_gave(graph: og.Graph) -> None:
    tree = graph.explain(BUSY, {"least": 9}, analyze=True).to_json()["plan"]
    assert [node["step"] for node in tree][:2] == ["stage", "expand $p -[LivesIn]-> $c from $p"]
    assert [node["rows"] for node in tree[:2]] == [5, 5]
    assert "keep groups with count($q) >= $least" in [node["step"] for node in tree[0]["children"]]


def test_a_stream_gives_the_rows_of_the_last_stage_in_pieces(graph: og.Graph) -> None:
    stages = "match { $p: Person } with { $p, $p.n as $n } match { $p knows $q }"
    text = f"query q() {{ {stages} return {{ $p, $q, $n }} }}"
    whole = graph.query(text)
    batches = list(graph.stream(text, batch_rows=100))
    assert [batch.num_rows <= 100 for batch in batches] == [True] * len(batches)
    assert len(batches) > 2
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert sorted(map(str, rows)) == sorted(map(str, whole.rows))


def test_the_columns_of_a_union_have_one_type(graph: og.Graph) -> None:
    table = graph.query(BOTH).to_arrow()
    assert [str(kind) for kind in table.schema.types] == ["string", "double", "date32[day]"]
    assert table.num_rows == PEOPLE + 2
    assert max(table["x"].to_pylist()) == float(2**53 + PEOPLE)  # to the nearest float


def test_a_stage_keeps_what_an_f32_is(graph: og.Graph) -> None:
    plain = "query q() { match { $p: Person  $p.wide = 0.1 } return { $p.name } }"
    for middle in ("", "order { $w } limit 1000"):
        staged = f"""query q() {{ match {{ $p: Person }} with {{ $p, $p.wide as $w }} {middle}
          match {{ $w = 0.1 }} return {{ $p.name }} }}"""
        assert graph.query(staged).rows == graph.query(plain).rows == [{"p.name": "p01"}]


def test_nodes_go_on_without_their_ids(graph: og.Graph) -> None:
    handle = og.open(graph.uri, read_only=True)
    text = """query q() { match { $p: Person  $p.n > 50 } with { $p, $p.n as $n }
      match { $p livesIn $c } return { sum($n) as s } }"""
    assert handle.query(text).rows == [{"s": float(sum(range(51, 60)))}]
    plan = str(handle.explain(text))
    assert re.search(r"stage.*\n│  ├─ scan \$p: Person where \$p.n > 50", plan)


def test_the_engine_is_chosen_by_the_largest_step_of_any_stage(graph: og.Graph) -> None:
    wide = "query q() { match { $p: Person  $q: Person } with { $p, $q } return { count(*) as n } }"
    assert "3,600 rows" in str(graph.explain(wide)).splitlines()[2]
    assert "the largest step is expected to have 5 rows" in str(graph.explain(BUSY))


def test_lint_describes_all_stages_and_parts() -> None:
    catalog = compile_schema(SCHEMA)
    report = lint(BUSY + BOTH.replace(" q()", " both()"), catalog, {"kind": "file", "path": "x.pg"})
    busy, both = report["results"]
    assert (busy["kind"], busy["status"], both["status"]) == ("read", "ok", "ok")
    touched = [item["type_name"] for item in busy["operation"]["reads"]]
    assert touched == ["City", "Person", "Knows", "LivesIn"]
    assert [(item["name"], item["kind"]) for item in both["operation"]["result"]] == [
        ("name", "string"),
        ("x", "float"),
        ("day", "date"),
    ]


def test_a_stored_query_reads_renamed_types(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "graph", "node Old { name: String @key  n: I32? }")
    graph.load([{"type": "Old", "data": {"name": "a", "n": 1}}], mode="append")
    before = graph.snapshot().commit_id
    graph.schema.apply('node New @rename_from("Old") { name: String @key  m: I32? @rename_from("n") }')
    text = "query q() { match { $x: New } with { $x, $x.m as $m } match { $m > 0 } return { $x.m, $m } }"
    assert graph.query(text).rows == graph.query(text, snapshot=before).rows == [{"x.m": 1, "m": 1}]
