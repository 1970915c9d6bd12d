"""Conditional writes that land and whose answers are lost: what was done is done, once, and said so.

Every conditional write of every operation is tried in turn: it is sent twice, so that it meets itself, or its
answer never comes. A short run is part of every test run; `OMNIGRAPH_LOST_ANSWERS=all` tries all of them.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base.errors import AlreadyExists, OmniError, OutcomeUnknown, PreconditionFailed, Unavailable
from omnigraph.storage.objects.local import LocalStore

TRIES = os.environ.get("OMNIGRAPH_LOST_ANSWERS", "30")
SEED = int(os.environ.get("OMNIGRAPH_SEED", "1"))
SCHEMA = "node Person { name: String @key }"
NAMES = "query q() { match { $p: Person } return { $p.name as name } }"
SENT_AGAIN, UNANSWERED = "sent again", "unanswered"


@dataclass(frozen=True)
class Operation:
    """Something that is done to a graph, and what it then is; done again it says so, or that it is done."""

    do: Callable[[og.Graph], object]
    is_done: Callable[[og.Graph], bool]


def _names(graph: og.Graph, branch: str = "main") -> list[str]:
    return sorted(row["name"] for row in graph.query(NAMES, branch=branch))


def _put(graph: og.Graph, name: str, branch: str = "main", key: str | None = None) -> None:
    graph.mutate(f'query q() {{ insert Person {{ name: "{name}" }} }}', branch=branch, idempotency_key=key)


def _proposal(graph: og.Graph, title: str = "open") -> og.Proposal:
    return next(item for item in graph.proposals.list() if item.title == title)


def _bob(graph: og.Graph) -> og.Graph:
    return og.open(graph.uri, actor="bob")


def _kinds(graph: og.Graph, title: str = "open") -> list[str]:
    return [event.kind for event in graph.proposals.show(_proposal(graph, title).id).events]


def _merges(graph: og.Graph) -> int:
    return sum(commit.operation == "merge" for commit in graph.commits.list())


OPERATIONS: dict[str, Operation] = {
    "mutate": Operation(
        lambda graph: _put(graph, "new", key="k"), lambda graph: _names(graph).count("new") == 1
    ),
    "load": Operation(
        lambda graph: graph.load(
            [{"type": "Person", "data": {"name": "new"}}], mode="append", idempotency_key="k"
        ),
        lambda graph: _names(graph).count("new") == 1,
    ),
    "schema": Operation(
        lambda graph: graph.schema.apply(SCHEMA.replace("@key", "@key  age: I64?")),
        lambda graph: "age" in graph.schema.source,
    ),
    "queries": Operation(
        lambda graph: graph.queries.apply({"all": NAMES.replace("q()", "all()")}),
        lambda graph: [query.name for query in graph.queries.list()] == ["all"],
    ),
    "create": Operation(
        lambda graph: graph.branches.create("new", "side"), lambda graph: "s" in _names(graph, "new")
    ),
    "delete": Operation(
        lambda graph: graph.branches.delete("side"), lambda graph: "side" not in graph.branches.list()
    ),
    "restore": Operation(
        lambda graph: graph.branches.restore("gone"), lambda graph: "g" in _names(graph, "gone")
    ),
    "rename": Operation(
        lambda graph: graph.branches.rename("side", "new"),
        lambda graph: graph.branches.list() == ["main", "new"] and "s" in _names(graph, "new"),
    ),
    "rebase": Operation(
        lambda graph: graph.branches.rebase("side"), lambda graph: {"s", "m"} <= {*_names(graph, "side")}
    ),
    "merge": Operation(
        lambda graph: graph.branches.merge("side", delete_branch=True, idempotency_key="k"),
        lambda graph: "s" in _names(graph) and _merges(graph) == 1,
    ),
    "tag": Operation(
        lambda graph: graph.tags.create("new"), lambda graph: "new" in [tag.name for tag in graph.tags.list()]
    ),
    "delete tag": Operation(lambda graph: graph.tags.delete("v1"), lambda graph: not graph.tags.list()),
    "protect": Operation(
        lambda graph: graph.branches.protect(approvals=2),
        lambda graph: getattr(graph.branches.info("main").protection, "approvals", 0) == 2,
    ),
    "propose": Operation(
        lambda graph: graph.proposals.create("side", title="new", idempotency_key="k"),
        lambda graph: sum(item.title == "new" for item in graph.proposals.list()) == 1,
    ),
    "approve": Operation(
        lambda graph: _bob(graph).proposals.approve(_proposal(graph).id),
        lambda graph: len(graph.proposals.show(_proposal(graph).id).approvals) == 1,
    ),
    "close": Operation(
        lambda graph: graph.proposals.close(_proposal(graph).id),
        lambda graph: _kinds(graph).count("closed") == 1,
    ),
    "reopen": Operation(
        lambda graph: graph.proposals.reopen(_proposal(graph, "closed").id),
        lambda graph: _kinds(graph, "closed").count("reopened") == 1,
    ),
    "merge what is proposed": Operation(
        lambda graph: graph.proposals.merge(_proposal(graph).id),
        lambda graph: _kinds(graph).count("merged") == 1 and _merges(graph) == 1,
    ),
    "optimize": Operation(lambda graph: graph.optimize(), lambda graph: "m" in _names(graph)),
    "cleanup": Operation(lambda graph: graph.cleanup(keep=1), lambda graph: "m" in _names(graph)),
    "backup": Operation(
        lambda graph: graph.backup(f"{graph.uri}-backup"),
        lambda graph: bool(og.backups(f"{graph.uri}-backup")),
    ),
    "restore a backup": Operation(
        lambda graph: og.restore(f"{Path(graph.uri).parent}/backup", f"{graph.uri}-restored"),
        lambda graph: "m" in _names(og.open(f"{graph.uri}-restored")),
    ),
    "init": Operation(
        lambda graph: og.init(f"{graph.uri}-new", SCHEMA),
        lambda graph: og.open(f"{graph.uri}-new").branches.list() == ["main"],
    ),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with branches, a deleted one, a tag and proposals; a backup of it lies beside it."""
    root = tmp_path_factory.mktemp("stored")
    graph = og.init(root / "graph", SCHEMA, actor="ada")
    for branch, name in (("gone", "g"), ("side", "s")):
        graph.branches.create(branch)
        _put(graph, name, branch)
    graph.branches.delete("gone")
    graph.tags.create("v1")
    _put(graph, "m")
    graph.proposals.create("side", title="open")
    graph.proposals.close(graph.proposals.create("side", title="closed").id)
    graph.backup(root / "backup")
    return root


