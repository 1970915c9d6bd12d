"""Mapping files: what they say, what is wrong with them and where, and the graphs that they make of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import omnigraph as og
from omnigraph.execution.load.mapping.mapping import ColumnValue, ConstantValue, TemplateValue, parse_mapping

SCHEMA = """
node Person { name: String @key  age: I32?  country: String?  born: Date? }
node Shop { code: String @key }
edge Buys: Person -> Shop { amount: F64?  at: DateTime? }
"""
MAPPING = """
[[node]]
type = "Person"
[node.properties]
name = "customer"
age = { column = "years", cast = true }
country = { value = "CH" }

[[node]]
type = "Shop"
when = "shop"
properties = { code = { text = "{country}-{shop}" } }

[[edge]]
type = "Buys"
when = "shop"
from = "customer"
to = { text = "{country}-{shop}" }
properties = { amount = "amount" }
"""
ROWS = {
    "customer": ["ada", "bob", "cleo"],
    "years": ["36", " 41 ", None],
    "country": ["uk", "us", "eg"],
    "shop": [7, None, 9],
    "amount": [1.5, None, 2.5],
}
PEOPLE = [("ada", 36, "CH"), ("bob", 41, "CH"), ("cleo", None, "CH")]
SHOPS = ["eg-9", "uk-7"]
BUYS = [("ada", "uk-7", 1.5), ("cleo", "eg-9", 2.5)]


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    return og.init(tmp_path / "graph", SCHEMA)


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "shop.toml"
    path.write_text(MAPPING)
    return path


def _graph(graph: og.Graph) -> tuple[Any, Any, Any]:
    snapshot = graph.snapshot()
    people = snapshot.table("node:Person").scan(["name", "age", "country"]).to_pylist()
    buys = snapshot.table("edge:Buys").scan(["src", "dst", "amount"]).to_pylist()
    return (
        sorted((row["name"], row["age"], row["country"]) for row in people),
        sorted(snapshot.table("node:Shop").scan(["code"])["code"].to_pylist()),
        sorted((row["src"], row["dst"], row["amount"]) for row in buys),
    )


def test_a_rule_says_columns_constants_texts_and_casts() -> None:
    person, shop, buys = parse_mapping(MAPPING, "m.toml").rules
    assert person.values == {
        "name": ColumnValue("customer"),
        "age": ColumnValue("years", cast=True),
        "country": ConstantValue("CH"),
    }
    assert shop.values == {"code": TemplateValue(("", "country", "-", "shop", ""))}
    assert (buys.type, buys.when) == ("Buys", "shop")
    assert list(buys.values) == ["from", "to", "amount"]


def test_json_of_the_same_shape_says_the_same() -> None:
    said = {"node": [{"type": "Person", "properties": {"name": "n"}}]}
    (rule,) = parse_mapping(json.dumps(said), "m.json").rules
    assert rule.values == {"name": ColumnValue("n")}


WRONG = {
    "[[node]\n": "m.toml is not TOML: .*line 1",
    "a = " + "[" * 5_000: "m.toml is not TOML: it is nested too deeply",
    "[[node]]\na = " + "{a = " * 5_000: "m.toml is not TOML: it is nested too deeply",
    "a." * 1_000 + "b = 1": "m.toml is not TOML: a line has more than 200 dots",
    "": "m.toml has no rules",
    "x = 1": "m.toml, line 1, x: there is no 'x' in a mapping",
    "[node]\ntype = 'A'": "write \\[\\[node\\]\\], with two brackets",
    "[[node]]\ntype = 'A'\nid = 'x'\n[[node]]\nproperties = {a = 'b'}": "line 4, node 2: .*names no type",
    "[[node]]\ntype = 'A'": "m.toml, line 1, node 1: this rule uses no column",
    "[[node]]\ntype = 'A'\nfrom = 'x'": "m.toml, line 3, node 1, from: a rule for a node has no 'from'",
    "[[edge]]\ntype = 'A'\nto = 'x'": "m.toml, line 1, edge 1: an edge needs both ends: add from",
    "[[node]]\ntype = 7": "m.toml, line 2, node 1, type: it must be a string",
    "[[node]]\ntype = 'A'\n[node.properties]\nage = 7": "line 4, node 1, properties.age: name a column",
    "[[node]]\ntype = 'A'\nproperties = {age = {column = 'a', value = 1}}": "line 3, .*age: write { column",
    "[[node]]\ntype = 'A'\nproperties = {age = {value = 1, cast = true}}": "line 3, .*age: write { column",
    "[[node]]\ntype = 'A'\nproperties = {age = {column = 'a', cast = 'I32'}}": "cast is true or false",
    "[[node]]\ntype = 'A'\nid = 'x'\nproperties = {id = 'y'}": "given beside the properties",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_with_a_file_is_told_with_its_line_and_key(text: str) -> None:
    with pytest.raises(og.BadInput, match=WRONG[text]):
        parse_mapping(text, "m.toml")


def _written(format: str, path: Path) -> Path:
    rows = pa.table(ROWS)
    if format == "parquet":
        pq.write_table(rows, path)
    elif format == "csv":
        pyarrow.csv.write_csv(rows, path)
    elif format == "orc":
        pyarrow.orc.write_table(rows, path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in rows.to_pylist()))
    return path


@pytest.mark.parametrize("format", ["parquet", "csv", "orc", "json"])
def test_every_format_of_columns_makes_the_same_graph(
    format: str, graph: og.Graph, mapping: Path, tmp_path: Path
) -> None:
    done = graph.load(_written(format, tmp_path / f"rows.{format}"), mode="append", mapping=mapping)
    assert (done.nodes, done.edges) == ({"Person": 3, "Shop": 2}, {"Buys": 2})
    assert _graph(graph) == (PEOPLE, SHOPS, BUYS)


def test_a_table_of_the_program_is_mapped_too(graph: og.Graph, mapping: Path) -> None:
    graph.load(pa.table(ROWS), mode="append", mapping=mapping)
    assert _graph(graph) == (PEOPLE, SHOPS, BUYS)


def test_a_row_that_is_wrong_is_named_by_its_file_and_line(
    graph: og.Graph, mapping: Path, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("customer,years,country,shop,amount\nada,36,uk,7,1.5\nbob,old,us,8,1\n")
    with pytest.raises(og.ValidationError, match=r"rows.csv, line 3.*age"):
        graph.load(path, mode="append", mapping=mapping)
    assert graph.snapshot().version == 1


def test_a_rejected_row_is_left_out_with_all_that_it_makes(
    graph: og.Graph, mapping: Path, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("customer,years,country,shop,amount\nada,36,uk,7,1.5\nbob,old,us,8,1\n")
    done = graph.load(path, mode="append", mapping=mapping, on_error="quarantine")
    assert _graph(graph) == ([("ada", 36, "CH")], ["uk-7"], [("ada", "uk-7", 1.5)])
    assert done.rejected == 1
    put_away = [json.loads(line) for line in Path(done.rejected_path or "").read_text().splitlines()]
    assert [record.get("type") or record["edge"] for record in put_away] == ["Person", "Shop", "Buys"]


def test_rules_for_some_files_load_several_tables_as_one_commit(graph: og.Graph, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("n,a\nada,36\nbob,\n")
    (tmp_path / "shops.csv").write_text("code\nuk-7\n")
    mapping = tmp_path / "m.toml"
    mapping.write_text("""
