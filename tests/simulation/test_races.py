"""Races between writers in processes of their own: the order is forced, and every rule holds afterwards.

In each, the first writer is parked inside its commit, the second one runs to its end, then the first goes on.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from support.graphs import notes, plan_paths
from support.integrity_oracle import assert_integrity
from support.reference_graph import MemoryGraph
from support.workers import Worker, Workers

SCHEMA = """
node Person { name: String @key  mail: String? @unique  born: Date? @unique  room: I32?  floor: I32?
              @unique(room, floor) }
node Company { name: String @key }
node Lone { name: String @key  n: I64? }
node Event { at: DateTime @unique  note: String? }
edge Knows: Person -> Person @card(0..2)
edge WorksAt: Person -> Company @card(0..1) { since: Date? }
edge Likes: Person -> Person
"""
RECORDS = [
    *({"type": "Person", "data": {"name": name}} for name in ("ada", "bob", "cyd", "dan")),
    {"type": "Company", "data": {"name": "acme"}},
    {"type": "Company", "data": {"name": "bolt"}},
    {"type": "Lone", "data": {"name": "one", "n": 1}},
    {"edge": "Knows", "from": "ada", "to": "bob"},
    {"edge": "Likes", "from": "ada", "to": "bob"},
]
POINTS = ("write.after_stage", "write.after_all_tables", "publish.before_record")
IMPATIENT = {"OMNIGRAPH_TURN_SECONDS": "0.05"}


@dataclass(frozen=True)
class Task:
    """Something that a writer does."""

    kind: str
    given: tuple[Any, ...]

    @property
    def points(self) -> tuple[str, ...]:
        """Where it can be parked."""
        return POINTS if self.kind == "mutate" else (*POINTS, "plan.after_put")


def mutate(gq: str) -> Task:
    """Return a mutation of one or more statements."""
    return Task("mutate", (f"query q() {{ {gq} }}",))


def load(mode: str, *records: dict[str, Any]) -> Task:
    """Return a load."""
    return Task("load", (list(records), mode))


def apply(text: str) -> Task:
    """Return a schema change."""
    return Task("apply_schema", (text,))


def node(type_: str, **data: Any) -> dict[str, Any]:
    """Return a record of a node."""
    return {"type": type_, "data": data}


def edge(type_: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    """Return a record of an edge."""
    return {"edge": type_, "from": source, "to": target, "data": data}


COMPACT = Task("compact", ())


@dataclass(frozen=True)
class Race:
    """Two writers, how the first one ends, and what is stored afterwards."""

    name: str
    first: Task
    second: Task
    code: str | None = None
    """The code of the first writer's error; None when it lands too."""
    message: str = ""
    people: set[str] = field(default_factory=lambda: {"ada", "bob", "cyd", "dan"})
    knows: int = 1
    works: int = 0
    unseen: Mapping[str, Any] = field(default_factory=dict)
    """What is otherwise when the second writer lands before the first has looked at any row."""

    def at(self, point: str) -> Race:
        """Return the race as it ends when the first writer is parked there."""
        return replace(self, **self.unseen) if point == "write.after_stage" else self


INVALID, CONFLICT = "validation_error", "expected_version_mismatch"
NOTHING = "nothing to do"
"""Instead of a code: it ends without an error and without a commit."""


def _works(source: str, target: str) -> Task:
    return mutate(f'insert WorksAt {{ from: "{source}" to: "{target}" }}')


