"""How long compiling takes, beside splitting the same text with one regular expression."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable

from omnigraph.compiler.frontend import compile_query, compile_schema, format_queries, lint
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.compiler.lower.bind import bind_read
from omnigraph.compiler.query.parser import parse

_TOKENS = re.compile(r'\s+|//[^\n]*|\$?[A-Za-z_]\w*|\d+(?:\.\d+)?|"[^"]*"|<=|>=|!=|.', re.DOTALL)


def main() -> None:
    """Print milliseconds, and how many times slower than the split each step is."""
    schema = _schema(500)
    small = compile_schema(_schema(4))
    query = _query("long", 13)
    many = "\n".join(_query(f"q{number}", 2) for number in range(1000))
    started = time.perf_counter()
    parse(query)
    print(f"first parse of a process (reads the tables)    {(time.perf_counter() - started) * 1e3:10.2f} ms")
    print(f"{'':46} {'ms':>10} {'times the split':>16}")
    lines = query.count("\n")
    _row(f"parse a query of {lines} lines", query, 50, lambda: parse(query))
    _row(f"compile a query of {lines} lines", query, 50, lambda: compile_query(query, small))
    _row(f"format a query of {lines} lines", query, 50, lambda: format_queries(query))
    compiled = compile_query(query, small)
    assert isinstance(compiled, ReadQuery)
    _row("bind its parameters", query, 200, lambda: bind_read(compiled, {"name": "n", "low": 1}, 0))
    _row(
        f"lint a file of 1,000 queries ({len(many) // 1000} kB)",
        many,
        2,
        lambda: lint(many, small, {}),
    )
    _row(
        f"compile a schema of 500 types ({len(schema) // 1000} kB)", schema, 2, lambda: compile_schema(schema)
    )


def _row(name: str, text: str, rounds: int, work: Callable[[], object]) -> None:
    floor = _median(rounds, lambda: _TOKENS.findall(text))
    taken = _median(rounds, work)
    print(f"{name:46} {taken * 1e3:10.2f} {taken / floor:16.1f}")


def _median(rounds: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _schema(count: int) -> str:
    parts = []
    for number in range(count // 2):
        parts.append(
            f"node Node{number} {{\n  name: String @key\n  age: I32?\n  tags: [String]?\n"
            f"  tier: enum(basic, gold)\n  joined: Date?\n  @range(age, 0..150)\n}}\n"
            f"edge Edge{number}: Node{number} -> Node{number} @card(0..9) {{ since: Date?  weight: F64? }}\n"
        )
    return "".join(parts)


def _query(name: str, blocks: int) -> str:
    clauses = "".join(
        f"    $a{at}: Node0 {{ name: $name, age: {at} }}\n"
        f"    $a{at} edge0{{1,3}} $b{at} as $n{at}\n"
        f'    $b{at}.age > $low and ($b{at}.tier = "gold" or not $b{at}.joined is null)\n'
        for at in range(blocks)
    )
    return (
        f"query {name}($name: String, $low: I32) {{\n  match {{\n{clauses}"
        '    not { $a0 edge0 $a1  $a1.tags contains "x" }\n  }\n'
        "  return {\n    $a0.name as who,\n    count(distinct $b0) as n\n  }\n"
        "  order { n desc, who }\n  limit 10\n}\n"
    )


if __name__ == "__main__":
    main()
