"""Random predicates over all types give the same rows through the catalog as through the plain source."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import omnigraph as og
from omnigraph.spark import attach
from omnigraph.storage.filters import ComparedColumn, as_sql
from support.examples import examples

SCHEMA = """
node T { name: String @key  s: String?  b: Bool?  i: I32?  l: I64?  u: U32?  v: U64?  f: F32?  d: F64?
  day: Date?  at: DateTime?  e: enum(x, y)? }
"""
ENDS: dict[str, list[Any]] = {
    "s": ["", "a", "ab", "b", "Ü", "\U0010ffff", "it's", 'q"\\'],
    "b": [True, False],
    "i": [-(2**31), -1, 0, 1, 2**31 - 1],
    "l": [-(2**63), -1, 0, 2**63 - 1],
    "u": [0, 1, 2**31, 2**32 - 1],
    "v": [0, 1, 2**63, 2**64 - 1],
    "f": [-3.4028234663852886e38, -0.0, 0.0, 0.1, 1.5, 3.4028234663852886e38],
    "d": [-1.7976931348623157e308, -0.0, 0.0, 5e-324, 0.1, 1.7976931348623157e308],
    "day": ["0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"],
    "at": ["1900-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z",
           "2024-02-29T12:00:00.001Z"],
    "e": ["x", "y"],
}  # fmt: skip
LITERALS: dict[str, list[str]] = {
    "s": ["''", "'a'", "'ab'", "'Ü'", "'it\\'s'", "'q\"\\\\'", "'\U0010ffff'"],
    "b": ["true", "false"],
    "i": ["-2147483648", "-1", "0", "2147483647", "2147483648L", "-3000000000L", "0.5D"],
    "l": ["-9223372036854775807L", "(-9223372036854775807L - 1L)", "0", "9223372036854775807L", "1e30D"],
    "u": ["-1", "0", "1", "2147483648L", "4294967295L", "4294967296L", "9223372036854775807L"],
    "v": ["-1", "0", "9223372036854775808BD", "18446744073709551615BD", "18446744073709551616BD", "0.5BD"],
    "f": ["float('NaN')", "float('Infinity')", "float('-Infinity')", "0.0F", "-0.0F", "0.1F", "0.1D", "1.5D"],
    "d": ["double('NaN')", "double('Infinity')", "double('-Infinity')", "0.0D", "-0.0D", "0.1D", "4.9E-324D"],
    "day": ["DATE'0001-01-01'", "DATE'1970-01-01'", "DATE'2024-02-29'", "DATE'9999-12-31'"],
    "at": ["TIMESTAMP'1970-01-01 00:00:00Z'", "TIMESTAMP'1969-12-31 23:59:59.999500Z'",
           "TIMESTAMP'2024-02-29 12:00:00.001Z'", "TIMESTAMP'0001-01-01 00:00:00Z'"],
    "e": ["'x'", "'y'", "'z'"],
}  # fmt: skip
OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def _compared(column: str) -> st.SearchStrategy[str]:
    literal = st.sampled_from([*LITERALS[column], "NULL"])
    simple = st.builds(lambda op, value: f"{column} {op} {value}", st.sampled_from(OPERATORS), literal)
    several = st.lists(literal, min_size=1, max_size=3).map(lambda some: f"{column} IN ({', '.join(some)})")
    null = st.sampled_from([f"{column} IS NULL", f"{column} IS NOT NULL"])
    begins = st.sampled_from(["''", "'a%'", "'\U0010ffff%'", "'%b'"]).map(
        lambda text: f"{column} LIKE {text}"
    )
    return (
        st.one_of(simple, several, null, begins) if column in ("s", "e") else st.one_of(simple, several, null)
    )


PREDICATES = st.recursive(
    st.sampled_from(sorted(LITERALS)).flatmap(_compared),
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"({a} AND {b})", inner, inner),
        st.builds(lambda a, b: f"({a} OR {b})", inner, inner),
        inner.map(lambda one: f"(NOT {one})"),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, session: Any) -> og.Graph:
    """Rows with every end of every range, NULLs, two fragments and an index."""
    graph = og.init(tmp_path_factory.mktemp("pushed") / "graph", SCHEMA)
    columns = sorted(ENDS)
    rows = [
        {name: ENDS[name][at % len(ENDS[name])] for name in columns if (at + place) % 5}
        for at in range(16)
        for place, _ in enumerate(columns[:2])
    ]
    records = [{"type": "T", "data": {"name": f"n{at}", **row}} for at, row in enumerate([*rows, {}])]
    graph.load(records[:20], mode="append")
    graph.optimize()
    graph.load(records[20:], mode="append")
    attach(session, graph.uri, "pushed")
    plain = session.read.format("omnigraph").option("graph", graph.uri).load("T")
    plain.cache().createOrReplaceTempView("plain_t")
    return graph


@settings(
    max_examples=examples(40), derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(predicate=PREDICATES)
def test_the_same_rows_come_with_and_without_push_down(session: Any, graph: og.Graph, predicate: str) -> None:
    found = session.sql(f"SELECT name FROM pushed.main.T WHERE {predicate}").collect()
    wanted = session.sql(f"SELECT name FROM plain_t WHERE {predicate}").collect()
    assert sorted(row.name for row in found) == sorted(row.name for row in wanted), predicate


def test_a_moment_keeps_its_time_of_day_on_its_way_to_a_task() -> None:
    moment = ComparedColumn("at", "=", pa.array([1], pa.int64()).view(pa.date64())[0])
    assert as_sql(pickle.loads(pickle.dumps(moment))) == as_sql(moment) == "`at` = arrow_cast(1, 'Date64')"


def test_every_column_is_compared_by_storage(session: Any, graph: og.Graph) -> None:
    values = {"v": "0BD", "f": "0.1F", "i": "0", "l": "0"}
    for column, literals in LITERALS.items():
        literal = values.get(column, literals[0])
        for condition in (f"{column} = {literal}", f"NOT ({column} <> {literal} OR {column} IS NULL)"):
            plan = session.sql(f"EXPLAIN SELECT name FROM pushed.main.T WHERE {condition}").collect()[0][0]
            assert " where " in plan and " Filter " not in plan, plan