FOUR = {"ada", "bob", "cyd", "dan"}
RACES = [
    # Two edges past a limit.
    Race("card", _works("ada", "acme"), _works("ada", "bolt"), INVALID, "@card violation on edge WorksAt",
         works=1),
    Race("card-of-two", mutate('insert Knows { from: "ada" to: "cyd" }'),
         mutate('insert Knows { from: "ada" to: "dan" }'),
         INVALID, "@card violation on edge Knows", knows=2),
    Race("card-load", load("append", edge("WorksAt", "ada", "acme")), _works("ada", "bolt"), INVALID,
         "@card", works=1),
    Race("card-merge", load("merge", edge("WorksAt", "ada", "acme")), load("append", edge("WorksAt", "ada",
         "bolt")),
         INVALID, "@card", works=1),
    Race("card-mutate-load", _works("ada", "acme"), load("append", edge("WorksAt", "ada", "bolt")),
         INVALID, "@card",
         works=1),
    Race("card-others-land", _works("ada", "acme"), _works("bob", "bolt"), works=2),
    # An edge and the delete of one of its nodes.
    Race("edge-delete-source", _works("ada", "acme"), mutate('delete Person where name = "ada"'), INVALID,
         "src 'ada' not found in Person", people=FOUR - {"ada"}, knows=0),
    Race("edge-delete-target", _works("ada", "acme"), mutate('delete Company where name = "acme"'), INVALID,
         "dst 'acme' not found in Company"),
    Race("load-edge-delete", load("append", edge("Knows", "cyd", "bob")),
         mutate('delete Person where name = "bob"'),
         INVALID, "dst 'bob' not found in Person", people=FOUR - {"bob"}, knows=0),
    Race("delete-edge", mutate('delete Person where name = "ada"'), _works("ada", "acme"), CONFLICT,
         "edge:WorksAt",
         works=1, unseen={"code": None, "people": FOUR - {"ada"}, "knows": 0, "works": 0}),
    Race("delete-target-edge", mutate('delete Company where name = "acme"'), _works("ada", "acme"), CONFLICT,
         "edge:WorksAt", works=1, unseen={"code": None, "works": 0}),
    Race("delete-no-edges-yet", mutate('delete Person where name = "dan"'),
         load("merge", edge("Knows", "cyd", "dan")), CONFLICT, "edge:Knows", knows=2,
         unseen={"code": None, "people": FOUR - {"dan"}, "knows": 1}),
    Race("new-node-and-edge-delete-other-end",
         mutate('insert Person { name: "eve" } insert Knows { from: "eve" to: "bob" }'),
         mutate('delete Person where name = "bob"'), INVALID, "dst 'bob'", people=FOUR - {"bob"}, knows=0),
    # Equal unique values.
    Race("unique", mutate('insert Person { name: "x" mail: "m" }'),
         mutate('insert Person { name: "y" mail: "m" }'),
         INVALID, "@unique violation on Person.mail", people=FOUR | {"y"}),
    Race("unique-date", mutate('insert Person { name: "x" born: date("2024-02-29") }'),
         load("append", node("Person", name="y", born="2024-02-29")), INVALID,
         "@unique violation on Person.born",
         people=FOUR | {"y"}),
    Race("unique-composite", load("merge", node("Person", name="x", room=1, floor=2)),
         mutate('insert Person { name: "y" room: 1 floor: 2 }'), INVALID,
         r"@unique violation on Person.(floor, room)", people=FOUR | {"y"}),
    Race("unique-null-is-exempt", load("append", node("Person", name="x", room=1)),
         mutate('insert Person { name: "y" room: 1 }'), people=FOUR | {"x", "y"}),
    Race("unique-datetime", mutate('insert Event { at: datetime("2024-01-01T01:02:03Z") }'),
         load("append", node("Event", at="2024-01-01T01:02:03Z")), INVALID, "@unique violation on Event.at"),
    Race("unique-update", mutate('update Person set { mail: "m" } where name = "ada"'),
         mutate('update Person set { mail: "m" } where name = "bob"'), INVALID,
         "@unique violation on Person.mail"),
    # Overwrites.
    Race("overwrite-orphans", load("overwrite", node("Person", name="ada"), node("Person", name="bob")),
         mutate('insert Knows { from: "cyd" to: "bob" }'), CONFLICT, "edge:Knows", knows=2),
    Race("edge-overwrite", mutate('insert Knows { from: "cyd" to: "bob" }'),
         load("overwrite", node("Person", name="ada"), node("Person", name="bob")), INVALID,
         "src 'cyd' not found in Person", people={"ada", "bob"}),
    Race("overwrite-keeps-the-ends", load("overwrite", *(node("Person", name=name) for name in sorted(FOUR))),
         mutate('insert Knows { from: "cyd" to: "bob" }'), knows=2),
    Race("overwrite-insert", load("overwrite", *(node("Person", name=name) for name in sorted(FOUR))),
         mutate('insert Person { name: "eve" }'), CONFLICT, "node:Person", people=FOUR | {"eve"}),
    Race("overwrite-edges-delete-node", load("overwrite", edge("Knows", "cyd", "dan")),
         mutate('delete Person where name = "dan"'), CONFLICT, "", people=FOUR - {"dan"}),
    # Keys.
    Race("append-append", load("append", node("Person", name="x")), load("append", node("Person", name="x")),
         "key_conflict", "'x' is stored", people=FOUR | {"x"}),
    Race("append-insert", load("append", node("Person", name="x")),
         mutate('insert Person { name: "x" mail: "m" }'),
         "key_conflict", "'x' is stored", people=FOUR | {"x"}),
    Race("append-append-explicit-id", load("append", edge("Knows", "cyd", "dan", id="e")),
         load("append", edge("Knows", "cyd", "dan", id="e")), "key_conflict", "'e' is stored", knows=2),
    Race("merge-merge", load("merge", node("Person", name="x", mail="1")), load("merge", node("Person",
         name="x", mail="2")),
         people=FOUR | {"x"}),
    Race("insert-insert", mutate('insert Person { name: "x" mail: "1" }'),
         mutate('insert Person { name: "x" mail: "2" }'),
         people=FOUR | {"x"}),
    # Rows that change under a reader of them.
    Race("update-update", mutate('update Person set { room: 1 } where name = "ada"'),
         mutate('update Person set { room: 2 } where name = "ada"'), CONFLICT, "node:Person",
         unseen={"code": None}),
    Race("update-other-column", mutate('update Person set { room: 1 } where name = "ada"'),
         mutate('update Person set { floor: 2 } where name = "ada"')),
    Race("update-other-row", mutate('update Person set { room: 1 } where name = "ada"'),
         mutate('update Person set { room: 2 } where name = "bob"')),
    Race("update-more-rows", mutate('update Lone set { n: 5 } where name != "none"'),
         mutate('insert Lone { name: "two" }'), CONFLICT, "node:Lone", unseen={"code": None}),
    Race("update-delete", mutate('update Person set { room: 1 } where name = "dan"'),
         mutate('delete Person where name = "dan"'), CONFLICT, "node:Person", people=FOUR - {"dan"},
         unseen={"code": NOTHING}),
    Race("delete-update", mutate('delete Person where name = "dan"'),
         mutate('update Person set { room: 1 } where name = "dan"'), CONFLICT, "node:Person",
         unseen={"code": None, "people": FOUR - {"dan"}}),
    Race("delete-other-row", mutate('delete Person where name = "dan"'),
         mutate('update Person set { room: 1 } where name = "cyd"'), people=FOUR - {"dan"}),
    Race("upsert-upsert", mutate('upsert Person { name: "ada" room: 1 }'),
         mutate('upsert Person { name: "ada" room: 2 }'), CONFLICT, "rows of node:Person that statement 1",
         unseen={"code": None, "message": ""}),
    Race("upsert-of-a-new-row", mutate('upsert Person { name: "x" room: 1 }'),
         mutate('upsert Person { name: "x" floor: 2 }'), CONFLICT, "rows of node:Person that statement 1",
         people=FOUR | {"x"}, unseen={"code": None, "message": ""}),
    Race("upsert-other-column", mutate('upsert Person { name: "ada" room: 1 }'),
         mutate('upsert Person { name: "ada" floor: 2 }')),
    Race("upsert-other-row", mutate('upsert Person { name: "ada" room: 1 }'),
         mutate('upsert Person { name: "x" room: 1 }'), people=FOUR | {"x"}),
    Race("upsert-delete", mutate('upsert Person { name: "dan" room: 1 }'),
         mutate('delete Person where name = "dan"'), CONFLICT, "rows of node:Person that statement 1",
         people=FOUR - {"dan"}, unseen={"code": None, "message": "", "people": FOUR}),
    Race("upsert-edge-delete-end", mutate('upsert Knows { id: "e" from: "cyd" to: "bob" }'),
         mutate('delete Person where name = "bob"'), INVALID, "dst 'bob' not found in Person",
         people=FOUR - {"bob"}, knows=0),
    Race("update-insert", mutate('update Person set { room: 1 } where name = "ada"'),
         mutate('insert Person { name: "x" }'), people=FOUR | {"x"}),
    Race("delete-insert-elsewhere", mutate('delete Lone where name = "one"'),
         mutate('insert Person { name: "x" }'),
         people=FOUR | {"x"}),
    Race("delete-delete-of-a-node-with-edges", mutate('delete Person where name = "ada"'),
         mutate('delete Person where name = "ada"'), CONFLICT, "rows of node:Person that statement 1",
         people={"bob", "cyd", "dan"}, knows=0, unseen={"code": NOTHING, "message": ""}),
    Race("delete-of-nothing-yet",
         mutate('delete Lone where name = "one" delete Person where name = "x"'),
         load("append", node("Person", name="x"), edge("Knows", "x", "ada")), CONFLICT,
         "rows of node:Person that statement 2", people={*FOUR, "x"}, knows=2,
         unseen={"code": None, "message": "", "people": FOUR, "knows": 1}),
    Race("delete-delete", mutate('delete Lone where name = "one"'),
         mutate('delete Lone where name = "one"'), CONFLICT,
         "node:Lone", unseen={"code": NOTHING}),
]  # fmt: skip


