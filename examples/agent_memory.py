"""The memory of an agent: a branch for each task, kept when the task went well, thrown away when it did not.

    python examples/agent_memory.py [folder]

No model and no network: texts are embedded by the provider `mock`, which hashes words, and what the agent
"finds out" is written below. Give `og.init` a real provider (docs/embedding.md) and the rest stays as it is.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import omnigraph as og

SCHEMA = """
node Task { name: String @key  goal: String }
node Topic { name: String @key }
node Fact {
  name: String @key
  text: String @index
  confidence: F64
  vector: Vector(256)? @embed(text)
  @range(confidence, 0.0..1.0)
}
edge About: Fact -> Topic { @key(src, dst) }
edge LearnedIn: Fact -> Task @card(0..1)
edge Contradicts: Fact -> Fact
"""
REMEMBER = """
query remember($name: String, $text: String, $confidence: F64, $topic: String, $task: String) {
  upsert Fact { name: $name, text: $text, confidence: $confidence }
  upsert Topic { name: $topic }
  insert About { from: $name, to: $topic }
  insert LearnedIn { from: $name, to: $task }
}
"""
RECALL = """
query recall($question: String) {
  match { $f: Fact  optional { $f about $t } }
  return { $f.name, $f.text, $f.confidence, $t.name as topic }
  order { rrf(nearest($f.vector, $question), bm25($f.text, $question)) }
  limit 2
}
"""
FACTS = "query n() { match { $f: Fact } return { count($f) as facts } }"


class Memory:
    """What an agent remembers; each task of it has a branch of its own."""

    def __init__(self, uri: Path | str, agent: str) -> None:
        self.graph = og.open(uri, actor=agent, embedding="mock")

    def begin(self, task: str, goal: str) -> og.Graph:
        """Begin a task on a branch that shares everything that is known."""
        self.graph.branches.create(f"task/{task}")
        work = og.open(self.graph.uri, branch=f"task/{task}", actor=self.graph.actor, embedding="mock")
        work.mutate(
            "query q($name: String, $goal: String) { insert Task { name: $name, goal: $goal } }",
            {"name": task, "goal": goal},
            metadata={"task": task},
        )
        return work

    def keep(self, task: str, why: str) -> og.Merge:
        """Bring what a task has learned into the memory, and end its branch."""
        return self.graph.branches.merge(
            f"task/{task}", strategy="property", message=why, metadata={"task": task}, delete_branch=True
        )

    def forget(self, task: str) -> None:
        """Throw away a task with everything that it has written."""
        self.graph.branches.delete(f"task/{task}")

    def recall(self, question: str) -> list[dict[str, Any]]:
        """Return what fits a question best, by words and by meaning."""
        return self.graph.query(RECALL, {"question": question}).rows


def remember(work: og.Graph, name: str, text: str, confidence: float, topic: str) -> None:
    """Note a fact, and in which task and about what it was learned, as one commit."""
    task = work.branch.removeprefix("task/")
    given = {"name": name, "text": text, "confidence": confidence, "topic": topic, "task": task}
    work.mutate(REMEMBER, given, message=f"learned: {name}", metadata={"task": task})


def main(folder: Path) -> None:
    og.init(folder / "memory", SCHEMA, actor="act-ada", embedding="mock")
    memory = Memory(folder / "memory", "agent-7")

    work = memory.begin("t1", "find out how the customer is billed")
    remember(work, "invoice-day", "Invoices are sent on the first day of the month", 0.9, "billing")
    remember(work, "currency", "The customer is billed in Swiss francs", 0.7, "billing")
    print(
        "the task knows", work.query(FACTS).scalar(), "facts, the memory", memory.graph.query(FACTS).scalar()
    )
    memory.keep("t1", "the customer has confirmed it")
    print("after it was kept the memory knows", memory.graph.query(FACTS).scalar())

    work = memory.begin("t2", "read a forum")
    remember(work, "rumour", "Invoices are never sent", 0.1, "billing")
    memory.forget("t2")
    print("after a bad task it still knows", memory.graph.query(FACTS).scalar())

    first, second = memory.begin("t3", "read the contract"), memory.begin("t4", "read the mails")
    first.mutate(
        'query q() { update Fact set { text: "Billed in Swiss francs since May" } where name = "currency" }',
        message="read in the contract",
        metadata={"task": "t3"},
    )
    second.mutate(
        'query q() { update Fact set { confidence: 0.95 } where name = "currency" }',
        message="read in a mail",
        metadata={"task": "t4"},
    )
    memory.keep("t3", "the contract says so")
    memory.keep("t4", "a mail says so")
    print("two tasks at once, both kept:", memory.recall("billed in which currency?")[0])

    for name, commit in memory.graph.entity("Fact", "currency").blame().items():
        if name in ("text", "confidence"):
            print(f"  {name} is from {commit.actor}: {commit.message or commit.operation}")
    learned = memory.graph.commits.list(where={"task": "t3"})
    print("commits of task t3:", sorted({commit.operation for commit in learned}))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch))