[[node]]
type = "Person"
files = "people*.csv"
properties = { name = "n", age = "a" }
[[node]]
type = "Shop"
files = "shops.csv"
properties = { code = "code" }
""")
    done = graph.load(tmp_path / "*.csv", mode="append", mapping=mapping)
    assert done.nodes == {"Person": 2, "Shop": 1}
    assert len(graph.commits.list()) == 2
    graph.load(tmp_path / "people.csv", mode="overwrite", mapping=mapping)
    assert graph.snapshot().table("node:Shop").count() == 1  # its rule was about no file of this load
    (tmp_path / "more.csv").write_text("n\nx\n")
    with pytest.raises(og.BadInput, match=r"no rule of .*m\.toml matches .*more\.csv"):
        graph.load(tmp_path / "*.csv", mode="append", mapping=mapping)


def test_columns_of_records_are_reached_with_a_dot(graph: og.Graph, tmp_path: Path) -> None:
    path, mapping = tmp_path / "rows.json", tmp_path / "m.toml"
    path.write_text('{"who": {"name": "ada", "home": {"land": "uk"}}}\n')
    mapping.write_text(
        '[[node]]\ntype = "Person"\nproperties = { name = "who.name", country = "who.home.land" }'
    )
    graph.load(path, mode="append", mapping=mapping)
    assert _graph(graph)[0] == [("ada", None, "uk")]


def test_a_column_that_is_missing_is_told_with_the_rule_and_the_file(
    graph: og.Graph, mapping: Path, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("customer,year,country,shop,amount\nada,36,uk,7,1.5\n")
    with pytest.raises(og.BadInput, match=r"shop.toml, line 2, node 1, age: .*'years' in .*rows.csv.*year"):
        graph.load(path, mode="append", mapping=mapping)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"type": "Person"}, "leave out type="),
        ({"mapping": "nowhere.toml"}, "the mapping nowhere.toml cannot be read"),
    ],
)
def test_words_that_do_not_fit_are_refused(
    given: dict[str, Any], message: str, graph: og.Graph, mapping: Path
) -> None:
    with pytest.raises(og.BadInput, match=message):
        graph.load(pa.table(ROWS), mode="append", **{"mapping": mapping, **given})


def test_a_type_that_the_schema_does_not_have_is_refused(graph: og.Graph, tmp_path: Path) -> None:
    mapping = tmp_path / "m.toml"
    mapping.write_text('[[node]]\ntype = "Ghost"\nproperties = { name = "customer" }')
    with pytest.raises(og.BadInput, match="no type 'Ghost'"):
        graph.load(pa.table(ROWS), mode="append", mapping=mapping)


ORDERS = """
[[node]]
type = "Person"
distinct = true
properties = { name = "customer", country = "land", born = "born" }