def _with_points(races: list[Race]) -> list[Any]:
    return [
        pytest.param(race, point, id=f"{race.name}-{point}") for race in races for point in race.first.points
    ]


@pytest.fixture(scope="module")
def pool() -> Iterator[list[Worker]]:
    """The processes that races use one after the other."""
    found: list[Worker] = []
    yield found
    for worker in found:
        worker.kill()


@pytest.fixture
def worker(pool: list[Worker]) -> Iterator[Worker]:
    """A process that waits for a task; one that a failed test leaves parked is not used again."""
    taken = pool.pop() if pool else Worker()
    for path in taken.folder.iterdir():
        path.unlink()
    yield taken
    if taken.is_waiting:
        pool.append(taken)
    else:
        taken.kill()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a few rows."""
    path = tmp_path_factory.mktemp("races") / "graph"
    og.init(path, SCHEMA).load(RECORDS, mode="append")
    return path


@pytest.fixture
def uri(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A copy of the template; nobody waits long for a parked writer's turn to end."""
    monkeypatch.setenv("OMNIGRAPH_TURN_SECONDS", "0.05")
    return str(shutil.copytree(template, tmp_path / "graph"))


def park(worker: Worker, uri: str, task: Task, point: str) -> None:
    """Let a writer go as far as a point."""
    worker.tell(task.kind, uri, *task.given, failpoints=f"{point}=park@1", env=IMPATIENT)
    worker.wait_parked(point)


