"""Which indexes a schema asks for, and what a table in some state needs to have them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omnigraph.compiler.catalog.model import TableType
from omnigraph.compiler.frontend import compile_schema
from omnigraph.graph.maintenance.optimize.wanted_indexes import (
    MIN_INDEXED_VECTORS,
    plan_indexes,
    wanted_indexes,
)
from omnigraph.storage.indexes.indexes import VECTORS_PER_PARTITION, IndexKind, TableIndex

BTREE, TEXT, VECTOR = IndexKind.BTREE, IndexKind.TEXT, IndexKind.VECTOR


def _type(text: str) -> TableType:
    return compile_schema(text).tables[-1]


def _wanted(text: str) -> set[tuple[str, str]]:
    return {(item.column, item.kind.value) for item in wanted_indexes(_type(text))}


@pytest.mark.parametrize(
    ("property", "kinds"),
    [
        ("p: String @index", {"btree", "text"}),
        ("p: String? @index", {"btree", "text"}),
        ("p: String @key", {"btree", "text"}),
        ("p: String @unique", set()),
        ("p: String", set()),
        ("p: enum(x, y) @index", {"btree"}),
        ("p: Bool @index", {"btree"}),
        ("p: I32 @index", {"btree"}),
        ("p: U64? @index", {"btree"}),
        ("p: F64 @index", {"btree"}),
        ("p: Date @index", {"btree"}),
        ("p: DateTime? @index", {"btree"}),
        ("p: Vector(8) @index", {"vector"}),
        ("p: [String] @index(p)", set()),
        ("p: Vector(8)", set()),
        ("p: Blob?", set()),
        ("p: String q: I32 @index(p, q)", set()),
        ("p: String @key @index(p)", {"btree", "text"}),
    ],
)
def test_the_kinds_of_a_declared_index_follow_the_type(property: str, kinds: set[str]) -> None:
    assert _wanted(f"node N {{ {property} }}") == {("id", "btree"), *(("p", kind) for kind in kinds)}


def test_ends_of_edges_are_indexed_and_their_properties_are_not() -> None:
    text = "node N { p: String }\nedge E: N -> N { since: Date? @index(since) }"
    assert _wanted(text) == {("id", "btree"), ("src", "btree"), ("dst", "btree")}


DOC = _type("node Doc { title: String @index  vec: Vector(4)? @index }")


def _present(column: str, kind: IndexKind, uncovered: int = 0, partitions: int | None = None) -> TableIndex:
    return TableIndex(f"{kind}_{column}", column, kind, 100, uncovered, partitions)


COMPLETE = (_present("id", BTREE), _present("title", BTREE), _present("title", TEXT))


def _never(column: str) -> int:
    raise AssertionError(f"the vectors of {column} need not be counted")


def _number(vectors: int) -> Callable[[str], int]:
    return lambda column: vectors


def test_what_is_missing_is_built() -> None:
    plan = plan_indexes(DOC, (), 1000, _number(MIN_INDEXED_VECTORS))
    assert {(item.column, item.kind) for item in plan.build} == {
        ("id", BTREE), ("title", BTREE), ("title", TEXT), ("vec", VECTOR)
    }  # fmt: skip
    assert (plan.fold, plan.pending) == ((), ())


def test_a_table_that_has_all_needs_nothing_and_its_vectors_are_not_counted() -> None:
    plan = plan_indexes(DOC, (*COMPLETE, _present("vec", VECTOR, partitions=1)), 1000, _never)
    assert (plan.build, plan.fold, plan.pending) == ((), (), ())


def test_what_lacks_the_newest_rows_is_folded() -> None:
    stale = _present("title", TEXT, uncovered=5)
    plan = plan_indexes(DOC, (COMPLETE[0], COMPLETE[1], stale), 1000, _number(0))
    assert (plan.build, plan.fold) == ((), (stale,))


def test_too_few_vectors_wait_and_the_reason_says_how_many_are_needed() -> None:
    plan = plan_indexes(DOC, COMPLETE, 1000, _number(MIN_INDEXED_VECTORS - 1))
    [pending] = plan.pending
    assert (pending.type_key, pending.property) == ("node:Doc", "vec")
    assert f"{MIN_INDEXED_VECTORS - 1} vectors" in pending.reason
    assert str(MIN_INDEXED_VECTORS) in pending.reason
    assert plan.build == ()


def test_an_empty_table_needs_nothing_and_only_training_is_pending() -> None:
    plan = plan_indexes(DOC, (), 0, _never)
    assert (plan.build, plan.fold) == ((), ())
    assert [item.property for item in plan.pending] == ["vec"]


@pytest.mark.parametrize(
    ("partitions", "rows", "vectors", "builds"),
    [
        (1, VECTORS_PER_PARTITION, None, False),
        (1, 2 * VECTORS_PER_PARTITION, 2 * VECTORS_PER_PARTITION, True),
        (1, 50 * VECTORS_PER_PARTITION, 300, False),
        (30, 50 * VECTORS_PER_PARTITION, None, False),
        (25, 50 * VECTORS_PER_PARTITION, 50 * VECTORS_PER_PARTITION, True),
    ],
)
def test_a_vector_index_is_built_anew_once_the_vectors_need_twice_its_partitions(
    partitions: int, rows: int, vectors: int | None, builds: bool
) -> None:
    count = _never if vectors is None else _number(vectors)
    stale = _present("vec", VECTOR, uncovered=7, partitions=partitions)
    plan = plan_indexes(DOC, (*COMPLETE, stale), rows, count)
    assert bool(plan.build) == builds
    assert plan.fold == (() if builds else (stale,)), "what is built anew is not folded first"
