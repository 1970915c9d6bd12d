"""Everything that a graph stores about itself comes back from storage as it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.base.plain import NOT_STORED, from_plain, to_plain
from omnigraph.graph.backup import claim as restore_claim
from omnigraph.graph.manifest import format as stored_format
from omnigraph.graph.manifest import layout
from omnigraph.graph.manifest.condemned import Condemned, decode_list
from omnigraph.graph.manifest.floors import Floor, decode_floor
from omnigraph.graph.manifest.record import CommitRecord
from omnigraph.graph.manifest.refs import BranchRef
from omnigraph.graph.manifest.stamp import Stamp
from omnigraph.graph.manifest.tags import StoredTag
from omnigraph.graph.recovery.plans import DurablePlan
from omnigraph.graph.write import keys

STORED = [
    CommitRecord,
    DurablePlan,
    BranchRef,
    StoredTag,
    Floor,
    Stamp,
    Condemned,
    keys.KeyClaim,
    restore_claim.RestoreClaim,
]
_SIMPLE: Mapping[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=8),
    int: st.integers(0, 2**62),
    bool: st.booleans(),
    NoneType: st.none(),
    Any: st.none() | st.integers(0, 9) | st.lists(st.text(max_size=3), max_size=2),
}


def any_of(hint: Any, depth: int = 2) -> st.SearchStrategy[Any]:
    """Return any value of a type; of a dataclass with every field that it stores drawn."""
    origin, members = get_origin(hint) or hint, get_args(hint)
    if origin in _SIMPLE:
        return _SIMPLE[origin]
    if origin in (Union, UnionType):
        return st.one_of(any_of(item, depth - 1) for item in members if depth or item is NoneType)
    if issubclass(origin, Enum):
        return st.sampled_from(list(origin))
    if issubclass(origin, Mapping):
        return st.dictionaries(any_of(members[0]), any_of(members[1], depth), max_size=2)
    if issubclass(origin, frozenset):
        return st.frozensets(any_of(members[0]), max_size=3)
    if origin is tuple and members[-1] is Ellipsis:
        return st.lists(any_of(members[0], depth), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*(any_of(item, depth) for item in members))
    hints = get_type_hints(origin)
    drawn = [item.name for item in fields(origin) if item.metadata != NOT_STORED]
    return st.builds(origin, **{name: any_of(hints[name], depth) for name in drawn})


@pytest.mark.parametrize("cls", STORED, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
@given(data=st.data())
def test_it_comes_back_as_it_was_stored(cls: type, data: st.DataObject) -> None:
    value = data.draw(any_of(cls))
    assert from_plain(cls, json.loads(json.dumps(to_plain(value)))) == value


@given(any_of(CommitRecord))
def test_a_record_comes_back_from_its_bytes_and_its_digest_stands_in_them(record: CommitRecord) -> None:
    data = record.encode()
    decoded = CommitRecord.decode(data, layout.record_path(record.incarnation, record.seq))
    assert decoded == record
    assert decoded.digest == stored_format.digest_in(data)


@given(any_of(Floor), any_of(Condemned))
def test_floors_and_condemned_lists_come_back_from_their_bytes(floor: Floor, condemned: Condemned) -> None:
    assert decode_floor(floor.encode(), layout.floor_path(floor.incarnation)) == floor
    assert decode_list(condemned.encode(), layout.condemned_path(condemned.number)) == condemned