def run(uri: str, task: Task) -> Any:
    """Run a writer to its end, in this process."""
    from support import graph_tasks

    return getattr(graph_tasks, task.kind)(uri, *task.given)


def end(worker: Worker, point: str) -> tuple[Any, og.OmniError | None]:
    """Let a parked writer go on and return what came of it."""
    worker.release(point)
    try:
        return worker.answer(), None
    except og.OmniError as error:
        return None, error


def sound(uri: str, commits: int) -> MemoryGraph:
    """Check the whole graph from a fresh handle: one chain with so many changes, no plan, every rule."""
    graph = og.open(uri, read_only=True)
    chain = graph.commits.list()
    assert [commit.version for commit in chain] == list(range(len(chain), 0, -1))
    assert len([commit for commit in chain if not commit.maintenance]) == commits
    assert plan_paths(uri) == []
    assert notes(graph) == []
    for commit in chain:
        assert commit.maintenance or commit.operation in ("init", "load", "mutation", "schema_apply")
    return assert_integrity(graph.snapshot())


@pytest.mark.parametrize(("race", "point"), _with_points(RACES))
def test_a_race_between_two_writers_breaks_no_rule(race: Race, point: str, uri: str, worker: Worker) -> None:
    race = race.at(point)
    park(worker, uri, race.first, point)
    assert run(uri, race.second).commit_id is not None
    done, error = end(worker, point)
    if race.code == NOTHING:
        assert error is None and done.commit_id is None
        return
    assert (error.code if error else None) == race.code, error
    stored = sound(uri, 3 if race.code else 4)
    assert set(stored.nodes["Person"]) == race.people
    assert len(stored.edges["Knows"]) == race.knows
    assert len(stored.edges["WorksAt"]) == race.works
    if error is None:
        assert og.open(uri, read_only=True).snapshot().commit_id == done.commit_id
        return
    assert race.message in str(error)
    if race.code == CONFLICT:
        assert error.retryable
        table = next(item for item in og.open(uri).snapshot().tables if item.key == error.table_key)
        assert error.actual == table.version
        assert error.expected < error.actual
    else:
        assert error.details["total"] >= 1


