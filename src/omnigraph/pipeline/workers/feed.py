"""The task of a change feed: the blocks of some commits as rows, one for each change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from omnigraph.graph.changes.feed.feed import MOST_COMMITS, CommitRange, Feed
from omnigraph.graph.changes.model import ChangeBlock, ChangeFilter
from omnigraph.graph.changes.paging import MOST_CHANGES
from omnigraph.pipeline.options import open_from_options, read_list
from omnigraph.pipeline.spark_types import spark_batches

SCHEMA_OP = "schema"
"""The op of a row that is a schema change."""
_TEXTS = ("kind", "type_id", "type_name", "id", "before", "after", "schema")
_CAUSE = ("parent_commit_id", "merged_parent_commit_id", "branch", "actor", "operation", "message")
_REQUIRED = (
    ("version", LongType()),
    ("position", LongType()),
    ("op", StringType()),
    ("commit_id", StringType()),
)
FEED_SCHEMA = StructType(
    [
        *(StructField(name, type_, nullable=False) for name, type_ in _REQUIRED),
        *(StructField(name, StringType()) for name in (*_TEXTS, *_CAUSE)),
        StructField("authored_at", TimestampType(), nullable=False),
    ]
)
"""The columns of the feed; `version` and `position` are the order of rows."""
_ARROW = to_arrow_schema(FEED_SCHEMA, timezone="UTC")


class FeedPart(InputPartition):  # type: ignore[misc]
    """Some successive commits."""

    def __init__(self, stretch: CommitRange) -> None:
        self.stretch = stretch


@dataclass(frozen=True)
class FeedScan:
    """The feed that options name; each task opens it for itself."""

    told: Mapping[str, str]

    def feed(self) -> Feed:
        """Open the feed at the current head of its branch."""
        graph = open_from_options(self.told, read_only=True)
        only = ChangeFilter.of(*(read_list(self.told, name) for name in ("kinds", "types", "ops")))
        graph.internals.check_allowed("read", graph.branch)
        access = graph.internals.make_access()
        return Feed(graph.internals.core, graph.internals.read_state(), only, access)

    def parts(self, start: str, end: str, most: int) -> list[InputPartition]:
        """Cut the commits between two cursors into parts of at most `most` commits."""
        return [FeedPart(stretch) for stretch in self.feed().stretches(start, end, most)]

    def read(self, part: FeedPart, schema: StructType) -> Iterator[pa.RecordBatch]:
        """Yield the changes of a part as rows."""
        for version, block in _blocks(self.feed(), part.stretch):
            rows = list(_rows(version, block))
            if rows:
                yield from spark_batches(pa.Table.from_pylist(rows, schema=_ARROW), schema)


def _blocks(feed: Feed, stretch: CommitRange) -> Iterator[tuple[int, ChangeBlock]]:
    """Yield the blocks of a part, large ones in pieces, each with the version of its commit."""
    done, last = stretch.version - 1, stretch.version + stretch.commits - 1
    cursor: str | None = stretch.cursor
    token: str | None = None
    while done < last:
        most = min(last - done, MOST_COMMITS)
        page = feed.poll(cursor, page_token=token, limit=MOST_CHANGES, commits=most)
        for block in page:
            yield block.version, block
        done, cursor, token = page.version, page.cursor, page.page_token


def _rows(version: int, block: ChangeBlock) -> Iterator[dict[str, Any]]:
    cause = block.cause
    common = {"version": version, "commit_id": cause.commit_id, "authored_at": cause.authored_at}
    common |= {name: getattr(cause, name) for name in _CAUSE}
    if block.schema is not None:
        yield {**common, "position": 0, "op": SCHEMA_OP, "schema": _text(block.schema.to_json())}
    for position, change in enumerate(block.changes, block.offset + 1):
        yield {
            **common,
            "position": position,
            "op": change.op,
            "kind": change.kind,
            "type_id": change.type_id,
            "type_name": change.type_name,
            "id": change.id,
            "before": _text(change.before),
            "after": _text(change.after),
        }


def _text(data: Mapping[str, Any] | None) -> str | None:
    return None if data is None else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
