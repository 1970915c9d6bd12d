"""A company's knowledge: documents, people, products; asked by words, meaning and edges in one query.

    python examples/company_graph.py [folder]

The company is made up. Texts are embedded by a small deterministic function below, without a model and
without a network: a text is the sum of hashed letter triples, so that similar words are near. It shows how to
plug in a provider of your own; for real use take one of docs/embedding.md.
"""

from __future__ import annotations

import hashlib
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import omnigraph as og

SCHEMA = """
node Team { name: String @key }
node Person { email: String @key  name: String  role: String? }
node Product { name: String @key  about: String? }
node Doc {
  path: String @key
  title: String
  body: String @index
  vector: Vector(128) @embed(body)
  written: Date?
}
edge MemberOf: Person -> Team
edge Wrote: Person -> Doc
edge Mentions: Doc -> Product
edge Maintains: Team -> Product
"""
TEAMS = {"Billing": "Invoicer", "Platform": "Gateway", "Search": "Finder"}
PEOPLE = [
    ("ann", "Ann", "engineer", "Billing"),
    ("bea", "Bea", "lead", "Billing"),
    ("carl", "Carl", "engineer", "Platform"),
    ("dora", "Dora", "writer", "Search"),
]
DOCS = [
    ("runbooks/invoices.md", "When invoices fail", "ann", "Invoicer"),
    ("runbooks/gateway.md", "Gateway timeouts", "carl", "Gateway"),
    ("adr/7.md", "Why we queue invoices", "bea", "Invoicer"),
    ("guides/search.md", "How ranking works", "dora", "Finder"),
    ("adr/9.md", "One gateway", "carl", "Gateway"),
]
BODIES = {
    "runbooks/invoices.md": "If invoicing stops, replay the queue of the Invoicer",
    "runbooks/gateway.md": "Timeouts of the gateway are retried three times",
    "adr/7.md": "A queue between Gateway and Invoicer survives restarts",
    "guides/search.md": "Finder ranks documents by words and by meaning",
    "adr/9.md": "All traffic goes through one gateway",
}
EXPERTS = """
query experts($question: String) {
  match {
    $d: Doc
    $p wrote $d
    $p memberOf $t
    $d mentions $x
    $t maintains $x
  }
  return { $d.title, $p.name, $t.name as team, $x.name as product }
  order { rrf(nearest($d.vector, $question), bm25($d.body, $question)) }
  limit 2
}
"""
ORPHANS = """
query undocumented() { match { $x: Product  not { $d mentions $x } } return { $x.name } }
"""


class LetterTriples:
    """A provider of vectors that needs nothing: letter triples, hashed and added up."""

    model = "letter-triples"

    def embed(self, texts: Sequence[str], dimension: int) -> list[list[float]]:
        """Return a vector of length one for each text."""
        return [self._embed_one(text.lower(), dimension) for text in texts]

    def _embed_one(self, text: str, dimension: int) -> list[float]:
        vector = [0.0] * dimension
        for place in range(len(text) - 2):
            digest = hashlib.blake2b(text[place : place + 3].encode(), digest_size=8).digest()
            vector[int.from_bytes(digest, "big") % dimension] += 1.0
        length = math.sqrt(sum(number * number for number in vector)) or 1.0
        return [number / length for number in vector]


def records() -> list[dict[str, object]]:
    """Return the company as records of a load."""
    found: list[dict[str, object]] = []
    for team, product in TEAMS.items():
        found.append({"type": "Team", "data": {"name": team}})
        found.append({"type": "Product", "data": {"name": product}})
        found.append({"edge": "Maintains", "from": team, "to": product})
    for short, name, role, team in PEOPLE:
        email = f"{short}@example.com"
        found.append({"type": "Person", "data": {"email": email, "name": name, "role": role}})
        found.append({"edge": "MemberOf", "from": email, "to": team})
    for path, title, author, product in DOCS:
        found.append({"type": "Doc", "data": {"path": path, "title": title, "body": BODIES[path]}})
        found.append({"edge": "Wrote", "from": f"{author}@example.com", "to": path})
        found.append({"edge": "Mentions", "from": path, "to": product})
    return found


def main(folder: Path) -> None:
    graph = og.init(folder / "company", SCHEMA, actor="importer", embedding=LetterTriples())
    loaded = graph.load(records(), mode="append", message="the wiki of today")
    print("loaded", dict(loaded.nodes), dict(loaded.edges))
    graph.tags.create("wiki/today")
    for row in graph.query(EXPERTS, {"question": "invoices stop after a restart of the queue"}):
        print("ask:", row)
    print("without a document:", graph.query(ORPHANS).rows)

    graph.branches.create("new-product")
    work = og.open(graph.uri, branch="new-product", actor="agent-wiki", embedding=LetterTriples())
    work.mutate(
        """query q() {
          insert Product { name: "Ledger", about: "keeps the books" }
          insert Maintains { from: "Billing", to: "Ledger" }
        }"""
    )
    print("on the branch, without a document:", work.query(ORPHANS).rows)
    work.mutate(
        """query q($body: String) {
          insert Doc { path: "guides/ledger.md", title: "The ledger", body: $body }
          insert Wrote { from: "bea@example.com", to: "guides/ledger.md" }
          insert Mentions { from: "guides/ledger.md", to: "Ledger" }
        }""",
        {"body": "The ledger books every invoice twice"},
    )
    print("merged:", graph.branches.merge("new-product", message="Ledger", delete_branch=True).outcome)
    for row in graph.query(EXPERTS, {"question": "who books invoices in the ledger?"}).rows[:1]:
        print("ask again:", row)
    then = graph.query(EXPERTS, {"question": "who books invoices in the ledger?"}, snapshot="wiki/today")
    print("and before:", [row["d.title"] for row in then])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch))
