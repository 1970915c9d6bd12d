"""The stored form of commit records."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.errors import CorruptState, OmniError
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest.record import CommitRecord, CommitRef, RecoveryNote, TableEntry
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.storage.namespace import Pin

RECORD = CommitRecord(
    commit="c",
    seq=2,
    branch="main",
    incarnation="i",
    parent=CommitRef("p", "i", 1),
    schema="s",
    tables={"t": TableEntry("node:T", "nodes/t", Pin(1, "path"), 0, 0, "p")},
    created_at=1,
    operation="write",
    merged_parent=CommitRef("m", "j", 4),
    recovery=(RecoveryNote("RolledForward", "o", "c", None, "load", (("node:T", 0, 1),)),),
)


def test_a_record_is_stored_without_what_it_does_not_have() -> None:
    plain = replace(RECORD, merged_parent=None, recovery=())
    assert set(json.loads(plain.encode())) & {"merged_parent", "recovery", "streams", "closed"} == set()


def test_tables_by_key_are_sorted() -> None:
    entry = RECORD.tables["t"]
    record = replace(RECORD, tables={"1": replace(entry, key="z"), "2": replace(entry, key="a")})
    assert list(record.by_key()) == ["a", "z"]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"7", b'"x"', b"\xff\xfe", b"{}", b'{"format":3}']
)
def test_what_is_no_record_is_corrupt_and_named(data: bytes) -> None:
    with pytest.raises(CorruptState, match="the/path"):
        CommitRecord.decode(data, "the/path")


@given(st.data())
def test_a_damaged_record_is_corrupt_or_all_else_in_it_reads_as_before(data: st.DataObject) -> None:
    content = json.loads(RECORD.encode())
    del content["sum"]
    assert CommitRecord.decode(stored_format.encode(content, "the/path"), "the/path") == RECORD
    where: Any = content
    path: list[Any] = []
    while isinstance(where, dict | list) and where:
        key = data.draw(st.sampled_from(sorted(where) if isinstance(where, dict) else range(len(where))))
        path.append(key)
        if not isinstance(where[key], dict | list) or not where[key] or data.draw(st.booleans()):
            break
        where = where[key]
    if data.draw(st.booleans()):
        del where[key]
    else:
        where[key] = data.draw(st.sampled_from([None, 1, -1, 2.5, "x", [], ["x"], {}, True]))
    try:
        read = CommitRecord.decode(stored_format.encode(content, "the/path"), "the/path")
    except OmniError as error:
        assert isinstance(error, CorruptState)
        return
    # Not `read.encode()`: the number, which its place is made of, may be what was damaged.
    stored, intact = json.loads(stored_format.encode_value(read, "the/path")), json.loads(RECORD.encode())
    for part in (stored, intact):
        part.pop("sum")  # it is that of the bytes
        part.pop(path[0], None)
    assert stored == intact


def test_a_ref_knows_the_number_before_its_first_record() -> None:
    assert BranchRef("main", "i", None).fork_seq == 0
    assert BranchRef("topic", "j", CommitRef("c", "i", 7)).fork_seq == 7
