"""Random histories against full read-backs: diffs, and graphs rebuilt from their change feed.

`OMNIGRAPH_MODEL_EXAMPLES` asks for so many random histories instead of the fixed ones.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.compiler.catalog import codec
from omnigraph.graph.changes.feed.feed import FeedPage
from omnigraph.graph.changes.model import ChangeBlock
from omnigraph.graph.manifest.layout import table_identity
from omnigraph.graph.snapshot import Snapshot
from omnigraph.sdk.graph import Graph
from support.random_history import SCHEMA, RandomHistory

EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "0"))
SEEDS = range(EXAMPLES or 3)
STEPS = 16


def grown(root: Path, seed: int) -> tuple[Graph, RandomHistory, list[Snapshot]]:
    """Return a graph with a random history on two branches, merges included, and what it was on the way."""
    graph = og.init(root / "g", SCHEMA)
    history = RandomHistory(graph, seed)
    history.step("main")
    graph.branches.create("side")
    taken = [graph.snapshot()]
    for _ in range(STEPS):
        branch = history.random.choice(["main", "side"])
        if history.random.random() < 0.1:
            with suppress(og.Conflict):
                other = "side" if branch == "main" else "main"
                graph.branches.merge(other, into=branch, strategy="theirs")
        else:
            history.step(branch)
        taken.append(graph.snapshot(branch))
    return graph, history, taken


def entities(graph: Graph, snapshot: Snapshot) -> dict[tuple[str, str], dict[str, Any]]:
    """Read a snapshot back in full: images by table identity and id."""
    found = {}
    for table in snapshot.catalog.tables:
        for record in graph.export(snapshot=snapshot, types=[table.table_key]):
            image: dict[str, Any] = {"properties": dict(record["data"])}
            id_ = image["properties"].pop("id")
            if table.kind == "edge":
                image["endpoints"] = {"from": record["from"], "to": record["to"]}
            found[(table_identity(table), id_)] = image
    return found


def migrated(image: dict[str, Any], identity: str, before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Return an older image as the newer schema sees it: renamed, without what was dropped, with defaults."""
    old = next(item for item in before.catalog.tables if table_identity(item) == identity)
    new = next(item for item in after.catalog.tables if table_identity(item) == identity)
    names = {item.id: item.name for item in old.properties}
    properties = {}
    for item in new.properties:
        default = item.default.value if item.default else None
        properties[item.name] = image["properties"][names[item.id]] if item.id in names else default
    return {**image, "properties": properties}


def is_comparable(before: Snapshot, after: Snapshot) -> bool:
    """Say whether equal numbers mean equal things: not where two branches both changed their schema."""
    names = [
        {
            (table.table_id, item.id): (table.name, item.name)
            for table in seen.catalog.tables
            for item in table.properties
        }
        for seen in (before, after)
    ]
    ours = [{table.table_key: table for table in seen.catalog.tables} for seen in (before, after)]
    return before.branch == after.branch or names[0] == names[1] or ours[0] == ours[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_diff_is_the_difference_of_two_full_read_backs(tmp_path: Path, seed: int) -> None:
    graph, history, taken = grown(tmp_path, seed)
    for _ in range(20):
        before, after = history.random.sample(taken, 2)
        if not is_comparable(before, after):
            continue
        old, new = entities(graph, before), entities(graph, after)
        expected = {}
        for key in old.keys() | new.keys():
            if key not in old or key not in new:
                expected[key] = (old.get(key), new.get(key))
            elif migrated(old[key], key[0], before, after) != new[key]:
                expected[key] = (old[key], new[key])
        found = graph.diff(before, after)
        said = {
            (f"{int(item.type_id[:8], 16):016x}-{int(item.type_id[8:], 16):016x}", item.id): (
                item.before,
                item.after,
            )
            for item in found
        }
        assert said == expected
        assert found.total == len(expected)
        ops = {(True, False): "delete", (False, True): "insert", (True, True): "update"}
        assert all(item.op == ops[(item.before is not None, item.after is not None)] for item in found)


def follow(graph: Graph, branch: str, limit: int) -> Iterator[FeedPage]:
    page = graph.changes.poll(branch=branch, start="beginning", limit=limit)
    while True:
        yield page
        if page.page_token is not None:
            page = graph.changes.poll(branch=branch, page_token=page.page_token, limit=limit)
        elif page.caught_up:
            return
        else:
            page = graph.changes.poll(branch=branch, cursor=page.cursor, limit=limit)


def whole_blocks(pages: Iterator[FeedPage]) -> Iterator[list[ChangeBlock]]:
    """Yield the parts of each block together, as a consumer would gather them."""
    parts: list[ChangeBlock] = []
    for page in pages:
        for block in page.blocks:
            parts.append(block)
            if block.complete:
                yield parts
                parts = []
    assert not parts


@pytest.mark.parametrize("seed", SEEDS)
def test_a_graph_rebuilt_from_its_feed_is_the_same_graph(tmp_path: Path, seed: int) -> None:
    graph, history, _ = grown(tmp_path, seed)
    branch = history.random.choice(["main", "side"])
    limit = history.random.choice([1, 2, 3, 5, 8, 1000])
    blocks = list(whole_blocks(follow(graph, branch, limit)))
    schema = blocks[0][0].schema
    assert schema is not None
    copy = og.init(tmp_path / "copy", codec.from_json(schema.catalog))
    for parts in blocks:
        copy.changes.apply(*(json.loads(json.dumps(part.to_json())) for part in parts))
    assert copy.schema.catalog == graph.snapshot(branch).catalog
    there = sorted(json.dumps(record) for record in graph.export(branch=branch))
    assert sorted(json.dumps(record) for record in copy.export()) == there


@pytest.mark.parametrize("seed", SEEDS)
def test_page_boundaries_of_every_size_lose_and_repeat_nothing(tmp_path: Path, seed: int) -> None:
    graph, _, _ = grown(tmp_path, seed)
    whole = [parts[0] for parts in whole_blocks(follow(graph, "main", 8192))]
    total = sum(len(block.changes) for block in whole)
    for limit in [*range(1, 12), total - 1, total, total + 1]:
        found = list(whole_blocks(follow(graph, "main", max(1, limit))))
        assert [parts[0].cause for parts in found] == [block.cause for block in whole]
        assert [tuple(change for part in parts for change in part.changes) for parts in found] == [
            block.changes for block in whole
        ]
