"""Conditional writes: one's own lost answer is told from somebody else's write."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnigraph.base.errors import AlreadyExists, OmniError, PreconditionFailed, Unavailable
from omnigraph.graph.manifest.record import CommitRef
from omnigraph.graph.manifest.refs import Refs, StoredRef
from omnigraph.storage.objects import ObjectStore, open_store
from omnigraph.storage.objects.lost_answers import put_over
from support.faults import Fault, FaultyStore

ANSWERS = [Unavailable("lost"), AlreadyExists("sent again"), PreconditionFailed("sent again")]


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return open_store(str(tmp_path))


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("kind", ["create", "replace"])
def test_a_write_whose_answer_was_lost_has_happened(store: ObjectStore, kind: str, answer: OmniError) -> None:
    over = store.create("a", b"old") if kind == "replace" else None
    faulty = FaultyStore(store, Fault(kind, after=True, error=answer))
    tag = put_over(faulty, "a", b"mine", over)
    assert tag == store.get_versioned("a").etag
    assert store.get("a") == b"mine"


@pytest.mark.parametrize("etag", [None, "another"])
def test_what_others_have_written_stays(store: ObjectStore, etag: str | None) -> None:
    store.create("a", b"theirs")
    assert put_over(store, "a", b"mine", etag) is None
    assert store.get("a") == b"theirs"


def test_an_object_that_is_gone_was_somebody_elses(store: ObjectStore) -> None:
    assert put_over(store, "a", b"mine", "another") is None


def test_a_write_that_did_not_happen_is_unavailable(store: ObjectStore) -> None:
    with pytest.raises(Unavailable):
        put_over(FaultyStore(store, Fault("create")), "a", b"mine", None)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda error: type(error).__name__)
def test_a_name_that_was_freed_is_free_although_the_answer_was_lost(
    store: ObjectStore, answer: OmniError
) -> None:
    made = Refs(store).create("dev", CommitRef("c", "i", 1), None, None)
    assert isinstance(made, StoredRef)
    assert Refs(FaultyStore(store, Fault("replace", after=True, error=answer))).free(made)
    assert Refs(store).list() == []
