"""An exact index of every type that can have one gives the answers of a scan, also at its edges."""

from __future__ import annotations

import random
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.storage.indexes.indexes import IndexKind
from omnigraph.storage.objects import open_store
from omnigraph.storage.tables.staging import StagedTable
from support.lance_tables import TABLE, PinnedFolder

_DAYS = [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]

TYPES: dict[str, tuple[pa.DataType, list[Any], list[str]]] = {
    "Bool": (pa.bool_(), [True, False], ["true", "false"]),
    "I32": (pa.int32(), [-(2**31), -1, 0, 1, 2**31 - 1], ["0", "-1", "2147483647"]),
    "I64": (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1], ["0", "-1", "9223372036854775807"]),
    "U32": (pa.uint32(), [0, 1, 2**32 - 1], ["0", "4294967295"]),
    "U64": (pa.uint64(), [0, 1, 2**63, 2**64 - 1], ["0", "1"]),
    "F32": (pa.float32(), [-0.0, 0.0, 0.1, -1e38, 1e38, 1.5], ["0.0", "1.5", "-2.5"]),
    "F64": (pa.float64(), [-0.0, 0.0, 0.1, -1e308, 1e308, 5e-324], ["0.0", "0.1", "-1.0"]),
    "Date": (pa.date32(), _DAYS, ["date '1970-01-01'", "date '2024-02-29'", "date '1969-12-31'"]),
    "DateTime": (
        pa.date64(), [datetime(day.year, day.month, day.day) for day in _DAYS],
        ["date '1970-01-01'", "date '2024-02-29'"],
    ),
    "String": (pa.string(), ["", " ", "a", "A", "é", "日本", "a" * 300, "it's"], ["''", "'a'", "'it''s'"]),
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("partial", [False, True], ids=["complete", "partial"])
def test_an_exact_index_answers_as_a_scan_does(name: str, partial: bool, tmp_path: Path) -> None:
    type_, values, literals = TYPES[name]
    chance = random.Random(name)
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("v", type_)])
    folder = PinnedFolder.create(open_store(str(tmp_path / "root")), schema=schema)
    attempt = folder.attempt()
    table = StagedTable(attempt, TABLE)

    def rows(first: int) -> pa.Table:
        found = [chance.choice([*values, None]) for _ in range(200)]
        return pa.table({"id": [f"r{first + at}" for at in range(200)], "v": pa.array(found, type_)}, schema)

    table.append(table.write_rows(rows(0)))
    table.build_index("v", IndexKind.BTREE)
    if partial:
        table.merge(rows(100))
        table.delete([f"r{number}" for number in range(50, 70)])
    dataset = folder.at(attempt.pin).open()
    tests = [f"v {sign} {literal}" for literal in literals for sign in ("=", "!=", "<", "<=", ">", ">=")]
    tests += ["v IS NULL", "v IS NOT NULL", f"v IN ({', '.join(literals)})", f"NOT (v = {literals[0]})"]
    tests += [f"v BETWEEN {literals[0]} AND {literals[-1]}", f"(v < {literals[0]}) IS NOT TRUE"]
    for filter in tests:
        through = dataset.scanner(columns=["id"], filter=filter).to_table()["id"].to_pylist()
        read = (
            dataset.scanner(columns=["id"], filter=filter, use_scalar_index=False)
            .to_table()["id"]
            .to_pylist()
        )
        assert sorted(through) == sorted(read), filter