@contextmanager
def _losing(number: int, how: str) -> Iterator[list[str]]:
    """Let the answer of one conditional write be lost; yields what was written so, path by path."""
    seen: list[str] = []
    real = {name: getattr(LocalStore, name) for name in ("create", "replace")}
    twice = {"create": AlreadyExists("sent again"), "replace": PreconditionFailed("sent again")}

    def wrap(name: str) -> Callable[..., Any]:
        def write(store: LocalStore, path: str, *given: Any) -> Any:
            done = real[name](store, path, *given)
            seen.append(path)
            if len(seen) == number:
                raise twice[name] if how == SENT_AGAIN else Unavailable("no answer")
            return done

        return write

    with pytest.MonkeyPatch.context() as patched:
        for name in real:
            patched.setattr(LocalStore, name, wrap(name))
        yield seen


def _try(stored: Path, folder: Path, name: str, number: int, how: str) -> None:
    """Lose one answer of an operation, and do it again if nobody could say that it is done."""
    shutil.copytree(stored, folder)
    operation, root = OPERATIONS[name], str(folder / "graph")
    graph, said = og.open(root, actor="ada"), f"{name}: answer {number}, {how}"
    with _losing(number, how) as seen:
        try:
            operation.do(graph)
        except (Unavailable, OutcomeUnknown):
            assert how == UNANSWERED, f"{said}, of {seen[-1]}"
        except OmniError as error:
            raise AssertionError(f"{said}, of {seen[number - 1]}: {error!r}") from error
    path = seen[number - 1]
    after = og.open(root, actor="ada")
    try:
        is_done = operation.is_done(after)
    except OmniError:
        is_done = False
    if not is_done:
        assert how == UNANSWERED, f"{said}, of {path}: it says that it is done, and is not"
        operation.do(after)
        assert operation.is_done(og.open(root)), f"{said}, of {path}: not done when it is done again"
    assert og.open(root).repair().ok, said
    shutil.rmtree(folder)


def _count_writes(stored: Path, folder: Path, name: str) -> int:
    shutil.copytree(stored, folder)
    with _losing(0, UNANSWERED) as seen:
        OPERATIONS[name].do(og.open(folder / "graph", actor="ada"))
    shutil.rmtree(folder)
    return len(seen)


def test_an_answer_that_is_lost_changes_nothing(stored: Path, tmp_path: Path) -> None:
    counts = {name: _count_writes(stored, tmp_path / "counted", name) for name in OPERATIONS}
    tries = [
        (name, number, how)
        for name, count in counts.items()
        for number in range(1, count + 1)
        for how in (SENT_AGAIN, UNANSWERED)
    ]
    if TRIES != "all":
        tries = random.Random(SEED).sample(tries, int(TRIES))
    for place, (name, number, how) in enumerate(tries):
        _try(stored, tmp_path / str(place), name, number, how)
