"""Golden plans: a query, the rows of the tables, and the tree that the planner makes of them.

Each file in `plan/` is about one thing. It holds cases, each begun by `-- case` and what it shows. A line
`// rows: node:Person 100` says what tables hold other than usual; `// as written` turns optimisation off.
What is at hand is nothing, unless a line names it: `// in memory: node:Person.email Knows`,
`// often: node:Person.name` (asked for), `// worth reading: node:Person` (looked up often), `// words: …`
and `// exact: node:Person.email edge:Knows.src`, `// texts: …`, `// vectors: …` for indexes.
Write a query, run with `GOLDEN_UPDATE=1`, and read what was added.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from omnigraph.compiler.catalog.model import Catalog
from omnigraph.compiler.frontend import compile_query, compile_schema
from omnigraph.compiler.ir.queries import ReadQuery
from omnigraph.execution.plan.build import plan_read
from omnigraph.execution.plan.choose_access import choose_paths
from omnigraph.execution.plan.explain import explain
from omnigraph.execution.plan.statistics import Statistics
from support.available_data import FixedAvailableData

PLANS = Path(__file__).parent / "plan"
UPDATE = bool(os.environ.get("GOLDEN_UPDATE"))
ROWS = {
    "node:Person": 100_000,
    "node:City": 1_000,
    "node:Company": 10_000,
    "edge:Knows": 600_000,
    "edge:LivesIn": 100_000,
    "edge:WorksAt": 50_000,
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return compile_schema((PLANS / "graph.pg").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted(PLANS.glob("*.txt")), ids=lambda path: path.stem)
def test_a_query_is_planned_like_this(path: Path, catalog: Catalog) -> None:
    text = path.read_text(encoding="utf-8")
    found = re.split(r"^(-- case .*\n)", text, flags=re.MULTILINE)
    produced = found[0]
    for title, case in zip(found[1::2], found[2::2], strict=True):
        query = case.partition("-- plan\n")[0]
        produced += f"{title}{query}-- plan\n{_planned(query, catalog)}\n"
    if UPDATE:
        path.write_text(produced.rstrip("\n") + "\n", encoding="utf-8")
    assert produced.rstrip("\n") == path.read_text(encoding="utf-8").rstrip("\n")


def _planned(text: str, catalog: Catalog) -> str:
    rows = dict(ROWS)
    for key, count in re.findall(
        r"(\w+:\w+) (\d+)", " ".join(re.findall(r"^// rows:(.*)$", text, re.MULTILINE))
    ):
        rows[key] = int(count)
    query = compile_query(text, catalog, None, kind="read")
    assert isinstance(query, ReadQuery)
    statistics = Statistics(catalog, rows)
    plan = plan_read(query, statistics, "// as written" not in text)
    return str(explain(choose_paths(plan, statistics, _available_data(text)), None, statistics)) + "\n"


def _available_data(text: str) -> FixedAvailableData:
    def named(what: str) -> frozenset[str]:
        return frozenset(
            " ".join(re.findall(rf"^// {what}:(.*)$", text, re.MULTILINE)).replace(",", " ").split()
        )

    def indexed(what: str) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for name in named(what):
            table, _, column = name.rpartition(".")
            found.setdefault(table, set()).add(column)
        return {table: frozenset(columns) for table, columns in found.items()}

    memory = named("in memory")
    return FixedAvailableData(
        columns=memory,
        adjacency=memory,
        words=named("words"),
        often=named("often"),
        worth_reading=named("worth reading"),
        exact=indexed("exact"),
        texts=indexed("texts"),
        vectors=indexed("vectors"),
    )
