"""A type with a property of every scalar type, the ends of their ranges, and random conditions on them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

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
