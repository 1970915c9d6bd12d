"""The lint report, member by member."""

from __future__ import annotations

from typing import Any

from omnigraph.compiler.frontend import compile_schema, lint

CATALOG = compile_schema(
    "node Film { slug: String @key  year: I32?  note: String?  text: String?  vec: Vector(2)? @embed(text) "
    "tags: [I64]  born: Date  at: DateTime  mood: enum(a, b) }\n"
    "node Person { name: String @key  nick: String? }\n"
    "edge Made: Person -> Film { year: I32? }\n"
)
SOURCE = {"kind": "file", "path": "films.pg"}


def report(text: str) -> dict[str, Any]:
    return lint(text, CATALOG, SOURCE, "films.gq")


def test_a_parse_failure_is_one_finding() -> None:
    found = report("query a( {}\nquery b( {}")
    assert (found["status"], found["queries_processed"], found["errors"], found["results"]) == (
        "error",
        0,
        1,
        [],
    )
    assert [item["code"] for item in found["findings"]] == ["Q000"]
    assert "films.gq:1:10" in found["findings"][0]["message"]
    assert "films.gq:2:10" in found["findings"][0]["message"]


def test_a_faulty_query_leaves_the_others_alone() -> None:
    found = report(
        "query a() { match { $f: Flim } return { $f } } query b() { match { $f: Film } return { $f } }"
    )
    assert [item["status"] for item in found["results"]] == ["error", "ok"]
    assert "operation" not in found["results"][0] and "[T1]" in found["results"][0]["error"]
    assert "error" not in found["results"][1]
    assert (found["status"], found["errors"], found["queries_processed"]) == ("error", 1, 2)


def test_a_mutation_without_parameters_is_warned_about() -> None:
    found = report('query a() { delete Film where slug = "x" }')
    assert (found["status"], found["warnings"], found["errors"]) == ("ok", 1, 0)
    assert len(found["results"][0]["warnings"]) == 1


def test_nullable_properties_that_no_update_sets_are_listed() -> None:
    found = report(
        "query b($s: String) { update Film set { year: 1 } where slug = $s }\n"
        "query a($s: String) { update Film set { text: $s } where slug = $s }\n"
        "query c($s: String) { update Person set { nick: $s } where name = $s }\n"
        "query d($s: String) { update Made set { year: null } where from = $s }\n"
        "query faulty($s: String) { update Film set { note: 3 } where slug = $s }\n"
    )
    assert found["findings"] == [
        {
            "severity": "warning",
            "code": "L201",
            "message": "no update query sets the nullable property Film.note",
            "type_name": "Film",
            "property": "note",
            "query_names": ["a", "b"],
        }
    ]
    assert (found["warnings"], found["errors"]) == (1, 1)


def test_the_descriptor_names_columns_as_results_do() -> None:
    text = (
        "query a() { match { $p: Person  $p $m:made $f } return { $p, $f.year, $f.tags, $f.vec, "
        "$f.born, $f.at, $f.mood, $m.year as y, 1.5, now(), nearest($f.vec, [1.0, 0.0]) } }"
    )
    assert report(text)["results"][0]["operation"]["result"] == [
        {"name": "p", "kind": "string", "nullable": False},
        {"name": "f.year", "kind": "int", "nullable": True},
        {"name": "f.tags", "kind": "list", "item_kind": "bigint", "nullable": False},
        {"name": "f.vec", "kind": "vector", "vector_dim": 2, "nullable": True},
        {"name": "f.born", "kind": "date", "nullable": False},
        {"name": "f.at", "kind": "datetime", "nullable": False},
        {"name": "f.mood", "kind": "string", "nullable": False},
        {"name": "y", "kind": "int", "nullable": True},
        {"name": "literal", "kind": "float", "nullable": False},
        {"name": "now", "kind": "datetime", "nullable": False},
        {"name": "nearest", "kind": "float", "nullable": True},
    ]


def test_aggregates_are_nullable_in_the_descriptor() -> None:
    columns = "count($f) as n, sum($f.year) as s, min($f.slug) as m, collect($f.year) as c"
    text = f"query a() {{ match {{ $f: Film }} return {{ {columns} }} }}"
    shown = [(item["kind"], item["nullable"]) for item in report(text)["results"][0]["operation"]["result"]]
    assert shown == [("bigint", True), ("float", True), ("string", True), ("list", True)]


def test_the_members_of_a_report() -> None:
    assert report("") == {
        "status": "ok",
        "schema_source": SOURCE,
        "query_path": "films.gq",
        "queries_processed": 0,
        "errors": 0,
        "warnings": 0,
        "infos": 0,
        "results": [],
        "findings": [],
    }


def test_text_beyond_the_limits_is_a_finding_too() -> None:
    found = report("query q() { match { $p: Person " + "(" * 999)
    assert found["findings"][0]["code"] == "Q000" and "nested deeper" in found["findings"][0]["message"]
