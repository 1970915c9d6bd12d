"""A served graph from asynchronous programs: the same twins, and an event loop that never waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import omnigraph as og
from support.served import TOKENS, Served, running_server

SCHEMA = "node Person { name: String @key  age: I64?  photo: Blob? }"
ALL = "query q() { match { $p: Person } return { $p.name } order { $p.name } }"
PAIRS = (
    "query q() { match { $a: Person  $b: Person  $c: Person  $a.age < $b.age } return { count($c) as n } }"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    graph = og.init(folder / "people", SCHEMA)
    graph.load(
        [{"type": "Person", "data": {"name": f"p{n:03}", "age": n}} for n in range(600)], mode="append"
    )
    with running_server(folder, str(folder / "people")) as server:
        yield server


def test_every_part_is_awaited_as_that_of_a_stored_graph(server: Served) -> None:
    async def work() -> None:
        async with await og.aopen(server.url("people"), token=TOKENS["act-ada"]) as graph:
            assert (graph.branch, graph.actor) == ("main", "act-ada")
            before = await graph.snapshot()
            assert isinstance(before, og.AsyncSnapshot)
            assert before.commit.id == before.commit_id
            await graph.mutate('query q() { insert Person { name: "zoe", photo: "base64:AQI=" } }')
            count = await graph.prepare(ALL)
            assert [len(await count()), len(await count(snapshot=before))] == [601, 600]
            stream = await graph.stream(ALL, batch_rows=400)
            assert [batch.num_rows async for batch in stream] == [400, 201]
            diff = await graph.diff(before, "main")
            assert isinstance(diff, og.AsyncDiff)
            assert (await diff.total, [item.op async for item in diff]) == (1, ["insert"])
            blob = await graph.blob("node", "Person", "zoe", "photo")
            assert isinstance(blob, og.AsyncBlob)
            assert (await blob.size, await blob.read()) == (2, b"\1\2")
            assert len([record async for record in await graph.export()]) == 601  # type: ignore[union-attr]
            await graph.branches.create("topic")
            assert await graph.branches.list() == ["main", "topic"]
            assert (await graph.commits.list(limit=1))[0].actor == "act-ada"
            assert (await graph.tags.create("t")).name == "t"
            assert (await graph.changes.poll(start="beginning")).blocks
            assert await graph.schema.source == SCHEMA
            with pytest.raises(og.NotFound):
                await graph.query(ALL, branch="none")

    asyncio.run(work())


def test_the_loop_goes_on_while_answers_are_awaited_and_a_cancelled_read_returns_at_once(
    server: Served,
) -> None:
    async def work() -> None:
        graph = await og.aopen(server.url("people"), token=TOKENS["act-ada"])
        slow = asyncio.ensure_future(graph.query(PAIRS))
        turns = 0
        for _ in range(20):
            await asyncio.sleep(0)
            turns += 1
        assert turns == 20 and not slow.done()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert len(await graph.query(ALL)) >= 600

    asyncio.run(work())
