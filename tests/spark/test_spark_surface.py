"""What Spark's interface for sources in Python does, and why ours pushes no filters by itself.

When a new release of Spark turns one of these red, `docs/design/pipeline.md` says what rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def six(session: Any) -> Iterator[Any]:
    """A source of the numbers from 0 to 5 that takes `i = n` from Spark and lets Spark check too."""
    # Classes of a function travel to Spark's processes as code; those of a test module could not be found.
    from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, InputPartition

    class Reader(DataSourceReader):  # type: ignore[misc]
        def __init__(self, names: list[str]) -> None:
            self.names, self.only = ",".join(names), None

        def pushFilters(self, filters: list[Any]) -> Iterator[Any]:
            for item in filters:
                if isinstance(item, EqualTo) and item.attribute == ("i",):
                    self.only = item.value
                yield item

        def partitions(self) -> list[Any]:
            return [InputPartition(0)]

        def read(self, partition: Any) -> Iterator[tuple[int, str]]:
            return ((i, self.names) for i in range(6) if self.only in (None, i))

    class Six(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return "six"

        def schema(self) -> str:
            return "i int, asked string"

        def reader(self, schema: Any) -> Reader:
            return Reader(schema.fieldNames())

    conf = "spark.sql.python.filterPushdown.enabled"
    session.dataSource.register(Six)
    session.conf.set(conf, "true")
    yield session.read.format("six")
    session.conf.unset(conf)


def test_a_pushed_filter_stays_with_the_frame_and_takes_rows_from_its_other_scans(six: Any) -> None:
    frame = six.load()
    both = frame.filter("i = 3").union(frame.filter("i = 4"))
    assert [row.i for row in both.collect()] == [4]  # 3 and 4, if each scan had its own filter
    assert frame.count() == 1  # 6
    one, two = six.load(), six.load()
    assert [row.i for row in one.filter("i = 3").union(two.filter("i = 4")).collect()] == [3, 4]


def test_a_source_is_asked_for_all_columns_whatever_a_query_needs(six: Any) -> None:
    assert six.load().select("asked").first().asked == "i,asked"