def test_two_updates_of_different_columns_of_one_row_both_land(uri: str, worker: Worker) -> None:
    park(worker, uri, mutate('update Person set { room: 1 } where name = "ada"'), "publish.before_record")
    run(uri, mutate('update Person set { floor: 2 } where name = "ada"'))
    _, error = end(worker, "publish.before_record")
    assert error is None
    ada = sound(uri, 4).nodes["Person"]["ada"]
    assert (ada["room"], ada["floor"]) == (1, 2)


@pytest.mark.parametrize("retry", [0, 1])
def test_an_update_whose_rows_changed_is_evaluated_anew_when_its_caller_wants_that(
    uri: str, worker: Worker, retry: int
) -> None:
    gq = 'query q() { update Lone set { n: 9 } where name != "none" }'
    park(worker, uri, Task("mutate", (gq, None, None, retry)), "publish.before_record")
    run(uri, mutate('insert Lone { name: "two" }'))
    _, error = end(worker, "publish.before_record")
    assert isinstance(error, og.ExpectedVersionMismatch) is (retry == 0)
    found = og.open(uri).query("query q() { match { $l: Lone } return { $l.name as name, $l.n as n } }")
    assert {row["name"] for row in found.rows if row["n"] == 9} == ({"one", "two"} if retry else set())


WRITERS = {
    "insert": mutate('insert Person { name: "x" }'),
    "insert-edge": mutate('insert Knows { from: "cyd" to: "bob" }'),
    "update": mutate('update Person set { room: 1 } where name = "ada"'),
    "delete": mutate('delete Person where name = "ada"'),
    "append": load("append", node("Person", name="x"), edge("Knows", "x", "ada")),
    "merge": load("merge", node("Person", name="ada", room=7), node("Person", name="x")),
    "overwrite": load("overwrite", *(node("Person", name=name) for name in sorted(FOUR)), edge("Knows",
         "cyd", "ada")),
    "schema": apply(SCHEMA.replace("room: I32?", "room: I32?  tag: String @default(\"t\")")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "point"), [(name, point) for name, task in WRITERS.items() for point in task.points]
)
def test_a_compaction_meanwhile_fails_no_writer(name: str, point: str, uri: str, worker: Worker) -> None:
    """A50: physical work never fails a logical operation."""
    for number in range(3):
        run(uri, mutate(f'insert Person {{ name: "more{number}" }}'))
    park(worker, uri, WRITERS[name], point)
    assert run(uri, COMPACT) is not None
    done, error = end(worker, point)
    assert error is None
    assert done.commit_id is not None
    sound(uri, 6)
    chain = og.open(uri).commits.list()
    assert [commit.maintenance for commit in chain[:2]] == [False, True]