[[node]]
type = "Shop"
distinct = true
when = "shop"
properties = { code = "shop" }

[[edge]]
type = "Buys"
when = "shop"
from = "customer"
to = "shop"
"""


def _orders(*rows: tuple[str, str, str | None]) -> pa.Table:
    customers, lands, shops = (list(column) for column in zip(*rows, strict=True))
    born = pa.array([2**31 - 1] * len(rows), pa.int32()).cast(pa.date32())
    return pa.table({"customer": customers, "land": lands, "shop": pa.array(shops), "born": born})


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_a_node_that_several_rows_make_is_one_where_the_rule_says_distinct(
    graph: og.Graph, tmp_path: Path, mode: str
) -> None:
    (tmp_path / "orders.toml").write_text(ORDERS)
    rows = _orders(("ada", "uk", "s1"), ("bob", "us", "s1"), ("ada", "uk", "s2"), ("ada", "uk", None))
    done = graph.load(rows, mode=mode, mapping=tmp_path / "orders.toml")
    assert (done.nodes, done.edges) == ({"Person": 2, "Shop": 2}, {"Buys": 3})
    assert _graph(graph) == (
        [("ada", None, "uk"), ("bob", None, "us")],
        ["s1", "s2"],
        [("ada", "s1", None), ("ada", "s2", None), ("bob", "s1", None)],
    )
    if mode == "merge":
        graph.load(
            _orders(("bob", "ch", None), ("bob", "ch", None)), mode=mode, mapping=tmp_path / "orders.toml"
        )
        assert _graph(graph)[0] == [("ada", None, "uk"), ("bob", None, "ch")]


def test_rows_that_say_different_things_of_one_node_are_refused_or_put_away(
    graph: og.Graph, tmp_path: Path
) -> None:
    (tmp_path / "orders.toml").write_text(ORDERS)
    rows = _orders(("ada", "uk", "s1"), ("ada", "us", "s2"), ("ada", "uk", "s3"), ("x", "de", "s1"))
    options: dict[str, Any] = {"mode": "merge", "mapping": tmp_path / "orders.toml"}
    with pytest.raises(
        og.ValidationError, match=r"record 2: .*'ada' occurs twice, as has record 1"
    ) as caught:
        graph.load(rows, **options)
    assert caught.value.details["total"] == 1
    rejected = tmp_path / "rejected.ndjson"
    done = graph.load(rows, **options, on_error="quarantine", rejected_to=rejected)
    assert (done.nodes, done.rejected) == ({"Person": 2, "Shop": 2}, 1)
    assert _graph(graph)[1] == ["s1", "s3"]


def test_the_record_that_stays_is_one_that_is_right_in_all_its_records(
    graph: og.Graph, tmp_path: Path
) -> None:
    (tmp_path / "orders.toml").write_text(ORDERS.replace('to = "shop"', 'to = "to"'))
    rows = _orders(("ada", "uk", "s1"), ("ada", "uk", "s1")).append_column("to", pa.array(["nowhere", "s1"]))
    rejected = tmp_path / "rejected.ndjson"
    done = graph.load(rows, mode="append", mapping=tmp_path / "orders.toml", on_error="quarantine",
                      rejected_to=rejected)  # fmt: skip
    assert (done.nodes, done.edges) == ({"Person": 1, "Shop": 1}, {"Buys": 1})


def test_nodes_without_a_key_are_distinct_by_the_id_that_the_rule_gives(tmp_path: Path) -> None:
    graph = og.init(tmp_path / "keyless", "node Note { text: String? }")
    rule = '[[node]]\ntype = "Note"\ndistinct = true\nid = "n"\nproperties = { text = "t" }\n'
    (tmp_path / "notes.toml").write_text(rule)
    for mode in ("append", "merge", "overwrite"):
        same = pa.table({"n": ["a", "b", "a"], "t": ["x", "y", "x"]})
        assert graph.load(same, mode=mode, mapping=tmp_path / "notes.toml").nodes == {"Note": 2}
        assert [row["data"]["text"] for row in graph.export()] == ["x", "y"]
        other = pa.table({"n": ["a", "a", "a"], "t": ["x", "z", "x"]})
        with pytest.raises(og.KeyConflict, match=r"record 2: .*'a' occurs twice"):
            graph.load(other, mode=mode, mapping=tmp_path / "notes.toml")


def test_rules_for_one_type_agree_about_distinct() -> None:
    both = ORDERS + '[[node]]\ntype = "Shop"\nproperties = { code = "other" }\n'
    with pytest.raises(og.BadInput, match="node 3: another rule for Shop has distinct"):
        parse_mapping(both, "m.toml")
    with pytest.raises(og.BadInput, match="distinct: it must be true or false"):
        parse_mapping(ORDERS.replace("distinct = true", "distinct = 1"), "m.toml")
    with pytest.raises(og.BadInput, match="a rule for an edge has no 'distinct'"):
        parse_mapping(ORDERS + "distinct = true\n", "m.toml")
