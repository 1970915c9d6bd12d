"""Many processes on one graph: nothing acknowledged is lost, nothing else appears, one chain."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.base import clock
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.handle import Graph
from omnigraph.graph.snapshot import Snapshot
from support.graphs import assert_sound, contents, notes, plan_paths, rows
from support.interleaving import at
from support.processes import run_in_threads
from support.row_changes import Append, RowChanges
from support.s3 import S3
from support.workers import Worker, Workers

SCHEMA = "node Shared { note: String? }\n" + "".join(f"node Own{n} {{ note: String? }}\n" for n in range(4))
_SECONDS = 120.0


def stored_rows(graph: Graph, branch: str = "main") -> set[str]:
    """Return `table id` of every row of a branch."""
    return rows_of(graph.snapshot(branch))


def rows_of(snapshot: Snapshot) -> set[str]:
    """Return `table id` of every row."""
    return {f"{key} {id_}" for key, table in contents(snapshot).items() for id_ in table}


def logged(logs: Iterable[Path], word: str) -> set[str]:
    """Return the ids that logs note with a word; a line that was cut off does not count."""
    lines = [line for log in logs if log.exists() for line in log.read_text().splitlines(keepends=True)]
    return {line.split()[1] for line in lines if line.startswith(f"{word} ") and line.endswith("\n")}


def wait_for(log: Path, lines: int) -> None:
    """Wait until a log has so many lines."""
    wall = clock.Clock()
    deadline = wall.monotonic() + _SECONDS
    while not log.exists() or log.read_text().count("\n") < lines:
        assert wall.monotonic() < deadline, f"{log} did not grow"
        wall.sleep(0.002)


def _count_up(tmp_path: Path, workers: Workers, names: list[str], times: int) -> tuple[list[int], list[int]]:
    """Let a process for each name count up its counter; return their successes, and what was counted."""
    uri = str(tmp_path / "graph")
    graph = og.init(uri, "node Counter { name: String @key  n: I64 }")
    graph.load(
        [{"type": "Counter", "data": {"name": name, "n": 0}} for name in sorted(set(names))], mode="append"
    )
    writers = [workers.take() for _ in names]
    for name, writer in zip(names, writers, strict=True):
        writer.tell("count_up", uri, name, times)
    successes = [writer.answer(300) for writer in writers]
    found = graph.query("query q() { match { $c: Counter } return { $c.n as n } }")
    return successes, [row["n"] for row in found.rows]


@pytest.mark.long
def test_eight_processes_that_update_rows_of_their_own_do_not_fail_each_other(
    tmp_path: Path, workers: Workers
) -> None:
    successes, counted = _count_up(tmp_path, workers, [f"c{n}" for n in range(8)], 50)
    assert successes == counted == [50] * 8


@pytest.mark.long
def test_a_counter_that_several_processes_share_counts_every_success(
    tmp_path: Path, workers: Workers
) -> None:
    successes, [counted] = _count_up(tmp_path, workers, ["shared"] * 4, 15)
    assert counted == sum(successes) > 0


@pytest.mark.long
def test_eight_processes_that_add_to_one_counter_lose_nothing(tmp_path: Path, workers: Workers) -> None:
    uri = str(tmp_path / "graph")
    graph = og.init(uri, "node Counter { name: String @key  n: I64 @default(0) }")
    writers = [workers.take() for _ in range(8)]
    for writer in writers:
        writer.tell("add_up", uri, 25)
    assert [writer.answer(300) for writer in writers] == [25] * 8
    found = graph.query("query q() { match { $c: Counter } return { $c.n as n } }")
    assert [row["n"] for row in found.rows] == [200]


@pytest.mark.long
def test_eight_processes_with_forty_commits_each_make_one_chain_of_all(
    tmp_path: Path, workers: Workers
) -> None:
    uri = str(tmp_path / "graph")
    graph = og.init(uri, SCHEMA)
    writers = [workers.take() for _ in range(8)]
    for me, writer in enumerate(writers):
        writer.tell("write_many", uri, None, me, 40, me % 2 == 0)
    acknowledged = [id_ for writer in writers for id_ in writer.answer(300)]
    assert_one_chain(graph, uri, acknowledged, 320, None)
    by_actor = {f"writer-{me}": len(graph.commits.list(actor=f"writer-{me}")) for me in range(8)}
    assert by_actor == {f"writer-{me}": 40 for me in range(8)}


@pytest.mark.long
@pytest.mark.s3
def test_four_processes_with_fifteen_commits_each_make_one_chain_over_s3(s3: S3, workers: Workers) -> None:
    uri = f"{s3.uri}/graph"
    graph = og.init(uri, SCHEMA, storage_options=s3.options)
    writers = [workers.take() for _ in range(4)]
    for me, writer in enumerate(writers):
        writer.tell("write_many", uri, s3.options, me, 15, me % 2 == 0)
    acknowledged = [id_ for writer in writers for id_ in writer.answer(300)]
    assert_one_chain(graph, uri, acknowledged, 60, s3.options)


def assert_one_chain(
    graph: Graph, uri: str, acknowledged: list[str], count: int, options: dict[str, str] | None
) -> None:
    """One genesis, then exactly the acknowledged commits and rows, in one line, and no plan left."""
    assert len(acknowledged) == len(set(acknowledged)) == count
    assert_sound(uri, options)
    assert stored_rows(graph) == set(acknowledged)
    commits = graph.commits.list()
    assert [commit.version for commit in reversed(commits)] == list(range(1, count + 2))
    assert not any(commit.maintenance for commit in commits)
    assert notes(graph) == []
    assert plan_paths(uri, options) == []


def test_threads_that_share_one_handle_make_one_chain_and_leave_each_others_plans_alone(
    tmp_path: Path,
) -> None:
    uri = str(tmp_path / "graph")
    graph = og.init(uri, SCHEMA)

    def write(me: int) -> list[str]:
        acknowledged = []
        for number in range(15):
            key = "node:Shared" if number % 2 else f"node:Own{me % 4}"
            work = RowChanges([Append(key, rows(key, [f"{me}-{number}"], "x"))])
            assert graph.commit_work(work, durable=me % 2 == 0) is not None
            acknowledged.append(f"{key} {me}-{number}")
        return acknowledged

    done = run_in_threads(write, [(me,) for me in range(6)])
    assert_one_chain(graph, uri, [id_ for ids in done for id_ in ids], 90, None)


def test_a_write_about_to_delete_its_plan_is_not_taken_for_abandoned(tmp_path: Path) -> None:
    uri = str(tmp_path / "graph")
    graph = og.init(uri, SCHEMA)

    def write(id_: str) -> None:
        graph.commit_work(RowChanges([Append("node:Shared", rows("node:Shared", [id_], "x"))]), durable=True)

    at(Failpoint.PLAN_BEFORE_DELETE, lambda: write("other"))
    write("first")
    assert_one_chain(graph, uri, ["node:Shared first", "node:Shared other"], 2, None)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_writers_killed_at_random_lose_nothing_acknowledged_and_leave_nothing_half(
    seed: int, tmp_path: Path, workers: Workers
) -> None:
    print("seed", seed)
    dice = random.Random(seed)
    uri = str(tmp_path / "graph")
    graph = og.init(uri, SCHEMA)
    logs: list[Path] = []
    running: list[Worker] = []
    kills = 0
    for generation in range(4):
        for me in range(3):
            log = tmp_path / f"{me}-{generation}.log"
            logs.append(log)
            worker = workers.take()
            durable = dice.random() < 0.5
            last = generation == 3
            worker.tell("write_pairs", uri, f"{me}-{generation}", 10 if last else 10_000, str(log), durable)
            running.append(worker)
        if generation < 3:
            for worker, log in zip(running, logs[-3:], strict=True):
                wait_for(log, dice.randrange(1, 20))
                worker.kill()
                kills += 1
            running.clear()
    for worker in running:
        assert worker.answer(300) == 10
    acknowledged, begun = logged(logs, "end"), logged(logs, "begin")
    og.open(uri)
    assert plan_paths(uri) == []
    assert_sound(uri)
    stored = stored_rows(graph)
    shared = {row.split()[1] for row in stored if row.startswith("node:Shared ")}
    own = {row.split()[1] for row in stored if not row.startswith("node:Shared ")}
    assert shared == own, "half a commit"
    assert acknowledged <= shared <= begun
    assert len(shared - acknowledged) <= kills
    logical = [commit for commit in graph.commits.list() if not commit.maintenance]
    assert len(logical) == len(shared) + 1


@pytest.mark.long
@pytest.mark.parametrize("again", [False, True], ids=["deleted", "recreated-at-once"])
def test_a_branch_deleted_under_its_writers_keeps_all_it_acknowledged_until_its_end(
    again: bool, tmp_path: Path, workers: Workers
) -> None:
    uri = str(tmp_path / "graph")
    graph = og.init(uri, SCHEMA)
    graph.branches.create("topic")
    old = graph.internals.core.truth.state("topic").ref
    logs = [tmp_path / f"{me}.log" for me in range(3)]
    writers = [workers.take() for _ in logs]
    for me, (writer, log) in enumerate(zip(writers, logs, strict=True)):
        writer.tell("write_until_gone", uri, "topic", me, 60 if again else 100_000, str(log))
    for log in logs:
        wait_for(log, 5)
    other = og.open(uri)
    other.branches.delete("topic")
    if again:
        other.branches.create("topic")
    ended = {writer.answer(300) for writer in writers}
    assert ended <= ({"branch_gone", "not_found", "none"} if again else {"branch_gone", "not_found"})
    truth = graph.internals.core.truth
    closing = truth.state_of(old).head
    assert closing.closed
    assert closing.parent is not None
    before_the_end = Snapshot(graph.internals.core, truth.chains.at(closing.parent), "topic")
    kept = {row.split()[1] for row in rows_of(before_the_end)}
    acknowledged = logged(logs, "end")
    og.open(uri)
    if again:
        reborn = {row.split()[1] for row in stored_rows(graph, "topic")}
        assert kept | reborn == acknowledged
        assert not kept & reborn
        assert all(commit.id != closing.parent.commit for commit in graph.commits.list("topic"))
    else:
        assert kept == acknowledged
        assert graph.branches.list() == ["main"]
        graph.branches.create("topic")
        assert stored_rows(graph, "topic") == set()
    assert stored_rows(graph) == set()
    assert_sound(uri)
    assert plan_paths(uri) == []


@pytest.mark.long
def test_processes_that_create_delete_and_init_at_once_have_one_winner_each(
    tmp_path: Path, workers: Workers
) -> None:
    uri = str(tmp_path / "graph")
    racing = [workers.take() for _ in range(4)]
    assert outcomes(racing, "init", uri).count("ok") == 1
    assert_sound(uri)
    for _ in range(5):
        assert sorted(outcomes(racing, "create_branch", uri, "topic")) == ["already_exists"] * 3 + ["ok"]
        assert set(outcomes(racing, "delete_branch", uri, "topic")) <= {"ok", "not_found", "branch_gone"}
        assert og.open(uri).branches.list() == ["main"]
    assert_sound(uri)


def outcomes(racing: list[Worker], task: str, *given: object) -> list[str]:
    """Run a task in all processes at once and return `ok` or the error's code of each."""
    for worker in racing:
        worker.tell(task, *given)
    found = []
    for worker in racing:
        try:
            worker.answer()
            found.append("ok")
        except og.OmniError as error:
            found.append(error.code)
    return found