@pytest.mark.parametrize("point", ["write.after_stage", "maintenance.after_compact", "publish.before_record"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_compaction_that_is_overtaken_by_a_writer_changes_no_row(
    name: str, point: str, uri: str, worker: Worker
) -> None:
    run(uri, mutate('insert Person { name: "more" }'))
    before = assert_integrity(og.open(uri).snapshot())
    park(worker, uri, COMPACT, point)
    assert run(uri, WRITERS[name]).commit_id is not None
    head = assert_integrity(og.open(uri).snapshot())
    assert head.nodes != before.nodes or head.edges != before.edges
    _, error = end(worker, point)
    assert error is None
    after = sound(uri, 4)
    assert (after.nodes, after.edges) == (head.nodes, head.edges)


ADDS = SCHEMA.replace("room: I32?", 'room: I32?  tag: String @default("t")')
DROPS = SCHEMA.replace("mail: String? @unique", "")
WITHOUT_LONE = SCHEMA.replace("node Lone { name: String @key  n: I64? }", "")
RENAMED = SCHEMA.replace("floor: I32?", 'level: I32? @rename_from("floor")').replace("floor)", "level)")
LIMITED = SCHEMA.replace("@unique(room, floor) }", "@unique(room, floor)  @range(room, 0..5) }")
TIGHT = SCHEMA.replace("edge Likes: Person -> Person", "edge Likes: Person -> Person @card(0..1)")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    ("task", "text", "code", "message"),
    [
        (mutate('insert Person { name: "x" mail: "m" }'), ADDS, None, ""),
        (mutate('insert Person { name: "x" mail: "m" }'), DROPS, "type_error", "mail"),
        (mutate('insert Person { name: "x" room: 9 }'), LIMITED, INVALID, "@range violation on Person.room"),
        (mutate('insert Lone { name: "x" }'), WITHOUT_LONE, "type_error", "Lone"),
        (mutate('insert Person { name: "x" floor: 1 }'), RENAMED, "type_error", "floor"),
        (mutate('insert Likes { from: "ada" to: "cyd" }'), TIGHT, INVALID, "@card violation"),
        (mutate('update Person set { room: 9 } where name = "ada"'), ADDS, None, ""),
        (mutate('delete Person where name = "ada"'), ADDS, None, ""),
        (mutate('update Person set { mail: "m" } where name = "ada"'), DROPS, "type_error", "mail"),
        (mutate('update Lone set { n: 9 } where name = "one"'), ADDS, None, ""),
        (load("append", node("Person", name="x", mail="m")), ADDS, None, ""),
        (load("merge", node("Person", name="x", mail="m")), DROPS, INVALID, "no property 'mail'"),
        (load("append", node("Person", name="x", room=9)), LIMITED, INVALID, "@range violation"),
        (load("append", node("Lone", name="x")), WITHOUT_LONE, INVALID, "unknown node type 'Lone'"),
        (load("overwrite", node("Person", name="ada"), node("Person", name="bob")), ADDS, CONFLICT, "schema"),
    ],
)  # fmt: skip
def test_a_writer_overtaken_by_a_schema_change_is_prepared_again_or_refused(
    task: Task, text: str, code: str | None, message: str, point: str, uri: str, worker: Worker
) -> None:
    point = "plan.after_put" if task.kind == "load" and point == "write.after_all_tables" else point
    park(worker, uri, task, point)
    assert run(uri, apply(text)).applied
    _, error = end(worker, point)
    assert (error.code if error else None) == code, error
    stored = sound(uri, 3 if code else 4)
    assert og.open(uri).schema.source == text
    if error is None:
        assert all(row["tag"] == "t" for row in stored.nodes["Person"].values())
        assert stored.nodes["Person"].get("x", {"mail": "m"})["mail"] == "m"
    else:
        assert message in str(error)
        assert "x" not in stored.nodes["Person"]


@pytest.mark.parametrize("point", (*POINTS, "plan.after_put"))
@pytest.mark.parametrize(
    ("text", "task", "code", "message"),
    [
        (ADDS, mutate('insert Person { name: "x" }'), None, ""),
        (ADDS, mutate('update Person set { room: 9 } where name = "ada"'), None, ""),
        (ADDS, mutate('delete Person where name = "ada"'), None, ""),
        (ADDS, mutate('insert Company { name: "x" }'), None, ""),
        (DROPS, load("append", node("Person", name="x", mail="m")), None, ""),
        (WITHOUT_LONE, mutate('insert Lone { name: "x" }'), None, ""),
        (RENAMED, load("merge", node("Person", name="x", floor=3)), None, ""),
        (LIMITED, mutate('insert Person { name: "x" room: 9 }'), "schema_change_unsupported",
         "@range violation"),
        (TIGHT, mutate('insert Likes { from: "ada" to: "cyd" }'), "schema_change_unsupported",
         "@card violation"),
    ],
)  # fmt: skip
def test_a_schema_change_overtaken_by_a_writer_takes_its_rows_along(
    text: str, task: Task, code: str | None, message: str, point: str, uri: str, worker: Worker
) -> None:
    park(worker, uri, apply(text), point)
    assert run(uri, task).commit_id is not None
    _, error = end(worker, point)
    assert (error.code if error else None) == code, error
    stored = sound(uri, 3 if code else 4)
    assert message in str(error or "")
    assert og.open(uri).schema.source == (SCHEMA if code else text)
    if code is None and text is ADDS:
        assert {row["tag"] for row in stored.nodes["Person"].values()} == {"t"}
    if text is RENAMED:
        assert stored.nodes["Person"]["x"]["level"] == 3


@pytest.mark.parametrize("point", (*POINTS, "plan.after_put"))
@pytest.mark.parametrize("second", [DROPS, ADDS], ids=["another", "the-same"])
def test_of_two_schema_changes_one_lands(point: str, second: str, uri: str, worker: Worker) -> None:
    park(worker, uri, apply(ADDS), point)
    assert run(uri, apply(second)).applied
    _, error = end(worker, point)
    assert isinstance(error, og.ExpectedVersionMismatch)
    assert error.table_key == "schema"
    assert error.expected != error.actual
    assert og.open(uri).schema.source == second
    sound(uri, 3)
    if second is DROPS:
        assert run(uri, apply(ADDS.replace("mail: String? @unique", ""))).applied
        sound(uri, 4)


@pytest.mark.parametrize("point", POINTS)
def test_a_commit_that_must_follow_another_one_is_refused_when_that_is_no_longer_the_head(
    point: str, uri: str, worker: Worker
) -> None:
    head = og.open(uri).snapshot().commit_id
    gq = 'query q() { insert Company { name: "x" } }'
    worker.tell("mutate", uri, gq, None, head, failpoints=f"{point}=park@1", env=IMPATIENT)
    worker.wait_parked(point)
    rival = run(uri, mutate('insert Lone { name: "two" }'))
    _, error = end(worker, point)
    assert isinstance(error, og.PreconditionFailed)
    assert (error.expected, error.actual) == (head, rival.commit_id)
    assert set(sound(uri, 3).nodes["Company"]) == {"acme", "bolt"}


def test_of_many_that_must_follow_one_commit_exactly_one_does(uri: str, workers: Workers) -> None:
    racing = [workers.take() for _ in range(4)]
    for worker in racing:
        worker.ask("open_for_writing", uri)  # every process is warm now
    commits = 2
    for turn in range(6):
        head = og.open(uri).snapshot().commit_id
        for me, worker in enumerate(racing):
            gq = f'query q() {{ insert Company {{ name: "c{turn}-{me}" }} }}'
            worker.tell("mutate", uri, gq, None, head)
        ended = []
        for worker in racing:
            try:
                ended.append(worker.answer().commit_id)
            except og.PreconditionFailed as error:
                assert error.expected == head
        assert len(ended) == 1
        commits += 1
        assert og.open(uri).snapshot().commit_id == ended[0]
    assert len(sound(uri, commits).nodes["Company"]) == 2 + 6


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_writers_that_contend_freely_break_no_rule(seed: int, uri: str, workers: Workers) -> None:
    print("seed", seed)
    racing = [workers.take() for _ in range(3)]
    for me, worker in enumerate(racing):
        worker.tell("contend", uri, me, 40, seed)
    ends: dict[str, int] = {}
    for worker in racing:
        for code, count in worker.answer(300).items():
            ends[code] = ends.get(code, 0) + count
    print(ends)
    assert sum(ends.values()) == 120
    graph = og.open(uri)
    chain = [commit for commit in graph.commits.list() if commit.actor and commit.actor.startswith("writer-")]
    assert len(chain) <= ends["ok"]  # a delete of nothing is no commit
    assert plan_paths(uri) == []
    assert notes(graph) == []
    for commit in graph.commits.list()[::5]:
        assert_integrity(graph.snapshot(commit=commit.id))
    assert_integrity(graph.snapshot())
