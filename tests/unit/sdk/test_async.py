"""The asynchronous twins: every method of the handles, awaited, without blocking the event loop."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.base import cancellation
from omnigraph.base.failpoints import Failpoint
from omnigraph.graph.manifest import chain
from omnigraph.sdk.aio import handles
from omnigraph.sdk.aio.twins import TWINS

SCHEMA = """
node Person { name: String @key  age: I64?  photo: Blob? }
edge Knows: Person -> Person
"""
COUNT = "query q() { match { $p: Person } return { count($p) as n } }"
ALL = "query q() { match { $p: Person } return { $p.name } }"
PAIRS = (
    "query q() { match { $a: Person  $b: Person  $c: Person  $a.age < $b.age } return { count($c) as n } }"
)


def people(count: int, start: int = 0) -> list[dict[str, Any]]:
    return [{"type": "Person", "data": {"name": f"p{n}", "age": n}} for n in range(start, start + count)]


def run(work: Callable[[og.AsyncGraph], Awaitable[None]], tmp_path: Path) -> None:
    async def main() -> None:
        async with await og.ainit(tmp_path / "graph", SCHEMA, actor="act-ada") as graph:
            await graph.load(people(2000), mode="append")
            await work(graph)

    asyncio.run(main())


@pytest.mark.parametrize("behind", TWINS, ids=lambda kind: kind.__name__)
def test_every_public_method_and_property_has_its_twin(behind: type) -> None:
    """What only the parts of OmniGraph ask of a handle is hidden by name: nothing is left out by chance."""
    twin = TWINS[behind]
    hidden = {*handles.HIDDEN, "comparison"}
    hidden |= {*handles.HIDDEN_OF_SNAPSHOTS} if twin is og.AsyncSnapshot else set()
    hidden |= {"to_reader"} if twin is og.AsyncStream else set()
    for name in dir(behind):
        if name.startswith("_") or name in hidden:
            continue
        found = inspect.getattr_static(behind, name)
        made = inspect.getattr_static(twin, name)
        if inspect.isfunction(found):
            assert inspect.iscoroutinefunction(made), name
            assert inspect.signature(made) == inspect.signature(found), name
        assert made.__doc__ == found.__doc__, name


def test_reads_and_writes_are_those_of_the_graph(tmp_path: Path) -> None:
    async def work(graph: og.AsyncGraph) -> None:
        assert (await graph.query(COUNT)).scalar() == 2000
        before = await graph.snapshot()
        await graph.mutate('query q() { insert Person { name: "new" } }')
        count = await graph.prepare(COUNT)
        assert [(await count()).scalar(), (await count(snapshot=before)).scalar()] == [2001, 2000]
        assert (await before.query(COUNT)).scalar() == 2000
        stream = await graph.stream(ALL, batch_rows=700)
        assert [batch.num_rows async for batch in stream] == [700, 700, 601]
        assert len([record async for record in await graph.export()]) == 2001  # type: ignore[union-attr]
        await graph.branches.create("topic")
        await graph.load(people(5, 5000), mode="append", branch="topic")
        diff = await graph.diff("main", "topic")
        assert (await diff.total, [item.op async for item in diff]) == (5, ["insert"] * 5)
        assert (await graph.branches.merge("topic")).outcome == "fast_forward"
        assert [item.actor for item in await graph.commits.list(limit=1)] == ["act-ada"]
        assert (await graph.tags.create("t")).name == "t"
        assert (await graph.changes.poll(start="beginning")).blocks
        assert await graph.schema.source == SCHEMA
        key = (
            await graph.query('query q() { match { $p: Person { name: "p1" } } return { $p.id as id } }')
        ).scalar()
        blob = await graph.blob("node", "Person", key, "photo")
        assert await blob.is_null
        await blob.put(b"x" * 100)
        assert (await blob.size, [piece async for piece in await blob.pieces()]) == (100, [b"x" * 100])
        assert repr(graph).startswith("AsyncGraph(") and graph.branch == "main"

    run(work, tmp_path)


def test_errors_are_those_of_the_graph(tmp_path: Path) -> None:
    async def work(graph: og.AsyncGraph) -> None:
        with pytest.raises(og.TypeCheckError):
            await graph.query("query q() { match { $p: Nobody } return { $p } }")
        with pytest.raises(og.NotFound):
            await graph.branches.delete("nothing")

    run(work, tmp_path)
    with pytest.raises(og.NotAGraph):
        asyncio.run(og.aopen(tmp_path / "none"))


def test_the_loop_runs_on_while_calls_wait_and_many_run_at_once(tmp_path: Path) -> None:
    async def work(graph: og.AsyncGraph) -> None:
        gate = threading.Event()
        seen: set[int] = set()

        def wait(*_: Any) -> None:
            seen.add(threading.get_ident())
            assert gate.wait(30)

        waiting = [asyncio.ensure_future(graph._threads.run(wait)) for _ in range(4)]  # type: ignore[attr-defined]
        while len(seen) < 4:  # the loop is free: this very line runs on it
            await asyncio.sleep(0)
        assert (await graph.query(COUNT)).scalar() == 2000, "and so are other threads"
        gate.set()
        await asyncio.gather(*waiting)
        assert threading.get_ident() not in seen

    run(work, tmp_path)


def test_a_cancelled_read_stops_at_its_next_checkpoint(tmp_path: Path) -> None:
    async def work(graph: og.AsyncGraph) -> None:
        reached, ended = threading.Event(), threading.Event()

        def endless() -> None:
            try:
                while True:
                    reached.set()
                    cancellation.checkpoint()
            finally:
                ended.set()

        task = asyncio.ensure_future(graph._threads.run(endless))  # type: ignore[attr-defined]
        await asyncio.to_thread(reached.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, 30), "the thread ends by itself"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(graph.query(PAIRS), 0.001)
        assert (await graph.query(COUNT)).scalar() == 2000, "the handle goes on working"

    run(work, tmp_path)


def test_a_load_that_is_still_read_when_its_task_is_cancelled_changes_nothing(tmp_path: Path) -> None:
    async def work(graph: og.AsyncGraph) -> None:
        begun, gate, ended = threading.Event(), threading.Event(), threading.Event()

        def records() -> Iterator[dict[str, Any]]:
            try:
                yield from people(50, 10_000)
                begun.set()
                assert gate.wait(30)
                yield from people(50_000, 20_000)
            finally:
                ended.set()

        task = asyncio.ensure_future(graph.load(records(), mode="append"))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        assert await asyncio.to_thread(ended.wait, 30)
        assert (await graph.query(COUNT)).scalar() == 2000
        assert (await graph.snapshot()).version == 2
        assert not (await graph.repair()).findings

    run(work, tmp_path)


def test_a_write_that_is_published_when_its_task_is_cancelled_is_carried_out_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(graph: og.AsyncGraph) -> None:
        begun, gate = threading.Event(), threading.Event()

        def wait_before_the_record(point: Failpoint) -> None:
            if point is Failpoint.PUBLISH_BEFORE_RECORD:
                begun.set()
                assert gate.wait(30)

        monkeypatch.setattr(chain, "hit", wait_before_the_record)
        task = asyncio.ensure_future(graph.load(people(50, 10_000), mode="append"))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await graph.query(COUNT)).scalar() == 2000
        gate.set()
        while (await graph.snapshot()).version < 3:
            await asyncio.sleep(0)
        assert (await graph.query(COUNT)).scalar() == 2050
        assert not (await graph.repair()).findings

    run(work, tmp_path)


def test_a_write_that_has_not_begun_when_its_task_is_cancelled_never_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIGRAPH_ASYNC_THREADS", "1")

    async def work(graph: og.AsyncGraph) -> None:
        gate = threading.Event()
        occupied = asyncio.ensure_future(graph._threads.run(gate.wait, 30))  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        task = asyncio.ensure_future(graph.load(people(50, 10_000), mode="append"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        await occupied
        assert (await graph.query(COUNT)).scalar() == 2000
        assert (await graph.snapshot()).version == 2

    run(work, tmp_path)


def test_a_time_limit_holds_inside_a_call_that_can_be_cancelled() -> None:
    calls: list[str] = []
    with (
        cancellation.watch(lambda: calls.append("outer")),
        cancellation.watch(lambda: calls.append("inner")),
    ):
        cancellation.checkpoint()
    assert calls == ["outer", "inner"]


def test_an_iteration_that_is_given_up_can_be_closed(tmp_path: Path) -> None:
    async def work(graph: og.AsyncGraph) -> None:
        records = await graph.export()
        assert isinstance(records, AsyncIterator)
        assert (await anext(records))["type"] == "Person"
        await records.aclose()  # type: ignore[attr-defined]
        assert [item async for item in records] == []

    run(work, tmp_path)
