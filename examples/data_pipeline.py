"""A data team's pipeline: a nightly load onto a branch, checks that must hold, a review, and a stream.

    python examples/data_pipeline.py [folder]

Needs Spark (`pip install 'omnigraph[spark]'` and Java 17). The orders are made up by a seeded generator.

1. Yesterday's orders come as CSV. They are loaded onto a branch of their own: nobody reads half a night.
2. Checks are queries that must return no rows, as tests of dbt are. They are stored with the graph, and a
   proposal cannot be merged while one of them returns something.
3. The load is wrong once. The check says where, the records are mended, and the same proposal is merged.
4. Payments arrive as a stream. Each micro-batch is one commit and lands once, also when it is sent again.
"""

from __future__ import annotations

import csv
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph import spark

SCHEMA = """
node Customer { name: String @key  country: String }
node Order { number: I64 @key  cents: I64  day: Date  @range(cents, 1..) }
node Payment { reference: String @key  cents: I64 }
edge Placed: Customer -> Order @card(0..)
edge Pays: Payment -> Order @card(0..1)
"""
CHECKS = """
// Orders that nobody has placed.
query orders_without_a_customer() {
  match { $o: Order  not { $c placed $o } }
  return { $o.number }
}

// One order is a tenth of everything: somebody has typed too many zeros.
query orders_that_are_far_too_large() {
  match { $o: Order  $o.cents > 1000000 }
  return { $o.number, $o.cents }
}
"""
MAPPING = """
[[node]]
type = "Customer"
distinct = true
[node.properties]
name = "customer"
country = "country"

[[node]]
type = "Order"
[node.properties]
number = "number"
cents = "cents"
day = "day"

[[edge]]
type = "Placed"
from = "customer"
to = "number"
"""
TOTALS = """
query totals() {
  match { $c: Customer  $c placed $o  optional { $p pays $o } }
  return { $c.country, count($o) as orders, sum($o.cents) as cents, count($p) as paid }
  order { $c.country }
}
"""


def write_orders(path: Path, orders: int, mistake: bool) -> None:
    """Write a night of orders; with a mistake, one has three zeros too many."""
    choose = random.Random(7)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["number", "customer", "country", "cents", "day"])
        for number in range(1, orders + 1):
            customer = choose.randrange(20)
            cents = choose.randrange(100, 90_000) * (1000 if mistake and number == 17 else 1)
            rows.writerow([number, f"c{customer}", ("ch", "de", "no")[customer % 3], cents, "2026-01-31"])


def propose_night(graph: og.Graph, folder: Path) -> og.Proposal:
    """Load a night onto its branch and propose it."""
    loaded = graph.load(
        folder / "orders.csv",
        mode="append",
        mapping=folder / "orders.toml",
        branch="night/2026-01-31",
        from_branch="main",
        engine="spark",
        message="orders of 2026-01-31",
        metadata={"run": "nightly-17"},
    )
    print("loaded on", loaded.engine, dict(sorted(loaded.nodes.items())), loaded.edges)
    return graph.proposals.create("night/2026-01-31", title="orders of 2026-01-31")


def review(graph: og.Graph, proposal: og.Proposal, folder: Path) -> None:
    """Let the checks refuse the night, mend it, and let them pass."""
    og.open(graph.uri, actor="act-bea").proposals.approve(proposal.id)
    try:
        graph.proposals.merge(proposal.id)
    except og.NotMergeable as error:
        print(f"not merged [{error.code}]:", [reason["code"] for reason in error.details["reasons"]])
    write_orders(folder / "orders.csv", 200, mistake=False)
    graph.load(
        folder / "orders.csv",
        mode="merge",
        mapping=folder / "orders.toml",
        branch="night/2026-01-31",
        message="order 17 mended",
    )
    og.open(graph.uri, actor="act-bea").proposals.approve(proposal.id)
    merged = graph.proposals.merge(proposal.id, delete_branch=True)
    print("merged:", merged.outcome, graph.query(TOTALS).rows)


def stream_payments(graph: og.Graph, session: Any, folder: Path) -> None:
    """Let payments arrive as files, twice, and have Spark carry each batch to the graph once."""
    arriving = folder / "arriving"
    arriving.mkdir()
    for batch in (1, 2):
        with (arriving / f"{batch}.json").open("w") as file:
            for number in range(batch, 200, 10):
                reference = f"pay-{number}"
                records = [
                    {"type": "Payment", "data": {"reference": reference, "cents": 100 * number}},
                    {"edge": "Pays", "from": reference, "to": number},
                ]
                file.writelines(json.dumps({"value": json.dumps(record)}) + "\n" for record in records)
        stream = (
            session.readStream.schema("value string")
            .json(str(arriving))
            .writeStream.format("omnigraph")
            .option("graph", graph.uri)
            .option("app_id", "payments")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        stream.awaitTermination()
    batches = [commit.metadata["batch"] for commit in graph.commits.list(where={"app_id": "payments"})]
    print("batches that landed, newest first:", batches)
    print("paid:", sum(row["paid"] for row in graph.query(TOTALS)))


def main(folder: Path) -> None:
    graph = og.init(folder / "shop", SCHEMA, actor="act-pipeline")
    graph.queries.apply({"checks": CHECKS}, message="what must hold")
    graph.branches.protect(
        "main", approvals=1, checks=["orders_without_a_customer", "orders_that_are_far_too_large"]
    )
    (folder / "orders.toml").write_text(MAPPING)
    write_orders(folder / "orders.csv", 200, mistake=True)
    session = spark.session("local[2]")
    review(graph, propose_night(graph, folder), folder)
    graph.branches.unprotect("main")  # a stream writes by itself: give it a branch of its own to keep this
    stream_payments(graph, session, folder)
    spark.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch))
