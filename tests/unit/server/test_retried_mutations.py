"""`retry` over HTTP: clients that add to one number at once lose nothing, and none of them fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.server.app import ServerConfig, create_app
from support.served_here import serving_here

CLIENTS = 8
UPDATES = 5
ADD = 'query q() { update Counter set { n: n + 1 } where name = "all" }'
READ = 'query q() { match { $c: Counter { name: "all" } } return { $c.n } }'


@pytest.fixture
def graph(tmp_path: Path) -> og.Graph:
    made = og.init(tmp_path / "counted", "node Counter { name: String @key  n: I64 }")
    made.load([{"type": "Counter", "data": {"name": "all", "n": 0}}], mode="append")
    return made


def _add_together(graph: og.Graph, retry: int) -> list[og.OmniError | None]:
    """Let clients add to one number at once; return what each update was told."""

    def add(url: str) -> list[og.OmniError | None]:
        client, told = og.open(f"{url}/graphs/counted"), list[og.OmniError | None]()
        for _ in range(UPDATES):
            try:
                client.mutate(ADD, retry=retry)
                told.append(None)
            except og.OmniError as error:
                told.append(error)
        return told

    with (
        serving_here(create_app(ServerConfig({"counted": graph.uri}))) as url,
        ThreadPoolExecutor(CLIENTS) as pool,
    ):
        return [item for told in pool.map(add, [url] * CLIENTS) for item in told]


def test_eight_clients_with_retry_add_to_one_number_and_none_fails(graph: og.Graph) -> None:
    told = _add_together(graph, retry=CLIENTS * UPDATES)
    assert told == [None] * (CLIENTS * UPDATES)
    assert graph.query(READ).scalar() == CLIENTS * UPDATES


def test_without_retry_an_overtaken_client_is_told_and_nothing_is_lost(graph: og.Graph) -> None:
    told = _add_together(graph, retry=0)
    assert {error.code for error in told if error is not None} <= {"expected_version_mismatch"}
    assert graph.query(READ).scalar() == told.count(None) > 0
